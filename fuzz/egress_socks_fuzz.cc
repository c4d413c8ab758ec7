// A SOCKS5 client: its greeting, then its request.
#include "egress/socks.h"

#include "promise.h"

using namespace brig;
using fuzz::promise;
using Greeting = egress::SocksGreeting;
using Request = egress::SocksRequest;

namespace {

void check_request(std::string_view bytes) {
  const Request whole = egress::read_socks_request(bytes);
  fuzz::for_beginnings(bytes, [&](std::string_view cut) {
    const Request now = egress::read_socks_request(cut);
    if (now.kind == Request::Kind::more) return;
    promise(now.kind == whole.kind && now.size == whole.size && now.code == whole.code &&
                now.target == whole.target,
            "in pieces or whole, a request is the same");
  });
  if (whole.kind == Request::Kind::refused)
    promise(whole.code == 1 || whole.code == 7 || whole.code == 8, "a refusal has a code");
  if (whole.kind != Request::Kind::request) return;
  promise(whole.size <= bytes.size(), "a request is no longer than what there is");
  promise(egress::parse_target(whole.target.text(), 0) == whole.target, "a target is its text's",
          whole.target.text());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  check_request(bytes);
  const Greeting whole = egress::read_socks_greeting(bytes);
  fuzz::for_beginnings(bytes, [&](std::string_view cut) {
    const Greeting now = egress::read_socks_greeting(cut);
    if (now.kind == Greeting::Kind::more) return;
    promise(now.kind == whole.kind && now.size == whole.size,
            "in pieces or whole, a greeting is the same");
  });
  if (whole.kind != Greeting::Kind::greeting) return 0;
  promise(whole.size <= size, "a greeting is no longer than what there is");
  promise(bytes.substr(2, whole.size - 2).find('\0') != bytes.npos, "it offers no authentication");
  check_request(bytes.substr(whole.size));
  return 0;
}
