#include "egress/first_bytes.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "egress/address.h"
#include "policy/host_rule.h"

namespace brig::egress {
namespace {

using SeenKind = FirstBytes::Kind;

constexpr std::uint8_t kHandshake = 22, kClientHello = 1;
constexpr std::size_t kRecordHeader = 5, kMaxRecord = 16384, kHandshakeHeader = 4;
constexpr std::size_t kServerName = 0, kEncryptedHello = 0xfe0d, kEncryptedName = 0xffce;

FirstBytes bad_bytes(std::string why) {
  FirstBytes found;
  found.kind = SeenKind::bad;
  found.why = std::move(why);
  return found;
}

FirstBytes of_kind(SeenKind kind) {
  FirstBytes found;
  found.kind = kind;
  return found;
}

std::size_t number_of(std::string_view bytes) {
  std::size_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

// Reads what TLS is made of. After a length that is too large, everything reads as empty and ok()
// is false.
class HelloReader {
 public:
  explicit HelloReader(std::string_view bytes) : bytes_(bytes) {}
  std::string_view take(std::size_t size) {
    if (!ok_ || size > bytes_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  std::size_t number(std::size_t size) { return number_of(take(size)); }
  // A field with its length in front, in so many bytes.
  std::string_view field(std::size_t length_size) { return take(number(length_size)); }
  bool at_end() const { return bytes_.empty(); }
  bool ok() const { return ok_; }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

// Returns why the extension names no server, or "".
std::string read_server_name(std::string_view extension, std::string& name) {
  HelloReader reader(extension);
  HelloReader list(reader.field(2));
  if (!reader.ok() || !reader.at_end()) return "the list of server names has a wrong length";
  const std::size_t type = list.number(1);
  const std::string_view text = list.field(2);
  if (!list.ok() || text.empty()) return "a server name has a wrong length";
  if (!list.at_end()) return "more than one server name";
  if (type != 0) return "a server name of an unknown type";
  if (const auto host = normal_host_name(text))
    name = *host;
  else if (const auto address = Address::parse(text))
    name = address->text();
  else
    return "the server name is not a host name";
  return "";
}

FirstBytes read_extensions(std::string_view bytes) {
  FirstBytes found = of_kind(SeenKind::tls);
  HelloReader reader(bytes);
  std::vector<std::size_t> types;
  while (!reader.at_end()) {
    const std::size_t type = reader.number(2);
    const std::string_view extension = reader.field(2);
    if (!reader.ok()) return bad_bytes("an extension of the ClientHello has a wrong length");
    types.push_back(type);
    if (type == kEncryptedHello || type == kEncryptedName) found.hides_name = true;
    if (type != kServerName) continue;
    if (std::string why = read_server_name(extension, found.name); !why.empty())
      return bad_bytes(std::move(why));
  }
  std::sort(types.begin(), types.end());
  if (std::adjacent_find(types.begin(), types.end()) != types.end())
    return bad_bytes("the ClientHello has an extension twice");
  return found;
}

// `body` is a whole ClientHello without its header.
FirstBytes read_hello(std::string_view body) {
  HelloReader reader(body);
  const std::size_t version = reader.number(2);
  reader.take(32);  // Random.
  const std::string_view session = reader.field(1);
  const std::string_view suites = reader.field(2);
  const std::string_view compressions = reader.field(1);
  if (!reader.ok() || session.size() > 32 || suites.empty() || suites.size() % 2 != 0 ||
      compressions.empty())
    return bad_bytes("a field of the ClientHello has a wrong length");
  if (version >> 8 != 3) return bad_bytes("the ClientHello has an unknown version");
  if (reader.at_end()) return of_kind(SeenKind::tls);  // Before TLS 1.3 it may have no extensions.
  const std::string_view extensions = reader.field(2);
  if (!reader.ok() || !reader.at_end())
    return bad_bytes("the extensions of the ClientHello have a wrong length");
  return read_extensions(extensions);
}

// Puts the ClientHello together from the records that it comes in.
FirstBytes read_records(std::string_view bytes) {
  std::string message;
  while (bytes.size() >= kRecordHeader) {
    if (number_of(bytes.substr(0, 1)) != kHandshake)
      return bad_bytes("a TLS record of another type inside of the ClientHello");
    if (bytes[1] != 3) return bad_bytes("a TLS record of an unknown version");
    const std::size_t size = number_of(bytes.substr(3, 2));
    if (size == 0 || size > kMaxRecord) return bad_bytes("a TLS record has a wrong length");
    bytes.remove_prefix(kRecordHeader);
    const std::size_t before = message.size();
    message += bytes.substr(0, size);
    bytes.remove_prefix(std::min(size, bytes.size()));
    if (message.empty()) break;
    if (message[0] != kClientHello) return bad_bytes("the first TLS message is no ClientHello");
    if (message.size() < kHandshakeHeader) continue;
    const std::size_t whole = kHandshakeHeader + number_of(message.substr(1, 3));
    if (whole > kMaxFirstBytes) return bad_bytes("the ClientHello is too long");
    if (before + size > whole) return bad_bytes("a TLS record goes on after the ClientHello");
    if (message.size() == whole)
      return read_hello(std::string_view(message).substr(kHandshakeHeader));
  }
  return {};
}

bool is_token_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Whether it has "HTTP/" in it. Some servers take it in lower case.
bool speaks_of_http(std::string_view line) {
  constexpr std::string_view kHttp = "http/";
  return std::search(line.begin(), line.end(), kHttp.begin(), kHttp.end(), [](char a, char b) {
           return a == b || (is_letter(b) && is_letter(a) && (a ^ b) == 0x20);
         }) != line.end();
}

// A whole line without its LF.
FirstBytes judge_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!speaks_of_http(line) || line == "PRI * HTTP/2.0") return of_kind(SeenKind::other);
  if (line.ends_with(" HTTP/1.1") || line.ends_with(" HTTP/1.0")) return of_kind(SeenKind::http);
  return bad_bytes("the first line has HTTP in it and is no request line of HTTP/1.1");
}

FirstBytes read_line(std::string_view bytes) {
  bytes.remove_prefix(std::min(bytes.find_first_not_of("\r\n"), bytes.size()));
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  const std::string_view line = bytes.substr(0, end);
  // No server takes a request whose method has other bytes.
  const std::size_t method = std::min(line.find_first_of(" \t\r"), line.size());
  if (!std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(method),
                   is_token_character))
    return of_kind(SeenKind::other);
  // A binary protocol may never send an LF. Of methods that begin with a letter, some servers read
  // on past control bytes.
  if (!line.empty() && !is_letter(line[0]) && std::any_of(line.begin(), line.end(), [](char c) {
        return (static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\r') || c == '\x7f';
      }))
    return of_kind(SeenKind::other);
  return end < bytes.size() ? judge_line(line) : FirstBytes{};
}

}  // namespace

FirstBytes look_at(std::string_view bytes) {
  const std::string_view first = bytes.substr(0, kMaxFirstBytes);
  if (first.empty()) return {};
  // As the length of a message, the same byte begins other protocols.
  const bool may_be_tls = first[0] == static_cast<char>(kHandshake);
  if (may_be_tls && first.size() == 1) return {};
  FirstBytes found = may_be_tls && first[1] == 3 ? read_records(first) : read_line(first);
  if (found.kind == SeenKind::more && first.size() == kMaxFirstBytes)
    return bad_bytes("it can't be told what protocol this is: the beginning is too long");
  return found;
}

}  // namespace brig::egress
