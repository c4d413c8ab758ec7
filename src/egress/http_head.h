// The head of one HTTP/1 request that a tool sends to brig's proxy, or straight to a host: read by
// Beast's parser, and checked more strictly. Whatever a server behind could understand in another
// way is refused: Content-Length with Transfer-Encoding, either of them twice, a transfer coding
// other than chunked, a bare LF, a folded line, a space before a colon, two Hosts, a Host that is
// not the target's, TRACE, a target with user information or a fragment, control bytes, and fields
// named Content_Length or Transfer_Encoding, which some servers take for those with a '-'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "egress/address.h"

namespace brig::egress {

inline constexpr std::size_t kMaxHead = 32 * 1024;

// A host and a port, as a request names them.
struct Target {
  std::string name;  // Normal; empty if it is an address.
  std::optional<Address> address;
  std::uint16_t port = 0;
  std::string text() const;  // "api.github.com:443", "[2001:db8::1]:443"
  bool operator==(const Target&) const = default;
};
// "api.github.com:443", "192.0.2.7:80", "[2001:db8::1]:443". A missing port is `port`; if that is
// 0, it is an error. Nullopt for everything else, an IPv6 address without brackets included.
std::optional<Target> parse_target(std::string_view text, std::uint16_t port);

struct HttpHead {
  enum class Form { connect, absolute, origin } form = Form::origin;
  // For `origin`, of its Host field, with port 80 unless that has one. For the other forms, the
  // Host field may be missing in HTTP/1.0 and in `connect`.
  Target target;
  std::string method, path;  // For the record: the path without its query. Empty for `connect`.
  // What to send to the server instead: the request in origin form, with `Connection: close`, and
  // without hop-by-hop fields and those for the proxy. With `upgrades`, it has "Connection:
  // Upgrade" and "Upgrade: websocket". Empty for `connect`.
  std::string forwarded;
  bool upgrades = false;  // To a WebSocket.
  bool has_body = false;  // A Content-Length above 0, or chunked.
  bool is_chunked = false;
  std::uint64_t body_size = 0;
  bool awaits_continue = false;
};

struct HeadResult {
  enum class Kind { more, head, refused } kind = Kind::more;
  HttpHead head;
  std::size_t size = 0;  // How many of the bytes the head takes.
  unsigned status = 0;   // If refused: 400, 405, 431, 505...
  std::string why;
};
// `bytes` is everything from the first byte of the request on. Empty lines in front of it are
// passed over. What is not `more` stays so if more bytes come.
HeadResult read_head(std::string_view bytes);

// Where a chunked body ends: feed it the bytes as they come.
class ChunkedEnd {
 public:
  // How many of the bytes belong to the body. Sets done() after the last chunk and the line after
  // it. Trailers, chunk extensions of more than 256 bytes, spaces around a chunk's size, and
  // whatever else is no chunk of RFC 9112 make it bad().
  std::size_t feed(std::string_view bytes);
  bool done() const { return state_ == State::done; }
  bool bad() const { return state_ == State::bad; }

 private:
  enum class State {
    size,
    extension,
    size_lf,
    data,
    data_cr,
    data_lf,
    last_cr,
    last_lf,
    done,
    bad
  };
  State after(char c);
  State state_ = State::size;
  std::uint64_t left_ = 0;
  unsigned digits_ = 0, extension_ = 0;
};

// An answer of the proxy itself: a status line, Content-Type text/plain, Connection: close, and the
// sentence as the body.
std::string plain_answer(unsigned status, std::string_view sentence);

}  // namespace brig::egress
