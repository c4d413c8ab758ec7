#include <brig/error.h>
#include <brig/policy.h>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

namespace brig {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

std::string fault(const std::string& text) {
  try {
    (void)policy_from_toml(text, "p.toml");
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config) << error.what();
    return error.what();
  }
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(PolicyToml, OfNothingIsTheDefault) {
  for (const char* text : {"", "\n\n", "# only a comment", "[limits]\n[files]\n"}) {
    const Policy policy = policy_from_toml(text);
    EXPECT_EQ(policy.limits.timeout, 30s);
    EXPECT_EQ(policy.limits.memory, 512_MiB);
    EXPECT_EQ(policy.limits.cpu_time, std::nullopt);
    EXPECT_EQ(policy.network, Network::none);
    EXPECT_EQ(policy.isolation, Isolation::jail);
    EXPECT_TRUE(policy.files.read.empty());
  }
}

TEST(PolicyToml, AUserIsRootOrANumber) {
  EXPECT_EQ(policy_from_toml("").user, std::nullopt);
  for (const char* text : {"user = 'root'", "user = 0", "user = '0'"})
    EXPECT_EQ(policy_from_toml(text).user, 0u) << text;
  EXPECT_EQ(policy_from_toml("user = 1234").user, 1234u);
  EXPECT_EQ(fault("user = 'ana'"),
            "p.toml:1: user: expected \"root\" or a number such as 1000, got 'ana'");
  EXPECT_EQ(fault("user = 1.5"),
            "p.toml:1: user: expected \"root\" or a number such as 1000, got a float");
  EXPECT_TRUE(contains(fault("user = -1"), "p.toml:1: user: -1 is not a user id"));
  EXPECT_TRUE(contains(fault("user = 4294967296"), "is not a user id"));
  EXPECT_TRUE(contains(fault("\nuser = 65534"), "p.toml:2: user: 65534 is reserved"));
}

TEST(PolicyToml, NamesPresetsAndVariablesToUnset) {
  const Policy policy =
      policy_from_toml("preset = ['node', 'go:shared']\nenvironment.unset = ['LANG']");
  EXPECT_EQ(policy.preset, (std::vector<std::string>{"node", "go:shared"}));
  EXPECT_EQ(policy.environment.unset, std::vector<std::string>{"LANG"});
  EXPECT_EQ(fault("preset = ['git',\n'pyton']"),
            "p.toml:2: preset: 'pyton': there is no such preset; did you mean 'python'?");
  EXPECT_TRUE(
      contains(fault("preset = ['fortran']"), "known presets: node, python, rust, go, java, git"));
  EXPECT_TRUE(contains(fault("preset = ['node:private']"),
                       "after a preset's name, only ':shared' is allowed"));
  EXPECT_TRUE(contains(fault("preset = ['git:shared']"),
                       "'git:shared': has no cache to share; write 'git'"));
  EXPECT_TRUE(contains(fault("preset = 'node'"), "expected an array of names such as [\"node\"]"));
  EXPECT_TRUE(contains(fault("presets = ['node']"), "did you mean 'preset'?"));
  EXPECT_TRUE(contains(fault("environment.unset = ['A=B']"),
                       "environment.unset: 'A=B': '=' is not allowed"));
  EXPECT_TRUE(contains(fault("environment.remove = ['A']"), "known keys: passthrough, set, unset"));
}

TEST(PolicyToml, ASizeMayBeAFraction) {
  EXPECT_EQ(policy_from_toml("limits.memory = '1.5G'").limits.memory, 1536_MiB);
  EXPECT_EQ(policy_from_toml("limits.scratch = '0.5 MiB'").limits.scratch, 512_KiB);
  EXPECT_TRUE(contains(fault("limits.memory = 1.5"), "expected a size such as"));
}

TEST(PolicyToml, SetsEveryField) {
  const Policy policy = policy_from_toml(R"(
isolation = "landlock"
network = "loopback"
[limits]
timeout = "10s"
grace = "250ms"
cpu_time = 1.5
memory = "1G"
processes = 7
output = "64K"
output_total = 1048576
scratch = "8MiB"
file_size = "1MB"
open_files = 100
cpus = 0.5
[files]
read = ["/usr", "/etc/passwd"]
write = ["/tmp"]
hide = ["/usr/bin"]
working_directory = "/workspace/x"
root = "/usr"
read_optional = ["/no/such:/opt/x"]
write_optional = ["/no/such/other"]
noexec = ["/etc/passwd"]
protect = ["@default"]
[environment]
passthrough = ["API_URL"]
set = { KEY = "value", "odd name" = "" }
[syscalls]
allow = ["ptrace"]
deny = ["kill", "io_uring_setup"]
)");
  EXPECT_EQ(policy.isolation, Isolation::landlock);
  EXPECT_EQ(policy.network, Network::loopback);
  EXPECT_EQ(policy.limits.timeout, 10s);
  EXPECT_EQ(policy.limits.grace, 250ms);
  EXPECT_EQ(policy.limits.cpu_time, 1500ms);
  EXPECT_EQ(policy.limits.memory, 1_GiB);
  EXPECT_EQ(policy.limits.processes, 7u);
  EXPECT_EQ(policy.limits.output, 64_KiB);
  EXPECT_EQ(policy.limits.output_total, 1_MiB);
  EXPECT_EQ(policy.limits.scratch, 8_MiB);
  EXPECT_EQ(policy.limits.file_size, 1_MiB);
  EXPECT_EQ(policy.limits.open_files, 100u);
  EXPECT_EQ(policy.limits.cpus, 0.5);
  EXPECT_EQ(policy.files.read, (std::vector<std::string>{"/usr", "/etc/passwd"}));
  EXPECT_EQ(policy.files.write, std::vector<std::string>{"/tmp"});
  EXPECT_EQ(policy.files.hide, std::vector<std::string>{"/usr/bin"});
  EXPECT_EQ(policy.files.working_directory, "/workspace/x");
  EXPECT_EQ(policy.files.root, "/usr");
  EXPECT_EQ(policy.files.read_optional, std::vector<std::string>{"/no/such:/opt/x"});
  EXPECT_EQ(policy.files.write_optional, std::vector<std::string>{"/no/such/other"});
  EXPECT_EQ(policy.files.noexec, std::vector<std::string>{"/etc/passwd"});
  EXPECT_EQ(policy.files.protect, std::vector<std::string>{"@default"});
  EXPECT_EQ(policy.environment.passthrough, std::vector<std::string>{"API_URL"});
  EXPECT_EQ(policy.environment.set.at("KEY"), "value");
  EXPECT_EQ(policy.environment.set.at("odd name"), "");
  EXPECT_EQ(policy.syscalls.allow, std::vector<std::string>{"ptrace"});
  EXPECT_EQ(policy.syscalls.deny, (std::vector<std::string>{"kill", "io_uring_setup"}));
}

TEST(PolicyToml, TakesDottedKeysAndInlineTablesToo) {
  EXPECT_EQ(policy_from_toml("limits.memory = '8M'").limits.memory, 8_MiB);
  EXPECT_EQ(policy_from_toml("limits = { memory = 8388608 }").limits.memory, 8_MiB);
  EXPECT_EQ(policy_from_toml("[environment.set]\nA = 'b'").environment.set.at("A"), "b");
}

TEST(PolicyToml, HostsStandInATableOfTheNetwork) {
  const Network both = Network::to({"api.github.com:443", "*.pypi.org"}, {"gist.github.com"});
  for (const char* text :
       {"[network]\nallow = ['api.github.com:443', '*.pypi.org']\ndeny = ['gist.github.com']",
        "network = { allow = ['api.github.com:443', '*.pypi.org'], deny = ['gist.github.com'] }",
        "network.allow = ['api.github.com:443', '*.pypi.org']\nnetwork.deny = ['gist.github.com']"})
    EXPECT_EQ(policy_from_toml(text).network, both) << text;
  EXPECT_EQ(policy_from_toml("network.allow = ['a.example']").network, Network::to({"a.example"}));
}

TEST(PolicyToml, TheLimitsOfConnectionsAreReadAsTheOthers) {
  const Limits limits = policy_from_toml(
                            "[limits]\nconnections = 8\nupload = '1M'\ndownload = 2048\n"
                            "connection_time = '90s'")
                            .limits;
  EXPECT_EQ(limits.connections, 8u);
  EXPECT_EQ(limits.upload, 1_MiB);
  EXPECT_EQ(limits.download, 2_KiB);
  EXPECT_EQ(limits.connection_time, 90s);
  EXPECT_FALSE(limits.named);
  EXPECT_EQ(fault("[limits]\n\nconnections = 0"),
            "p.toml:3: limits.connections: 0 is out of range; use 1 to 4096");
  EXPECT_EQ(fault("[limits]\nconnection_time = '0s'"),
            "p.toml:2: limits.connection_time: 0 ms is out of range; use 1 ms to 24 h");
  EXPECT_EQ(fault("connections = 8"),
            "p.toml:1: unknown key 'connections'; it belongs in [limits]");
}

TEST(PolicyToml, ABadHostHasItsLine) {
  EXPECT_EQ(fault("[network]\nallow = [\n  'a.example',\n  '*',\n]").substr(0, 29),
            "p.toml:4: network.allow: '*':");
  EXPECT_EQ(fault("[network]\nallow = ['a.example']\ndeny = [\n'b.example',\n'x:y']").substr(0, 30),
            "p.toml:5: network.deny: 'x:y':");
  EXPECT_EQ(fault("[network]\n\nallow = ['a.example']\ndeny = ['a.example']").substr(0, 37),
            "p.toml:3: network.allow: 'a.example':");
  EXPECT_EQ(fault("[network]\nallow = [1]"),
            "p.toml:2: network.allow[0]: expected a string, got an integer");
}

TEST(PolicyToml, ATableOfTheNetworkHasHosts) {
  const std::string empty = "is empty; list a host, or use network = \"none\"";
  EXPECT_EQ(fault("\nnetwork = {}"), "p.toml:2: network.allow: " + empty);
  EXPECT_EQ(fault("[network]\n\nallow = []"), "p.toml:3: network.allow: " + empty);
  EXPECT_EQ(fault("\n[network]\ndeny = ['a.example']"), "p.toml:2: network.allow: " + empty);
  EXPECT_EQ(fault("[network]\nallow = 'a.example'"),
            "p.toml:2: network.allow: expected an array of hosts such as [\"api.github.com:443\"], "
            "got 'a.example'");
  EXPECT_TRUE(contains(fault("[network]\nalow = ['a.example']"),
                       "p.toml:2: unknown key 'alow' in [network]; did you mean 'allow'?"));
}

// Who writes a host where a mode stands is shown where hosts stand.
TEST(PolicyToml, AHostInPlaceOfAModeIsShownTheTable) {
  EXPECT_EQ(fault("network = 'api.github.com'"),
            "p.toml:1: network: 'api.github.com' is a host; hosts stand in a table: network = { "
            "allow = [\"api.github.com\"] }");
  EXPECT_EQ(fault("network = '10.2.0.0/16:5432'"),
            "p.toml:1: network: '10.2.0.0/16:5432' is a host; hosts stand in a table: network = { "
            "allow = [\"10.2.0.0/16:5432\"] }");
  EXPECT_EQ(fault("network = 'https://api.github.com/'"),
            "p.toml:1: network: 'https://api.github.com/' is no mode; hosts stand in a table: "
            "network = { allow = [\"api.github.com:443\"] }");
  EXPECT_EQ(fault("network = ['a.example']"),
            "p.toml:1: network: hosts stand in a table: network = { allow = "
            "[\"api.github.com:443\"] }");
  EXPECT_EQ(fault("network = 'proxy'"),
            "p.toml:1: network: \"proxy\" needs the hosts: network = { allow = "
            "[\"api.github.com:443\"] }");
}

TEST(PolicyToml, EveryNameOfTheEnumsReadsBack) {
  for (const Network::Mode network : {Network::none, Network::loopback, Network::host}) {
    EXPECT_EQ(policy_from_toml("network = '"s + to_string(network) + "'").network, network);
  }
  for (const Isolation isolation : {Isolation::jail, Isolation::landlock, Isolation::process}) {
    EXPECT_EQ(policy_from_toml("isolation = '"s + to_string(isolation) + "'").isolation, isolation);
  }
}

TEST(PolicyToml, DurationsAreStringsOrSeconds) {
  const auto wall = [](const std::string& value) {
    return policy_from_toml("limits.timeout = " + value).limits.timeout;
  };
  EXPECT_EQ(wall("10"), 10s);
  EXPECT_EQ(wall("0.5"), 500ms);
  EXPECT_EQ(wall("'2m'"), 2min);
  EXPECT_EQ(wall("'1.5s'"), 1500ms);
  EXPECT_EQ(wall("'24h'"), 24h);
}

TEST(PolicyToml, WallTimeIsTheOldNameOfTimeout) {
  EXPECT_EQ(policy_from_toml("[limits]\nwall_time = 5").limits.timeout, 5s);
  EXPECT_EQ(fault("[limits]\ntimeout = 5\nwall_time = 6"),
            "p.toml:3: limits.wall_time: is the old name of limits.timeout; keep that one");
  EXPECT_EQ(fault("[limits]\ntimeout = '25h'"),
            "p.toml:2: limits.timeout: 25 h is out of range; use 1 ms to 24 h");
}

TEST(PolicyToml, AnUnknownKeyIsNamedWithItsNearest) {
  EXPECT_EQ(fault("\n[limits]\n\nmemroy = '1G'"),
            "p.toml:4: unknown key 'memroy' in [limits]; did you mean 'memory'?");
  EXPECT_EQ(fault("isolatoin = 'jail'"),
            "p.toml:1: unknown key 'isolatoin'; did you mean 'isolation'?");
  EXPECT_EQ(fault("\n[limts]\nmemory = '1G'"),
            "p.toml:2: unknown table [limts]; did you mean 'limits'?");
  EXPECT_EQ(fault("[syscalls]\nxyzzy = 1"),
            "p.toml:2: unknown key 'xyzzy' in [syscalls]; known keys: allow, deny");
  EXPECT_EQ(fault("'a\\u001b\xC3\xBC' = 1").substr(0, 28), "p.toml:1: unknown key 'a\\u00");
}

TEST(PolicyToml, AKeyInTheWrongTableIsSentToItsOwn) {
  EXPECT_EQ(fault("memory = '1G'"), "p.toml:1: unknown key 'memory'; it belongs in [limits]");
  EXPECT_EQ(fault("[files]\nmemory = '1G'"),
            "p.toml:2: unknown key 'memory' in [files]; it belongs in [limits]");
}

TEST(PolicyToml, EveryMistakeIsToldInTheOrderOfTheFile) {
  EXPECT_EQ(fault("network = 'nun'\n[limits]\nmemory = '1M'\nzz = 1\ngrace = true\nprocesses = 0\n"
                  "[files]\nread = ['x',\n1,\n'/no/such']\nhide = ['/usr',\n'y', '/no/such']\n"
                  "[environment.set]\nA = 1\n'B=C' = ''"),
            "p.toml:1: network: expected one of \"none\", \"loopback\", \"host\", got 'nun'\n"
            "p.toml:3: limits.memory: 1 MiB is out of range; use 4 MiB to 1 EiB\n"
            "p.toml:4: unknown key 'zz' in [limits]; known keys: timeout, grace, cpu_time, "
            "memory, processes, output, output_total, result, scratch, file_size, open_files, "
            "connections, upload, download, connection_time, cpus, wall_time\n"
            "p.toml:5: limits.grace: expected a duration such as \"30s\", got a boolean\n"
            "p.toml:6: limits.processes: 0 is out of range; use 1 to 32768\n"
            "p.toml:9: files.read[1]: expected a string, got an integer\n"
            "p.toml:12: files.hide: 'y': not absolute; write the path from '/' on\n"
            "p.toml:12: files.hide: '/no/such': No such file or directory at '/no'; create it or "
            "remove it from the policy\n"
            "p.toml:14: environment.set.A: expected a string; write the value in quotes, got an "
            "integer\n"
            "p.toml:15: environment.set: 'B=C': '=' is not allowed in a name; remove it");
}

TEST(PolicyToml, WhatIsToldIsBounded) {
  std::string text;
  for (int i = 0; i < 5'000; ++i) text += "\"x y" + std::to_string(i) + "\" = 1\n";
  const std::string message = fault(text);
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 100);
  EXPECT_TRUE(message.ends_with("\np.toml: and 4900 more")) << message.substr(message.size() - 100);
}

TEST(PolicyToml, ANameThatWouldLookLikeTwoLinesIsQuoted) {
  try {
    (void)policy_from_toml("x = 1", "a\nb: c");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("'a\\x0ab: c':1: unknown key"))
        << error.what();
  }
}

