#include "http/caller.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "testing/refusal.h"

namespace brig::serve {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr const char* kToken = "0123456789abcdef0123456789abcdef";
constexpr const char* kOther = "another-token-of-enough-characters";

std::string fault(const std::string& text) {
  return refusal([&] { Tokens::from_text(text, "t"); });
}

std::string table(const std::string& name, const std::string& token, const std::string& more = "") {
  return "[[token]]\nname = '" + name + "'\ntoken = '" + token + "'\n" + more;
}

CallerPtr find(const Tokens& tokens, const std::string& authorization) {
  return tokens.find(&authorization);
}

// --- patterns, rate ---

TEST(Caller, WithoutAListMayCallEverything) {
  EXPECT_TRUE(Caller().may_call("anything"));
  EXPECT_TRUE(Caller().may_call(""));
}

TEST(Caller, MayCallWhatItsPatternsName) {
  Caller caller;
  caller.tools = {"run_python", "file_*"};
  EXPECT_TRUE(caller.may_call("run_python"));
  EXPECT_TRUE(caller.may_call("file_read"));
  EXPECT_TRUE(caller.may_call("file_"));
  for (const char* tool :
       {"run_pytho", "run_python2", "RUN_PYTHON", "file", "my_file_read", "*", ""})
    EXPECT_FALSE(caller.may_call(tool)) << tool;
  caller.tools = {"*"};
  EXPECT_TRUE(caller.may_call("anything"));
}

TEST(Caller, WithoutARateNeverWaits) {
  Caller caller;
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(caller.must_wait(Clock::now()), std::nullopt);
}

TEST(Caller, MayMakeTwiceItsRateAtOnceAndThenItsRate) {
  Caller caller;
  caller.rate = 2;
  const auto begin = Clock::now();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(caller.must_wait(begin), std::nullopt) << i;
  const auto wait = caller.must_wait(begin);
  ASSERT_TRUE(wait);
  EXPECT_GE(*wait, 500ms);
  EXPECT_LE(*wait, 502ms);
  EXPECT_TRUE(caller.must_wait(begin + 400ms)) << "a refusal costs nothing, nor gives anything";
  EXPECT_EQ(caller.must_wait(begin + 510ms), std::nullopt);
  EXPECT_TRUE(caller.must_wait(begin + 510ms));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(caller.must_wait(begin + 1h), std::nullopt) << i;
  EXPECT_TRUE(caller.must_wait(begin + 1h)) << "an hour of rest gives no more than that";
}

TEST(Caller, OfARateBelowOneStillMakesACall) {
  Caller caller;
  caller.rate = 0.1;
  const auto begin = Clock::now();
  EXPECT_EQ(caller.must_wait(begin), std::nullopt);
  const auto wait = caller.must_wait(begin);
  ASSERT_TRUE(wait);
  EXPECT_GT(*wait, 9s);
  EXPECT_LT(*wait, 11s);
}

// --- digests ---

TEST(Digests, AreThoseOfTheStandard) {
  EXPECT_EQ(hex_of(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

// --- tokens ---

TEST(Tokens, WithoutAnyEverybodyIsTheSameCallerAndAnAdmin) {
  const Tokens tokens;
  EXPECT_FALSE(tokens.required());
  const CallerPtr caller = tokens.find(nullptr);
  ASSERT_TRUE(caller);
  EXPECT_TRUE(caller->admin);
  EXPECT_EQ(caller, find(tokens, "Bearer whatever"));
}

TEST(Tokens, AFileOfOneLineIsAToken) {
  for (const std::string& text : {std::string(kToken), std::string(kToken) + "\n",
                                  std::string(kToken) + "\r\n", std::string(kToken) + "\n\n"}) {
    const Tokens tokens = Tokens::from_text(text, "t");
    EXPECT_TRUE(tokens.required());
    const CallerPtr caller = find(tokens, std::string("Bearer ") + kToken);
    ASSERT_TRUE(caller);
    EXPECT_EQ(caller->name, "default");
    EXPECT_TRUE(caller->admin);
    EXPECT_TRUE(caller->may_call("anything"));
  }
}

TEST(Tokens, AreFoundOnlyWhole) {
  const Tokens tokens = Tokens::from_text(kToken, "t");
  const std::string token = kToken;
  for (const std::string& each : {"Bearer " + token, "bearer " + token, "BEARER  " + token})
    EXPECT_TRUE(find(tokens, each)) << each;
  EXPECT_FALSE(tokens.find(nullptr));
  for (const std::string& each :
       {std::string(), std::string("Bearer"), std::string("Bearer "), token, "Basic " + token,
        "Bearer" + token, "Bearer " + token.substr(1), "Bearer " + token + "0",
        "Bearer " + token + " ", "Bearer " + token + "," + token, "Bearer x" + token,
        "Bearer\t" + token})
    EXPECT_FALSE(find(tokens, each)) << each;
}

TEST(Tokens, AFileOfTablesNamesItsCallers) {
  const Tokens tokens = Tokens::from_text(
      table("ci", kToken, "tools = ['run_*', 'greet']\nrate = 5\nconcurrency = 2\n") +
          "[[token]]\nname = 'ops'\nsha256 = '" + hex_of(sha256(kOther)) + "'\nadmin = true\n",
      "t");
  const CallerPtr ci = find(tokens, std::string("Bearer ") + kToken);
  ASSERT_TRUE(ci);
  EXPECT_EQ(ci->name, "ci");
  EXPECT_FALSE(ci->admin);
  EXPECT_EQ(ci->rate, 5);
  EXPECT_EQ(ci->concurrency, 2u);
  EXPECT_TRUE(ci->may_call("run_python"));
  EXPECT_TRUE(ci->may_call("greet"));
  EXPECT_FALSE(ci->may_call("greets"));
  const CallerPtr ops = find(tokens, std::string("Bearer ") + kOther);
  ASSERT_TRUE(ops);
  EXPECT_EQ(ops->name, "ops");
  EXPECT_TRUE(ops->admin);
  EXPECT_FALSE(find(tokens, "Bearer " + hex_of(sha256(kOther)))) << "the digest is not the token";
}

// A digest of nothing is what a script writes whose variable was empty.
TEST(Tokens, NoTokenIsNeverAToken) {
  try {
    const Tokens tokens =
        Tokens::from_text("[[token]]\nname = 'a'\nsha256 = '" + hex_of(sha256("")) + "'\n", "t");
    EXPECT_FALSE(tokens.find(nullptr));
    EXPECT_FALSE(find(tokens, ""));
    EXPECT_FALSE(find(tokens, "Bearer "));
  } catch (const Error&) {
    // Refused outright: as good.
  }
}

TEST(Tokens, FaultsAreAllToldWithTheirLines) {
  const std::string text = fault(
      "[[token]]\n"
      "name = 'a b'\n"
      "token = 7\n"
      "rate = 0\n"
      "concurrency = -1\n"
      "admin = 'yes'\n"
      "tools = []\n"
      "nmae = 'x'\n"
      "[[token]]\n"
      "sha256 = 'x'\n");
  for (const char* each : {"t:2", "t:3", "t:4", "t:5", "t:6", "t:7", "t:8", "t:9"})
    EXPECT_NE(text.find(each), std::string::npos) << each << " is not in:\n" << text;
  EXPECT_NE(text.find("name is missing"), std::string::npos) << text;
  EXPECT_EQ(text.find("/"), std::string::npos) << "no path of ours: " << text;
}

TEST(Tokens, AFileThatCanNotBeMeantIsRefused) {
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string("short"), std::string("# nothing"),
        std::string("two words in a token of one line"), std::string("[[token]]"),
        table("a", "short"), table("a", "with a space 0123456789"),
        table("a", kToken, "sha256 = '" + hex_of(sha256("x")) + "'\n"),
        table("a", kToken) + table("a", kOther), table("a", kToken) + table("b", kToken),
        std::string("token = 'x'"), std::string("[[tokens]]\nname = 'a'"),
        std::string("[[token]]\nname = 'a'\nsha256 = 'ABCDEF'\n")})
    EXPECT_NE(fault(text), "") << text;
}

TEST(Tokens, AFaultDoesNotTellTheToken) {
  const std::string secret = "secret with a space 0123456789";
  EXPECT_EQ(fault(secret).find("secret"), std::string::npos) << fault(secret);
  EXPECT_EQ(fault(table("a", secret)).find("secret"), std::string::npos);
}

class TokenFile : public testing::Test {
 protected:
  TokenFile() {
    char name[] = "/tmp/brig-token-XXXXXX";
    close(mkstemp(name));
    path_ = name;
    std::ofstream(path_) << kToken << "\n";
  }
  ~TokenFile() override { unlink(path_.c_str()); }
  std::string path_;
};

TEST_F(TokenFile, OfItsOwnerAloneIsRead) {
  for (const mode_t mode : {0600, 0400}) {
    chmod(path_.c_str(), mode);
    EXPECT_TRUE(Tokens::from_file(path_).required());
  }
}

TEST_F(TokenFile, ThatOthersCanReadOrChangeIsRefused) {
  for (const mode_t mode : {0604, 0640, 0620, 0602, 0644, 0601}) {
    chmod(path_.c_str(), mode);
    const std::string text = refusal([&] { Tokens::from_file(path_); });
    EXPECT_NE(text.find("chmod 600"), std::string::npos) << std::oct << mode << ": " << text;
  }
}

TEST_F(TokenFile, ThatIsNoneIsRefused) {
  EXPECT_THROW(Tokens::from_file("/no/such/file"), Error);
  EXPECT_NE(refusal([] { Tokens::from_file("/tmp"); }), "");
  EXPECT_NE(refusal([] { Tokens::from_file("/dev/null"); }), "");
}

TEST(Tokens, ThatReplaceOthersKeepWhatCallersOfTheNameAreDoing) {
  Tokens tokens = Tokens::from_text(table("a", kToken) + table("gone", kOther), "t");
  const CallerPtr a = find(tokens, std::string("Bearer ") + kToken);
  a->running = 3;
  const std::string fresh = "a-fresh-token-of-enough-characters";
  const auto gone = tokens.replace_by(Tokens::from_text(
      table("a", fresh, "rate = 1\nconcurrency = 4\ntools = ['x']\nadmin = true\n"), "t"));
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0]->name, "gone");
  EXPECT_FALSE(find(tokens, std::string("Bearer ") + kToken)) << "the old token";
  EXPECT_FALSE(find(tokens, std::string("Bearer ") + kOther)) << "of who is gone";
  const CallerPtr now = find(tokens, "Bearer " + fresh);
  ASSERT_EQ(now, a);
  EXPECT_EQ(now->running, 3u);
  EXPECT_EQ(now->rate, 1);
  EXPECT_EQ(now->concurrency, 4u);
  EXPECT_TRUE(now->admin);
  EXPECT_FALSE(now->may_call("y"));
}

TEST(Tokens, OneOfSeveralIsNotAlone) {
  const std::string one = "[[token]]\nname = 'a'\ntoken = 'aaaaaaaaaaaaaaaa'\n",
                    two = one + "[[token]]\nname = 'b'\ntoken = 'bbbbbbbbbbbbbbbb'\n";
  const std::string header = "Bearer aaaaaaaaaaaaaaaa";
  EXPECT_TRUE(Tokens().find(nullptr)->alone);
  EXPECT_TRUE(Tokens::from_text("aaaaaaaaaaaaaaaa", "file").find(&header)->alone);
  Tokens tokens = Tokens::from_text(one, "file");
  const CallerPtr caller = tokens.find(&header);
  EXPECT_TRUE(caller->alone);
  EXPECT_TRUE(tokens.replace_by(Tokens::from_text(two, "file")).empty());
  EXPECT_FALSE(caller->alone);
  EXPECT_EQ(tokens.replace_by(Tokens::from_text(one, "file")).size(), 1u);
  EXPECT_TRUE(caller->alone);
}

}  // namespace
}  // namespace brig::serve
