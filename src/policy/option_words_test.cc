#include "policy/option_words.h"

#include <gtest/gtest.h>

namespace brig {
namespace {

TEST(OptionWords, TakeThePlaceOfKeys) {
  EXPECT_EQ(in_option_words("raise limits.memory or make it use less"),
            "raise --memory or make it use less");
  EXPECT_EQ(in_option_words("see limits.file_size, 4 KiB."), "see --file-size, 4 KiB.");
  EXPECT_EQ(in_option_words("limits.output_total"), "--output-total");
  // A sub-command may not have them all.
  const std::string_view only[] = {"--memory"};
  EXPECT_EQ(in_option_words("limits.memory, limits.scratch", only), "--memory, limits.scratch");
  EXPECT_EQ(in_option_words("limits.timeout."), "--timeout.");
}

TEST(OptionWords, AreTypedWithTheirValues) {
  EXPECT_EQ(in_option_words("files.read = [\"/srv/a\"] gives it"), "--read /srv/a gives it");
  EXPECT_EQ(in_option_words(R"(files.write = ["/a b\"c"])"), "--write '/a b\"c'");
  EXPECT_EQ(in_option_words("files.read = [\"/it's\"]"), "--read '/it'\\''s'");
  EXPECT_EQ(in_option_words("network = \"loopback\" gives"), "--net loopback gives");
  EXPECT_EQ(in_option_words(R"(network.allow = ["a.example:443"] allows it)"),
            "--allow a.example:443 allows it");
  EXPECT_EQ(in_option_words(R"(network.allow = ["*.a.example:443"])"), "--allow '*.a.example:443'");
  EXPECT_EQ(in_option_words(R"(network.allow = ["[2001:db8::1]:443"])"),
            "--allow '[2001:db8::1]:443'");
  EXPECT_EQ(in_option_words("network.deny has gist.github.com"), "--deny has gist.github.com");
  EXPECT_EQ(in_option_words("limits.connections = 64; raise limits.upload, limits.download, "
                            "limits.connection_time"),
            "--connections 64; raise --upload, --download, --connection-time");
  EXPECT_EQ(in_option_words("isolation = \"landlock\""), "--isolation landlock");
  EXPECT_EQ(in_option_words("limits.processes = 64; raise"), "--processes 64; raise");
}

TEST(OptionWords, LeaveTheRestAlone) {
  for (const char* text : {"'limits.memory' is a name", "the network of a cell", "isolation", "",
                           "syscalls.allow = [\"ptrace\"]", "limits.result", "xlimits.memory",
                           "limits.memoryx", "it can't be: 'files.read'"})
    EXPECT_EQ(in_option_words(text), text);
  EXPECT_EQ(in_option_words("it can't be had; raise limits.memory"),
            "it can't be had; raise --memory");
  EXPECT_EQ(in_option_words("files.read = ["), "--read = [");
  EXPECT_EQ(in_option_words("files.read = [\"/x"), "--read = [\"/x");
}

}  // namespace
}  // namespace brig
