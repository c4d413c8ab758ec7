// run_sandboxed, build_safe_env and kill_process_tree: each test is a defect that was shown by running
// OpenJarvis' own subprocess_sandbox (the letter is its row in the table of defects), or a part of its
// contract that callers rely on.
#include <sys/prctl.h>

#include "e2e_support.h"

namespace {

using namespace e2e;
using brig::build_safe_env;
using brig::kill_process_tree;
using brig::run_sandboxed;
using brig::SandboxResult;

std::string tell(const SandboxResult& result) {
  return "returncode " + std::to_string(result.returncode) +
         (result.timed_out ? " timed out" : "") + (result.killed ? " killed" : "") + "\n" +
         result.stdout_.substr(0, 1000) + "\n" + result.stderr_.substr(0, 1000);
}

// --- the contract ---

TEST(RunSandboxed, KeepsTheContractOfTheSeed) {
  SandboxResult result = run_sandboxed("echo hello; echo oops >&2");
  EXPECT_EQ(result.stdout_, "hello\n") << tell(result);
  EXPECT_EQ(result.stderr_, "oops\n");
  EXPECT_EQ(result.returncode, 0);
  EXPECT_FALSE(result.timed_out);
  EXPECT_FALSE(result.killed);
  EXPECT_EQ(run_sandboxed("exit 42").returncode, 42);
  EXPECT_EQ(run_sandboxed("no-such-command").returncode, 127);
  EXPECT_EQ(run_sandboxed("kill -SEGV $$").returncode, -SIGSEGV);
  result = run_sandboxed("sleep 60", {.timeout = 0.3});
  EXPECT_EQ(result.returncode, -1);
  EXPECT_TRUE(result.timed_out);
  EXPECT_TRUE(result.killed);
  const SandboxResult fresh;
  EXPECT_EQ(fresh.returncode, -1);
}

TEST(RunSandboxed, PassesVariables) {
  const Variable passed("BRIG_E2E_PASSED", "from-host"), secret("BRIG_E2E_SECRET", "sk-1234");
  const SandboxResult result =
      run_sandboxed("echo $BRIG_E2E_PASSED $EXTRA ${BRIG_E2E_SECRET-unset}",
                    {.env_passthrough = {"BRIG_E2E_PASSED"}, .env_extra = {{"EXTRA", "extra"}}});
  EXPECT_EQ(result.stdout_, "from-host extra unset\n") << tell(result);
}

TEST(RunSandboxed, WorksInItsDirectoryAndMayWriteThere) {
  const HostDirectory host;
  const SandboxResult result = run_sandboxed("pwd; echo text > file", {.working_dir = host.path()});
  EXPECT_EQ(result.stdout_, host.path() + "\n") << tell(result);
  EXPECT_EQ(read_file(host / "file"), "text\n");
}

// --- the defects ---

TEST(RunSandboxed, C_NeverReadsTheHostsStdin) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(write(ends[1], "{\"jsonrpc\":\"2.0\"}\n", 18), 18);
  const int before = dup(0);
  dup2(ends[0], 0);
  EXPECT_EQ(run_sandboxed("cat; echo end").stdout_, "end\n");
  dup2(before, 0);
  close(before);
  char line[64];
  EXPECT_EQ(read(ends[0], line, sizeof line), 18)
      << "the command swallowed the host's next request";
  close(ends[0]);
  close(ends[1]);
}

std::string child_of_kind(int kind, const std::string& marker) {
  const std::string sleeper = "sh -c \"sleep 60; : " + marker + "\"";
  switch (kind) {
    case 0: return sleeper + " &";
    case 1: return "(trap '' TERM; " + sleeper + ") &";
    case 2: return "setsid " + sleeper + " &";
    default: return "(setsid sh -c '" + sleeper + " & exit') &";
  }
}

TEST(RunSandboxed, D_NoDescendantSurvivesATimeout) {
  for (int kind = 0; kind < 4; ++kind) {
    SCOPED_TRACE(kind);
    const std::string marker = unique_marker("seed");
    const SandboxResult result =
        run_sandboxed(child_of_kind(kind, marker) + " sleep 60", {.timeout = 1.0});
    EXPECT_TRUE(result.timed_out) << tell(result);
    EXPECT_TRUE(processes_with(marker).empty());
  }
}

