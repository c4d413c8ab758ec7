// Whose files brig uses, whose rights it runs with, and what it does with values that are not there.
#include <linux/capability.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include <fstream>
#include <regex>

#include "e2e_program.h"

namespace {

using namespace e2e;

constexpr uid_t kStranger = 12345;

// A directory with a manifest that declares greet, and a module that leaves a mark when it is loaded.
class Trust : public testing::Test {
 protected:
  void SetUp() override {
    write_file(host_ / "trap.py", "open('" + host_ / "mark/loaded" + "', 'w').close()\n");
    write_file(host_ / "brig.toml",
               "[policy]\ntimeout = '20s'\nfiles.write = ['" + host_.make("mark") +
                   "']\n[[command]]\nname = 'greet'\nargv = ['echo', 'hello']\n"
                   "[[python]]\nmodule = 'trap'\n");
  }
  Result brig(std::vector<std::string> arguments) const {
    return brig_program(std::move(arguments), {.directory = host_.path()});
  }
  // As far as this user can: somebody else's, or one that everyone can put files into.
  void make_strange() const {
    if (!is_root()) return (void)chmod(host_.path().c_str(), 01777);
    ASSERT_EQ(chown((host_ / "brig.toml").c_str(), kStranger, kStranger), 0);
    ASSERT_EQ(chown((host_ / "trap.py").c_str(), kStranger, kStranger), 0);
    ASSERT_EQ(chown((host_ / "mark").c_str(), kStranger, kStranger), 0);
    ASSERT_EQ(chown(host_.path().c_str(), kStranger, kStranger), 0);
  }
  bool loaded() const { return exists(host_ / "mark/loaded"); }

  const HostDirectory host_;
};

TEST_F(Trust, AManifestOfSomebodyElseIsNotUsedUnasked) {
  make_strange();
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"tools"}, {"tools", "--format", "names"}, {"call", "greet"}}) {
    const Result result = brig(arguments);
    EXPECT_EQ(result.code, 125) << result;
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(contains(result.err, "manifest 'brig.toml' is not trusted: ")) << result;
    EXPECT_TRUE(contains(result.err, "name it: --manifest ./brig.toml")) << result;
  }
  EXPECT_FALSE(loaded());
  EXPECT_EQ(brig({"call", "--manifest", "./brig.toml", "greet"}).out, "hello\n");
  EXPECT_FALSE(loaded()) << "a command needs no module";
  (void)brig({"tools", "--manifest", "./brig.toml"});
  EXPECT_TRUE(loaded()) << "that was consent";
}

TEST_F(Trust, ADirectoryOfSomebodyElseIsEnoughToDoubt) {
  if (is_root())
    ASSERT_EQ(chown(host_.path().c_str(), kStranger, kStranger), 0);
  else
    ASSERT_EQ(chmod(host_.path().c_str(), 0777), 0);
  const Result result = brig({"tools"});
  EXPECT_EQ(result.code, 125) << result;
  EXPECT_TRUE(contains(result.err, "its directory")) << result;
  EXPECT_FALSE(loaded());
}

TEST_F(Trust, WhatEveryoneCanWriteIsRefusedEvenIfItIsNamed) {
  write_file(host_ / "policy.toml", "network = 'none'\n");
  for (const char* name : {"brig.toml", "policy.toml", "trap.py"})
    ASSERT_EQ(chmod((host_ / name).c_str(), 0666), 0);
  Result result = brig({"call", "--manifest", host_ / "brig.toml", "greet"});
  EXPECT_EQ(result.code, 125) << result;
  EXPECT_TRUE(contains(result.err, "everyone can write it")) << result;
  result = brig({"run", "--policy", "policy.toml", "--", "echo", "ran"});
  EXPECT_EQ(result.code, 125) << result;
  EXPECT_TRUE(contains(result.err, "everyone can write it")) << result;
  EXPECT_EQ(result.out, "");
  ASSERT_EQ(chmod((host_ / "brig.toml").c_str(), 0644), 0);
  result = brig({"tools"});
  EXPECT_EQ(result.code, 125) << result;
  EXPECT_TRUE(contains(result.err, "python module '" + host_ / "trap.py' is not trusted"))
      << result;
  EXPECT_FALSE(loaded());
}

