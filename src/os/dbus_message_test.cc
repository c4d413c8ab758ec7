#include "os/dbus_message.h"

#include <gtest/gtest.h>

#include <random>

namespace brig {
namespace {

std::string a_call() {
  DbusWriter body;
  body.text("name");
  body.array(8, [&] {
    body.pad(8);
    body.number(7);
  });
  return to_bytes({.serial = 9,
                   .path = "/a",
                   .interface = "a.b",
                   .member = "Do",
                   .destination = "a.c",
                   .signature = "sa(u)",
                   .body = body.bytes()});
}

TEST(DbusMessage, IsWhatTheProtocolSays) {
  DbusWriter writer;
  writer.byte(1);
  writer.number(2);  // at a multiple of 4
  writer.text("ab");
  writer.signature("u");
  writer.array(8, [] {});  // the padding is there even if nothing is
  EXPECT_EQ(writer.bytes(),
            std::string("\x01\0\0\0\x02\0\0\0\x02\0\0\0ab\0\x01u\0\0\0\0\0\0\0", 24));
}

TEST(DbusMessage, IsReadAsItWasWritten) {
  const std::string bytes = a_call();
  ASSERT_EQ(dbus_message_size(bytes), bytes.size());
  const auto message = parse_dbus_message(bytes);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->type, DbusMessage::call);
  EXPECT_EQ(message->member, "Do");
  EXPECT_EQ(message->signature, "sa(u)");
  DbusReader body(message->body);
  EXPECT_EQ(body.text(), "name");
  EXPECT_EQ(body.number(), 4u);  // the array's length
  body.pad(8);
  EXPECT_EQ(body.number(), 7u);
  EXPECT_TRUE(body.ok());
  EXPECT_EQ(body.number(), 0u);  // past the end
  EXPECT_FALSE(body.ok());
}

TEST(DbusMessage, ThatIsNotWholeWaitsForMore) {
  const std::string bytes = a_call();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(dbus_message_size(std::string_view(bytes).substr(0, size)), 0u) << size;
  EXPECT_EQ(dbus_message_size(bytes + "l"), bytes.size());
}

TEST(DbusMessage, ThatIsNoneOrTooLargeIsRefused) {
  const std::string bytes = a_call();
  const auto with = [&](std::size_t at, std::string_view piece) {
    return std::string(bytes).replace(at, piece.size(), piece);
  };
  EXPECT_FALSE(dbus_message_size(with(0, "B")));
  EXPECT_FALSE(dbus_message_size(with(4, "\xff\xff\xff\xff")));   // body
  EXPECT_FALSE(dbus_message_size(with(12, "\xff\xff\xff\xff")));  // fields
  EXPECT_FALSE(dbus_message_size(with(4, std::string_view("\0\0\x10\0", 4))));
  EXPECT_FALSE(parse_dbus_message(with(3, "\x02")));               // version
  EXPECT_FALSE(parse_dbus_message(with(17, "\xff")));              // a signature longer than all
  EXPECT_FALSE(parse_dbus_message(with(18, "x")));                 // a type that no field has
  EXPECT_FALSE(parse_dbus_message(with(20, "\xff\xff\xff\xff")));  // a path longer than all
  EXPECT_FALSE(parse_dbus_message(""));
}

TEST(DbusMessage, OfAnyBytesEndsWell) {
  std::mt19937 random(20261118);
  const std::string bytes = a_call();
  for (int i = 0; i < 20'000; ++i) {
    std::string changed = bytes;
    for (unsigned n = random() % 4 + 1; n > 0; --n)
      changed[random() % changed.size()] = static_cast<char>(random());
    if (const auto size = dbus_message_size(changed); size && *size)
      (void)parse_dbus_message(std::string_view(changed).substr(0, *size));
  }
}

}  // namespace
}  // namespace brig
