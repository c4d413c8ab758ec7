// Gate: who gets in. The Host and the Origin of a request, against web pages that talk to servers of the machine they are
// read on (DNS rebinding), and its token.
#pragma once

#include <string>
#include <vector>

#include "http/caller.h"
#include "http/http.h"

namespace brig::serve {

struct GateOptions {
  std::vector<std::string>
      hosts;  // names by which the server may be asked, beside localhost and IP addresses
  std::vector<std::string>
      origins;  // of pages that may ask it, beside its own: "https://example.org"
};

// Whether it is written as browsers send it: "https://example.org", "http://localhost:3000"; not "*", and without a path.
bool is_origin(std::string_view text);

class Gate {
 public:
  Gate(GateOptions options, Tokens& tokens);

  // Answers a request from nowhere it should come from, and what a browser asks before it lets a page ask (CORS): false then. Pages of
  // the origins that are named may read the answers; nobody's cookies or other credentials are ever taken for a page's.
  bool admit(Exchange& exchange) const;
  // Null: answered with 401.
  CallerPtr identify(Exchange& exchange) const;

 private:
  bool is_host(std::string_view host) const;
  void allow_page(Exchange& exchange, const std::string& origin) const;

  GateOptions options_;
  Tokens& tokens_;
};

}  // namespace brig::serve