TEST_F(Trust, APackageThatEveryoneCanWriteIsNotLoaded) {
  const std::string package = host_.make("pack"), first = package + "/__init__.py";
  write_file(host_ / "brig.toml", "[policy]\ntimeout = '20s'\nfiles.write = ['" + host_ / "mark" +
                                      "']\n[[python]]\nmodule = 'pack'\n");
  std::filesystem::copy_file(host_ / "trap.py", first);
  ASSERT_EQ(chmod(package.c_str(), 0777), 0);
  Result result = brig({"tools"});
  EXPECT_EQ(result.code, 125) << result;
  EXPECT_TRUE(contains(result.err, "python package '" + package +
                                       "' is not trusted: everyone can "
                                       "write to it"))
      << result;
  ASSERT_EQ(chmod(package.c_str(), 0755), 0);
  ASSERT_EQ(chmod(first.c_str(), 0666), 0);
  result = brig({"tools"});
  EXPECT_EQ(result.code, 125) << result;
  EXPECT_TRUE(contains(result.err, "python module '" + first +
                                       "' is not trusted: everyone can "
                                       "write it"))
      << result;
  EXPECT_FALSE(loaded());
  ASSERT_EQ(chmod(first.c_str(), 0644), 0);
  (void)brig({"tools"});
  EXPECT_TRUE(loaded()) << "the trap works";
}

// As umask 002 makes them where each user has a group of his own, which is how Debian's and Fedora's are.
TEST_F(Trust, WhatAPrivateGroupCanWriteIsUsedAndLoaded) {
  struct stat info {};
  ASSERT_EQ(chmod(host_.path().c_str(), 02775), 0);
  for (const char* name : {"brig.toml", "trap.py"})
    ASSERT_EQ(chmod((host_ / name).c_str(), 0664), 0);
  ASSERT_EQ(stat((host_ / "brig.toml").c_str(), &info), 0);
  BRIG_NEEDS(info.st_gid == getegid(), "this user's files have another group");
  EXPECT_EQ(brig({"tools", "--format", "names"}).out, "greet\n");
  EXPECT_EQ(brig({"call", "greet"}).out, "hello\n");
  (void)brig({"tools"});
  EXPECT_TRUE(loaded()) << "it has no tools, and is refused for that alone";
  if (!is_root()) return;
  // The same of a group that others are in, or may be.
  for (const char* name : {"brig.toml", "trap.py", "."})
    ASSERT_EQ(chown((host_ / name).c_str(), 0, 100), 0);
  const Result refused = brig({"tools"});
  EXPECT_EQ(refused.code, 125) << refused;
  EXPECT_TRUE(contains(refused.err, "group 100 can write")) << refused;
}

TEST_F(Trust, ALibraryThatEveryoneCanWriteIsNotLoaded) {
  std::filesystem::copy_file(guests() + "/libgeo.so", host_ / "libgeo.so");
  write_file(host_ / "brig.toml", "[[library]]\npath = './libgeo.so'\n");
  EXPECT_EQ(brig({"tools"}).code, 0);
  ASSERT_EQ(chmod((host_ / "libgeo.so").c_str(), 0666), 0);
  const Result result = brig({"tools"});
  EXPECT_EQ(result.code, 125) << result;
  EXPECT_TRUE(contains(result.err, "libgeo.so' is not trusted: everyone can write it")) << result;
}

TEST_F(Trust, NamesAreListedWithoutLoadingAnything) {
  const Result result = brig({"tools", "--format", "names"});
  EXPECT_EQ(result.code, 0) << result;
  EXPECT_EQ(result.out, "greet\n");
  EXPECT_FALSE(loaded());
  (void)brig({"tools"});
  EXPECT_TRUE(loaded()) << "the trap works";
}

std::string completions() { return std::string(getenv("BRIG_EXAMPLES")) + "/../completions/"; }

