#include "serve/gate.h"

#include <gtest/gtest.h>

namespace brig::serve {
namespace {

class Asked final : public Exchange {
 public:
  explicit Asked(std::vector<Header> headers, bool secure = false) {
    request.headers = std::move(headers);
    request.secure = secure;
  }
  void respond(Response response) override {
    status = response.status;
    answer = std::move(response);
  }
  void begin(Response) override {}
  void write(std::string_view) override {}
  void end() override {}
  std::size_t unsent() const override { return 0; }
  void on_gone(std::function<void()>) override {}

  unsigned status = 0;
  Response answer;
};

class GateOf : public testing::Test {
 protected:
  // 0: it is let in.
  unsigned status(std::vector<Header> headers, bool secure = false) {
    const Gate gate(options_, tokens_);
    Asked asked(std::move(headers), secure);
    const bool admitted = gate.admit(asked);
    EXPECT_EQ(admitted, asked.status == 0);
    return asked.status;
  }
  unsigned of_host(const std::string& host) { return status({{"host", host}}); }
  unsigned of_origin(const std::string& origin, const std::string& host = "localhost:7070",
                     bool secure = false) {
    return status({{"host", host}, {"origin", origin}}, secure);
  }
  GateOptions options_;
  Tokens tokens_;
};

TEST_F(GateOf, LocalhostAndAddressesAreHosts) {
  for (const char* host :
       {"localhost", "localhost:7070", "LocalHost:7070", "a.localhost", "127.0.0.1",
        "127.0.0.1:7070", "10.1.2.3:80", "[::1]", "[::1]:7070", "[fe80::1]:80"})
    EXPECT_EQ(of_host(host), 0u) << host;
  EXPECT_EQ(status({}), 0u) << "HTTP/1.0 has none";
}

TEST_F(GateOf, OtherNamesAreNot) {
  for (const char* host :
       {"evil.example.com", "evil.example.com:7070", "localhost.evil.com", "notlocalhost",
        "127.0.0.1.evil.com", "127.0.0.1evil", "[::1", "[]", "::1", "[evil.com]", "0x7f.1", "127.1",
        "localhost@evil.com", "evil.com#localhost"})
    EXPECT_EQ(of_host(host), 403u) << host;
}

TEST_F(GateOf, ANameThatIsAllowedIsAHost) {
  options_.hosts = {"brig.example.org"};
  EXPECT_EQ(of_host("brig.example.org"), 0u);
  EXPECT_EQ(of_host("BRIG.example.org:443"), 0u);
  EXPECT_EQ(of_host("x.brig.example.org"), 403u);
  EXPECT_EQ(of_host("example.org"), 403u);
}

TEST_F(GateOf, NamesHaveNoCase) {
  options_.hosts = {"Brig.Example.org"};
  options_.origins = {"https://Pages.Example.org"};
  EXPECT_EQ(of_host("brig.example.org"), 0u);
  EXPECT_EQ(of_host("Brig.Example.org"), 0u);
  EXPECT_EQ(of_origin("https://pages.example.org"), 0u) << "as browsers send it";
}

TEST_F(GateOf, TheOwnOriginMayAsk) {
  EXPECT_EQ(of_origin("http://localhost:7070"), 0u);
  EXPECT_EQ(of_origin("HTTP://LOCALHOST:7070"), 0u);
  EXPECT_EQ(of_origin("http://[::1]:7070", "[::1]:7070"), 0u);
  EXPECT_EQ(of_origin("https://localhost:7070", "localhost:7070", true), 0u);
}

TEST_F(GateOf, OtherOriginsMayNot) {
  for (const char* origin :
       {"null", "", "http://evil.example.com", "http://localhost", "http://localhost:7071",
        "https://localhost:7070", "http://localhost:7070/", "http://localhost:7070.evil.com",
        "http://127.0.0.1:7070", "localhost:7070", "file://"})
    EXPECT_EQ(of_origin(origin), 403u) << origin;
  EXPECT_EQ(of_origin("http://localhost:7070", "localhost:7070", true), 403u) << "of plain text";
}

TEST_F(GateOf, AnOriginThatIsAllowedMayAsk) {
  options_.origins = {"https://pages.example.org"};
  EXPECT_EQ(of_origin("https://pages.example.org"), 0u);
  EXPECT_EQ(of_origin("https://pages.example.org.evil.com"), 403u);
  EXPECT_EQ(of_origin("http://pages.example.org"), 403u);
}

TEST_F(GateOf, ARequestHasOneOrigin) {
  EXPECT_EQ(status({{"host", "localhost"},
                    {"origin", "http://localhost"},
                    {"origin", "http://evil.example.com"}}),
            403u);
}

TEST_F(GateOf, ARebindingPageIsStoppedByItsHostThoughItsOriginFits) {
  EXPECT_EQ(of_origin("http://evil.example.com", "evil.example.com"), 403u);
}

TEST_F(GateOf, WithoutTokensEverybodyIsKnown) {
  Asked asked({});
  EXPECT_TRUE(Gate(options_, tokens_).identify(asked));
  EXPECT_EQ(asked.status, 0u);
}

TEST_F(GateOf, ATokenIsWantedAndItIsSaidHow) {
  tokens_ = Tokens::from_text("0123456789abcdef", "t");
  const Gate gate(options_, tokens_);
  const std::string good = "Bearer 0123456789abcdef";
  for (const auto& headers :
       {std::vector<Header>{}, std::vector<Header>{{"authorization", "Bearer 0123456789abcdeg"}},
        std::vector<Header>{{"authorization", good}, {"authorization", good}}}) {
    Asked asked(headers);
    EXPECT_FALSE(gate.identify(asked));
    EXPECT_EQ(asked.status, 401u);
    EXPECT_EQ(asked.answer.type, "application/problem+json");
    ASSERT_EQ(asked.answer.headers.size(), 1u);
    EXPECT_EQ(asked.answer.headers[0].name, "WWW-Authenticate");
    EXPECT_EQ(asked.answer.headers[0].value.rfind("Bearer", 0), 0u);
    EXPECT_EQ(asked.answer.body.find("0123456789"), std::string::npos) << asked.answer.body;
  }
  Asked asked({{"authorization", good}});
  EXPECT_TRUE(gate.identify(asked));
}

}  // namespace
}  // namespace brig::serve
