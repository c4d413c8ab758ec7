#include "serve/gate.h"

#include <gtest/gtest.h>

namespace brig::serve {
namespace {

class Asked final : public Exchange {
 public:
  explicit Asked(std::vector<Header> sent, bool secure = false) {
    request.headers = std::move(sent);
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

class GatePages : public GateOf {
 protected:
  GatePages() { options_.origins = {"https://pages.example.org"}; }
  // What is sent with whatever is answered, or with the answer.
  static std::string header(const Asked& asked, const std::string& name) {
    for (const auto* list : {&asked.headers, &asked.answer.headers})
      for (const Header& each : *list)
        if (each.name == name) return each.value;
    return "";
  }
  bool admit(Asked& asked) { return Gate(options_, tokens_).admit(asked); }
};

TEST_F(GatePages, MayReadTheAnswersOfTheirOriginAlone) {
  Asked asked({{"host", "localhost"}, {"origin", "https://pages.example.org"}});
  EXPECT_TRUE(admit(asked));
  EXPECT_EQ(header(asked, "Access-Control-Allow-Origin"), "https://pages.example.org");
  EXPECT_NE(header(asked, "Access-Control-Expose-Headers").find("Brig-Call-Id"), std::string::npos);
  EXPECT_EQ(header(asked, "Vary"), "Origin");
  EXPECT_EQ(header(asked, "Access-Control-Allow-Credentials"), "");
  for (const char* origin : {"https://other.example.org", "null", "http://localhost"}) {
    Asked other({{"host", "localhost"}, {"origin", origin}});
    admit(other);
    EXPECT_EQ(header(other, "Access-Control-Allow-Origin"), "") << origin;
    EXPECT_EQ(header(other, "Vary"), "Origin") << "a cache must not mix them up";
  }
}

TEST_F(GatePages, AreToldBeforeTheyAskWhatTheyMaySend) {
  Asked asked({{"host", "localhost"},
               {"origin", "https://pages.example.org"},
               {"access-control-request-method", "POST"},
               {"access-control-request-headers",
                "authorization,Content-Type, mcp-param-x,x-evil,cookie,mcp-\r"}});
  asked.request.method = "OPTIONS";
  EXPECT_FALSE(admit(asked));
  EXPECT_EQ(asked.status, 204u);
  EXPECT_EQ(header(asked, "Access-Control-Allow-Methods"), "GET, HEAD, POST, DELETE");
  EXPECT_EQ(header(asked, "Access-Control-Allow-Headers"),
            "authorization, content-type, mcp-param-x");
  EXPECT_EQ(header(asked, "Access-Control-Allow-Origin"), "https://pages.example.org");
  Asked other({{"host", "localhost"},
               {"origin", "https://other.example.org"},
               {"access-control-request-method", "POST"}});
  other.request.method = "OPTIONS";
  EXPECT_FALSE(admit(other));
  EXPECT_EQ(other.status, 403u);
  EXPECT_EQ(header(other, "Access-Control-Allow-Methods"), "");
}

TEST_F(GatePages, WithoutAnyThereAreNoSuchHeaders) {
  options_.origins.clear();
  Asked asked({{"host", "localhost"}, {"origin", "http://localhost"}});
  EXPECT_TRUE(admit(asked));
  EXPECT_TRUE(asked.headers.empty());
}

TEST(GateOrigin, IsWrittenAsBrowsersSendIt) {
  for (const char* good : {"https://example.org", "http://localhost:3000", "http://[::1]:80",
                           "chrome-extension://abcdef"})
    EXPECT_TRUE(is_origin(good)) << good;
  for (const char* bad : {"*", "", "null", "example.org", "https://", "https://example.org/",
                          "https://*.example.org", "https://a@b", "://x", "https://a b"})
    EXPECT_FALSE(is_origin(bad)) << bad;
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
