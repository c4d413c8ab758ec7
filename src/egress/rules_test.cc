#include "egress/rules.h"

#include <gtest/gtest.h>

#include <brig/error.h>

namespace brig::egress {
namespace {

Address at(const char* text) { return Address::parse(text).value(); }

TEST(Rules, AllowWhatTheyList) {
  const Rules rules({"api.example.com", "*.pypi.org:80", "intranet:8080"}, {});
  EXPECT_TRUE(rules.judge_name("api.example.com", 443).allowed);
  EXPECT_EQ(rules.judge_name("api.example.com", 443).rule, "api.example.com:443");
  EXPECT_TRUE(rules.judge_name("files.pypi.org", 80).allowed);
  EXPECT_TRUE(rules.judge_name("a.b.pypi.org", 80).allowed) << "at any depth";
  EXPECT_EQ(rules.judge_name("a.b.pypi.org", 80).rule, "*.pypi.org:80");
  EXPECT_TRUE(rules.judge_name("intranet", 8080).allowed);
  for (const auto& [name, port] :
       std::initializer_list<std::pair<const char*, std::uint16_t>>{{"api.example.com", 80},
                                                                    {"www.api.example.com", 443},
                                                                    {"example.com", 443},
                                                                    {"xapi.example.com", 443},
                                                                    {"pypi.org", 80},
                                                                    {"xpypi.org", 80},
                                                                    {".pypi.org", 80},
                                                                    {"files.pypi.org", 443},
                                                                    {"", 443}}) {
    const Rules::Verdict verdict = rules.judge_name(name, port);
    EXPECT_FALSE(verdict.allowed) << name;
    EXPECT_EQ(verdict.why, "no rule allows it");
    EXPECT_EQ(verdict.rule, "");
  }
}

TEST(Rules, ThatDenyWin) {
  const Rules rules({"*.github.com", "a.example:22"}, {"gist.github.com", "*.example:80"});
  EXPECT_TRUE(rules.judge_name("api.github.com", 443).allowed);
  const Rules::Verdict verdict = rules.judge_name("gist.github.com", 443);
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.rule, "gist.github.com");
  EXPECT_EQ(verdict.why, "network.deny has gist.github.com");
  EXPECT_TRUE(rules.judge_name("a.example", 22).allowed) << "denied for another port";
}

TEST(Rules, ForNamesCoverNoAddress) {
  const Rules rules({"*.example:80", "10.0.0.0/8:5432", "[2001:db8::]/32:443"}, {"10.9.0.0/16"});
  EXPECT_EQ(rules.judge_address(at("10.2.3.4"), 5432).rule, "10.0.0.0/8:5432");
  EXPECT_TRUE(rules.judge_address(at("10.2.3.4"), 5432).allowed);
  EXPECT_TRUE(rules.judge_address(at("::ffff:10.2.3.4"), 5432).allowed);
  EXPECT_TRUE(rules.judge_address(at("2001:db8::1"), 443).allowed);
  EXPECT_EQ(rules.judge_address(at("10.2.3.4"), 80).why, "no rule allows it");
  EXPECT_EQ(rules.judge_address(at("1.1.1.1"), 80).why, "no rule allows it");
  EXPECT_EQ(rules.judge_address(at("10.9.3.4"), 5432).why, "network.deny has 10.9.0.0/16");
}

TEST(Rules, CoverTheAddressInsideOfAnother) {
  const Rules rules({"[2000::]/3:443", "[64:ff9b::]/96:443"}, {"10.0.0.0/8"});
  EXPECT_TRUE(rules.judge_address(at("2600::1"), 443).allowed);
  for (const char* text : {"2002:a00:1::1", "64:ff9b::10.0.0.1", "2001:0:101:101::f5ff:fffe"}) {
    EXPECT_EQ(rules.judge_address(at(text), 443).why, "network.deny has 10.0.0.0/8") << text;
    EXPECT_EQ(rules.judge_resolved(at(text), 443).why, "network.deny has 10.0.0.0/8") << text;
  }
}

TEST(Rules, JudgeWhatANameLeadsTo) {
  const Rules rules({"a.example", "10.2.0.0/16:443", "203.0.113.0/24:80"},
                    {"192.0.2.0/24", "1.0.0.0/8:443"});
  EXPECT_TRUE(rules.judge_resolved(at("9.9.9.9"), 443).allowed) << "public";
  EXPECT_EQ(rules.judge_resolved(at("9.9.9.9"), 443).rule, "");
  EXPECT_EQ(rules.judge_resolved(at("10.2.3.4"), 443).rule, "10.2.0.0/16:443") << "listed";
  EXPECT_TRUE(rules.judge_resolved(at("10.2.3.4"), 443).allowed);
  EXPECT_TRUE(rules.judge_resolved(at("203.0.113.7"), 80).allowed);
  const auto why = [&](const char* text, std::uint16_t port = 443) {
    const Rules::Verdict verdict = rules.judge_resolved(at(text), port);
    EXPECT_FALSE(verdict.allowed) << text;
    return verdict.why;
  };
  EXPECT_EQ(why("10.2.3.4", 80), "10.2.3.4 is a private network") << "listed for another port";
  EXPECT_EQ(why("10.3.3.4"), "10.3.3.4 is a private network");
  EXPECT_EQ(why("169.254.169.254"),
            "169.254.169.254 is link-local, where clouds keep their metadata");
  EXPECT_EQ(why("127.0.0.1"), "127.0.0.1 is this machine");
  EXPECT_EQ(why("::1"), "::1 is this machine");
  EXPECT_EQ(why("64:ff9b::10.0.0.1"), "64:ff9b::a00:1 is a private network");
  EXPECT_EQ(why("192.0.2.7"), "network.deny has 192.0.2.0/24");
  EXPECT_EQ(why("1.1.1.1"), "network.deny has 1.0.0.0/8:443");
  EXPECT_TRUE(rules.judge_resolved(at("1.1.1.1"), 80).allowed);
}

TEST(Rules, KnowTheNamesThatAnyPortIsAllowedFor) {
  const Rules rules(
      {"a.example:22", "*.b.example:1", "c.example:80", "c.example:443", "d.example:1"},
      {"c.example:80", "d.example", "x.b.example"});
  EXPECT_TRUE(rules.knows_name("a.example"));
  EXPECT_TRUE(rules.knows_name("y.x.b.example"));
  EXPECT_TRUE(rules.knows_name("c.example")) << "for the other port";
  for (const char* name : {"b.example", "d.example", "x.b.example", "e.example", ""})
    EXPECT_FALSE(rules.knows_name(name)) << name;
}

TEST(Rules, TellTheirPorts) {
  const Rules rules({"a.example:8080", "b.example", "c.example:22", "10.0.0.0/8:8080"}, {"d:1"});
  EXPECT_EQ(rules.ports(), (std::vector<std::uint16_t>{22, 443, 8080}));
  EXPECT_TRUE(Rules({}, {}).ports().empty());
  EXPECT_FALSE(Rules({}, {}).judge_name("a.example", 443).allowed);
}

TEST(Rules, AreRefusedIfOneIsNone) {
  const auto fault = [](std::vector<std::string> allow, std::vector<std::string> deny) {
    try {
      const Rules rules(allow, deny);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::config);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(fault({"a.example", "*"}, {}).find("network.allow: '*': "), 0u);
  EXPECT_EQ(fault({"a.example"}, {"a.example:0"}).find("network.deny: 'a.example:0': "), 0u);
  EXPECT_EQ(fault({"a.example"}, {"b.example", "b.example"}), "") << "twice is fine";
}

}  // namespace
}  // namespace brig::egress