TEST(PolicyToml, AWrongTypeIsNamed) {
  EXPECT_EQ(fault("[limits]\nmemory = true"),
            "p.toml:2: limits.memory: expected a size such as \"512M\" or \"1.5G\", got a boolean");
  EXPECT_EQ(fault("[limits]\nmemory = 1.5"),
            "p.toml:2: limits.memory: expected a size such as \"512M\" or \"1.5G\", got a float");
  EXPECT_EQ(
      fault("[limits]\nmemory = '5 bananas'"),
      "p.toml:2: limits.memory: expected a size such as \"512M\" or \"1.5G\", got '5 bananas'");
  EXPECT_EQ(fault("[limits]\ntimeout = [1]"),
            "p.toml:2: limits.timeout: expected a duration such as \"30s\", got an array");
  EXPECT_EQ(fault("[limits]\ntimeout = '-5s'"),
            "p.toml:2: limits.timeout: expected a duration such as \"30s\", got '-5s'");
  EXPECT_EQ(fault("[limits]\ntimeout = 10:00:00"),
            "p.toml:2: limits.timeout: expected a duration such as \"30s\", got a time");
  EXPECT_EQ(fault("[limits]\nprocesses = '64'"),
            "p.toml:2: limits.processes: expected a whole number such as 64, got '64'");
  EXPECT_EQ(fault("[limits]\ncpus = '2'"),
            "p.toml:2: limits.cpus: expected a number such as 1.5, got '2'");
  EXPECT_EQ(fault("limits = 1"), "p.toml:1: limits: expected a table, [limits], got an integer");
  EXPECT_TRUE(contains(fault("[[limits]]\nmemory = '1G'"), "expected a table, [limits], got"));
  EXPECT_EQ(fault("[files]\nread = '/usr'"),
            "p.toml:2: files.read: expected an array of paths such as [\"/opt/data\"], got '/usr'");
  EXPECT_EQ(fault("[files]\nread = [\n '/usr',\n 1]"),
            "p.toml:4: files.read[1]: expected a string, got an integer");
  EXPECT_EQ(fault("[files]\nroot = 1"), "p.toml:2: files.root: expected a path, got an integer");
  EXPECT_EQ(
      fault("[environment]\nset = ['A']"),
      "p.toml:2: environment.set: expected a table such as { KEY = \"value\" }, got an array");
  EXPECT_EQ(fault("[environment.set]\nPORT = 80"),
            "p.toml:2: environment.set.PORT: expected a string; write the value in quotes, got an "
            "integer");
  EXPECT_TRUE(contains(fault("environment.passthrough = {}"), "got a table"));
  EXPECT_TRUE(contains(fault("syscalls.allow = 'ptrace'"), "expected an array of names"));
}