TEST(RunSandboxed, D2_NoDescendantSurvivesSuccess) {
  for (int kind = 0; kind < 4; ++kind) {
    SCOPED_TRACE(kind);
    const std::string marker = unique_marker("seed");
    std::string child = child_of_kind(kind, marker);
    child.insert(child.rfind('&'), " >/dev/null 2>&1 </dev/null ");
    const SandboxResult result = run_sandboxed(child + " sleep 0.1; echo done", {.timeout = 10});
    EXPECT_EQ(result.stdout_, "done\n") << tell(result);
    EXPECT_TRUE(processes_with(marker).empty());
  }
}

TEST(RunSandboxed, D3_IgnoringSigtermDoesNotStretchTheTime) {
  const auto begin = Clock::now();
  EXPECT_TRUE(
      run_sandboxed("trap '' TERM; while :; do sleep 0.1; done", {.timeout = 1.0}).timed_out);
  EXPECT_LT(since(begin), kSoon);
}

TEST(RunSandboxed, E_AGrandchildThatHoldsStdoutDoesNotDelayOrLoseTheResult) {
  const auto begin = Clock::now();
  const SandboxResult result = run_sandboxed("sleep 50 & echo done", {.timeout = 30});
  EXPECT_EQ(result.stdout_, "done\n") << tell(result);
  EXPECT_EQ(result.returncode, 0);
  EXPECT_FALSE(result.timed_out);
  EXPECT_LT(since(begin), kSoon);
}

TEST(RunSandboxed, F_AFloodCostsTheHostNoMemory) {
  (void)run_sandboxed("head -c 1000000 /dev/zero");
  const std::uint64_t before = own_memory("VmHWM");
  const SandboxResult result = run_sandboxed("head -c 256M /dev/zero", {.timeout = 100.0});
  EXPECT_EQ(result.returncode, 0) << tell(result);
  EXPECT_LE(result.stdout_.size(), 102'400u);
  EXPECT_LT(own_memory("VmHWM"), before + 32_MiB);
}

TEST(RunSandboxed, F2_OutputIsBytes) {
  EXPECT_EQ(run_sandboxed("printf '\\377'").stdout_, "\377");
  EXPECT_EQ(run_sandboxed("head -c 1000 /dev/urandom").stdout_.size(), 1000u);
  EXPECT_EQ(run_sandboxed("echo hello | gzip -n | gzip -d").stdout_, "hello\n");
}

TEST(RunSandboxed, F3_TheCapCountsBytes) {
  // 50 characters, 100 bytes.
  const SandboxResult result =
      run_sandboxed("i=0; while [ $i -lt 50 ]; do printf '\\303\\251'; i=$((i+1)); done",
                    {.max_output_bytes = 50});
  EXPECT_LE(result.stdout_.size(), 50u) << tell(result);
  EXPECT_EQ(result.returncode, 0);
}

TEST(RunSandboxed, F4_SecretsOfTheHostAreOutOfReach) {
  const Variable secret("BRIG_E2E_SECRET", "sk-secret-value");
  EXPECT_EQ(run_sandboxed("cat /proc/$PPID/environ /proc/1/environ /proc/*/environ 2>/dev/null | "
                          "grep -c sk-secre[t]")
                .stdout_,
            "0\n");
}

TEST(RunSandboxed, F5_KeepsTheOutputOfACommandThatTimedOut) {
  const SandboxResult result =
      run_sandboxed("echo early; echo oops >&2; sleep 60", {.timeout = 1.0});
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.stdout_, "early\n") << tell(result);
  EXPECT_EQ(result.stderr_, "oops\n");
}

