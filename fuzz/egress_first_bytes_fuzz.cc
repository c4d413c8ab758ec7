// The first bytes of a client that names no host before them. In pieces or whole, it is the same.
#include "egress/first_bytes.h"

#include "egress/address.h"
#include "egress/http_head.h"
#include "policy/host_rule.h"
#include "promise.h"

using namespace brig;
using fuzz::promise;
using Kind = egress::FirstBytes::Kind;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  const egress::FirstBytes whole = egress::look_at(bytes);
  promise((whole.kind == Kind::bad) == !whole.why.empty(), "what is bad has a reason", whole.why);
  promise(whole.kind == Kind::tls || (whole.name.empty() && !whole.hides_name),
          "only TLS has a name", whole.name);
  promise(size < egress::kMaxFirstBytes || whole.kind != Kind::more, "it ends at some time");
  if (!whole.name.empty()) {
    const auto address = egress::Address::parse(whole.name);
    promise(address ? address->text() == whole.name : normal_host_name(whole.name) == whole.name,
            "a server name is normal", whole.name);
  }
  fuzz::for_beginnings(bytes, [&](std::string_view cut) {
    const egress::FirstBytes now = egress::look_at(cut);
    if (now.kind == Kind::more) return;
    promise(now.kind == whole.kind && now.name == whole.name && now.why == whole.why &&
                now.hides_name == whole.hides_name,
            "what is known stays so", cut);
  });
  // No request slips through as another protocol.
  const egress::HeadResult head = egress::read_head(bytes);
  if (head.kind == egress::HeadResult::Kind::head && head.size < egress::kMaxFirstBytes)
    promise(whole.kind == Kind::http, "a request is known as one", bytes);
  return 0;
}
