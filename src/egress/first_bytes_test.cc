#include "egress/first_bytes.h"

#include <gtest/gtest.h>

#include <random>

namespace brig::egress {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;
using FirstKind = FirstBytes::Kind;

std::string with_length(unsigned length_size, const std::string& content) {
  std::string length;
  for (unsigned i = length_size; i-- > 0;)
    length += static_cast<char>(content.size() >> (8 * i) & 0xff);
  return length + content;
}

std::string extension(const std::string& type, const std::string& content) {
  return type + with_length(2, content);
}

std::string one_name(const std::string& name, char type = 0) { return type + with_length(2, name); }

std::string server_name(const std::string& name) {
  return extension("\0\0"s, with_length(2, one_name(name)));
}

// The message with its header, from what follows the random bytes on.
std::string hello_of(const std::string& rest, const std::string& version = "\3\3") {
  return "\1" + with_length(3, version + std::string(32, 'r') + rest);
}

const std::string kFixed =
    with_length(1, std::string(32, 's')) + with_length(2, "\x13\1\x13\2") + with_length(1, "\0"s);

std::string hello(const std::string& extensions) {
  return hello_of(kFixed + with_length(2, extensions));
}

std::string record(const std::string& content) { return "\x16\3\1" + with_length(2, content); }

// The server name, or the kind in brackets. What is known stays so, however the bytes come.
std::string found(const std::string& bytes) {
  const FirstBytes whole = look_at(bytes);
  for (std::size_t size = 0; size<bytes.size(); size += bytes.size()> 1000 ? 97 : 1) {
    const FirstBytes cut = look_at(std::string_view(bytes).substr(0, size));
    if (cut.kind == FirstKind::more) continue;
    EXPECT_EQ(cut.kind, whole.kind) << size;
    EXPECT_EQ(cut.name, whole.name) << size;
    EXPECT_EQ(cut.why, whole.why) << size;
    EXPECT_EQ(cut.hides_name, whole.hides_name) << size;
  }
  EXPECT_EQ(whole.kind == FirstKind::bad, !whole.why.empty());
  switch (whole.kind) {
    case FirstKind::more: return "[more]";
    case FirstKind::tls: return whole.name + (whole.hides_name ? " [hidden]" : "");
    case FirstKind::http: return "[http]";
    case FirstKind::other: return "[other]";
    case FirstKind::bad: return "[bad]";
  }
  return "";
}

TEST(FirstBytesTls, HaveAServerName) {
  EXPECT_EQ(found(record(hello(server_name("api.example.com")))), "api.example.com");
  EXPECT_EQ(found(record(hello(server_name("API.Example.com.")))), "api.example.com");
  EXPECT_EQ(found(record(hello(extension("\0\x17"s, "") + server_name("a.example") +
                               extension("\0\x2b"s, "\2\3\4")))),
            "a.example");
  EXPECT_EQ(found(record(hello(server_name("192.0.2.7")))), "192.0.2.7");
  EXPECT_EQ(found(record(hello(server_name("2001:DB8::1")))), "2001:db8::1");
  EXPECT_EQ(found(record(hello(server_name("a.example"))) + "what follows"), "a.example");
}

TEST(FirstBytesTls, MayHaveNone) {
  EXPECT_EQ(found(record(hello(extension("\0\x17"s, "")))), "");
  EXPECT_EQ(found(record(hello(""))), "");
  EXPECT_EQ(found(record(hello_of(kFixed))), "") << "no extensions at all";
  EXPECT_EQ(look_at(record(hello_of(kFixed))).kind, FirstKind::tls);
}

TEST(FirstBytesTls, MayComeInSeveralRecords) {
  const std::string message = hello(server_name("a.example"));
  for (std::size_t at = 1; at < message.size(); ++at)
    EXPECT_EQ(found(record(message.substr(0, at)) + record(message.substr(at))), "a.example") << at;
  std::string each;
  for (const char c : message) each += record({c});
  EXPECT_EQ(found(each), "a.example");
}

TEST(FirstBytesTls, AreNotEnoughBeforeTheHelloIsWhole) {
  const std::string bytes = record(hello(server_name("a.example")));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(look_at(std::string_view(bytes).substr(0, size)).kind, FirstKind::more) << size;
}

TEST(FirstBytesTls, TellOfANameThatIsHidden) {
  EXPECT_EQ(found(record(hello(server_name("front.example") + extension("\xfe\x0d", "x")))),
            "front.example [hidden]");
  EXPECT_EQ(found(record(hello(extension("\xff\xce", "x")))), " [hidden]") << "its predecessor";
}

TEST(FirstBytesTls, AreBadIfTheyNameNoHost) {
  for (const std::string& name :
       {"a.example\0"s, "a\0.example"s, "a example"s, "127.1"s, "*.example"s, "b\xc3\xbc.example"s,
        "."s, "[::1]:80"s, "a.example:443"s, std::string(254, 'a')})
    EXPECT_EQ(found(record(hello(server_name(name)))), "[bad]") << name;
}

TEST(FirstBytesTls, AreBadIfTheyNameMoreThanOne) {
  EXPECT_EQ(found(record(hello(server_name("a.example") + server_name("b.example")))), "[bad]");
  EXPECT_EQ(found(record(hello(server_name("a.example") + server_name("a.example")))), "[bad]");
  EXPECT_EQ(found(record(hello(extension(
                "\0\0"s, with_length(2, one_name("a.example") + one_name("b.example")))))),
            "[bad]");
  EXPECT_EQ(found(record(hello(extension("\0\0"s, with_length(2, one_name("a.example", 1)))))),
            "[bad]")
      << "of another type";
  EXPECT_EQ(found(record(hello(extension("\0\x17"s, "") + extension("\0\x17"s, "")))), "[bad]");
}

TEST(FirstBytesTls, AreBadIfTheirLengthsDoNotFit) {
  EXPECT_EQ(found(record(hello(extension("\0\0"s, "")))), "[bad]");
  EXPECT_EQ(found(record(hello(extension("\0\0"s, with_length(2, ""))))), "[bad]");
  EXPECT_EQ(found(record(hello(extension("\0\0"s, with_length(2, one_name("")))))), "[bad]");
  EXPECT_EQ(found(record(hello(extension("\0\0"s, with_length(2, one_name("a")) + "x")))), "[bad]");
  EXPECT_EQ(found(record(hello(extension("\0\0"s, "\0\x20\0\0\1a"s)))), "[bad]");
  EXPECT_EQ(found(record(hello("\0\x17\0\1"s))), "[bad]");
  EXPECT_EQ(found(record(hello("\0"s))), "[bad]");
  EXPECT_EQ(found(record(hello_of(kFixed + "\0\5"s))), "[bad]");
  EXPECT_EQ(found(record(hello_of(kFixed + with_length(2, "") + "x"))), "[bad]");
  EXPECT_EQ(found(record(hello_of(""))), "[bad]");
  EXPECT_EQ(found(record("\1\0\0\0"s)), "[bad]");
  const std::string suites = with_length(2, "\x13\1"), methods = with_length(1, "\0"s);
  EXPECT_EQ(found(record(hello_of(with_length(1, "") + suites + methods))), "");
  EXPECT_EQ(found(record(hello_of(with_length(1, std::string(33, 's')) + suites + methods))),
            "[bad]");
  EXPECT_EQ(found(record(hello_of(with_length(1, "") + with_length(2, "") + methods))), "[bad]");
  EXPECT_EQ(found(record(hello_of(with_length(1, "") + with_length(2, "x") + methods))), "[bad]");
  EXPECT_EQ(found(record(hello_of(with_length(1, "") + suites + with_length(1, "")))), "[bad]");
  EXPECT_EQ(found(record(hello_of(kFixed, "\2\3"))), "[bad]") << "of another version";
}

TEST(FirstBytesTls, AreBadIfTheirRecordsAreNotThoseOfAHello) {
  const std::string message = hello(server_name("a.example"));
  EXPECT_EQ(found(record("\2\0\0\1x"s)), "[bad]") << "a ServerHello";
  EXPECT_EQ(found("\x16\3\1\0\0"s + record(message)), "[bad]") << "an empty record";
  EXPECT_EQ(found("\x16\3\1\x40\1"s), "[bad]") << "a record of more than 16 KiB";
  EXPECT_EQ(found(record(message.substr(0, 9)) + "\x17\3\1\0\1x"s), "[bad]");
  EXPECT_EQ(found(record(message.substr(0, 9)) + "\x16\2\1\0\1x"s), "[bad]");
  EXPECT_EQ(found(record(message + "x")), "[bad]") << "a second message in its record";
}

TEST(FirstBytesTls, AreBadIfTheyAreTooMany) {
  EXPECT_EQ(found(record("\1\0\x40\0"s)), "[bad]");
  const std::string padding = extension("\0\x15"s, std::string(9000, '\0'));
  const std::string large = hello(extension("\0\x29"s, std::string(7000, 'x')) + padding);
  EXPECT_EQ(found(record(large)), "");
  std::string pieces;
  for (const char c : large) pieces += record({c});
  EXPECT_EQ(found(pieces), "[bad]") << "by the headers of its records";
}

TEST(FirstBytesHttp, AreARequestLine) {
  EXPECT_EQ(found("GET / HTTP/1.1\r\n"), "[http]");
  EXPECT_EQ(found("GET / HTTP/1.0\r\nHost: a\r\n\r\n"), "[http]");
  EXPECT_EQ(found("CONNECT a.example:443 HTTP/1.1\n"), "[http]");
  EXPECT_EQ(found("\r\n\r\nM-SEARCH http://a.example/ HTTP/1.1\r\n"), "[http]");
  EXPECT_EQ(found("GET /" + std::string(16000, 'a') + " HTTP/1.1\r\n"), "[http]");
  EXPECT_EQ(found("GET / HTTP/1.1\r"), "[more]");
  EXPECT_EQ(found("G"), "[more]");
  EXPECT_EQ(found("\r\n"), "[more]");
}

TEST(FirstBytesHttp, AreBadIfSomeServerMightTakeThemForARequest) {
  for (const std::string& line :
       {"GET / HTTP/1.2"s, "GET / HTTP/2.0"s, "GET / http/1.1"s, "GET / HTTP/1.1 "s,
        "GET / HTTP/1.1 x"s, "GET /\tHTTP/1.1"s, "GET / HTTP/1.1\r"s, "GET / HTTP/"s,
        " GET / HTTP/9"s, "GET /\0 HTTP/1.1x"s, "PRI * HTTP/2.1"s, "GET / hTTp/1.1"s,
        "GET /HTTP/1.1"s})
    EXPECT_EQ(found(line + "\r\n"), "[bad]") << line;
  EXPECT_EQ(found("GET /" + std::string(17000, 'a')), "[bad]");
  EXPECT_EQ(found(std::string(17000, '\n')), "[bad]");
}

TEST(FirstBytesOther, AreThoseOfOtherProtocols) {
  for (const std::string& bytes :
       {"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"s, "*1\r\n$4\r\nPING\r\n"s, "EHLO a.example\r\n"s,
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"s, "\0\0\0\x08\x04\xd2\x16\x2f"s, "\x16\0\0\0"s,
        "\x16\2\1"s, "\x15\3\1\0\2"s, "<?xml version='1.0'?>"s, "AMQP\0\0\x09\1"s, "GET key\r\n"s,
        "\x30\x20\2\1\1"s, "\x80\x2e\1\3\1"s, "\r\n\0"s})
    EXPECT_EQ(found(bytes), "[other]") << bytes;
}

TEST(FirstBytes, OfAnyKindEndWell) {
  std::mt19937 random(20261119);
  const std::string bytes = record(hello(server_name("a.example") + extension("\0\x17"s, "")));
  for (int i = 0; i < 20'000; ++i) {
    std::string changed = bytes;
    for (unsigned n = random() % 4 + 1; n > 0; --n)
      changed[random() % changed.size()] = static_cast<char>(random());
    (void)look_at(changed);
  }
}

}  // namespace
}  // namespace brig::egress
