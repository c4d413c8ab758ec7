// Gate: decides which requests may pass. It checks Host and Origin, against web pages that talk to
// servers on the machine they are shown on (DNS rebinding), and the token.
#pragma once

#include <string>
#include <vector>

#include "http/caller.h"
#include "http/http.h"

namespace brig::serve {

struct GateOptions {
  std::vector<std::string>
      hosts;  // host names that requests may use, besides localhost and IP addresses
  std::vector<std::string>
      origins;  // of pages that may send requests, besides its own: "https://example.org"
};

// Whether the text is an origin as browsers send it: "https://example.org",
// "http://localhost:3000"; not "*", and without a path.
bool is_origin(std::string_view text);

class Gate {
 public:
  Gate(GateOptions options, Tokens& tokens);

  // Answers a request that comes from a place that is not allowed, and a browser's question before
  // it lets a page send a request (CORS). Returns false then. Pages of the configured origins may
  // read the answers. Cookies and other credentials of a browser are never used.
  bool admit(Exchange& exchange) const;
  // Null: it has answered with 401.
  CallerPtr identify(Exchange& exchange) const;

 private:
  bool is_host(std::string_view host) const;
  void allow_page(Exchange& exchange, const std::string& origin) const;

  GateOptions options_;
  Tokens& tokens_;
};

}  // namespace brig::serve
