#include <brig/error.h>
#include <brig/policy.h>

#include "policy/paths.h"
#include "policy/policy_fault.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace brig {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

// The message that validate() throws, or "" if it accepts the policy.
std::string fault(const Policy& policy) {
  try {
    validate(policy);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config) << error.what();
    return error.what();
  }
}

std::string fault(const std::function<void(Policy&)>& change) {
  Policy policy;
  change(policy);
  return fault(policy);
}

// A directory of its own for each test, with no symlink in its path.
class PolicyFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = std::filesystem::canonical(testing::TempDir()).string() + "/brig-XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    directory_ = path;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  std::string file(const std::string& name) const {
    std::ofstream(path(name)) << "x";
    return path(name);
  }
  std::string folder(const std::string& name) const {
    std::filesystem::create_directories(path(name));
    return path(name);
  }
  std::string link(const std::string& name, const std::string& target) const {
    std::filesystem::create_symlink(target, path(name));
    return path(name);
  }

  static std::string read_fault(const std::string& path) {
    return fault([&](Policy& policy) { policy.files.read = {path}; });
  }

  std::string directory_;
};

TEST(Policy, DefaultIsValid) { EXPECT_EQ(fault(Policy{}), ""); }

TEST(Policy, NamesAreThoseOfTheEnums) {
  EXPECT_STREQ(to_string(Network::none), "none");
  EXPECT_STREQ(to_string(Network::loopback), "loopback");
  EXPECT_STREQ(to_string(Network::host), "host");
  EXPECT_STREQ(to_string(Isolation::jail), "jail");
  EXPECT_STREQ(to_string(Isolation::landlock), "landlock");
  EXPECT_STREQ(to_string(Isolation::process), "process");
}

TEST(Policy, RefusesAnEnumThatHasNoName) {
  EXPECT_EQ(fault([](Policy& p) { p.network = static_cast<Network::Mode>(7); }),
            "policy: network: not a Network; use none, loopback, proxy or host");
  EXPECT_EQ(fault([](Policy& p) { p.isolation = static_cast<Isolation>(-1); }),
            "policy: isolation: not an Isolation; use jail, landlock or process");
}

// The ends of a range are valid, their neighbours are not, and the message names the field and the
// range.
template <typename T>
void expect_range(const std::string& name, const std::function<void(Limits&, T)>& set, T least,
                  T most, T below, T above) {
  const auto fault_at = [&](T value) {
    Policy policy;
    set(policy.limits, value);
    return fault(policy);
  };
  EXPECT_EQ(fault_at(least), "") << name;
  EXPECT_EQ(fault_at(most), "") << name;
  for (const T bad : {below, above}) {
    if (bad == least || bad == most) continue;  // The range has no such side.
    const std::string message = fault_at(bad);
    EXPECT_EQ(message.find("policy: limits." + name + ": "), 0u) << message;
    EXPECT_NE(message.find(" is out of range; use " + limit_range(name)), std::string::npos)
        << message;
  }
}

