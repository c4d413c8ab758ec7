// What else a policy decides, through the library: network, environment, and the layers and floors that
// were in force.
#include "e2e_support.h"

namespace {

using namespace e2e;
using brig::Isolation;
using brig::Network;

// --- network ---

TEST(Net, NoneLoopbackAndHost) {
  const Witness witness = Witness::tcp();
  const std::string connect =
      "exec 3<>/dev/tcp/127.0.0.1/" + std::to_string(witness.port()) + " && echo connected";
  BRIG_NEEDS(exists("/bin/bash"), "bash is not here");
  Policy policy = escape::policy();
  by_all_ways(argv({"/bin/bash", "-c", connect}), policy, [&](const Report& report) {
    EXPECT_EQ(report.outcome, Outcome::exit) << describe(report);
    EXPECT_TRUE(contains(report.message, "network")) << report.message;
    EXPECT_GE(violations(report, "network", "socket(AF_INET)"), 1u);
    EXPECT_TRUE(enforces(report, "network_namespace"));
  });
  policy.network = Network::loopback;
  by_all_ways(
      argv({"/bin/bash", "-c", connect + "; cat /proc/net/dev | tail -n +3 | wc -l"}), policy,
      [&](const Report& report) { EXPECT_EQ(report.out.bytes, "1\n") << describe(report); });
  EXPECT_FALSE(witness.reached());
  policy.network = Network::host;
  by_all_ways(argv({"/bin/bash", "-c", connect}), policy, [&](const Report& report) {
    EXPECT_EQ(report.out.bytes, "connected\n") << describe(report);
    EXPECT_FALSE(enforces(report, "network_namespace"));
  });
  EXPECT_TRUE(witness.reached());
}

// --- environment ---

TEST(Environment, IsTheSafeListAndWhatWasNamed) {
  const Variable secret("OPENAI_API_KEY", "sk-secret-value"), passed("BRIG_E2E_PASSED", "passed"),
      both("BRIG_E2E_BOTH", "host"), preload("LD_PRELOAD", ""), language("LANG", "C"),
      library("LD_LIBRARY_PATH", "/tmp");
  Policy policy = escape::policy();
  policy.environment.passthrough = {"BRIG_E2E_PASSED", "BRIG_E2E_BOTH", "BRIG_E2E_UNSET"};
  policy.environment.set = {{"BRIG_E2E_SET", "a b\nc"}, {"BRIG_E2E_BOTH", "policy"}};
  by_all_ways(argv({"/usr/bin/env", "-0"}), policy, [](const Report& report) {
    std::set<std::string> variables;
    std::istringstream text(report.out.bytes);
    for (std::string each; std::getline(text, each, '\0');) {
      EXPECT_FALSE(contains(each, "secret")) << each;
      variables.insert(each.substr(0, each.find('=')));
    }
    const std::set<std::string> known{"PATH",
                                      "HOME",
                                      "USER",
                                      "LANG",
                                      "TERM",
                                      "SHELL",
                                      "LC_ALL",
                                      "LC_CTYPE",
                                      "TMPDIR",
                                      "TZ",
                                      "BRIG_E2E_PASSED",
                                      "BRIG_E2E_BOTH",
                                      "BRIG_E2E_SET"};
    for (const std::string& each : variables) EXPECT_TRUE(known.contains(each)) << each;
    for (const char* each : {"PATH", "HOME", "LANG", "BRIG_E2E_PASSED", "BRIG_E2E_SET"})
      EXPECT_TRUE(variables.contains(each)) << each;
    EXPECT_TRUE(contains(report.out.bytes, std::string("BRIG_E2E_BOTH=policy\0", 21)))
        << report.out.bytes;
    EXPECT_TRUE(contains(report.out.bytes, std::string("BRIG_E2E_SET=a b\nc\0", 19)))
        << report.out.bytes;
  });
}

TEST(Environment, LoaderVariablesOnlyIfNamed) {
  const Variable preload("LD_BIND_NOW", "1");
  Policy policy = escape::policy();
  EXPECT_EQ(brig::run(sh("echo ${LD_BIND_NOW-unset}"), policy).out.bytes, "unset\n");
  policy.environment.passthrough = {"LD_BIND_NOW"};
  EXPECT_EQ(brig::run(sh("echo ${LD_BIND_NOW-unset}"), policy).out.bytes, "1\n");
}

TEST(Environment, SecretsOfTheHostAreNotInProc) {
  const Variable secret("BRIG_E2E_SECRET", "sk-secret-value");
  for (const Isolation isolation : {Isolation::jail, Isolation::landlock}) {
    Policy policy = escape::policy();
    policy.isolation = isolation;
    by_all_ways(sh("cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c "
                   "'sk-secre[t]' ; cat /proc/$PPID/environ 2>&1 | grep -c 'sk-secre[t]'; true"),
                policy, [](const Report& report) {
                  EXPECT_EQ(report.out.bytes, "0\n0\n") << describe(report);
                });
  }
}

// --- what was in force ---

TEST(Enforced, ListsTheLayers) {
  by_all_ways(sh("true"), policy(), [](const Report& report) {
    for (const char* layer :
         {"process", "environment", "user_namespace", "mount_namespace", "pid_namespace",
          "ipc_namespace", "uts_namespace", "cgroup_namespace", "network_namespace", "capabilities",
          "landlock_abi_", "seccomp", "rlimits"})
      EXPECT_TRUE(enforces(report, layer)) << layer;
    EXPECT_TRUE(enforces(report, has_cgroups() ? "memory:cgroup_v" : "memory:per_process"));
    EXPECT_TRUE(enforces(report, has_cgroups() ? "processes:cgroup_v" : "processes:rlimit"));
    EXPECT_EQ(enforces(report, "unprivileged_user"), is_root());
  });
}

TEST(Enforced, TheWeakerFloorsSaySo) {
  Policy policy = escape::policy();
  policy.isolation = Isolation::landlock;
  by_all_ways(
      sh("echo hello; cat /etc/shadow /root/.profile 2>/dev/null; touch /usr/x /tmp/brig-e2e-x "
         "2>/dev/null || echo refused; echo $HOME; touch $HOME/x $TMPDIR/y && echo own"),
      policy, [](const Report& report) {
        EXPECT_EQ(report.outcome, Outcome::ok) << describe(report);
        EXPECT_TRUE(contains(report.out.bytes, "hello\nrefused\n/tmp/brig-")) << describe(report);
        EXPECT_TRUE(contains(report.out.bytes, "own\n")) << describe(report);
        EXPECT_TRUE(enforces(report, "landlock_abi_"));
        EXPECT_TRUE(enforces(report, "seccomp"));
        EXPECT_FALSE(enforces(report, "mount_namespace"));
      });
  policy = Policy();
  policy.isolation = Isolation::process;
  policy.network = Network::host;
  by_all_ways(sh("id -u; grep NoNewPrivs /proc/self/status | tr -d '\\t'"), policy,
              [](const Report& report) {
                EXPECT_EQ(report.outcome, Outcome::ok) << describe(report);
                EXPECT_FALSE(contains("\n" + report.out.bytes, "\n0\n")) << "root";
                EXPECT_TRUE(contains(report.out.bytes, "NoNewPrivs:1")) << describe(report);
                EXPECT_FALSE(enforces(report, "seccomp"));
              });
}

TEST(Enforced, TheWeakerFloorsLeaveNoDirectory) {
  const HostDirectory host;
  const std::string place = host.make("tmp");
  chmod(place.c_str(), 01777);
  const Variable directory("TMPDIR", place.c_str());
  Policy policy = escape::policy();
  policy.isolation = Isolation::landlock;
  by_all_ways(
      sh("mkdir -p $HOME/a/b; touch $HOME/a/b/c; chmod 0 $HOME/a/b"), policy,
      [](const Report& report) { EXPECT_EQ(report.outcome, Outcome::ok) << describe(report); });
  EXPECT_TRUE(std::filesystem::is_empty(place));
}

TEST(Enforced, AttemptsAreNamedAndCounted) {
  by_all_ways(guest({"ending", "forge"}), policy(), [](const Report& report) {
    EXPECT_EQ(report.exit_code, 7);
    EXPECT_EQ(violations(report, "syscall", "mount"), 2u);
    EXPECT_EQ(violations(report, "syscall", "chroot"), 1u);
    EXPECT_EQ(report.violations.size(), 2u);
  });
}

TEST(Enforced, WhatAFloorCannotDoIsRefusedByName) {
  Policy policy;
  policy.isolation = Isolation::process;
  EXPECT_TRUE(contains(error_of(policy, ErrorKind::unsupported), "network"));
  policy.network = Network::loopback;
  EXPECT_TRUE(contains(error_of(policy, ErrorKind::unsupported), "loopback"));
  policy.network = Network::host;
  policy.files.read = {"/usr"};
  EXPECT_TRUE(contains(error_of(policy, ErrorKind::unsupported), "files"));
  policy.isolation = Isolation::landlock;
  policy.files.hide = {"/usr"};
  EXPECT_TRUE(contains(error_of(policy, ErrorKind::unsupported), "hide"));
  policy.files.hide = {};
  policy.files.root = "/usr";
  EXPECT_TRUE(contains(error_of(policy, ErrorKind::unsupported), "root"));
  policy = Policy();
  policy.syscalls.allow = {"mount"};
  EXPECT_TRUE(contains(error_of(policy, ErrorKind::config), "mount"));
  policy.syscalls.allow = {"no_such_call"};
  EXPECT_TRUE(contains(error_of(policy, ErrorKind::config), "not a system call"));
  policy.syscalls = {.deny = {"execve"}};
  EXPECT_TRUE(contains(error_of(policy, ErrorKind::config), "execve"));
}

TEST(Enforced, ACallThatThePolicyDeniesIsToldByName) {
  Policy policy = escape::policy();
  policy.syscalls.deny = {"symlink", "symlinkat"};
  by_all_ways(sh("ln -s a /tmp/b"), policy, [](const Report& report) {
    EXPECT_EQ(report.outcome, Outcome::exit);
    EXPECT_TRUE(contains(report.err.bytes, "not permitted")) << describe(report);
    EXPECT_GE(violations(report, "syscall", "symlinkat") + violations(report, "syscall", "symlink"),
              1u);
  });
}

}  // namespace
