// Whose rights brig runs with, and what it does with values that are not there.
#include <sys/statvfs.h>

#include <fstream>
#include <regex>

#include "e2e_program.h"

namespace {

using namespace e2e;

// --- values that are not there ---

// Of `brig COMMAND --help`: every option that takes a value.
std::vector<std::string> options_of(const std::string& command) {
  const std::string help = brig_program({command, "--help"}).out;
  const std::regex option(R"(\n +(?:-\w,)?(--[a-z-]+)(?:,-\w)? [A-Z][^ \n]*)");
  std::vector<std::string> names;
  for (std::sregex_iterator at(help.begin(), help.end(), option), end; at != end; ++at)
    names.push_back((*at)[1]);
  return names;
}

struct OptionCount {
  const char* command;
  std::size_t least;  // fewer mean that help was not understood
};

class CliOptionsOf : public testing::TestWithParam<OptionCount> {
 protected:
  static void expect_refused(const std::string& option, const std::vector<std::string>& words) {
    std::vector<std::string> arguments{GetParam().command};
    arguments.insert(arguments.end(), words.begin(), words.end());
    if (arguments[0] == "run") arguments.insert(arguments.end(), {"--", "echo", "ran"});
    if (arguments[0] == "call") arguments.emplace_back("greet");
    const Result result = brig_program(arguments);
    EXPECT_EQ(result.code, 125) << arguments[0] << " " << option << ": " << result;
    EXPECT_EQ(result.out, "");
    // One of a few words names those instead.
    EXPECT_TRUE(contains(result.err, option + ": the value is empty") ||
                contains(result.err, option + ":  not in {"))
        << result;
  }
};

TEST_P(CliOptionsOf, AnEmptyValueIsRefusedByEveryOne) {
  const std::vector<std::string> options = options_of(GetParam().command);
  ASSERT_GE(options.size(), GetParam().least);
  for (const std::string& option : options) expect_refused(option, {option, ""});
  expect_refused(options[0], {options[0] + "="});
}

INSTANTIATE_TEST_SUITE_P(EachCommand, CliOptionsOf,
                         testing::Values(OptionCount{"run", 20}, OptionCount{"tools", 3},
                                         OptionCount{"call", 1}, OptionCount{"serve", 12},
                                         OptionCount{"mcp", 4}),
                         [](const auto& each) { return std::string(each.param.command); });

TEST(CliOptions, AnEmptyOneAmongOthersIsRefusedToo) {
  for (const char* option : {"--write", "--read", "--hide", "--env"}) {
    const Result result = brig_program({"run", option, "/usr", option, "", "--", "echo", "ran"});
    EXPECT_EQ(result.code, 125) << result;
    EXPECT_EQ(result.out, "");
  }
  EXPECT_EQ(brig_program({"run", "--env", "EMPTY=", "--", "sh", "-c", "echo ${EMPTY-unset}"}).out,
            "\n")
      << "a variable may be empty";
}

// --- rights that the caller has not ---

TEST(CliRights, ASetUserIdProgramRefuses) {
  const HostDirectory host;
  struct statvfs info {};
  ASSERT_EQ(statvfs(host.path().c_str(), &info), 0);
  BRIG_NEEDS(!(info.f_flag & ST_NOSUID), "the directory for temporary files is mounted nosuid");
  const auto output = [](const std::string& line) {
    std::string text;
    FILE* pipe = popen((line + " 2>&1").c_str(), "r");
    for (int c; pipe && (c = fgetc(pipe)) != EOF;) text += static_cast<char>(c);
    if (pipe) pclose(pipe);
    return text;
  };
  const std::filesystem::path directory = std::filesystem::path(program()).parent_path();
  for (const std::string name : {"brig", "brig-server"}) {
    const std::string copy = host / name;
    std::filesystem::copy_file(directory / name, copy);
    ASSERT_EQ(chmod(copy.c_str(), 04755), 0);
    // One's own bit gives nothing that one has not, and so is no reason.
    EXPECT_TRUE(contains(output(copy + " --version"), "brig 0.")) << name;
    if (!is_root()) continue;
    const std::string command = name == "brig" ? " run -- id -u" : " serve --listen 127.0.0.1:0";
    const std::string said =
        output("timeout 60 setpriv --reuid 12345 --regid 12345 --clear-groups " + copy + command);
    EXPECT_TRUE(contains(said, "started with more rights than its caller has")) << said;
  }
}

}  // namespace