TEST(Policy, DurationsHaveRanges) {
  using Ms = std::chrono::milliseconds;
  expect_range<Ms>(
      "timeout", [](Limits& l, Ms v) { l.timeout = v; }, 1ms, 24h, 0ms, 24h + 1ms);
  expect_range<Ms>(
      "timeout", [](Limits& l, Ms v) { l.timeout = v; }, 1ms, 24h, -1ms, Ms::max());
  expect_range<Ms>(
      "grace", [](Limits& l, Ms v) { l.grace = v; }, 0ms, 60s, -1ms, 60'001ms);
  expect_range<Ms>(
      "cpu_time", [](Limits& l, Ms v) { l.cpu_time = v; }, 1ms, 24h, 0ms, Ms::min());
}

TEST(Policy, SizesHaveRanges) {
  using Size = std::uint64_t;
  constexpr Size kEnd = 1024_GiB << 20;
  expect_range<Size>(
      "memory", [](Limits& l, Size v) { l.memory = v; }, 4_MiB, kEnd, 4_MiB - 1, kEnd + 1);
  expect_range<Size>(
      "output", [](Limits& l, Size v) { l.output = v; }, 0, 1_GiB, 0, 1_GiB + 1);
  expect_range<Size>(
      "output_total", [](Limits& l, Size v) { l.output_total = v; }, 0, kEnd, 0, ~Size{0});
  expect_range<Size>(
      "scratch", [](Limits& l, Size v) { l.scratch = v; }, 64_KiB, kEnd, 64_KiB - 1, kEnd + 1);
  expect_range<Size>(
      "file_size", [](Limits& l, Size v) { l.file_size = v; }, 0, kEnd, 0, kEnd + 1);
}

TEST(Policy, CountsHaveRanges) {
  using Count = std::uint32_t;
  expect_range<Count>(
      "processes", [](Limits& l, Count v) { l.processes = v; }, 1, 32768, 0, 32769);
  expect_range<Count>(
      "open_files", [](Limits& l, Count v) { l.open_files = v; }, 16, 1048576, 15, ~Count{0});
}

TEST(Policy, CpusHaveARange) {
  const auto set = [](Limits& l, double v) { l.cpus = v; };
  expect_range<double>("cpus", set, 0.01, 8192, 0.009, 8193);
  expect_range<double>("cpus", set, 0.01, 8192, -1, HUGE_VAL);
  expect_range<double>("cpus", set, 0.01, 8192, 0, std::nan(""));
}

TEST(Policy, AFaultNamesFieldValueReasonAndFix) {
  EXPECT_EQ(fault([](Policy& p) { p.limits.memory = 1_MiB; }),
            "policy: limits.memory: 1 MiB is out of range; use 4 MiB to 1 EiB");
  EXPECT_EQ(fault([](Policy& p) { p.limits.timeout = -1500ms; }),
            "policy: limits.timeout: -1.5 s is out of range; use 1 ms to 24 h");
  EXPECT_EQ(fault([](Policy& p) { p.files.read = {"/x/../y"}; }),
            "policy: files.read: '/x/../y': '..' is not allowed; write the path without it");
}

TEST(Policy, RefusesAPathThatIsNotPlain) {
  const auto refused = [](const std::string& path, const std::string& why) {
    for (auto list : {&Files::read, &Files::write, &Files::hide}) {
      const std::string message = fault([&](Policy& p) { p.files.*list = {"/usr", path}; });
      EXPECT_NE(message.find(why), std::string::npos) << message;
    }
    const std::string root = fault([&](Policy& p) { p.files.root = path; });
    EXPECT_EQ(root.find("files.root: ") == std::string::npos, path.empty()) << root;
  };
  refused("", "the path is empty");
  refused("usr", "not absolute");
  refused("~/x", "not absolute");
  refused("./x", "not absolute");
  refused("/usr/..", "'..' is not allowed");
  refused("/../usr", "'..' is not allowed");
  refused("/usr/../../etc/", "'..' is not allowed");
  refused("/usr/.", "'.' is not allowed");
  refused("/./usr", "'.' is not allowed");
  refused("/usr\0/x"s, "'/usr\\x00/x': a NUL byte is not allowed");
  refused("/" + std::string(4096, 'a'), "longer than 4096 bytes");
}

TEST(Policy, RefusesTheRootOfTheHost) {
  for (const char* root : {"/", "//", "///"}) {
    EXPECT_EQ(fault([&](Policy& p) { p.files.read = {root}; }),
              "policy: files.read: '"s + root +
                  "': gives the whole host to the cell; list what is needed");
    EXPECT_NE(fault([&](Policy& p) { p.files.write = {root}; }).find("list what is needed"),
              std::string::npos);
    EXPECT_NE(fault([&](Policy& p) { p.files.hide = {root}; }).find("would hide everything"),
              std::string::npos);
    EXPECT_NE(fault([&](Policy& p) { p.files.root = root; }).find("is the host itself"),
              std::string::npos);
  }
}

TEST(Policy, RefusesProcSysAndDevAndAllBelow) {
  for (const std::string path : {"/proc", "/proc/", "//proc", "/proc/self/root", "/proc/missing",
                                 "/sys", "/sys/fs/cgroup", "/dev", "/dev/null", "/dev/shm"}) {
    for (auto list : {&Files::read, &Files::write, &Files::hide}) {
      const std::string message = fault([&](Policy& p) { p.files.*list = {path}; });
      EXPECT_NE(message.find("; remove it"), std::string::npos) << path << ": " << message;
    }
  }
}

TEST_F(PolicyFiles, APlaceInTheCellIsRefusedWhereItCannotBe) {
  const std::string data = folder("data");
  const auto at = [&](const std::string& place) { return read_fault(data + ":" + place); };
  for (const std::string place : {"/data", "/srv/x/y/", "/tmp/x", "/workspace/x", "/opt/a:b"})
    EXPECT_EQ(at(place), "") << place;
  EXPECT_EQ(read_fault(data + ":" + data), "");
  for (const std::string place :
       {"/usr", "/usr/local/x", "/etc/x", "/bin", "/lib64/x", "/proc/x", "/sys", "/dev/shm"})
    EXPECT_NE(at(place).find("': the cell has the system's /"), std::string::npos) << at(place);
  EXPECT_NE(at("/workspace").find("private workspace there"), std::string::npos);
  EXPECT_NE(at("/").find("the cell's root"), std::string::npos);
  EXPECT_NE(at("//").find("the cell's root"), std::string::npos);
  EXPECT_NE(at("/.brig/0").find("brig uses that place itself"), std::string::npos);
  EXPECT_NE(at("/a/../b").find("'..' is not allowed"), std::string::npos);
  EXPECT_NE(at("/a/./b").find("'.' is not allowed"), std::string::npos);
  EXPECT_NE(at("/" + std::string(256, 'a')).find("longer than 255"), std::string::npos);
  EXPECT_NE(at("/a:/b").find("more than one ':/'"), std::string::npos);
  EXPECT_NE(read_fault("/proc:/data").find("/proc of its own"), std::string::npos);
  EXPECT_NE(read_fault("/:/data").find("gives the whole host"), std::string::npos);
  EXPECT_NE(read_fault(data + ":data").find("(a place in the cell is written PATH:/PLACE)"),
            std::string::npos);
}

// Otherwise, a user who may make directories could choose which of two paths is meant.
TEST_F(PolicyFiles, APathThatReadsInTwoWaysIsRefused) {
  folder("data");
  EXPECT_EQ(read_fault(path("data") + ":/opt/x"), "");
  folder("data:/opt/x");
  EXPECT_NE(read_fault(path("data") + ":/opt/x").find("a path of that very name, too"),
            std::string::npos);
  EXPECT_EQ(read_fault(path("data") + "\\:/opt/x"), "");
}

TEST_F(PolicyFiles, PathsThatContradictEachOtherAreRefused) {
  const std::string a = folder("a"), inner = folder("a/inner"), b = folder("b");
  const auto files_fault = [&](auto change) { return fault([&](Policy& p) { change(p.files); }); };
  EXPECT_NE(files_fault([&](Files& f) {
              f.read = {a + ":/x", b + ":/x"};
            }).find("'" + a + "' is at that place already; name another"),
            std::string::npos);
  EXPECT_EQ(files_fault([&](Files& f) { f.read = {a + ":/x", a + ":/x/", a}; }), "");
  EXPECT_NE(files_fault([&](Files& f) {
              f.write = {a + ":/x"};
              f.read = {inner};
            }).find("it can be written at '/x/inner', through '" + a + "' of files.write"),
            std::string::npos);
  EXPECT_NE(files_fault([&](Files& f) {
              f.read = {inner};
              f.hide = {a};
            }).find("files.hide hides it with '" + a + "'; take one of the two out"),
            std::string::npos);
  EXPECT_NE(files_fault([&](Files& f) {
              f.read = {b + ":" + a};
              f.hide = {inner};
            }).find("the cell shows the host's '" + b + "/inner' at that path; name the path"),
            std::string::npos);
}

TEST_F(PolicyFiles, OptionalPathsNeedNotBeThereAndAreCheckedOtherwise) {
  const auto optional = [&](const std::string& text) {
    const std::string read = fault([&](Policy& p) { p.files.read_optional = {text}; });
    const std::string write = fault([&](Policy& p) { p.files.write_optional = {text}; });
    EXPECT_EQ(read.empty(), write.empty()) << text;
    return read;
  };
  for (const std::string& text :
       {path("no"), path("no") + "/deep:/opt/x", folder("there"), file("plain") + "/below"})
    EXPECT_EQ(optional(text), "") << text;
  for (const std::string text : {"", "no", "/a/../b", "/", "/proc/x", "/dev/x", "/no:/usr/x"})
    EXPECT_NE(optional(text), "") << text;
  link("link", path("there"));
  EXPECT_NE(optional(path("link")).find("is a symlink"), std::string::npos);
}

TEST_F(PolicyFiles, NoexecAndProtectNameWhatIsListed) {
  const std::string a = folder("a"), inner = folder("a/inner"), b = folder("b");
  const auto noexec = [&](const std::string& name) {
    return fault([&](Policy& p) {
      p.files.read = {a + ":/x"};
      p.files.noexec = {name};
    });
  };
  EXPECT_EQ(noexec(a), "");
  EXPECT_EQ(noexec(a + "/"), "");
  EXPECT_NE(noexec("/x").find("the cell shows the host's '" + a + "'"), std::string::npos);
  for (const std::string& name : {inner, b, std::string("/usr")})
    EXPECT_NE(noexec(name).find("do not list it"), std::string::npos) << name;
  EXPECT_NE(fault([&](Policy& p) {
              p.files.read = {a + ":/x", inner};
              p.files.noexec = {inner};
            }).find("it can be executed at '/x/inner', through '" + a + "'"),
            std::string::npos);
  EXPECT_EQ(fault([&](Policy& p) {
              p.files.read = {a, inner};
              p.files.noexec = {inner};
            }),
            "");
  const auto protect = [&](const std::string& name) {
    return fault([&](Policy& p) {
      p.files.write = {a + ":/x"};
      p.files.read = {b};
      p.files.protect = {name};
    });
  };
  EXPECT_EQ(protect(inner), "");
  EXPECT_EQ(protect("@default"), "");
  EXPECT_NE(protect("@defaults").find("use \"@default\""), std::string::npos);
  EXPECT_NE(protect(a).find("files.write lists it"), std::string::npos);
  EXPECT_NE(protect(b).find("no path of files.write is above it"), std::string::npos);
  EXPECT_NE(protect(a + "/no").find("does not exist, and a tool can't be kept from making it"),
            std::string::npos);
  EXPECT_NE(protect("/x/inner").find("the cell shows the host's '" + inner + "'"),
            std::string::npos);
  EXPECT_NE(protect(".git/hooks").find("not absolute"), std::string::npos);
  link("a/link", inner);
  EXPECT_NE(protect(a + "/link").find("is a symlink"), std::string::npos);
}

TEST_F(PolicyFiles, AcceptsFilesAndDirectoriesWithAnySlashes) {
  folder("deep/er");
  for (const std::string& good :
       {directory_, directory_ + "/", "//" + directory_ + "///deep//er/", file("plain"),
        file("with space"), file("star*[x]?"), file(".hidden"), file("..dots"), file("...")}) {
    EXPECT_EQ(read_fault(good), "");
  }
}

TEST_F(PolicyFiles, RefusesWhatIsMissingAndSaysWhere) {
  EXPECT_EQ(read_fault(path("no")), "policy: files.read: '" + path("no") +
                                        "': No such file or directory; create it or remove it "
                                        "from the policy");
  EXPECT_NE(read_fault(path("no/such")).find("No such file or directory at '" + path("no") + "'"),
            std::string::npos);
  EXPECT_NE(read_fault(file("plain") + "/below").find("Not a directory"), std::string::npos);
  EXPECT_NE(read_fault("/" + std::string(300, 'a')).find("File name too long"), std::string::npos);
}

TEST_F(PolicyFiles, SaysThatGlobsAreNotSupported) {
  for (const char* glob : {"*", "a?", "[ab]", "*/x"}) {
    EXPECT_NE(read_fault(path(glob)).find("globs are not supported; list each path"),
              std::string::npos);
  }
}

TEST_F(PolicyFiles, RefusesASymlinkAnywhereOnTheWayAndNamesTheRealPath) {
  std::filesystem::create_directories(path("a/b"));
  const std::string last = link("last", "a/b");
  EXPECT_NE(read_fault(last).find("'" + last + "' is a symlink"), std::string::npos);
  EXPECT_NE(read_fault(last).find("list the real path '" + path("a/b") + "' instead"),
            std::string::npos);
  const std::string middle = link("middle", "a");
  EXPECT_NE(read_fault(middle + "/b").find("'" + middle + "' is a symlink"), std::string::npos);
  EXPECT_NE(read_fault(link("broken", "missing")).find("is a symlink"), std::string::npos);
  EXPECT_EQ(read_fault(path("a/b")), "");
}

TEST_F(PolicyFiles, TheRootIsAnExistingDirectory) {
  const auto at = [](const std::string& root) {
    return fault([&](Policy& p) { p.files.root = root; });
  };
  EXPECT_EQ(at(directory_ + "/"), "");
  EXPECT_NE(at(path("no")).find("files.root: '" + path("no") + "': No such file"),
            std::string::npos);
  EXPECT_NE(at(file("plain")).find("not a directory"), std::string::npos);
}

TEST(Policy, BoundsTheNumberOfPaths) {
  Policy policy;
  policy.files.read.assign(512, "/usr");
  policy.files.hide.assign(512, "/usr");
  EXPECT_EQ(fault(policy), "");
  policy.files.write = {"/usr"};
  EXPECT_EQ(fault(policy),
            "policy: files.hide: more than 1024 paths in all; list their directories");
}

TEST(Policy, EnvironmentNamesAndValuesAreWhatExecveTakes) {
  const auto set = [](const std::string& name, const std::string& value) {
    return fault([&](Policy& p) { p.environment.set[name] = value; });
  };
  EXPECT_EQ(set("A", ""), "");
  EXPECT_EQ(set("odd name-%.*", "any\n\xFF=value"), "");
  EXPECT_NE(set("", "x").find("environment.set: '': the name is empty"), std::string::npos);
  EXPECT_NE(set("A=B", "x").find("'A=B': '=' is not allowed in a name"), std::string::npos);
  EXPECT_NE(set("A\0"s, "x").find("NUL"), std::string::npos);
  EXPECT_NE(set("A", "x\0y"s).find("NUL byte is not allowed in a value"), std::string::npos);
  EXPECT_EQ(set("A", std::string(128_KiB - 3, 'x')), "");
  EXPECT_NE(set("A", std::string(128_KiB - 2, 'x')).find("longer than 128 KiB"), std::string::npos);
}

TEST(Policy, AValueOfTheEnvironmentIsNeverShown) {
  const std::string message = fault([](Policy& p) { p.environment.set["TOKEN"] = "s3cret\0"s; });
  EXPECT_NE(message.find("TOKEN"), std::string::npos);
  EXPECT_EQ(message.find("s3cret"), std::string::npos);
}

TEST(Policy, PassthroughTakesExactNames) {
  const auto pass = [](const std::string& name) {
    return fault([&](Policy& p) { p.environment.passthrough = {"OK", name}; });
  };
  EXPECT_EQ(pass("LD_PRELOAD"), "");
  EXPECT_NE(pass("").find("environment.passthrough: '': the name is empty"), std::string::npos);
  EXPECT_NE(pass("A=1").find("'=' is not allowed"), std::string::npos);
  EXPECT_NE(pass("A\0B"s).find("NUL"), std::string::npos);
  EXPECT_NE(pass("AWS_*").find("globs are not supported; list each name"), std::string::npos);
}

TEST(Policy, BoundsTheNumberOfVariables) {
  Policy policy;
  policy.environment.passthrough.assign(4096, "A");
  EXPECT_EQ(fault(policy), "");
  policy.environment.set["B"] = "b";
  EXPECT_NE(fault(policy).find("more than 4096 variables"), std::string::npos);
}

TEST(Policy, NamesThatAreUnsetLookLikeNames) {
  const auto unset = [](const std::string& name) {
    return fault([&](Policy& p) { p.environment.unset = {name}; });
  };
  EXPECT_EQ(unset("LANG"), "");
  EXPECT_NE(unset("").find("environment.unset: '': the name is empty"), std::string::npos);
  EXPECT_NE(unset("A=1").find("'=' is not allowed"), std::string::npos);
  EXPECT_NE(unset("LC_*").find("globs are not supported; list each name"), std::string::npos);
  EXPECT_NE(fault([](Policy& p) { p.environment.unset.assign(4097, "A"); }).find("more than 4096"),
            std::string::npos);
}

TEST(Policy, AUserIsAnIdThatStandsForNobodyElse) {
  const auto user = [](std::uint32_t id) { return fault([&](Policy& p) { p.user = id; }); };
  for (const std::uint32_t id : {0u, 1u, 1000u, 65533u, 65535u, 0x7FFFFFFFu})
    EXPECT_EQ(user(id), "");
  EXPECT_EQ(
      user(65534),
      "policy: user: 65534 is reserved: in a cell it stands for all other users; use \"root\" or "
      "a number from 0 to 2147483647");
  for (const std::uint32_t id : {0x80000000u, 0xFFFFFFFFu})
    EXPECT_NE(user(id).find("is out of range"), std::string::npos) << id;
}

TEST(Policy, SyscallNamesLookLikeNames) {
  const auto allow = [](const std::string& name) {
    return fault([&](Policy& p) { p.syscalls.allow = {name}; });
  };
  EXPECT_EQ(allow("io_uring_setup"), "");
  EXPECT_EQ(allow("clone3"), "");
  for (const std::string& bad : {""s, "Mount"s, "mount "s, "a-b"s, "mount\0"s, "*"s}) {
    EXPECT_NE(allow(bad).find("policy: syscalls.allow: "), std::string::npos) << bad;
  }
  EXPECT_NE(
      fault([](Policy& p) { p.syscalls.deny = {"a.b"}; }).find("policy: syscalls.deny: 'a.b'"),
      std::string::npos);
  EXPECT_NE(fault([](Policy& p) { p.syscalls.deny.assign(1025, "a"); }).find("more than 1024"),
            std::string::npos);
}

TEST(Paths, NormalPathHasSingleSlashesAndNoneAtTheEnd) {
  EXPECT_EQ(normal_path(""), "");
  EXPECT_EQ(normal_path("/"), "/");
  EXPECT_EQ(normal_path("///"), "/");
  EXPECT_EQ(normal_path("/a"), "/a");
  EXPECT_EQ(normal_path("//a///b//"), "/a/b");
}

TEST(Paths, BelowEndsAtASlash) {
  EXPECT_TRUE(is_at_or_below("/a", "/a"));
  EXPECT_TRUE(is_at_or_below("/a/b", "/a"));
  EXPECT_TRUE(is_at_or_below("/a", "/"));
  EXPECT_FALSE(is_at_or_below("/ab", "/a"));
  EXPECT_FALSE(is_at_or_below("/", "/a"));
  EXPECT_FALSE(is_at_or_below("/process", "/proc"));
}

}  // namespace
}  // namespace brig
