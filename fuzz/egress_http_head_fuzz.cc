// A request to the proxy: its head, what is sent on instead, and where its body ends.
#include "egress/http_head.h"
#include "promise.h"

using namespace brig;
using egress::HeadResult, egress::HttpHead;
using fuzz::promise;
using Kind = HeadResult::Kind;

namespace {

bool same_request(const HttpHead& a, const HttpHead& b) {
  return a.target == b.target && a.method == b.method && a.path == b.path &&
         a.upgrades == b.upgrades && a.has_body == b.has_body && a.is_chunked == b.is_chunked &&
         a.body_size == b.body_size && a.awaits_continue == b.awaits_continue;
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    const auto plain = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return plain(x) == plain(y);
  });
}

// How many fields of the head have that name, found without any parser.
unsigned count(std::string_view head, std::string_view name) {
  unsigned found = 0;
  for (std::size_t at = head.find('\n'); at != head.npos; at = head.find('\n', at + 1))
    if (same_letters(head.substr(at + 1, name.size()), name)) ++found;
  return found;
}

void check_forwarded(const HttpHead& head) {
  const std::string& text = head.forwarded;
  const HeadResult again = egress::read_head(text);
  promise(again.kind == Kind::head, "what is sent on is a request", text + "\n" + again.why);
  promise(again.size == text.size(), "what is sent on is one request", text);
  promise(again.head.form == HttpHead::Form::origin, "what is sent on has a path", text);
  promise(same_request(head, again.head), "what is sent on is the same request", text);
  promise(again.head.forwarded.size() == text.size(), "what is sent on needs no change", text);
  promise(count(text, "host:") == 1, "one host", text);
  promise(count(text, "connection:") == 1, "one Connection", text);
  promise(count(text, "upgrade:") == (head.upgrades ? 1 : 0), "no other upgrade", text);
  promise(count(text, "proxy-") == 0, "nothing for the proxy is sent on", text);
  promise(count(text, "transfer-encoding:") == (head.is_chunked ? 1 : 0), "one coding", text);
  const unsigned lengths = count(text, "content-length:");
  promise(lengths <= 1 && (lengths == 0 || !head.is_chunked), "one framing", text);
  promise(lengths == 1 || head.is_chunked || !head.has_body, "a body has a length", text);
}

// Where the body ends, fed in pieces.
std::size_t end_of(std::string_view bytes, std::size_t piece, bool& done, bool& bad) {
  egress::ChunkedEnd end;
  std::size_t size = 0;
  while (size < bytes.size() && !end.done() && !end.bad()) {
    const std::string_view now = bytes.substr(size, piece);
    const std::size_t taken = end.feed(now);
    promise(taken == now.size() || end.done() || end.bad(), "it takes all until the end", bytes);
    size += taken;
  }
  done = end.done();
  bad = end.bad();
  return size;
}

void check_body(std::string_view bytes) {
  bool done = false, bad = false;
  const std::size_t size = end_of(bytes, bytes.size(), done, bad);
  promise(size <= bytes.size() && !(done && bad), "a body ends in itself", bytes);
  promise(!done || bytes.substr(0, size).ends_with("\r\n\r\n"), "it ends in an empty line", bytes);
  for (const std::size_t piece : {1u, 2u, 3u, 7u, 64u}) {
    bool done_too = false, bad_too = false;
    promise(end_of(bytes, piece, done_too, bad_too) == size && done == done_too && bad == bad_too,
            "in pieces or whole, a body ends at the same byte", bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  const HeadResult whole = egress::read_head(bytes);
  promise((whole.kind == Kind::refused) == !whole.why.empty(), "a refusal has a reason", whole.why);
  promise(whole.kind != Kind::refused || (whole.status >= 400 && whole.status < 600),
          "a refusal has a status");
  fuzz::for_beginnings(bytes, [&](std::string_view cut) {
    const HeadResult now = egress::read_head(cut);
    if (now.kind == Kind::more) return;
    promise(now.kind == whole.kind && now.status == whole.status && now.why == whole.why &&
                now.size == whole.size && now.head.forwarded == whole.head.forwarded &&
                same_request(now.head, whole.head),
            "in pieces or whole, a request is the same", cut);
  });
  check_body(bytes);
  if (whole.kind != Kind::head) return 0;
  promise(whole.size <= size, "a head is no longer than what there is");
  promise(whole.head.target.port != 0 &&
              whole.head.target.address.has_value() == whole.head.target.name.empty(),
          "a target is a name or an address, with a port", whole.head.target.text());
  promise(egress::parse_target(whole.head.target.text(), 0) == whole.head.target,
          "a target is its text's", whole.head.target.text());
  if (whole.head.form == HttpHead::Form::connect)
    promise(whole.head.forwarded.empty() && !whole.head.has_body, "a tunnel is not sent on");
  else
    check_forwarded(whole.head);
  check_body(bytes.substr(whole.size));
  return 0;
}
