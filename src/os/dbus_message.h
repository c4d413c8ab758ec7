// D-Bus messages, as far as brig uses D-Bus: it makes one method call and reads what a peer sends
// back. The peer is the user's own service manager; even so, brig checks every length that it
// gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace brig {

// Appends values in the byte order (little-endian) and with the padding that the protocol
// prescribes.
class DbusWriter {
 public:
  void pad(std::size_t alignment);
  void byte(std::uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void number(std::uint32_t value);
  void text(std::string_view value);       // Appends a string or the path of an object.
  void signature(std::string_view value);  // At most 255 characters.
  // Appends an array: what `fill` appends. Each element starts at a multiple of `alignment`; `fill`
  // takes care of that.
  template <typename Fill>
  void array(std::size_t alignment, Fill fill) {
    number(0);
    const std::size_t length_at = bytes_.size() - 4;
    // Not part of the array's length, and present even if the array is empty.
    pad(alignment);
    const std::size_t first = bytes_.size();
    fill();
    put(length_at, static_cast<std::uint32_t>(bytes_.size() - first));
  }

  const std::string& bytes() const { return bytes_; }

 private:
  void put(std::size_t at, std::uint32_t value);
  std::string bytes_;
};

// A method call to send.
struct DbusCall {
  std::uint32_t serial = 1;
  std::string_view path, interface, member, destination, signature;
  // From a DbusWriter.
  std::string body;
};
std::string to_bytes(const DbusCall& call);

struct DbusMessage {
  enum Type : std::uint8_t { call = 1, reply = 2, error = 3, signal = 4 };
  std::uint8_t type = 0;
  std::uint32_t reply_serial = 0;
  std::string member, error_name, signature;
  std::string body;
};

// Reads values from a body. After a value that is missing, everything reads as empty and ok() is
// false.
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

// The size of the whole message that `bytes` begin with. 0: more bytes must come. Nothing: the
// bytes are not a message, or it has more than kMaxDbusMessage bytes.
inline constexpr std::size_t kMaxDbusMessage = 1 << 20;
std::optional<std::size_t> dbus_message_size(std::string_view bytes);
// Parses a message of that size. Nothing if the bytes are not a message.
std::optional<DbusMessage> parse_dbus_message(std::string_view bytes);

}  // namespace brig
