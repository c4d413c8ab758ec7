// The limits of a command, through the library, and what its report says it used.
#include "e2e_support.h"

namespace {

using namespace e2e;

// A program that is refused memory, a thread or a process ends as it likes; the report names the option.
TEST(Command, WithoutACgroupTheReportNamesWhatAProgramMayHaveLacked) {
  const auto ends_by = [](const std::string& script, const char* option) {
    Policy policy;
    policy.limits.memory = 64_MiB;
    const Report report = brig::run({.argv = {"/bin/sh", "-c", script}}, policy);
    EXPECT_NE(report.outcome, Outcome::ok);
    const bool named = report.message.find(std::string("raise ") + option) != std::string::npos ||
                       report.message.find(std::string("Raise ") + option) != std::string::npos;
    EXPECT_EQ(named, !has_cgroups()) << describe(report);
    EXPECT_EQ(report.violations.empty(), has_cgroups()) << describe(report);
  };
  ends_by("echo 'x: Cannot allocate memory' >&2; exit 1", "limits.memory");
  ends_by("echo 'RuntimeError: can'\\''t start new thread' >&2; exit 1", "limits.processes");
  ends_by("kill -TRAP $$", "limits.memory");
  const Report other = brig::run({.argv = {"/bin/sh", "-c", "echo no >&2; exit 1"}}, {});
  EXPECT_EQ(other.message, "the command failed with exit code 1");
  const Report fine = brig::run({.argv = {"/bin/sh", "-c", "echo 'out of memory' >&2"}}, {});
  EXPECT_EQ(fine.message, "the command succeeded");
}

// AddressSanitizer reserves terabytes, and its LeakSanitizer traces its own process.
TEST(Command, ASanitizerIsToldWhatItLacks) {
  const HostDirectory host;
  write_file(host / "a.c", "int main(void) { return 0; }\n");
  const std::string program = host / "a";
  const std::string compile =
      "gcc -fsanitize=address " + (host / "a.c") + " -o " + program + " 2>/dev/null";
  BRIG_NEEDS(std::system(compile.c_str()) == 0, "no gcc with libasan");
  Policy policy;
  policy.files.read = {host.path()};
  const Report report = brig::run(argv({program}), policy);
  EXPECT_NE(report.outcome, Outcome::ok) << describe(report);
  if (enforces(report, "memory:cgroup")) {
    EXPECT_TRUE(contains(report.message, "it was refused the system call ptrace"))
        << report.message;
    EXPECT_TRUE(contains(report.message, "ASAN_OPTIONS=detect_leaks=0")) << report.message;
    policy.environment.set["ASAN_OPTIONS"] = "detect_leaks=0";
    const Report works = brig::run(argv({program}), policy);
    EXPECT_TRUE(works.ok()) << describe(works);
  } else {
    EXPECT_TRUE(contains(report.message, "as sanitizers do")) << describe(report);
    EXPECT_TRUE(contains(report.message, "systemd user session")) << report.message;
    EXPECT_FALSE(contains(report.message, "aise limits.memory")) << report.message;
    ASSERT_EQ(report.violations.size(), 1u) << describe(report);
    EXPECT_EQ(report.violations[0].grant, "");
  }
}

TEST(Command, IsTheFirstThatAKernelShortOfMemoryEnds) {
  by_all_ways(sh("cat /proc/self/oom_score_adj; sh -c 'cat /proc/self/oom_score_adj'"),
              with_wall(60'000), [](const Report& report) {
                EXPECT_EQ(report.out.bytes, "1000\n1000\n") << describe(report);
              });
}

TEST(Command, EndsAtItsCpuTime) {
  Policy policy = with_wall(60'000);
  policy.limits.cpu_time = milliseconds(500);
  by_all_ways(sh("echo begun; while :; do :; done"), policy, [](const Report& report) {
    EXPECT_EQ(report.outcome, Outcome::timeout) << describe(report);
    EXPECT_TRUE(contains(report.message, "CPU time")) << report.message;
    EXPECT_EQ(report.out.bytes, "begun\n");
    EXPECT_GE(report.usage.cpu, milliseconds(400));
    EXPECT_LT(report.usage.cpu, milliseconds(2500));
    EXPECT_TRUE(enforces(report, has_cgroups() ? "cpu_time:cgroup" : "cpu_time:per_process"));
  });
}

TEST(Command, CpuTimeIsOfTheWholeTreeWhereACgroupCounts) {
  if (!has_cgroups()) GTEST_SKIP() << "without a cgroup it is per process: see EndsAtItsCpuTime";
  Policy policy = with_wall(60'000);
  policy.limits.cpu_time = milliseconds(600);
  // No child uses more than a quarter of the limit.
  by_all_ways(sh("i=0; while [ $i -lt 400 ]; do sh -c 'j=0; while [ $j -lt 20000 ]; do j=$((j+1)); "
                 "done'; i=$((i+1)); done; echo all"),
              policy, [](const Report& report) {
                EXPECT_EQ(report.outcome, Outcome::timeout) << describe(report);
                EXPECT_TRUE(contains(report.message, "CPU time")) << report.message;
                EXPECT_LT(report.usage.cpu, milliseconds(3000));
              });
}

TEST(Command, EndsAtItsMemoryLimit) {
  Policy policy = escape::policy();
  policy.limits.memory = 64_MiB;
  by_all_ways(guest({"hog", "malloc", "200"}), policy, [](const Report& report) {
    EXPECT_FALSE(contains(report.out.bytes, "SUCCEEDED"));
    if (has_cgroups()) {
      EXPECT_EQ(report.outcome, Outcome::memory_limit) << describe(report);
      EXPECT_EQ(report.signal, SIGKILL);
      EXPECT_TRUE(contains(report.message, "64")) << report.message;
      EXPECT_EQ(violations(report, "memory", "killed by the out-of-memory killer"), 1u);
      EXPECT_TRUE(enforces(report, "memory:cgroup"));
    } else {
      EXPECT_EQ(report.outcome, Outcome::exit) << describe(report);
      EXPECT_EQ(report.exit_code, 3);
      EXPECT_TRUE(enforces(report, "memory:per_process"));
    }
  });
  // Many small processes: too much together, and no one of them too large.
  by_all_ways(guest({"hog", "family", "256"}), policy, [](const Report& report) {
    EXPECT_EQ(report.outcome, has_cgroups() ? Outcome::memory_limit : Outcome::ok)
        << describe(report);
  });
}

TEST(Command, EndsWhenItWritesTooMuch) {
  Policy policy = escape::policy();
  policy.limits.output_total = 1_MiB;
  by_all_ways(sh("yes"), policy, [](const Report& report) {
    EXPECT_EQ(report.outcome, Outcome::output_limit) << describe(report).substr(0, 300);
    EXPECT_GT(report.out.total, 1_MiB);
    EXPECT_LT(report.usage.wall, kSoon);
    EXPECT_TRUE(contains(report.message, "1")) << report.message;
  });
  // Exactly the limit is not too much, and both streams count.
  policy.limits.output_total = 1000;
  EXPECT_EQ(brig::run(sh("head -c 600 /dev/zero; head -c 400 /dev/zero >&2"), policy).outcome,
            Outcome::ok);
  EXPECT_EQ(
      brig::run(sh("head -c 600 /dev/zero; head -c 401 /dev/zero >&2; sleep 10"), policy).outcome,
      Outcome::output_limit);
}

TEST(Command, WritingTooMuchIsToldEvenIfItEndsByItself) {
  Policy policy = escape::policy();
  policy.limits.output_total = 1000;
  by_all_ways(sh("head -c 5000 /dev/zero"), policy, [](const Report& report) {
    EXPECT_EQ(report.outcome, Outcome::output_limit) << report.message;
  });
}

TEST(Command, TellsWhenItWasRefusedProcesses) {
  Policy policy = escape::policy();
  policy.limits.processes = 10;
  by_all_ways(guest({"hog", "forks", "30"}), policy, [](const Report& report) {
    // The guest itself is one of the ten.
    EXPECT_TRUE(has_line(report, "made 9 failed 21")) << describe(report);
    EXPECT_EQ(report.exit_code, 4);
    if (!has_cgroups()) {
      EXPECT_EQ(report.outcome, Outcome::exit) << describe(report);
      EXPECT_TRUE(enforces(report, "processes:rlimit")) << describe(report);
      return;
    }
    EXPECT_EQ(report.outcome, Outcome::process_limit) << describe(report);
    EXPECT_EQ(violations(report, "processes", "refused a new process"), 21u);
    EXPECT_TRUE(contains(report.message, "10 processes")) << report.message;
  });
}

// On the other floors brig has no limit of its own without a cgroup: what is used up is the user's,
// and another time there may be more.
TEST(Command, IsToldToTryAgainWhereOthersUseUpTheProcesses) {
  Policy policy;
  policy.isolation = Isolation::process;
  policy.network = brig::Network::host;
  const Report report = brig::run(sh("echo 'sh: Cannot fork' >&2; exit 2"), policy);
  EXPECT_EQ(report.outcome, Outcome::exit) << describe(report);
  if (enforces(report, "processes:cgroup")) {
    EXPECT_TRUE(report.violations.empty()) << describe(report);
    return;
  }
  ASSERT_EQ(report.violations.size(), 1u) << describe(report);
  EXPECT_EQ(report.violations[0].code, "processes.refused");
  EXPECT_EQ(report.violations[0].retry, brig::Retry::may_help);
  EXPECT_TRUE(contains(report.message, "try again when fewer run")) << report.message;
  EXPECT_FALSE(contains(report.message, "limits.processes")) << report.message;
}

// 64 is what many programs start, and each has a first thread, too.
TEST(Limit, SixtyFourThreadsStartUnderTheDefaults) {
  BRIG_NEEDS(access("/usr/bin/python3", X_OK) == 0, "no /usr/bin/python3");
  by_all_ways(argv({"/usr/bin/python3", "-c", R"py(
import threading
end = threading.Event()
for _ in range(64): threading.Thread(target=end.wait, daemon=True).start()
print(threading.active_count())
end.set()
)py"}),
              Policy{}, [](const Report& report) {
                EXPECT_EQ(report.outcome, Outcome::ok) << describe(report);
                EXPECT_EQ(report.out.bytes, "65\n") << describe(report);
              });
}

TEST(Limit, OpenFilesAndFileSize) {
  Policy policy = escape::policy();
  policy.limits.open_files = 32;
  policy.limits.file_size = 100'000;
  by_all_ways(sh("ulimit -n"), policy,
              [](const Report& report) { EXPECT_EQ(report.out.bytes, "32\n"); });
  by_all_ways(sh("exec head -c 1000000 /dev/zero > /tmp/big"), policy, [](const Report& report) {
    EXPECT_EQ(report.outcome, Outcome::signal) << describe(report);
    EXPECT_EQ(report.signal, SIGXFSZ);
    EXPECT_TRUE(contains(report.message, "file_size")) << report.message;
  });
}

TEST(Limit, EveryNumberOfOpenFilesThatIsAcceptedWorks) {
  for (std::uint32_t count = 1; count <= 16; ++count) {
    Policy policy = escape::policy();
    policy.limits.open_files = count;
    try {
      validate(policy);
    } catch (const Error&) {
      continue;  // said so early, by name
    }
    try {
      for (const Command& command :
           {argv({"/bin/echo", "hi"}), argv({"/bin/echo", std::string(100'000, 'x')})}) {
        const Report report = brig::run(command, policy);
        EXPECT_EQ(report.outcome, Outcome::ok) << count << ": " << report.message;
      }
    } catch (const Error& error) {
      ADD_FAILURE() << count << ": " << error.what();
    }
  }
}

TEST(Limit, CpusBoundTheShareOfTime) {
  Policy policy = with_wall(2000, 0);
  policy.limits.cpus = 0.25;
  if (!has_cgroups()) {
    EXPECT_TRUE(contains(error_of(policy, ErrorKind::unsupported), "limits.cpus"));
    return;
  }
  by_all_ways(guest({"hog", "spin", "10"}), policy, [](const Report& report) {
    EXPECT_EQ(report.outcome, Outcome::timeout);
    // A quarter of the time that it really had, which is more on a machine that stalls.
    EXPECT_LT(report.usage.cpu, report.usage.wall / 4 + milliseconds(400));
    EXPECT_TRUE(enforces(report, "cpus:cgroup"));
  });
}

// --- usage ---

// Six children that are there together, however slowly they start.
const char kSixChildren[] =
    "for i in 1 2 3 4 5 6; do sleep 60 & all=\"$all $!\"; done; kill $all; wait";

TEST(Usage, IsPlausible) {
  Policy policy = with_wall(60'000);
  Runner runner(policy, {.ready = 1});
  Report report = runner.run(sh("sleep 0.3"));
  EXPECT_GE(report.usage.wall, milliseconds(100));
  EXPECT_LT(report.usage.wall, kSoon);
  EXPECT_LT(report.usage.cpu, milliseconds(200));
  // CPU of a child that has been waited for, and of one that has not.
  const std::string hog = guests() + "/hog";
  for (const std::string& line :
       {hog + " burn 150; true", "cd /tmp; " + hog + " burn-stay 150 > said & " +
                                     "until test -s said; do sleep 0.1; done"}) {
    report = runner.run(sh(line));
    EXPECT_TRUE(report.ok()) << describe(report);
    EXPECT_GE(report.usage.cpu, milliseconds(150)) << line;
    EXPECT_LT(report.usage.cpu, milliseconds(1500)) << line;
  }
  if (!has_cgroups()) {
    EXPECT_EQ(report.usage.processes_peak, std::nullopt);
    report = runner.run(guest({"hog", "malloc", "50"}));
    EXPECT_GE(report.usage.memory_peak, 50_MiB);
    EXPECT_LT(report.usage.memory_peak, 80_MiB);
    return;
  }
  for (int round = 0; round < 2; ++round) {
    report = runner.run(guest({"hog", "malloc", "50"}));
    EXPECT_GE(report.usage.memory_peak, 49_MiB);
    EXPECT_LT(report.usage.memory_peak, 60_MiB);
    EXPECT_EQ(report.usage.processes_peak, 1u);
    report = runner.run(argv({"true"}));
    EXPECT_LT(report.usage.memory_peak, 10_MiB) << "inherited the peak of the call before";
    EXPECT_EQ(report.usage.processes_peak, 1u);
    report = runner.run(sh(kSixChildren));
    EXPECT_EQ(report.usage.processes_peak, 7u);
    report = runner.run(argv({"true"}));
    EXPECT_EQ(report.usage.processes_peak, 1u) << "inherited the peak of the call before";
  }
  EXPECT_EQ(brig::run(sh(kSixChildren), policy).usage.processes_peak, 7u);
  EXPECT_EQ(brig::run(argv({"true"}), policy).usage.processes_peak, 1u);
}

// The least CPU time that a command used by any way, of one that says a word and spins until its time is
// over. A busy machine gives it little of each second: then it has more seconds.
milliseconds least_cpu(const Command& command, milliseconds wanted, int grace_ms,
                       const std::function<void(const Report&)>& check) {
  milliseconds least{0};
  for (int wall_ms = 600; wall_ms <= 10'000 && least < wanted; wall_ms *= 4) {
    least = milliseconds::max();
    by_all_ways(command, with_wall(wall_ms, grace_ms), [&](const Report& report) {
      EXPECT_EQ(report.outcome, Outcome::timeout) << describe(report);
      const bool begun = !report.out.bytes.empty();
      least =
          std::min(least, begun ? duration_cast<milliseconds>(report.usage.cpu) : milliseconds(0));
      if (begun) check(report);
    });
  }
  return least;
}

TEST(Usage, CpuOfATreeThatWasKilledCounts) {
  const Command tree = sh("echo begun; sh -c 'while :; do :; done' & while :; do :; done");
  EXPECT_GE(least_cpu(tree, milliseconds(100), 0, [](const Report&) {}), milliseconds(100));
}

TEST(Usage, OfAKilledCommandIsTold) {
  const Command deaf = sh("trap '' TERM; echo begun; while :; do :; done");
  const auto check = [](const Report& report) {
    EXPECT_GT(report.usage.memory_peak, 0u);
    EXPECT_EQ(report.signal, SIGKILL) << "\"set if a signal ended it, brig's own included\"";
  };
  EXPECT_GE(least_cpu(deaf, milliseconds(50), 200, check), milliseconds(50));
}

}  // namespace
