// Lies in reports, and set-ups that go wrong (group K of the attack list).
#include <functional>
#include <limits>

#include "escape.h"

namespace {

using namespace escape;
using brig::Error;
using brig::ErrorKind;
using brig::Outcome;
using brig::Policy;
using brig::Report;

// Who repeats the suite with BRIG_CELL_USER or BRIG_CELL_WORDS repeats it with that, and not as it was.
TEST(Escape, TheSuiteRunsAsItSays) {
  const char* user = getenv("BRIG_CELL_USER");
  const auto look = brig::Command::shell(
      "id -u; id -g; cat /opt/brig-words/file; echo ${GIT_TERMINAL_PROMPT-no preset}; env | grep "
      "-c -e '^LC_CTYPE=' -e '^BRIG_WORDS='");
  setenv("LC_CTYPE", "C", 1);
  const Report pooled = brig::Runner(policy(), {.ready = 1}).run(look);
  const Report single = brig::run(look, policy());
  unsetenv("LC_CTYPE");
  const std::string id = user ? user : "1000";
  for (const Report& report : {pooled, single})
    EXPECT_EQ(report.out.bytes,
              id + "\n" + id + "\n" + (has_words() ? "elsewhere\n0\n0\n" : "no preset\n1\n"))
        << describe(report);
  if (!has_words()) return;
  ASSERT_EQ(policy().files.protect.size(), 1u);
  ASSERT_EQ(policy().files.noexec.size(), 1u);
  const std::string kept = policy().files.protect[0], data = policy().files.noexec[0];
  const auto use = brig::Command::shell("echo x >'" + kept + "'; '" + data + "/program'; . '" +
                                        data + "/program'");
  for (const Report& report :
       {brig::Runner(policy(), {.ready = 1}).run(use), brig::run(use, policy())}) {
    EXPECT_EQ(report.out.bytes, "ran\n") << describe(report) << "; read, not executed";
    EXPECT_TRUE(enforces(report, "protect")) << describe(report);
  }
  EXPECT_EQ(read_file(kept), "as it was\n");
}

TEST(Escape, AReportCannotBeForged) {
  const Report report = attack({"ending", "forge"});
  EXPECT_EQ(report.outcome, Outcome::exit);
  EXPECT_EQ(report.exit_code.value_or(-1), 7);
  EXPECT_EQ(violations(report, "syscall", "mount"), 2u);
  EXPECT_EQ(violations(report, "syscall", "chroot"), 1u);
  ASSERT_EQ(report.violations.size(), 2u);
  for (const brig::Violation& each : report.violations) {
    EXPECT_EQ(each.code, "syscall.refused");
    EXPECT_NE(each.what, "forged");
  }
  EXPECT_FALSE(enforces(report, "everything"));
  // As JSON: the forgery is inside a string, escaped.
  const std::string json = to_json(report);
  EXPECT_EQ(json.find("\"what\":\"forged\""), std::string::npos);
  EXPECT_EQ(json.find('\033'), std::string::npos);
  EXPECT_EQ(json.rfind("{\"outcome\":\"exit\"", 0), 0u) << json;
}

TEST(Escape, ViolationsAreCappedAndTheRefusalsGoOn) {
  const auto begin = std::chrono::steady_clock::now();
  const Report report = attack({"ending", "refusals"});
  expect_refused(report, {"still refused"});
  ASSERT_EQ(report.violations.size(), 1u) << "one record with a count";
  EXPECT_GE(violations(report, "syscall", "mount"), 1000u);
  EXPECT_LE(violations(report, "syscall", "mount"), 10'000u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
}

TEST(Escape, AFailureToStartIsNotAnExitCode) {
  brig::Runner runner(policy());
  const Report missing = runner.run({.argv = {"/nonexistent/program"}});
  EXPECT_EQ(missing.outcome, Outcome::invalid_arguments);
  const Report exited = runner.run(guest({"ending", "exit", "127"}));
  EXPECT_EQ(exited.outcome, Outcome::exit);
  EXPECT_EQ(exited.exit_code.value_or(-1), 127);
  const Report denied = runner.run({.argv = {"/etc/passwd"}});
  EXPECT_EQ(denied.outcome, Outcome::invalid_arguments);
  EXPECT_EQ(runner.run({.argv = {}}).outcome, Outcome::invalid_arguments);
  EXPECT_EQ(runner.run({.argv = {std::string("true\0x", 6)}}).outcome, Outcome::invalid_arguments);
  // The working directory is the model's to write to: an empty entry of PATH does not search it.
  Policy trap = policy();
  trap.environment.set = {{"PATH", ":/usr/bin:"}};
  const Report found = brig::run(brig::Command{.argv = {"brig-no-such-program"}}, trap);
  EXPECT_EQ(found.outcome, Outcome::invalid_arguments);
}

TEST(Escape, AWrongPolicyThrowsAndNothingRuns) {
  HostDirectory host;
  const auto expect_error = [&](const char* what, const std::function<void(Policy&)>& change) {
    SCOPED_TRACE(what);
    Policy wrong = policy();
    wrong.files.write = {host.path()};
    change(wrong);
    try {
      (void)brig::run({.argv = {"touch", host / "ran"}}, wrong);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_TRUE(error.kind() == ErrorKind::config || error.kind() == ErrorKind::unsupported)
          << error.what();
      EXPECT_NE(std::string(error.what()), "");
    }
    EXPECT_FALSE(exists(host / "ran"));
  };
  expect_error("missing source", [](Policy& p) { p.files.read.push_back("/nonexistent/brig"); });
  expect_error("missing hidden path",
               [](Policy& p) { p.files.hide.push_back("/nonexistent/brig"); });
  expect_error("relative", [](Policy& p) { p.files.read.push_back("etc"); });
  expect_error("dot dot", [&](Policy& p) { p.files.write.push_back(host.path() + "/../"); });
  expect_error("glob", [&](Policy& p) { p.files.hide.push_back(host.path() + "/*"); });
  expect_error("NUL",
               [&](Policy& p) { p.files.read.push_back(host.path() + std::string("\0x", 2)); });
  expect_error("the root", [](Policy& p) { p.files.write.push_back("/"); });
  expect_error("the root, spelled", [](Policy& p) { p.files.read.push_back("///"); });
  expect_error("/proc", [](Policy& p) { p.files.read.push_back("/proc"); });
  expect_error("/proc below", [](Policy& p) { p.files.read.push_back("//proc/1"); });
  expect_error("/sys", [](Policy& p) { p.files.write.push_back("/sys/fs/cgroup"); });
  expect_error("/dev", [](Policy& p) { p.files.read.push_back("/dev/"); });
  expect_error("a variable with =", [](Policy& p) { p.environment.set["A=B"] = "x"; });
  expect_error("a glob of variables", [](Policy& p) { p.environment.passthrough = {"AWS_*"}; });
  expect_error("an unknown syscall", [](Policy& p) { p.syscalls.deny = {"no_such_call"}; });
  expect_error("no timeout", [](Policy& p) { p.limits.timeout = milliseconds(0); });
  expect_error("a negative timeout", [](Policy& p) { p.limits.timeout = milliseconds(-1); });
  expect_error("an endless timeout", [](Policy& p) { p.limits.timeout = milliseconds::max(); });
  expect_error("NaN cpus",
               [](Policy& p) { p.limits.cpus = std::numeric_limits<double>::quiet_NaN(); });
  expect_error("no memory", [](Policy& p) { p.limits.memory = 0; });
  expect_error("no processes", [](Policy& p) { p.limits.processes = 0; });
  expect_error("a network that is none",
               [](Policy& p) { p.network = static_cast<brig::Network::Mode>(7); });
  expect_error("an isolation that is none",
               [](Policy& p) { p.isolation = static_cast<brig::Isolation>(7); });
  expect_error("a root that is a file", [](Policy& p) { p.files.root = "/etc/hostname"; });
}

TEST(Escape, AWrongPolicyFileIsAnErrorNotALooserPolicy) {
  for (const char* text :
       {"isolatoin = \"jail\"", "isolation = \"jial\"", "network = true",
        "network = \"none\"\nnetwork = \"host\"", "[limits]\nmemory = -1",
        "[limits]\nwall_time = \"soon\"", "[files]\nread = \"/usr\"", "[files]\nraed = []",
        "[files]\nhide = [\"/usr/*\"]", "[syscalls]\nallow = [\"mount\", 5]", "[unknown]", "["})
    EXPECT_THROW((void)brig::policy_from_toml(text), Error) << text;
}

}  // namespace
