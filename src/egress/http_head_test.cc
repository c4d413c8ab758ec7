#include "egress/http_head.h"

#include <gtest/gtest.h>

namespace brig::egress {
namespace {

using namespace std::string_literals;
using HeadKind = HeadResult::Kind;

HeadResult read_in_pieces(const std::string& bytes) {
  const HeadResult whole = read_head(bytes);
  for (std::size_t size = 0; size<bytes.size(); size += bytes.size()> 1000 ? 997 : 1) {
    const HeadResult cut = read_head(std::string_view(bytes).substr(0, size));
    if (cut.kind == HeadKind::more) continue;
    EXPECT_EQ(cut.kind, whole.kind) << size;
    EXPECT_EQ(cut.why, whole.why) << size;
    EXPECT_EQ(cut.size, whole.size) << size;
    EXPECT_EQ(cut.head.forwarded, whole.head.forwarded) << size;
  }
  return whole;
}

HttpHead head_of(const std::string& bytes) {
  const HeadResult result = read_in_pieces(bytes);
  EXPECT_EQ(result.kind, HeadKind::head) << bytes << result.why;
  EXPECT_EQ(result.size, bytes.size());
  return result.head;
}

// The status, or 0.
unsigned refused(const std::string& bytes) {
  const HeadResult result = read_in_pieces(bytes);
  EXPECT_EQ(result.kind == HeadKind::refused, !result.why.empty()) << bytes;
  return result.status;
}

std::string post(const std::string& fields) {
  return "POST / HTTP/1.1\r\nHost: a.example\r\n" + fields + "\r\n";
}

TEST(Target, IsAHostAndAPort) {
  for (const char* text :
       {"api.github.com:443", "192.0.2.7:80", "[2001:db8::1]:443", "a:1", "a:65535"}) {
    const auto target = parse_target(text, 0);
    ASSERT_TRUE(target) << text;
    EXPECT_EQ(target->text(), text);
    EXPECT_EQ(target->name.empty(), target->address.has_value());
  }
  EXPECT_EQ(parse_target("A.Example.", 443)->text(), "a.example:443");
  EXPECT_EQ(parse_target("[2001:DB8::1]", 80)->text(), "[2001:db8::1]:80");
  EXPECT_EQ(parse_target("[::ffff:192.0.2.7]:1", 0)->text(), "192.0.2.7:1");
  for (const char* text : {"", ":80", "a", "192.0.2.7", "[::1]"})
    EXPECT_FALSE(parse_target(text, 0));
  for (const char* text : {"",         ":80",       "a:",
                           "a:0",      "a:65536",   "a:x",
                           "a:+1",     "a:080",     "a:1:2",
                           "::1",      "[::1",      "::1]:80",
                           "[::1]x",   "[::1]80",   "[192.0.2.7]:80",
                           "127.1:80", "0x7f.1:80", "me@a:80",
                           "a/b:80",   "a b:80",    "[fe80::1%lo]:80",
                           "*.a:80",   "a:80 "})
    EXPECT_FALSE(parse_target(text, 80)) << text;
}

TEST(HttpHead, AsksForATunnel) {
  const HttpHead head = head_of(
      "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com\r\n"
      "Proxy-Connection: keep-alive\r\n\r\n");
  EXPECT_EQ(head.form, HttpHead::Form::connect);
  EXPECT_EQ(head.target.text(), "api.example.com:443");
  EXPECT_EQ(head.method, "CONNECT");
  EXPECT_EQ(head.path, "");
  EXPECT_EQ(head.forwarded, "");
  EXPECT_EQ(head_of("CONNECT [::1]:22 HTTP/1.0\r\n\r\n").target.text(), "[::1]:22");
  EXPECT_EQ(head_of("CONNECT a:22 HTTP/1.1\r\nHost: A:22\r\n\r\n").target.text(), "a:22");
  EXPECT_EQ(head_of("CONNECT a:22 HTTP/1.1\r\nContent-Length: 0\r\n\r\n").target.text(), "a:22");
  for (const char* line :
       {"CONNECT a HTTP/1.1\r\n", "CONNECT a:0 HTTP/1.1\r\n", "CONNECT / HTTP/1.1\r\n",
        "CONNECT http://a:1/ HTTP/1.1\r\n", "CONNECT me@a:1 HTTP/1.1\r\n",
        "CONNECT a:1/ HTTP/1.1\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: b:1\r\n",
        "CONNECT a:1 HTTP/1.1\r\nHost: a:2\r\n", "CONNECT a:1 HTTP/1.1\r\nContent-Length: 1\r\n",
        "CONNECT a:1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n"})
    EXPECT_EQ(refused(line + "\r\n"s), 400u) << line;
}

TEST(HttpHead, IsForwardedInOriginForm) {
  const HttpHead head = head_of(
      "PUT HTTP://API.example.com:8080/a/../b?c=d HTTP/1.1\r\nAccept: */*\r\nHost: "
      "api.example.com:8080\r\n"
      "Proxy-Authorization: Basic eA==\r\nProxy-Connection: keep-alive\r\nConnection: keep-alive, "
      "X-Hop\r\n"
      "Keep-Alive: timeout=5\r\nX-HOP: 1\r\nTE: trailers\r\nTrailer: X\r\nCookie: a=b\r\n"
      "Content-Length: 0003\r\nX-End:  end \r\n\r\n");
  EXPECT_EQ(head.form, HttpHead::Form::absolute);
  EXPECT_EQ(head.target.text(), "api.example.com:8080");
  EXPECT_EQ(head.method, "PUT");
  EXPECT_EQ(head.path, "/a/../b");
  EXPECT_EQ(
      head.forwarded,
      "PUT /a/../b?c=d HTTP/1.1\r\nHost: api.example.com:8080\r\nAccept: */*\r\nCookie: a=b\r\n"
      "X-End: end\r\nContent-Length: 3\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(head.has_body);
  EXPECT_EQ(head.body_size, 3u);
}

TEST(HttpHead, OfEachFormIsRead) {
  const HttpHead origin = head_of("GET /x?y HTTP/1.1\r\nHost: A.example\r\n\r\n");
  EXPECT_EQ(origin.form, HttpHead::Form::origin);
  EXPECT_EQ(origin.target.text(), "a.example:80");
  EXPECT_EQ(origin.path, "/x");
  EXPECT_FALSE(origin.has_body);
  EXPECT_EQ(origin.forwarded, "GET /x?y HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(head_of("GET / HTTP/1.1\r\nHost: [2001:db8::1]:8080\r\n\r\n").target.text(),
            "[2001:db8::1]:8080");
  EXPECT_EQ(head_of("GET / HTTP/1.1\r\nHost: 192.0.2.7\r\n\r\n").forwarded,
            "GET / HTTP/1.1\r\nHost: 192.0.2.7\r\nConnection: close\r\n\r\n");
  const HttpHead bare = head_of("GET http://a.example?x HTTP/1.1\r\nHost: a.example:80\r\n\r\n");
  EXPECT_EQ(bare.path, "/");
  EXPECT_EQ(bare.forwarded, "GET /?x HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n");
  const HttpHead old = head_of("GET http://a.example/ HTTP/1.0\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(old.forwarded, "GET / HTTP/1.0\r\nHost: a.example\r\nConnection: close\r\n\r\n");
}

TEST(HttpHead, EndsWhereItsEmptyLineEnds) {
  const std::string head = "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
  const HeadResult result = read_in_pieces(head + "GET / HTTP/1.1\n");
  EXPECT_EQ(result.kind, HeadKind::head);
  EXPECT_EQ(result.size, head.size()) << "empty lines in front included";
  for (std::size_t size = 0; size < head.size(); ++size)
    EXPECT_EQ(read_head(std::string_view(head).substr(0, size)).kind, HeadKind::more) << size;
}

TEST(HttpHead, SaysHowLongTheBodyIs) {
  EXPECT_EQ(head_of(post("Content-Length: 18446744073709551615\r\n")).body_size,
            18446744073709551615u);
  EXPECT_FALSE(head_of(post("Content-Length: 0\r\n")).has_body);
  EXPECT_NE(head_of(post("Content-Length: 0\r\n")).forwarded.find("Content-Length: 0\r\n"),
            std::string::npos);
  const HttpHead chunked = head_of(post("transfer-encoding:  Chunked \r\n"));
  EXPECT_TRUE(chunked.is_chunked && chunked.has_body);
  EXPECT_NE(chunked.forwarded.find("\r\nTransfer-Encoding: chunked\r\n"), std::string::npos);
  EXPECT_TRUE(head_of(post("Expect: 100-Continue\r\nContent-Length: 3\r\n")).awaits_continue);
  EXPECT_NE(head_of(post("Expect: 100-continue\r\nContent-Length: 3\r\n")).forwarded.find("Expect"),
            std::string::npos);
  EXPECT_FALSE(head_of(post("Expect: 100-continue\r\n")).awaits_continue) << "there is no body";
}

TEST(HttpHead, WithABodyThatCouldEndInTwoPlacesIsRefused) {
  for (const char* fields : {"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
                             "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
                             "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                             "Transfer-Encoding: gzip, chunked\r\n",
                             "Transfer-Encoding: identity\r\n",
                             "Transfer-Encoding: xchunked\r\n",
                             "Transfer-Encoding: chunked, chunked\r\n",
                             "Transfer-Encoding: \"chunked\"\r\n",
                             "Transfer-Encoding:\r\n",
                             "Transfer-Encoding: chunked;a\r\n",
                             "Transfer-Encoding: \x0b"
                             "chunked\r\n",
                             "Transfer_Encoding: chunked\r\n",
                             "CONTENT_LENGTH: 3\r\n",
                             "Content-Length: 3\r\nContent-Length: 4\r\n",
                             "Content-Length: 3\r\nContent-Length: 3\r\n",
                             "Content-Length: +3\r\n",
                             "Content-Length: -3\r\n",
                             "Content-Length: 0x3\r\n",
                             "Content-Length: 3, 3\r\n",
                             "Content-Length: 3 3\r\n",
                             "Content-Length:\r\n",
                             "Content-Length: 18446744073709551616\r\n",
                             "Connection: Content-Length\r\nContent-Length: 3\r\n",
                             "Connection: close, transfer-encoding\r\n",
                             "Connection: host\r\n"})
    EXPECT_EQ(refused(post(fields)), 400u) << fields;
  EXPECT_EQ(refused("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"), 400u);
  EXPECT_EQ(refused(post("Expect: miracles\r\n")), 417u);
  EXPECT_EQ(refused(post("Expect: 100-continue\r\nExpect: 100-continue\r\n")), 417u);
}

TEST(HttpHead, ThatIsReadDifferentlyElsewhereIsRefused) {
  const std::string host = "Host: a\r\n", end = "\r\n";
  for (const std::string& bytes : {"GET / HTTP/1.1\nHost: a\n\n"s,
                                   "GET / HTTP/1.1\r\nHost: a\n\r\n"s,
                                   "GET / HTTP/1.1\r\nA: b\rHost: a\r\n\r\n"s,
                                   "GET / HTTP/1.1\r\n" + host + "A: b\r\n c\r\n" + end,
                                   "GET / HTTP/1.1\r\n Host: a\r\n" + end,
                                   "GET / HTTP/1.1\r\n" + host + "\tA: b\r\n" + end,
                                   "GET / HTTP/1.1\r\nHost : a\r\n" + end,
                                   "GET / HTTP/1.1\r\n" + host + "A\tb: c\r\n" + end,
                                   "GET / HTTP/1.1\r\n" + host + ": c\r\n" + end,
                                   "GET / HTTP/1.1\r\n" + host + "A\r\n" + end,
                                   "GET / HTTP/1.1\r\n" + host + "A(: b\r\n" + end,
                                   "GET / HTTP/1.1\r\n" + host + "A: \0\r\n"s + end,
                                   "GET / HTTP/1.1\r\n" + host + "A: \x7f\r\n" + end,
                                   "GET  / HTTP/1.1\r\n" + host + end,
                                   "GET /  HTTP/1.1\r\n" + host + end,
                                   "GET /\tHTTP/1.1\r\n" + host + end,
                                   " GET / HTTP/1.1\r\n" + host + end,
                                   "GET / HTTP/1.1 \r\n" + host + end,
                                   "GET /a b HTTP/1.1\r\n" + host + end,
                                   "GET /\xc3\xbc HTTP/1.1\r\n" + host + end,
                                   "G@T / HTTP/1.1\r\n" + host + end,
                                   "GET /\r\n" + host + end,
                                   "GET / http/1.1\r\n" + host + end,
                                   "\nGET / HTTP/1.1\r\n" + host + end,
                                   "\x16\3\1\0\xa5"s,
                                   "GET /" + end + end})
    EXPECT_EQ(refused(bytes), 400u) << bytes;
}

TEST(HttpHead, NamesOneHost) {
  for (const char* bytes : {"GET / HTTP/1.1\r\n\r\n",
                            "GET / HTTP/1.0\r\n\r\n",
                            "GET / HTTP/1.1\r\nHost:\r\n\r\n",
                            "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
                            "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n",
                            "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
                            "GET / HTTP/1.1\r\nHost: me@a\r\n\r\n",
                            "GET / HTTP/1.1\r\nHost: 127.1\r\n\r\n",
                            "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
                            "GET http://a/ HTTP/1.1\r\n\r\n",
                            "GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n",
                            "GET http://a/ HTTP/1.1\r\nHost: a:81\r\n\r\n",
                            "GET http://a:81/ HTTP/1.1\r\nHost: a\r\n\r\n",
                            "GET http://me@a/ HTTP/1.1\r\nHost: a\r\n\r\n",
                            "GET http:/// HTTP/1.1\r\nHost: a\r\n\r\n",
                            "GET http://a\\@b/ HTTP/1.1\r\nHost: a\r\n\r\n",
                            "GET http://a:80:80/ HTTP/1.1\r\nHost: a\r\n\r\n",
                            "GET http:/a HTTP/1.1\r\nHost: a\r\n\r\n",
                            "GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
                            "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
                            "GET a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
                            "GET /#x HTTP/1.1\r\nHost: a\r\n\r\n",
                            "GET http://a/#x HTTP/1.1\r\nHost: a\r\n\r\n",
                            "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"})
    EXPECT_EQ(refused(bytes), 400u) << bytes;
}

TEST(HttpHead, OfAMethodOrAVersionThatIsNotServedIsRefused) {
  EXPECT_EQ(refused("TRACE / HTTP/1.1\r\nHost: a\r\n\r\n"), 405u);
  EXPECT_EQ(refused("trace / HTTP/1.1\r\nHost: a\r\n\r\n"), 405u);
  EXPECT_EQ(refused("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505u);
  EXPECT_EQ(refused("GET / HTTP/1.2\r\nHost: a\r\n\r\n"), 505u);
  EXPECT_EQ(head_of("M-SEARCH / HTTP/1.1\r\nHost: a\r\n\r\n").method, "M-SEARCH");
}

TEST(HttpHead, IsNotTooLong) {
  const std::string begin = "GET / HTTP/1.1\r\nHost: a\r\nA: ", end = "\r\n\r\n";
  const std::string fits = begin + std::string(kMaxHead - begin.size() - end.size(), 'x') + end;
  EXPECT_EQ(head_of(fits).target.text(), "a:80");
  EXPECT_EQ(refused(begin + std::string(kMaxHead - begin.size() - end.size() + 1, 'x') + end),
            431u);
  EXPECT_EQ(refused("GET /" + std::string(kMaxHead, 'x')), 431u);
  EXPECT_EQ(refused(std::string(kMaxHead - 1, 'x')), 0u);
  std::string empty_lines;
  while (empty_lines.size() < kMaxHead) empty_lines += "\r\n";
  EXPECT_EQ(refused(empty_lines), 431u);
}

// Each field is looked for among what Connection lists: the time must not be the product of both.
TEST(HttpHead, OfManyFieldsAndOptionsIsReadAtOnce) {
  std::string text = "GET / HTTP/1.1\r\nHost: a\r\nConnection: ";
  for (int i = 0; i < 5000; ++i) text += "a,";
  text += "b\r\n";
  for (int i = 0; i < 4000; ++i) text += "c:\r\n";
  EXPECT_EQ(head_of(text + "\r\n").target.text(), "a:80");
}

TEST(HttpHead, AsksForAWebSocket) {
  const std::string ask = "GET /chat HTTP/1.1\r\nHost: a\r\nSec-WebSocket-Key: x\r\n";
  const HttpHead head =
      head_of(ask + "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n\r\n");
  EXPECT_TRUE(head.upgrades);
  EXPECT_EQ(head.forwarded,
            "GET /chat HTTP/1.1\r\nHost: a\r\nSec-WebSocket-Key: x\r\nConnection: Upgrade\r\n"
            "Upgrade: websocket\r\n\r\n");
  for (const char* fields :
       {"Upgrade: websocket\r\n", "Connection: upgrade\r\n",
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n",
        "Connection: upgrade\r\nUpgrade: websocket, h2c\r\n",
        "Connection: upgrade\r\nUpgrade: websocket\r\nUpgrade: websocket\r\n",
        "Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 3\r\n"}) {
    const HttpHead other = head_of(ask + fields + "\r\n");
    EXPECT_FALSE(other.upgrades) << fields;
    EXPECT_EQ(other.forwarded.find("Upgrade"), std::string::npos) << other.forwarded;
    EXPECT_EQ(other.forwarded.find("HTTP2"), std::string::npos) << other.forwarded;
  }
}

TEST(PlainAnswer, IsAnAnswer) {
  EXPECT_EQ(
      plain_answer(403, "api.example.com:443: no rule allows it."),
      "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\n"
      "Content-Length: 40\r\nConnection: close\r\n\r\napi.example.com:443: no rule allows it.\n");
  EXPECT_TRUE(plain_answer(502, "").starts_with("HTTP/1.1 502 Bad Gateway\r\n"));
}

}  // namespace
}  // namespace brig::egress