// What bash offers after `brig call `, in a directory.
std::string completed(const std::string& directory) {
  const std::string line = "cd '" + directory +
                           "' && PATH=" + std::filesystem::path(program()).parent_path().string() +
                           ":$PATH bash -c 'source \"" + completions() +
                           "brig.bash\"; COMP_WORDS=(brig call \"\"); COMP_CWORD=2; _brig; echo "
                           "\"${COMPREPLY[@]}\"'";
  std::string text;
  FILE* pipe = popen(line.c_str(), "r");
  for (int c; pipe && (c = fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  if (pipe) pclose(pipe);
  return text;
}

TEST_F(Trust, ATabLoadsNothing) {
  BRIG_NEEDS(system("command -v bash >/dev/null") == 0, "there is no bash");
  EXPECT_EQ(completed(host_.path()), "greet\n");
  EXPECT_FALSE(loaded());
  make_strange();
  EXPECT_EQ(completed(host_.path()), "\n") << "nobody has consented to it";
  EXPECT_FALSE(loaded());
}

TEST_F(Trust, EveryShellAsksForNamesOnly) {
  for (const char* name : {"brig.bash", "_brig", "brig.fish"}) {
    std::ifstream file(completions() + name);
    int asked = 0;
    for (std::string line; std::getline(file, line);) {
      if (!contains(line, "brig tools") && !contains(line, "brig call")) continue;
      ++asked;
      EXPECT_TRUE(contains(line, "brig tools --format names ")) << name << ": " << line;
      EXPECT_FALSE(contains(line, "brig.toml")) << name << ": " << line;
    }
    EXPECT_EQ(asked, 1) << name;
  }
}

TEST_F(Trust, HelpAndDoctorLoadNothing) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--help"},
                                                    {"tools", "--help"},
                                                    {"call", "--help"},
                                                    {"serve", "--help"},
                                                    {"doctor"},
                                                    {"--version"}})
    EXPECT_EQ(brig(arguments).code, 0) << arguments[0];
  EXPECT_FALSE(loaded());
}

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
                         testing::Values(OptionCount{"run", 24}, OptionCount{"tools", 3},
                                         OptionCount{"call", 1}, OptionCount{"serve", 12},
                                         OptionCount{"mcp", 8}),
                         [](const auto& each) { return std::string(each.param.command); });

TEST(CliOptions, AnEmptyOneAmongOthersIsRefusedToo) {
  for (const char* option : {"--write", "--read", "--hide", "--env", "--read-optional",
                             "--write-optional", "--noexec", "--protect"}) {
    const Result result = brig_program({"run", option, "/usr", option, "", "--", "echo", "ran"});
    EXPECT_EQ(result.code, 125) << result;
    EXPECT_EQ(result.out, "");
  }
  EXPECT_EQ(brig_program({"run", "--env", "EMPTY=", "--", "sh", "-c", "echo ${EMPTY-unset}"}).out,
            "\n")
      << "a variable may be empty";
}

// --- rights that the caller has not ---

TEST(CliRights, AProgramWithMoreRightsThanItsCallerRefuses) {
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
  // To the group of somebody else, or with a capability, for whoever starts it.
  const auto with_group = [](const std::string& path) {
    return chown(path.c_str(), 0, 54321) == 0 && chmod(path.c_str(), 02755) == 0;
  };
  const auto with_capability = [](const std::string& path) {
    constexpr vfs_cap_data kOverride{VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
                                     {{1u << CAP_DAC_OVERRIDE, 0}, {0, 0}}};
    return chmod(path.c_str(), 0755) == 0 &&
           setxattr(path.c_str(), "security.capability", &kOverride, XATTR_CAPS_SZ_2, 0) == 0;
  };
  const std::filesystem::path directory = std::filesystem::path(program()).parent_path();
  for (const std::string name : {"brig", "brig-server"}) {
    const std::string copy = host / name;
    std::filesystem::copy_file(directory / name, copy);
    // One's own bits give nothing that one has not, and so are no reason.
    for (const mode_t mode : {04755, 02755}) {
      ASSERT_EQ(chmod(copy.c_str(), mode), 0);
      EXPECT_TRUE(contains(output(copy + " --version"), "brig 0.")) << name;
    }
    if (!is_root()) continue;
    const std::string as_other = "timeout 60 setpriv --reuid 12345 --regid 12345 --clear-groups " +
                                 copy +
                                 (name == "brig" ? " run -- id -u" : " serve --listen 127.0.0.1:0");
    const auto expect_refused = [&] {
      const std::string said = output(as_other);
      EXPECT_TRUE(contains(said, "started with more rights than its caller has")) << said;
    };
    ASSERT_EQ(chmod(copy.c_str(), 04755), 0);
    expect_refused();
    ASSERT_TRUE(with_group(copy));
    expect_refused();
    ASSERT_TRUE(with_capability(copy)) << strerror(errno);
    expect_refused();
    ASSERT_EQ(removexattr(copy.c_str(), "security.capability"), 0);
    EXPECT_FALSE(contains(output("timeout 60 setpriv --reuid 12345 --regid 12345 --clear-groups " +
                                 copy + " --version"),
                          "more rights"));
  }
}

}  // namespace
