#include "policy/presets.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include <brig/error.h>

namespace brig {
namespace {

// A HOME with the files that toolchains leave there, secrets among them.
class Presets : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "/brig-home-XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    home_ = std::filesystem::canonical(path);
    for (const char* name :
         {".npm/_cacache/content-v2", ".npm/_cacache/index-v5", ".npm/_logs", ".cargo/bin",
          ".cargo/registry", ".rustup", "go/pkg/mod", ".m2/repository", ".pyenv", ".config/git"})
      std::filesystem::create_directories(home_ + "/" + name);
    for (const char* name :
         {".npmrc", ".cargo/credentials.toml", ".cargo/config.toml", ".m2/settings.xml",
          ".gitconfig", ".git-credentials", ".config/git/credentials", ".npm/_logs/debug.log"})
      std::ofstream(home_ + "/" + name) << "secret";
    keep("HOME", home_.c_str());
    keep("XDG_CACHE_HOME", nullptr);
  }
  void TearDown() override {
    for (const auto& [name, value] : before_)
      value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
    std::filesystem::remove_all(home_);
  }
  void keep(const char* name, const char* value) {
    const char* old = std::getenv(name);
    before_.emplace_back(name, old ? std::optional<std::string>(old) : std::nullopt);
    value ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  static Policy of(std::vector<std::string> names) {
    Policy policy;
    policy.preset = std::move(names);
    return policy;
  }
  std::vector<std::string> in_home(std::vector<std::string> names) const {
    for (std::string& name : names) name = home_ + "/" + name;
    return names;
  }
  static std::string error_of(const Policy& policy) {
    try {
      whole_policy(policy);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

  std::string home_;
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

TEST_F(Presets, NoneChangesNothing) { EXPECT_EQ(with_presets({}), Policy{}); }

TEST_F(Presets, AddFilesThatAreThereAndVariablesAndNothingElse) {
  const Policy policy = with_presets(of({"rust"}));
  Policy expected;
  expected.files.read = in_home({".rustup", ".cargo/bin", ".cargo/registry"});
  expected.environment.set = {{"CARGO_NET_OFFLINE", "true"}};
  EXPECT_EQ(policy, expected);
}

TEST_F(Presets, GiveNoNetworkNoLimitNoSystemCallAndNothingToWrite) {
  std::vector<std::string> all;
  for (const Preset& preset : presets()) all.push_back(preset.name);
  const Policy policy = with_presets(of(all));
  EXPECT_EQ(policy.limits, Limits{});
  EXPECT_EQ(policy.network, Network::none);
  EXPECT_EQ(policy.syscalls, Syscalls{});
  EXPECT_EQ(policy.isolation, Isolation::jail);
  EXPECT_EQ(policy.user, std::nullopt);
  EXPECT_TRUE(policy.files.write.empty());
  EXPECT_TRUE(policy.preset.empty());
  validate(policy);
}

TEST_F(Presets, ShowNoFileThatHoldsSecrets) {
  std::vector<std::string> all;
  for (const Preset& preset : presets()) all.push_back(preset.name);
  const Policy policy = with_presets(of(all));
  ASSERT_GE(policy.files.read.size(), 7u);
  for (const std::string& path : policy.files.read)
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      EXPECT_FALSE(entry.is_regular_file()) << entry.path();
}

TEST_F(Presets, HaveNamesThatDiffer) {
  std::set<std::string> names;
  for (const Preset& preset : presets()) {
    EXPECT_TRUE(names.insert(preset.name).second) << preset.name;
    EXPECT_EQ(preset_fault(preset.name), std::nullopt);
    EXPECT_FALSE(preset.what.empty());
    for (const auto* paths : {&preset.read, &preset.caches})
      for (const std::string& path : *paths) EXPECT_TRUE(path.starts_with("~/")) << path;
  }
  EXPECT_EQ(names, (std::set<std::string>{"node", "python", "rust", "go", "java", "git"}));
}

TEST_F(Presets, YieldToThePolicysOwnWords) {
  Policy policy = of({"rust", "git", "python"});
  policy.files.write = {home_ + "/.cargo"};
  policy.files.hide = {home_ + "/.pyenv"};
  policy.environment.set = {{"CARGO_NET_OFFLINE", "false"}};
  policy.environment.passthrough = {"EMAIL"};
  policy.environment.unset = {"GIT_TERMINAL_PROMPT", "GIT_AUTHOR_NAME"};
  const Policy whole = with_presets(policy);
  EXPECT_EQ(whole.files.read, in_home({".rustup"}));
  EXPECT_EQ(whole.files.write, policy.files.write);
  EXPECT_EQ(whole.environment.set.at("CARGO_NET_OFFLINE"), "false");
  EXPECT_FALSE(whole.environment.set.contains("EMAIL"));
  EXPECT_FALSE(whole.environment.set.contains("GIT_TERMINAL_PROMPT"));
  const auto& passed = whole.environment.passthrough;
  EXPECT_EQ(std::count(passed.begin(), passed.end(), "GIT_AUTHOR_NAME"), 0);
  EXPECT_EQ(std::count(passed.begin(), passed.end(), "GIT_AUTHOR_EMAIL"), 1);
}

TEST_F(Presets, AreOfflineUnlessTheNetworkIsTheHosts) {
  Policy policy = of({"node"});
  EXPECT_EQ(with_presets(policy).environment.set.at("npm_config_offline"), "true");
  policy.network = Network::host;
  EXPECT_FALSE(with_presets(policy).environment.set.contains("npm_config_offline"));
  EXPECT_EQ(with_presets(policy).environment.set.at("npm_config_update_notifier"), "false");
}

TEST_F(Presets, ShowNoCacheToAToolThatCanFillItsOwn) {
  Policy policy = of({"rust"});
  policy.network = Network::host;
  EXPECT_EQ(with_presets(policy).files.read, in_home({".rustup", ".cargo/bin"}));
  EXPECT_EQ(with_presets(of({"rust:shared"})).files.read, in_home({".rustup", ".cargo/bin"}));
}

TEST_F(Presets, LeaveOutWhatASymlinkLeadsTo) {
  std::filesystem::remove(home_ + "/.rustup");
  std::filesystem::create_symlink("/etc", home_ + "/.rustup");
  EXPECT_EQ(with_presets(of({"rust"})).files.read, in_home({".cargo/bin", ".cargo/registry"}));
}

TEST_F(Presets, WithoutAHomeAddVariablesAlone) {
  ::unsetenv("HOME");
  EXPECT_TRUE(with_presets(of({"rust"})).files.read.empty());
  EXPECT_NE(error_of(of({"rust:shared"})).find("needs HOME or XDG_CACHE_HOME"), std::string::npos);
  ::setenv("HOME", "relative", 1);
  EXPECT_TRUE(with_presets(of({"rust"})).files.read.empty());
  ::setenv("HOME", "/", 1);
  for (const std::string& path : with_presets(of({"rust"})).files.read)
    EXPECT_EQ(path.find("/."), 0u) << path;
}

TEST_F(Presets, OnTheProcessFloorAddVariablesAlone) {
  Policy policy = of({"rust"});
  policy.isolation = Isolation::process;
  policy.network = Network::host;
  EXPECT_TRUE(with_presets(policy).files.read.empty());
  policy.preset = {"rust:shared"};
  EXPECT_NE(error_of(policy).find(
                "preset: 'rust:shared' needs a floor that can give a cell a path to write"),
            std::string::npos);
}

TEST_F(Presets, ASharedCacheIsMadeForThisUserAlone) {
  const Policy policy = whole_policy(of({"go:shared"}));
  const std::string cache = home_ + "/.cache/brig/presets/go";
  EXPECT_EQ(policy.files.write, std::vector<std::string>{cache});
  EXPECT_EQ(policy.environment.set.at("GOCACHE"), cache + "/build");
  struct stat info;
  ASSERT_EQ(::stat(cache.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  EXPECT_EQ(info.st_uid, ::geteuid());
  EXPECT_EQ(error_of(of({"go:shared"})), "");
  keep("XDG_CACHE_HOME", (home_ + "/other").c_str());
  EXPECT_EQ(whole_policy(of({"go:shared"})).files.write,
            std::vector<std::string>{home_ + "/other/brig/presets/go"});
}

TEST_F(Presets, ASharedCacheThatOthersCanWriteIsRefused) {
  whole_policy(of({"go:shared"}));
  const std::string cache = home_ + "/.cache/brig/presets/go";
  ASSERT_EQ(::chmod(cache.c_str(), 0777), 0);
  EXPECT_NE(error_of(of({"go:shared"})).find("is not trusted"), std::string::npos);
  ASSERT_EQ(::chmod(cache.c_str(), 0700), 0);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(cache.c_str(), 12345, 12345), 0);
    EXPECT_NE(error_of(of({"go:shared"})).find("is not trusted"), std::string::npos);
  }
  std::filesystem::remove(cache);
  std::filesystem::create_directory(home_ + "/elsewhere");
  std::filesystem::create_symlink(home_ + "/elsewhere", cache);
  EXPECT_NE(error_of(of({"go:shared"})), "");
}

TEST_F(Presets, ASharedCacheIsNotMadeThroughALink) {
  std::filesystem::create_directories(home_ + "/elsewhere");
  for (const char* part : {"/.cache", "/.cache/brig", "/.cache/brig/presets"}) {
    const std::filesystem::path link = home_ + part;
    std::filesystem::create_directories(link.parent_path());
    std::filesystem::create_symlink(home_ + "/elsewhere", link);
    const std::string said = error_of(of({"go:shared"}));
    EXPECT_NE(said.find(link.string() + "' is a symlink"), std::string::npos) << said;
    EXPECT_TRUE(std::filesystem::is_empty(home_ + "/elsewhere")) << part;
    std::filesystem::remove(link);
  }
}

TEST_F(Presets, WithoutTheWordNoCacheIsMade) {
  whole_policy(of({"node", "python", "rust", "go", "java", "git"}));
  EXPECT_FALSE(std::filesystem::exists(home_ + "/.cache"));
}

}  // namespace
}  // namespace brig
