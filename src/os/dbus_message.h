// D-Bus messages, as far as brig speaks D-Bus: it makes one method call, and reads what a peer sends back.
// The peer is the user's own service manager; even so, every length that it gives is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace brig {

// Appends values in the byte order and with the padding that the protocol wants. Little-endian.
class DbusWriter {
 public:
  void pad(std::size_t alignment);
  void byte(std::uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void number(std::uint32_t value);
  void text(std::string_view value);       // a string, or an object's path
  void signature(std::string_view value);  // at most 255 characters
  // What `fill` appends, each element at a multiple of `alignment`, which is its own affair.
  template <typename Fill>
  void array(std::size_t alignment, Fill fill) {
    number(0);
    const std::size_t length_at = bytes_.size() - 4;
    pad(alignment);  // not counted, and there even if the array is empty
    const std::size_t first = bytes_.size();
    fill();
    put(length_at, static_cast<std::uint32_t>(bytes_.size() - first));
  }

  const std::string& bytes() const { return bytes_; }

 private:
  void put(std::size_t at, std::uint32_t value);
  std::string bytes_;
};

// A method call, ready to be sent.
struct DbusCall {
  std::uint32_t serial = 1;
  std::string_view path, interface, member, destination, signature;
  std::string body;  // of a DbusWriter
};
std::string to_bytes(const DbusCall& call);

struct DbusMessage {
  enum Type : std::uint8_t { call = 1, reply = 2, error = 3, signal = 4 };
  std::uint8_t type = 0;
  std::uint32_t reply_serial = 0;
  std::string member, error_name, signature;
  std::string body;
};

// Reads values from a body. After one that is not there, everything is empty and ok() is false.
class DbusReader {
 public:
  explicit DbusReader(std::string_view bytes) : bytes_(bytes) {}
  std::uint8_t byte();
  std::uint32_t number();
  std::string text();
  std::string signature();
  void pad(std::size_t alignment);
  bool ok() const { return ok_; }
  std::size_t at() const { return at_; }

 private:
  std::string_view take(std::size_t size);
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

// Whether `bytes` begin with a whole message: its size; 0 if more must come; nothing if they are no message,
// or one of more than kMaxDbusMessage bytes.
inline constexpr std::size_t kMaxDbusMessage = 1 << 20;
std::optional<std::size_t> dbus_message_size(std::string_view bytes);
// Of bytes of that size. Nothing if they are no message.
std::optional<DbusMessage> parse_dbus_message(std::string_view bytes);

}  // namespace brig