TEST(PolicyToml, AWrongNameIsAnsweredWithTheRightOnes) {
  EXPECT_EQ(fault("isolation = 'jial'"),
            "p.toml:1: isolation: expected one of \"jail\", \"landlock\", \"process\", got 'jial'; "
            "did you mean \"jail\"?");
  EXPECT_EQ(fault("network = 'internet'"),
            "p.toml:1: network: expected one of \"none\", \"loopback\", \"host\", got 'internet'");
  EXPECT_EQ(fault("network = false"),
            "p.toml:1: network: expected one of \"none\", \"loopback\", \"host\", got a boolean");
  EXPECT_TRUE(contains(fault("isolation = 'JAIL'"), "did you mean \"jail\"?"));
}

TEST(PolicyToml, AValueOutOfRangeHasItsLine) {
  EXPECT_EQ(fault("[limits]\n\nmemory = '1M'"),
            "p.toml:3: limits.memory: 1 MiB is out of range; use 4 MiB to 1 EiB");
  EXPECT_EQ(fault("[limits]\nmemory = -1"),
            "p.toml:2: limits.memory: -1 is out of range; use 4 MiB to 1 EiB");
  EXPECT_EQ(fault("[limits]\noutput = -1"),
            "p.toml:2: limits.output: -1 is out of range; use 0 B to 1 GiB");
  EXPECT_EQ(fault("[limits]\nprocesses = 0"),
            "p.toml:2: limits.processes: 0 is out of range; use 1 to 32768");
  EXPECT_EQ(fault("[limits]\nprocesses = 4294967297"),
            "p.toml:2: limits.processes: 4294967297 is out of range; use 1 to 32768");
  EXPECT_EQ(fault("[limits]\nopen_files = -9223372036854775808"),
            "p.toml:2: limits.open_files: -9223372036854775808 is out of range; use 16 to 1048576");
  EXPECT_EQ(fault("[limits]\ntimeout = 0"),
            "p.toml:2: limits.timeout: 0 ms is out of range; use 1 ms to 24 h");
  EXPECT_EQ(fault("[limits]\ntimeout = -1.5"),
            "p.toml:2: limits.timeout: -1.5 s is out of range; use 1 ms to 24 h");
  EXPECT_EQ(fault("[limits]\ntimeout = nan"),
            "p.toml:2: limits.timeout: nan s is out of range; use 1 ms to 24 h");
  EXPECT_EQ(fault("[limits]\ngrace = inf"),
            "p.toml:2: limits.grace: inf s is out of range; use 0 ms to 1 min");
  EXPECT_EQ(fault("[limits]\ncpus = nan"),
            "p.toml:2: limits.cpus: nan is out of range; use 0.01 to 8192");
}

