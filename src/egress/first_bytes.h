// What the first bytes of a client say about whom it wants to talk to: the server name of a TLS
// ClientHello, or the head of an HTTP/1 request. Everything here comes from inside a cell.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace brig::egress {

struct FirstBytes {
  enum class Kind {
    more,   // Can't be told yet.
    tls,    // A whole ClientHello; `name` is its server name, or empty if it has none.
    http,   // A line that ends in HTTP/1.0 or HTTP/1.1; read it with read_head().
    other,  // Some other protocol; also HTTP/2 without TLS ("PRI * HTTP/2.0").
    bad,    // Begins as TLS or HTTP and breaks their rules; `why` says how.
  } kind = Kind::more;
  // Normal (normal_host_name), or an address's text if the client sent one there.
  std::string name;
  // The ClientHello has an encrypted one inside (ECH, or its predecessor ESNI); `name` is only the
  // outer name. Also true for clients that send random bytes there, as browsers do if they know no
  // key: nobody but the server can tell them apart.
  bool hides_name = false;
  std::string why;
};

// How many bytes may be looked at before the kind is known: more is `bad`.
inline constexpr std::size_t kMaxFirstBytes = 16 * 1024;

// `bytes` is everything from the first byte on. A ClientHello may come in several TLS records and
// in any number of pieces. Two server names, a name with a NUL or any other byte that no name has,
// lengths that do not fit into each other: bad. Line ends before an HTTP request are skipped, as
// servers do. A first line with "HTTP/" in it, in upper or lower case, that is no request line is
// bad, because some server might read it as one. What is not `more` stays so if more bytes come.
FirstBytes look_at(std::string_view bytes);

}  // namespace brig::egress