TEST(RunSandboxed, G_ABadWorkingDirectoryIsAnErrorNotARunElsewhere) {
  const HostDirectory host;
  write_file(host / "file", "");
  for (const std::string& bad :
       {std::string("/no/such/directory"), host / "file", std::string("")}) {
    const SandboxResult result = run_sandboxed("pwd; touch ran", {.working_dir = bad});
    EXPECT_EQ(result.returncode, -1) << tell(result);
    EXPECT_TRUE(result.stderr_.starts_with("Execution error: ")) << tell(result);
    EXPECT_EQ(result.stdout_, "");
    EXPECT_FALSE(result.timed_out);
  }
}

TEST(RunSandboxed, H_HasNoNetwork) {
  BRIG_NEEDS(exists("/bin/bash"), "bash is not here");
  const Witness witness = Witness::tcp();
  const SandboxResult result =
      run_sandboxed("bash -c 'exec 3<>/dev/tcp/127.0.0.1/" + std::to_string(witness.port()) + "'");
  EXPECT_NE(result.returncode, 0) << tell(result);
  EXPECT_FALSE(witness.reached());
}

TEST(RunSandboxed, H2_TheDiskIsBounded) {
  const SandboxResult result = run_sandboxed("head -c 536870912 /dev/zero > big; stat -c %s big");
  EXPECT_TRUE(contains(result.stderr_, "No space left")) << tell(result);
  EXPECT_LE(atoll(result.stdout_.c_str()), 64 << 20);
}

TEST(RunSandboxed, H3_ProcessesAreBoundedAndGone) {
  const std::string marker = unique_marker("many");
  (void)run_sandboxed("i=0; while [ $i -lt 300 ]; do sh -c 'sleep 60; : " + marker +
                          "' >/dev/null 2>&1 & i=$((i+1)); done; echo $i",
                      {.timeout = 10});
  EXPECT_TRUE(processes_with(marker).empty());
}

TEST(RunSandboxed, H4_CannotReadOrKillTheHost) {
  const Victim victim;
  EXPECT_EQ(run_sandboxed("cat /etc/shadow").stdout_, "");
  (void)run_sandboxed("kill -9 $PPID; kill -9 -1; kill -9 " + std::to_string(getpid()) + " " +
                      std::to_string(victim.pid()));
  EXPECT_TRUE(victim.alive());
}

TEST(RunSandboxed, H5_MemoryIsBoundedForTheTree) {
  if (!has_cgroups()) GTEST_SKIP() << "without a cgroup the limit is per process";
  const SandboxResult result = run_sandboxed(
      "for i in 1 2 3 4; do (head -c 400000000 /dev/zero | tail -c 400000000 > /dev/null) & done; "
      "wait; exit 1",
      {.timeout = 25});
  EXPECT_TRUE(result.killed) << tell(result);
}

TEST(RunSandboxed, X7_AForkBombIsBoundedAndGone) {
  const std::string marker = "bomb-of-" + std::to_string(getpid());
  const SandboxResult result =
      run_sandboxed("f() { f | f & }; f; sleep 1; echo end # " + marker, {.timeout = 5});
  for (const Process& each : processes())
    EXPECT_EQ(read_file("/proc/" + std::to_string(each.pid) + "/cmdline").find(marker),
              std::string::npos)
        << each.pid << " is left\n"
        << tell(result);
}