TEST(PolicyToml, WhatValidateRefusesHasItsLine) {
  EXPECT_EQ(fault("[files]\nread = [\n  '/usr',\n  '/x/../y',\n]"),
            "p.toml:4: files.read: '/x/../y': '..' is not allowed; write the path without it");
  EXPECT_TRUE(
      contains(fault("[files]\n\nroot = '/no/such'"), "p.toml:3: files.root: '/no/such': "));
  EXPECT_TRUE(contains(fault("[environment]\nset.A = 'x'\nset.'B=C' = 'y'"),
                       "p.toml:3: environment.set: 'B=C': "));
  EXPECT_TRUE(
      contains(fault("[environment.set]\nA = \"\\u0000\""), "p.toml:2: environment.set: 'A'"));
  EXPECT_TRUE(contains(fault("[environment]\npassthrough = [\n'A',\n'']"),
                       "p.toml:4: environment.passthrough: ''"));
  EXPECT_TRUE(contains(fault("[syscalls]\ndeny = ['Kill']"), "p.toml:2: syscalls.deny: 'Kill'"));
}

TEST(PolicyToml, TooManyPathsHaveTheLineOfTheirList) {
  std::string text = "[files]\n\nread = [";
  for (int i = 0; i < 1025; ++i) text += "'/usr',";
  EXPECT_EQ(fault(text + "]"),
            "p.toml:3: files.read: more than 1024 paths in all; list their directories");
}

