// Gate: who gets in. The Host and the Origin of a request, against web pages that talk to servers of the machine they are
// read on (DNS rebinding), and its token.
#pragma once

#include <string>
#include <vector>

#include "serve/caller.h"
#include "serve/http.h"

namespace brig::serve {

struct GateOptions {
  std::vector<std::string>
      hosts;  // names by which the server may be asked, beside localhost and IP addresses
  std::vector<std::string>
      origins;  // of pages that may ask it, beside its own: "https://example.org"
};

class Gate {
 public:
  Gate(GateOptions options, Tokens& tokens);

  // Answers a request from nowhere it should come from: false then.
  bool admit(Exchange& exchange) const;
  // Null: answered with 401.
  CallerPtr identify(Exchange& exchange) const;

 private:
  bool is_host(std::string_view host) const;

  GateOptions options_;
  Tokens& tokens_;
};

}  // namespace brig::serve
