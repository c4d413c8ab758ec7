#include "os/dbus_message.h"

namespace brig {
namespace {

constexpr std::size_t kFixedHeader = 16;
constexpr std::size_t kMaxFields = 32, kMaxText = 64 << 10;
enum Field : std::uint8_t {
  kPath = 1,
  kInterface = 2,
  kMember = 3,
  kErrorName = 4,
  kReplySerial = 5,
  kDestination = 6,
  kSignature = 8,
};

std::size_t padded(std::size_t size, std::size_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i)
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

void field(DbusWriter& writer, Field code, char type, std::string_view value) {
  writer.pad(8);
  writer.byte(code);
  writer.signature({&type, 1});
  if (type == 'g')
    writer.signature(value);
  else
    writer.text(value);
}

// Reads the value of one header field. False for a type that no field of the protocol has.
bool read_field(DbusReader& reader, std::uint8_t code, DbusMessage& message) {
  const std::string type = reader.signature();
  if (type == "u") {
    const std::uint32_t value = reader.number();
    if (code == kReplySerial) message.reply_serial = value;
    return true;
  }
  if (type != "s" && type != "o" && type != "g") return false;
  std::string value = type == "g" ? reader.signature() : reader.text();
  if (code == kMember)
    message.member = std::move(value);
  else if (code == kErrorName)
    message.error_name = std::move(value);
  else if (code == kSignature)
    message.signature = std::move(value);
  return true;
}

}  // namespace

void DbusWriter::pad(std::size_t alignment) { bytes_.resize(padded(bytes_.size(), alignment)); }

void DbusWriter::put(std::size_t at, std::uint32_t value) {
  for (unsigned i = 0; i < 4; ++i) bytes_[at + i] = static_cast<char>(value >> (8 * i) & 0xff);
}

void DbusWriter::number(std::uint32_t value) {
  pad(4);
  bytes_.resize(bytes_.size() + 4);
  put(bytes_.size() - 4, value);
}

void DbusWriter::text(std::string_view value) {
  number(static_cast<std::uint32_t>(value.size()));
  bytes_.append(value).push_back('\0');
}

void DbusWriter::signature(std::string_view value) {
  byte(static_cast<std::uint8_t>(value.size()));
  bytes_.append(value).push_back('\0');
}

std::string to_bytes(const DbusCall& call) {
  DbusWriter writer;
  // Little-endian.
  writer.byte('l');
  writer.byte(DbusMessage::call);
  writer.byte(0);  // No flags: the call wants a reply.
  writer.byte(1);  // The version of the protocol.
  writer.number(static_cast<std::uint32_t>(call.body.size()));
  writer.number(call.serial);
  writer.array(8, [&] {
    field(writer, kPath, 'o', call.path);
    field(writer, kInterface, 's', call.interface);
    field(writer, kMember, 's', call.member);
    field(writer, kDestination, 's', call.destination);
    field(writer, kSignature, 'g', call.signature);
  });
  writer.pad(8);
  return writer.bytes() + call.body;
}

std::string_view DbusReader::take(std::size_t size) {
  if (!ok_ || size > bytes_.size() - at_) {
    ok_ = false;
    return {};
  }
  at_ += size;
  return bytes_.substr(at_ - size, size);
}

void DbusReader::pad(std::size_t alignment) { take(padded(at_, alignment) - at_); }

std::uint8_t DbusReader::byte() {
  const std::string_view taken = take(1);
  return ok_ ? static_cast<std::uint8_t>(taken[0]) : 0;
}

std::uint32_t DbusReader::number() {
  pad(4);
  const std::string_view taken = take(4);
  return ok_ ? number_at(taken, 0) : 0;
}

std::string DbusReader::text() {
  const std::uint32_t size = number();
  if (size > kMaxText) ok_ = false;
  const std::string_view taken = take(size);
  if (const std::string_view end = take(1); ok_ && end[0] != '\0') ok_ = false;
  return ok_ ? std::string(taken) : "";
}

std::string DbusReader::signature() {
  const std::string_view taken = take(byte());
  if (const std::string_view end = take(1); ok_ && end[0] != '\0') ok_ = false;
  return ok_ ? std::string(taken) : "";
}

std::optional<std::size_t> dbus_message_size(std::string_view bytes) {
  if (!bytes.empty() && bytes[0] != 'l') return std::nullopt;
  if (bytes.size() < kFixedHeader) return 0;
  const std::size_t body = number_at(bytes, 4), fields = number_at(bytes, 12);
  if (body > kMaxDbusMessage || fields > kMaxDbusMessage) return std::nullopt;
  const std::size_t size = padded(kFixedHeader + fields, 8) + body;
  if (size > kMaxDbusMessage) return std::nullopt;
  return size <= bytes.size() ? size : 0;
}

std::optional<DbusMessage> parse_dbus_message(std::string_view bytes) {
  if (dbus_message_size(bytes) != bytes.size() || bytes.empty()) return std::nullopt;
  DbusMessage message;
  message.type = static_cast<std::uint8_t>(bytes[1]);
  if (bytes[3] != 1) return std::nullopt;
  const std::size_t end = kFixedHeader + number_at(bytes, 12);
  DbusReader reader(bytes.substr(0, end));
  for (unsigned i = 0; i < kFixedHeader; ++i) reader.byte();
  for (unsigned count = 0; reader.at() < end; ++count) {
    reader.pad(8);
    const std::uint8_t code = reader.byte();
    if (count == kMaxFields || !reader.ok() || !read_field(reader, code, message) || !reader.ok())
      return std::nullopt;
  }
  message.body = bytes.substr(padded(end, 8));
  return message;
}

}  // namespace brig