TEST(PolicyToml, WhatIsNotTomlHasItsLine) {
  EXPECT_EQ(fault("[limits]\nmemory = ").substr(0, 9), "p.toml:2:");
  EXPECT_EQ(fault("[limits]\nmemory = '1G'\nmemory = '2G'").substr(0, 9), "p.toml:3:");
  EXPECT_EQ(fault("[limits]\n[files]\n[limits]").substr(0, 9), "p.toml:3:");
  EXPECT_EQ(fault("a\0b = 1"s).substr(0, 9), "p.toml:1:");
  EXPECT_EQ(fault("\n\xFF = 1").substr(0, 7), "p.toml:");
  EXPECT_EQ(fault("<policy/>").substr(0, 9), "p.toml:1:");
}

// toml++ 3.3 asserts here, where it should report a fault.
TEST(PolicyToml, AHeaderWithoutAKeyIsAnErrorAndNotAnAbort) {
  for (const char* text : {"[=", "[\n]", "[.", "[[=]]", "[#", "[,", "[\x01", "[]", "[[]]", "["}) {
    EXPECT_EQ(fault(text).substr(0, 7), "p.toml:") << text;
  }
}

TEST(PolicyToml, IsBoundedInSize) {
  EXPECT_EQ(fault(std::string(1_MiB, '\n')), "");
  EXPECT_EQ(fault(std::string(1_MiB + 1, '\n')), "p.toml: longer than 1 MiB; this is not a policy");
}

