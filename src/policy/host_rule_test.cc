#include "policy/host_rule.h"

#include <gtest/gtest.h>

namespace brig {
namespace {

// The rule as text, or what is wrong with it.
std::string rule(std::string_view text, RuleList list = RuleList::allow) {
  std::string fault;
  const auto parsed = parse_host_rule(text, list, fault);
  EXPECT_EQ(parsed.has_value(), fault.empty()) << text;
  return parsed ? to_text(*parsed) : fault;
}

std::string denied(std::string_view text) { return rule(text, RuleList::deny); }

TEST(HostRule, IsANameWithAPort) {
  EXPECT_EQ(rule("api.github.com:8443"), "api.github.com:8443");
  EXPECT_EQ(rule("API.GitHub.com.:22"), "api.github.com:22");
  EXPECT_EQ(rule("a_b-c.example:1"), "a_b-c.example:1");
  EXPECT_EQ(rule("intranet:65535"), "intranet:65535");
  EXPECT_EQ(rule("xn--bcher-kva.example:0443"), "xn--bcher-kva.example:443");
}

TEST(HostRule, MeansOnePortInAllowAndAllInDeny) {
  EXPECT_EQ(rule("a.example"), "a.example:443");
  EXPECT_EQ(denied("a.example"), "a.example");
  EXPECT_EQ(denied("a.example:443"), "a.example:443");
  EXPECT_EQ(rule("192.0.2.7"), "192.0.2.7:443");
  EXPECT_EQ(denied("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(denied("2001:db8::/32"), "[2001:db8::]/32");
}

TEST(HostRule, MayBeForAllNamesBelowOne) {
  std::string fault;
  const auto below = parse_host_rule("*.PyPI.org:443", RuleList::allow, fault);
  ASSERT_TRUE(below);
  EXPECT_EQ(below->kind, HostRule::Kind::below);
  EXPECT_EQ(below->name, "pypi.org");
  EXPECT_EQ(rule("*.pypi.org"), "*.pypi.org:443");
  EXPECT_EQ(rule("*.com:80"), "*.com:80");
}

TEST(HostRule, MayBeForAddresses) {
  for (const char* text : {"10.2.0.0/16:5432", "192.0.2.7:80", "[2001:db8::]/32:443",
                           "[2001:db8::1]:443", "[::1]:80", "128.0.0.0/1:1"})
    EXPECT_EQ(rule(text), text);
  EXPECT_EQ(rule("10.0.0.0/8"), "10.0.0.0/8:443");
  EXPECT_EQ(rule("2001:db8::/32"), "[2001:db8::]/32:443");
  EXPECT_EQ(rule("2001:DB8::1"), "[2001:db8::1]:443");
  EXPECT_EQ(rule("[2001:db8::1]"), "[2001:db8::1]:443");
  EXPECT_EQ(rule("[2001:db8::1]/128:1"), "[2001:db8::1]:1");
  EXPECT_EQ(rule("192.0.2.7/32:1"), "192.0.2.7:1");
  EXPECT_EQ(rule("[::ffff:10.0.0.0]/104:1"), "10.0.0.0/8:1") << "v4-mapped";
  std::string fault;
  const auto network = parse_host_rule("10.2.0.0/16:5432", RuleList::allow, fault);
  ASSERT_TRUE(network);
  EXPECT_EQ(network->kind, HostRule::Kind::addresses);
  EXPECT_EQ(network->address, *parse_ip("10.2.0.0"));
  EXPECT_EQ(network->prefix, 96u + 16u);
  EXPECT_EQ(network->port, 5432);
}

TEST(HostRule, TakesAStarForNothingElse) {
  for (const char* text : {"*", "*:443", "*.", "*.:443"}) {
    EXPECT_NE(rule(text).find("every host"), std::string::npos) << rule(text);
    EXPECT_NE(denied(text).find("every host"), std::string::npos) << denied(text);
  }
  EXPECT_EQ(rule("api.*.com:443"),
            "'api.*.com:443': '*' stands for whole parts at the front of a name, once; write "
            "'*.com:443'");
  for (const char* text :
       {"a*.example.com", "**.example.com", "*a.example.com", "*.*.example.com", "x.*.example.com"})
    EXPECT_NE(rule(text).find("write '*.example.com:443'"), std::string::npos) << rule(text);
  EXPECT_NE(rule("www.example.*").find("'*.example.com:443'"), std::string::npos);
  EXPECT_NE(rule("*.127.0.0.1").find("address"), std::string::npos);
}

TEST(HostRule, SaysWhatToWriteInsteadOfAnUrl) {
  EXPECT_EQ(rule("https://api.example.com/v1?x"),
            "'https://api.example.com/v1?x': a scheme; rules are about hosts and ports: write "
            "'api.example.com:443'");
  EXPECT_NE(rule("http://a.example/").find("write 'a.example:80'"), std::string::npos);
  EXPECT_NE(rule("HTTP://a.example:8080").find("write 'a.example:8080'"), std::string::npos);
  EXPECT_NE(rule("http://[2001:db8::1]/x").find("write '[2001:db8::1]:80'"), std::string::npos);
  EXPECT_NE(rule("https://me@a.example").find("write 'a.example:443'"), std::string::npos);
  EXPECT_NE(rule("https:///x").find("'api.example.com:443'"), std::string::npos) << "an example";
  EXPECT_NE(rule("me:pass@a.example:22").find("write 'a.example:22'"), std::string::npos);
  EXPECT_EQ(rule("a.example/api"),
            "'a.example/api': a path; rules are about hosts and ports: write 'a.example:443'");
  EXPECT_NE(rule("a.example:80/api").find("write 'a.example:80'"), std::string::npos);
  EXPECT_NE(denied("a.example/").find("write 'a.example'"), std::string::npos);
}

TEST(HostRule, HasAPortThatExists) {
  for (const char* port :
       {"0", "65536", "99999999999999999999", "http", "", "-1", "+1", "8000-8010", "443:443"})
    EXPECT_FALSE(rule(std::string("a.example:") + port).starts_with("a.example")) << port;
  EXPECT_EQ(rule("a.example:0"), "'a.example:0': '0' is no port; write a number from 1 to 65535");
  EXPECT_NE(rule("a.example:*").find("an entry for each port"), std::string::npos);
  EXPECT_NE(denied("a.example:*").find("leave it out"), std::string::npos);
  EXPECT_NE(rule("[::1]:0").find("no port"), std::string::npos);
  EXPECT_NE(rule(":443").find("no host"), std::string::npos);
}

TEST(HostRule, IsNoNameThatLooksLikeANumber) {
  for (const char* text : {"127.1", "2130706433", "0x7f.1", "0x7f000001", "1.2.3.4.5", "256.1.1.1",
                           "010.0.0.1", "a.1", "a.0x1", "a.0X", "1.2.3.4."})
    EXPECT_NE(rule(text).find("take it for an address"), std::string::npos) << rule(text);
}

TEST(HostRule, IsNoNameThatTheDnsDoesNotHave) {
  EXPECT_NE(rule("b\xc3\xbc"
                 "cher.example")
                .find("'xn--'"),
            std::string::npos);
  EXPECT_NE(rule("a..example").find("two dots"), std::string::npos);
  EXPECT_NE(rule(".example.com").find("'*.example.com'"), std::string::npos);
  EXPECT_NE(rule("a b.example").find("a space"), std::string::npos);
  EXPECT_NE(rule(std::string_view("a\0.example", 10)).find("control"), std::string::npos);
  EXPECT_NE(rule("a.example,b.example").find("a comma"), std::string::npos);
  EXPECT_NE(rule("a$.example").find("'$'"), std::string::npos);
  EXPECT_NE(rule(std::string(64, 'a') + ".example").find("63 bytes"), std::string::npos);
  EXPECT_EQ(rule(std::string(63, 'a') + ".example"), std::string(63, 'a') + ".example:443");
  std::string longest;
  for (int i = 0; i < 126; ++i) longest += "a.";
  EXPECT_EQ(rule(longest + "a"), longest + "a:443");
  EXPECT_NE(rule(longest + "aa").find("253 bytes"), std::string::npos);
  EXPECT_NE(rule(std::string(100'000, '*')).find("longer"), std::string::npos);
  EXPECT_NE(rule("").find("empty"), std::string::npos);
}

TEST(HostRule, SaysWhatNetworkAnAddressIsIn) {
  EXPECT_EQ(rule("10.2.3.4/16:5432"),
            "'10.2.3.4/16:5432': not the first address of a network; write '10.2.0.0/16:5432', or "
            "'10.2.3.4:5432' for that address");
  EXPECT_NE(denied("2001:db8::1/32").find("write '[2001:db8::]/32',"), std::string::npos);
  EXPECT_NE(rule("[::ffff:10.0.0.0]/80").find("not the first"), std::string::npos);
  for (const char* text : {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "10.0.0.0/08", "10.0.0.0/8/8",
                           "[2001:db8::]/129", "10.0.0.0/255.0.0.0"})
    EXPECT_NE(rule(text).find("is no prefix"), std::string::npos) << rule(text);
}

TEST(HostRule, AllowsNoNetworkOfAllAddresses) {
  for (const char* text : {"0.0.0.0/0", "::/0", "[::]/0:80", "[::ffff:0:0]/96:80"}) {
    EXPECT_NE(rule(text).find("every address"), std::string::npos) << text;
    EXPECT_EQ(denied(text).find("every address"), std::string::npos) << text;
  }
}

TEST(HostRule, HasBracketsAroundIpv6AndNothingElse) {
  EXPECT_NE(rule("2001:db8::/32:443").find("write '[2001:db8::]/32:443'"), std::string::npos);
  EXPECT_NE(rule("[192.0.2.7]:80").find("write '192.0.2.7:80'"), std::string::npos);
  EXPECT_NE(rule("10.0.0.0:80/8").find("write '10.0.0.0/8:80'"), std::string::npos);
  EXPECT_NE(rule("[2001:db8::]:80/32").find("write '[2001:db8::]/32:80'"), std::string::npos);
  EXPECT_NE(rule("[fe80::1%eth0]:80").find("without a zone"), std::string::npos);
  for (const char* text : {"[a.example]:80", "[2001:db8::1", "[::1]80", "[::1]x:80", "a:b:c",
                           "[]:80", "[[::1]]:80", "::1]:80", "[2001:db8::/32]:443", "1:2:3:4"})
    EXPECT_EQ(rule(text).front(), '\'') << text;
}

TEST(HostRule, ThatADenyRuleCoversHasNoEffect) {
  const auto why = [](const char* allow, const char* deny) {
    std::string fault;
    return why_without_effect(*parse_host_rule(allow, RuleList::allow, fault),
                              {*parse_host_rule("other.example", RuleList::deny, fault),
                               *parse_host_rule(deny, RuleList::deny, fault)});
  };
  EXPECT_EQ(why("a.example:443", "a.example"),
            "'a.example:443': network.deny has 'a.example', which covers it; remove one of them");
  for (const auto& [allow, deny] : std::initializer_list<std::pair<const char*, const char*>>{
           {"a.example:80", "a.example:80"},
           {"a.b.example", "*.example"},
           {"*.example", "*.example"},
           {"*.b.example", "*.example"},
           {"192.0.2.7", "192.0.2.0/24"},
           {"10.2.0.0/16:1", "10.0.0.0/8"},
           {"[2001:db8::1]:80", "[2001:db8::]/32:80"}})
    EXPECT_NE(why(allow, deny), "") << allow << " " << deny;
  for (const auto& [allow, deny] :
       std::initializer_list<std::pair<const char*, const char*>>{{"a.example:80", "a.example:443"},
                                                                  {"a.example", "*.a.example"},
                                                                  {"*.example", "a.example"},
                                                                  {"*.example", "*.a.example"},
                                                                  {"aexample", "*.example"},
                                                                  {"b.aexample", "*.example"},
                                                                  {"10.0.0.0/8", "10.2.0.0/16"},
                                                                  {"192.0.2.7", "::/0"},
                                                                  {"a.example", "0.0.0.0/0"},
                                                                  {"192.0.2.7", "192.0.2.7:80"}})
    EXPECT_EQ(why(allow, deny), "") << allow << " " << deny;
}

TEST(HostRule, ForLocalhostHasNoEffect) {
  std::string fault;
  for (const char* text : {"localhost:80", "LOCALHOST.:80", "a.localhost", "*.localhost"})
    EXPECT_NE(why_without_effect(*parse_host_rule(text, RuleList::allow, fault), {})
                  .find("the cell itself"),
              std::string::npos)
        << text;
  for (const char* text : {"localhost.example:80", "notlocalhost", "127.0.0.1:80"})
    EXPECT_EQ(why_without_effect(*parse_host_rule(text, RuleList::allow, fault), {}), "") << text;
}

TEST(HostName, IsLowerCaseWithoutADotAtItsEnd) {
  EXPECT_EQ(normal_host_name("API.Example.COM."), "api.example.com");
  EXPECT_EQ(normal_host_name("a"), "a");
  for (const char* text : {"", ".", "a..", "a b", "*.a", "1", "a.1", "127.0.0.1", "::1", "a:80"})
    EXPECT_EQ(normal_host_name(text), std::nullopt) << text;
}

}  // namespace
}  // namespace brig