TEST(RunSandboxed, BadArgumentsAreErrorsNotExceptions) {
  EXPECT_TRUE(run_sandboxed("true", {.timeout = 0}).stderr_.starts_with("Execution error: "));
  EXPECT_TRUE(run_sandboxed("true", {.timeout = -1}).stderr_.starts_with("Execution error: "));
  EXPECT_TRUE(run_sandboxed("true", {.timeout = std::numeric_limits<double>::quiet_NaN()})
                  .stderr_.starts_with("Execution error: "));
  EXPECT_TRUE(run_sandboxed("true", {.timeout = 1e300}).stderr_.starts_with("Execution error: "));
  EXPECT_TRUE(run_sandboxed("true", {.env_extra = {{"A=B", "c"}}})
                  .stderr_.starts_with("Execution error: "));
  for (const std::string& line : {std::string("echo \0 x", 8), std::string(200'000, 'x')}) {
    const SandboxResult result = run_sandboxed(line);
    EXPECT_NE(result.returncode, 0) << tell(result);
    EXPECT_TRUE(result.stderr_.starts_with("Execution error: "))
        << tell(result) << "\na command that was not run must say why";
  }
}

// --- build_safe_env ---

TEST(BuildSafeEnv, IsExactlyTheTenNamesAndWhatWasAsked) {
  const Variable secret("OPENAI_API_KEY", "sk-1"), preload("LD_LIBRARY_PATH", "/tmp"),
      passed("BRIG_E2E_PASSED", "p"), zone("TZ", "UTC"), all("LC_ALL", nullptr);
  const auto environment =
      build_safe_env({"BRIG_E2E_PASSED", "BRIG_E2E_UNSET"}, {{"EXTRA", "e"}, {"TZ", "wins"}});
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
                                    "EXTRA"};
  for (const auto& [name, value] : environment)
    EXPECT_TRUE(known.contains(name)) << name << "=" << value;
  EXPECT_EQ(environment.at("BRIG_E2E_PASSED"), "p");
  EXPECT_EQ(environment.at("EXTRA"), "e");
  EXPECT_EQ(environment.at("TZ"), "wins");
  EXPECT_EQ(environment.at("PATH"), getenv("PATH"));
  EXPECT_FALSE(environment.contains("LC_ALL"));
  EXPECT_FALSE(environment.contains("BRIG_E2E_UNSET"));
}

// --- kill_process_tree ---

// A shell of the host's own, not in a cell, leader of its process group.
pid_t start_tree(const std::string& line) {
  const pid_t pid = fork();
  if (pid == 0) {
    setsid();
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(99);
  }
  return pid;
}

TEST(KillProcessTree, EndsTheLeaderItsChildrenAndThoseInOtherSessions) {
  for (int kind = 0; kind < 3; ++kind) {
    SCOPED_TRACE(kind);
    const std::string marker = unique_marker("tree");
    const pid_t pid = start_tree("m=" + marker + "-la; " + child_of_kind(kind, marker) +
                                 " sh -c \"sleep 60; : ${m}st\"");
    EXPECT_TRUE(comes_true([&] { return !processes_with(marker + "-last").empty(); }));
    EXPECT_TRUE(comes_true([&] { return processes_with(marker).size() >= 3; }));
    kill_process_tree(pid);
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(comes_true([&] { return processes_with(marker).empty(); }));
  }
}

TEST(KillProcessTree, EndsStoppedProcesses) {
  const std::string marker = unique_marker("stopped");
  const pid_t pid =
      start_tree("sh -c 'kill -STOP $$; : " + marker + "' & kill -STOP $$; : " + marker);
  const auto stopped = [&] {
    const std::vector<pid_t> tree = processes_with(marker);
    const std::vector<Process> all = processes();
    return std::count_if(all.begin(), all.end(), [&](const Process& each) {
      return each.state == 'T' && std::find(tree.begin(), tree.end(), each.pid) != tree.end();
    });
  };
  EXPECT_TRUE(comes_true([&] { return stopped() == 2; }));
  kill_process_tree(pid);
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(comes_true([&] { return processes_with(marker).empty(); }));
}

TEST(KillProcessTree, RefusesWhatMustNotBeKilledAndNeverThrows) {
  const Victim other;
  kill_process_tree(0);
  kill_process_tree(1);
  kill_process_tree(-1);
  kill_process_tree(getpid());
  kill_process_tree(0x7ffffff0);
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  kill_process_tree(gone);
  EXPECT_TRUE(other.alive());
}

// Children come and go while the tree is being taken down: none may be missed, and none left stopped.
TEST(KillProcessTree, MissesNoneOfATreeThatGrows) {
  const std::string marker = unique_marker("growing");
  const pid_t pid = start_tree("i=0; while [ $i -lt 200 ]; do sh -c 'sleep 60; : " + marker +
                               "' & i=$((i+1)); done; wait");
  EXPECT_TRUE(comes_true([&] { return processes_with(marker).size() >= 10; }));
  kill_process_tree(pid);
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(comes_true([&] { return processes_with(marker).empty(); }))
      << processes_with(marker).size() << " are left";
}

}  // namespace