// toml++ 3.3 destroys nested tables by recursion; each of these once overflowed the stack.
TEST(PolicyToml, DeepNestingIsAnErrorAndNotACrash) {
  const auto repeated = [](const std::string& piece, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += piece;
    return text;
  };
  EXPECT_EQ(fault("\n[" + repeated("a.", 300'000) + "a]"),
            "p.toml:2: more than 32 dots on one line; write the keys as tables");
  EXPECT_TRUE(contains(fault(repeated("'a'.", 200'000) + "a = 1"), "more than 32 dots"));
  EXPECT_TRUE(contains(fault("x = { " + repeated("\"\\\"\" . ", 100'000) + "a = 1 }"),
                       "more than 32 dots"));
  EXPECT_TRUE(contains(fault("x = \"\"\"\n\\\"\"\"\"\n" + repeated("a.", 100'000) + "a = 1"),
                       "p.toml:3: more than 32 dots"));
  EXPECT_NE(fault("x = " + repeated("[", 500'000)), "");
  EXPECT_NE(fault("x = " + repeated("{a=", 300'000)), "");
  // As deep as both limits allow.
  EXPECT_NE(fault("x = [\n" + repeated("{" + repeated("a.", 32) + "a=[\n", 5'000)), "");
  const std::string closed =
      "x = " + repeated("[{" + repeated("a.", 31) + "a=\n", 100) + "1" + repeated("}]", 100);
  EXPECT_NE(fault(closed), "");
}

TEST(PolicyToml, DotsInStringsAndCommentsAreNotCounted) {
  const std::string dots(100, '.');
  EXPECT_EQ(fault("# " + dots + "\n[environment.set]\nA = '" + dots + "'\nB = \"\\\"" + dots +
                  "\"\nC = '''\n" + dots + "'" + dots + "'''\nD = \"\"\"" + dots + "\n\"" + dots +
                  "\\\"\"\"\"\nE = ''\nF = \"\" # it's " + dots + "\n"),
            "");
}

TEST(PolicyToml, AnyBytesGiveAPolicyOrAnError) {
  std::mt19937 random(5);
  const std::string seed =
      "isolation = \"jail\"\nnetwork = 'none'\n[limits]\nmemory = \"1G\"\ncpus = 1.5\n[files]\n"
      "read = [\"/usr\", '''/etc''']\n[environment]\nset = { A.B = \"\"\"x\"\"\" }\n";
  const std::string letters = "[]{}=.,\"'\\\n#a1 \0\xFF"s;
  for (int round = 0; round < 5'000; ++round) {
    std::string text = seed;
    for (unsigned edits = 1 + static_cast<unsigned>(random() % 6); edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      const char letter = letters[random() % letters.size()];
      switch (random() % 3) {
        case 0: text[at] = letter; break;
        case 1: text.insert(at, 1 + random() % 4, letter); break;
        default: text.erase(at, 1 + random() % 8);
      }
      if (text.empty()) text = "x";
    }
    const std::string message = fault(text);  // Anything but Error would end the test.
    EXPECT_TRUE(message.empty() || message.starts_with("p.toml:")) << message;
  }
}

class PolicyTomlFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "/brig-XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    directory_ = path;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string file(const std::string& text) const {
    std::ofstream(directory_ + "/policy.toml", std::ios::binary) << text;
    return directory_ + "/policy.toml";
  }
  static std::string file_fault(const std::string& path) {
    try {
      (void)policy_from_toml_file(path);
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::config) << error.what();
      return error.what();
    }
  }

  std::string directory_;
};

TEST_F(PolicyTomlFile, IsReadWhole) {
  EXPECT_EQ(
      policy_from_toml_file(file("#" + std::string(100'000, 'x') + "\nnetwork = 'host'")).network,
      Network::host);
  EXPECT_EQ(file_fault(file("")), "");
}

TEST_F(PolicyTomlFile, IsNamedInItsErrors) {
  const std::string path = file("\nmemory = 1");
  EXPECT_EQ(file_fault(path), path + ":2: unknown key 'memory'; it belongs in [limits]");
}

TEST_F(PolicyTomlFile, ThatIsMissingIsAnError) {
  EXPECT_EQ(file_fault(directory_ + "/no"),
            "opening policy '" + directory_ + "/no': No such file or directory");
  EXPECT_TRUE(contains(file_fault(""), "No such file or directory"));
  EXPECT_TRUE(contains(file_fault("/x\0y"s), "Invalid argument"));
}

TEST_F(PolicyTomlFile, ThatIsNotAFileIsAnErrorAndNotAWait) {
  EXPECT_EQ(file_fault(directory_),
            "reading policy '" + directory_ + "': not a regular file or a pipe");
  EXPECT_TRUE(contains(file_fault("/dev/zero"), "not a regular file or a pipe"));
}

TEST(PolicyToml, AnEmptyPathIsNotTheDefault) {
  EXPECT_EQ(fault("[files]\nroot = ''"),
            "p.toml:2: files.root: is empty; leave it out for the default");
  EXPECT_EQ(fault("[files]\nworking_directory = ''"),
            "p.toml:2: files.working_directory: is empty; leave it out for the default");
  for (const char* list : {"read", "write", "hide"})
    EXPECT_FALSE(fault(std::string("[files]\n") + list + " = ['']").empty()) << list;
}

// toml++ has code that it believes to be unreachable for most of these.
TEST(PolicyToml, WhatIsNotAsciiOutsideStringsIsAFault) {
  for (const char* text :
       {"\u00e9 = 1", "[[\ufcffen]]", "{b\u0184=1}", "tonqe =14a.aaa'14a.\u049e"})
    EXPECT_FALSE(fault(text).empty()) << text;
  EXPECT_EQ(fault("# \u00e9\nisolation = 'jail'"), "");
}

TEST_F(PolicyTomlFile, IsBoundedInSize) {
  const std::string path = file(std::string(1_MiB + 1, '\n'));
  EXPECT_EQ(file_fault(path), path + ": longer than 1 MiB; this is not a policy");
  // brig does not read a file beyond the bound, even if its size is false (a sparse terabyte).
  ASSERT_EQ(::truncate(path.c_str(), off_t{1} << 40), 0);
  EXPECT_EQ(file_fault(path), path + ": longer than 1 MiB; this is not a policy");
}

}  // namespace
}  // namespace brig
