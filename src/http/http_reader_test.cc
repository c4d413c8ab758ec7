#include "http/http_reader.h"

#include <gtest/gtest.h>

namespace brig::serve {
namespace {

constexpr std::size_t kHead = 512, kBody = 1024;
const std::string kHost = "Host: here\r\n";

// What is made of these bytes: a line per request, or the status of the refusal.
std::vector<std::string> read(std::string_view bytes, std::size_t piece = std::string::npos) {
  HttpReader reader(kHead, kBody);
  std::vector<std::string> all;
  while (!bytes.empty()) {
    const std::string_view now = bytes.substr(0, piece);
    bytes.remove_prefix(now.size());
    reader.append(now.data(), now.size());
    for (HttpReader::Step step; (step = reader.next()) != HttpReader::Step::more;) {
      if (step == HttpReader::Step::refused) {
        all.push_back(std::to_string(reader.refusal().status));
        return all;
      }
      if (step == HttpReader::Step::head) continue;
      const HttpReader::Message message = reader.take();
      const Request& request = message.request;
      std::string line = request.method + " " + request.path;
      if (!request.query.empty()) line += " ?" + request.query;
      if (!request.body.empty()) line += " =" + request.body;
      if (!message.keep_alive) line += " close";
      if (message.old) line += " old";
      all.push_back(line);
    }
  }
  if (reader.begun()) all.push_back("...");
  return all;
}

using Lines = std::vector<std::string>;

std::string post(const std::string& headers, const std::string& body) {
  return "POST / HTTP/1.1\r\n" + kHost + headers + "\r\n" + body;
}

TEST(HttpReader, ReadsWhatIsWhole) {
  EXPECT_EQ(read("GET /a%20b?c=d HTTP/1.1\r\n" + kHost + "\r\n"), Lines{"GET /a%20b ?c=d"});
  EXPECT_EQ(read(post("Content-Length: 3\r\n", "abc")), Lines{"POST / =abc"});
  EXPECT_EQ(read(post("Transfer-Encoding: chunked\r\n", "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")),
            Lines{"POST / =abc"});
  EXPECT_EQ(read("GET / HTTP/1.0\r\n\r\n"), Lines{"GET / close old"});
  EXPECT_EQ(read("GET / HTTP/1.1\r\n" + kHost + "Connection: close\r\n\r\n"), Lines{"GET / close"});
}

TEST(HttpReader, MakesTheSameOfItInPieces) {
  const std::string both =
      post("Transfer-Encoding: chunked\r\n", "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n") +
      "GET /next HTTP/1.1\r\n" + kHost + "\r\n";
  for (std::size_t piece = 1; piece <= both.size(); ++piece)
    EXPECT_EQ(read(both, piece), (Lines{"POST / =abc", "GET /next"})) << piece;
}

TEST(HttpReader, WaitsForTheRest) {
  EXPECT_EQ(read("GET / HT"), Lines{"..."});
  EXPECT_EQ(read(post("Content-Length: 3\r\n", "ab")), Lines{"..."});
  EXPECT_EQ(read(post("Transfer-Encoding: chunked\r\n", "2\r\nab\r\n0\r\n")), Lines{"..."});
}

TEST(HttpReader, BoundsWhatItKeeps) {
  const std::string much(kHead, 'x');
  EXPECT_EQ(read("GET / HTTP/1.1\r\nX: " + much + "\r\n\r\n"), Lines{"431"});
  EXPECT_EQ(read("GET /" + much), Lines{"431"});
  EXPECT_EQ(read("GET /" + much, 1), Lines{"431"});
  EXPECT_EQ(read(post("Content-Length: " + std::to_string(kBody + 1) + "\r\n", "")), Lines{"413"});
  std::string chunks;
  for (std::size_t i = 0; i <= kBody / 256; ++i)
    chunks += "100\r\n" + std::string(256, 'x') + "\r\n";
  EXPECT_EQ(read(post("Transfer-Encoding: chunked\r\n", chunks)), Lines{"413"});
  // Of a chunk's own head, and of what follows the last.
  EXPECT_EQ(read(post("Transfer-Encoding: chunked\r\n", "1;" + much)), Lines{"431"});
  EXPECT_EQ(read(post("Transfer-Encoding: chunked\r\n", "0\r\nX: " + much)), Lines{"431"});
}

TEST(HttpReader, RefusesABodyWithTwoEnds) {
  for (const char* headers :
       {"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: xchunked\r\n", "Content-Length: 3\r\nContent-Length: 4\r\n",
        "Content-Length: 3\r\nContent-Length: 3\r\n", "Content-Length: +3\r\n",
        "Content-Length: 0x3\r\n", "Content-Length: 3, 3\r\n"})
    EXPECT_EQ(read(post(headers, "abc")), Lines{"400"}) << headers;
  EXPECT_EQ(read("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), Lines{"400"});
}

TEST(HttpReader, RefusesWhatIsNoRequest) {
  EXPECT_EQ(read("GET / HTTP/1.1\r\n\r\n"), Lines{"400"}) << "no Host";
  EXPECT_EQ(read("GET / HTTP/1.1\r\n" + kHost + kHost + "\r\n"), Lines{"400"}) << "two";
  EXPECT_EQ(read("GET / HTTP/1.0\r\n" + kHost + kHost + "\r\n"), Lines{"400"});
  EXPECT_EQ(read("OPTIONS * HTTP/1.1\r\n" + kHost + "\r\n"), Lines{"400"});
  EXPECT_EQ(read("GET /#a HTTP/1.1\r\n" + kHost + "\r\n"), Lines{"400"});
  EXPECT_EQ(read("GET / HTTP/1.1\r\nHost: here\n\n"), Lines{"400"}) << "bare line feeds";
  EXPECT_EQ(read("GET / HTTP/1.1\r\n" + kHost + "A: b\r\n c\r\n" + "X : y\r\n\r\n"), Lines{"400"});
  EXPECT_EQ(read("GET / HTTP/2.0\r\n" + kHost + "\r\n"), Lines{"505"});
  EXPECT_EQ(read("\x16\x03\x01 TLS"), Lines{"400"});
  EXPECT_EQ(read(post("Expect: miracles\r\nContent-Length: 3\r\n", "")), Lines{"417"});
  // And what follows it is nobody's request.
  EXPECT_EQ(read("GET / HTTP/1.1\r\n\r\nGET /next HTTP/1.1\r\n" + kHost + "\r\n"), Lines{"400"});
}

TEST(HttpReader, ForgetsTrailers) {
  const std::string bytes =
      post("Transfer-Encoding: chunked\r\n", "1\r\na\r\n0\r\nAuthorization: Bearer x\r\n\r\n");
  HttpReader reader(kHead, kBody);
  reader.append(bytes.data(), bytes.size());
  ASSERT_EQ(reader.next(), HttpReader::Step::head);
  ASSERT_EQ(reader.next(), HttpReader::Step::request);
  EXPECT_FALSE(reader.take().request.header("authorization"));
}

TEST(HttpReader, SaysWhenABodyIsWaitedFor) {
  const auto awaits = [](const std::string& bytes) {
    HttpReader reader(kHead, kBody);
    reader.append(bytes.data(), bytes.size());
    EXPECT_EQ(reader.next(), HttpReader::Step::head);
    return reader.awaits_continue();
  };
  const std::string expect = "Expect: 100-continue\r\n";
  EXPECT_TRUE(awaits(post(expect + "Content-Length: 3\r\n", "")));
  EXPECT_FALSE(awaits(post(expect + "Content-Length: 3\r\n", "a"))) << "it comes already";
  EXPECT_FALSE(awaits(post(expect + "Content-Length: 0\r\n", ""))) << "there is none";
  EXPECT_FALSE(awaits(post("Content-Length: 3\r\n", "")));
}

TEST(HttpReaderTarget, OfAnAbsoluteTargetTheAuthorityIsTheHost) {
  const auto asked = [](const std::string& target) {
    HttpReader reader(1024, 1024);
    const std::string text = "GET " + target + " HTTP/1.1\r\nHost: said\r\n\r\n";
    reader.append(text.data(), text.size());
    if (reader.next() != HttpReader::Step::head) return std::to_string(reader.refusal().status);
    const Request& request = reader.head().request;
    return *request.header("host") + " " + request.path + " " + request.query;
  };
  EXPECT_EQ(asked("/a?b"), "said /a b");
  EXPECT_EQ(asked("http://here:7070/a?b"), "here:7070 /a b");
  EXPECT_EQ(asked("HTTPS://evil.example.com"), "evil.example.com / ");
  EXPECT_EQ(asked("http://here?x=/y"), "here / x=/y");
  EXPECT_EQ(asked("/http://here/"), "said /http://here/ ") << "a path";
  for (const char* target : {"http://", "http:///a", "http://me@here/", "http://here/#x",
                             "ftp://here/", "here:80", "http:/here/", "*"})
    EXPECT_EQ(asked(target), "400") << target;
}

}  // namespace
}  // namespace brig::serve
