// What a command gets and what its report says, through the library: outcomes, streams, files,
// network, environment, limits, usage, floors.
#include <sys/eventfd.h>
#include <sys/un.h>

#include "e2e_support.h"

namespace {

using namespace e2e;
using brig::Isolation;
using brig::Network;
using brig::Output;
using brig::Stream;

Policy with_wall(int wall_ms, int grace_ms = 300) {
  Policy policy = escape::policy();
  policy.limits.wall_time = milliseconds(wall_ms);
  policy.limits.grace = milliseconds(grace_ms);
  return policy;
}

// --- outcomes ---

TEST(Command, SucceedsWithCodeZero) {
  by_all_ways(sh("echo out; echo err >&2"), policy(), [](const Report& report) {
    EXPECT_EQ(report.outcome, Outcome::ok) << describe(report);
    EXPECT_TRUE(report.ok());
    EXPECT_EQ(report.exit_code, 0);
    EXPECT_EQ(report.signal, std::nullopt);
    EXPECT_EQ(report.out.bytes, "out\n");
    EXPECT_EQ(report.err.bytes, "err\n");
    EXPECT_EQ(report.out.total, 4u);
    EXPECT_EQ(report.err.total, 4u);
    EXPECT_FALSE(report.out.truncated);
    EXPECT_FALSE(report.message.empty());
    EXPECT_TRUE(report.violations.empty());
  });
}

TEST(Command, TellsItsExitCode) {
  by_all_ways(sh("echo partial; exit 7"), policy(), [](const Report& report) {
    EXPECT_EQ(report.outcome, Outcome::exit);
    EXPECT_EQ(report.exit_code, 7);
    EXPECT_EQ(report.signal, std::nullopt);
    EXPECT_EQ(report.out.bytes, "partial\n");
    EXPECT_TRUE(contains(report.message, "exit code 7")) << report.message;
  });
  EXPECT_EQ(brig::run(sh("exit 255"), policy()).exit_code, 255);
}

TEST(Command, TellsItsSignalByName) {
  for (const auto& [number, name] : {std::pair{SIGSEGV, "SIGSEGV"},
                                     {SIGKILL, "SIGKILL"},
                                     {SIGTERM, "SIGTERM"},
                                     {SIGABRT, "SIGABRT"}})
    by_all_ways(guest({"ending", "raise", std::to_string(number)}), policy(),
                [number = number, name = name](const Report& report) {
                  EXPECT_EQ(report.outcome, Outcome::signal) << describe(report);
                  EXPECT_EQ(report.signal, number);
                  EXPECT_EQ(report.exit_code, std::nullopt);
                  EXPECT_TRUE(contains(report.message, name)) << report.message;
                });
}

TEST(Command, KeepsItsOutputWhenItsTimeIsOver) {
  by_all_ways(sh("echo early; sleep 100; echo late"), with_wall(300), [](const Report& report) {
    EXPECT_EQ(report.outcome, Outcome::timeout) << describe(report);
    EXPECT_EQ(report.out.bytes, "early\n");
    EXPECT_EQ(report.exit_code, std::nullopt);
    EXPECT_EQ(report.signal, SIGTERM);
    EXPECT_TRUE(contains(report.message, "wall time")) << report.message;
    EXPECT_TRUE(contains(report.message, "300")) << report.message;
    EXPECT_GE(report.usage.wall, milliseconds(300));
    EXPECT_LT(report.usage.wall, milliseconds(1500));
  });
}

TEST(Command, MayCleanUpInItsGracePeriod) {
  by_all_ways(sh("trap 'echo cleaned; exit 3' TERM; echo ready; while :; do sleep 0.02; done"),
              with_wall(300, 3000), [](const Report& report) {
                EXPECT_EQ(report.outcome, Outcome::timeout) << describe(report);
                EXPECT_EQ(report.out.bytes, "ready\ncleaned\n");
                EXPECT_EQ(report.exit_code, 3);
                EXPECT_LT(report.usage.wall, milliseconds(2000))
                    << "did not wait for the whole grace period";
              });
}

TEST(Command, IsKilledWhenItIgnoresSigterm) {
  by_all_ways(sh("trap '' TERM; echo ready; while :; do sleep 0.02; done"), with_wall(300, 400),
              [](const Report& report) {
                EXPECT_EQ(report.outcome, Outcome::timeout) << describe(report);
                EXPECT_EQ(report.out.bytes, "ready\n");
                EXPECT_GE(report.usage.wall, milliseconds(690));
                EXPECT_LT(report.usage.wall, milliseconds(1700));
              });
}

TEST(Command, WithoutGraceIsKilledAtOnce) {
  by_all_ways(sh("trap 'echo cleaned' TERM; while :; do sleep 0.02; done"), with_wall(200, 0),
              [](const Report& report) {
                EXPECT_EQ(report.outcome, Outcome::timeout) << describe(report);
                EXPECT_EQ(report.out.bytes, "");
                EXPECT_LT(report.usage.wall, milliseconds(1000));
              });
}

TEST(Command, EndsAtItsCpuTime) {
  Policy policy = with_wall(15'000);
  policy.limits.cpu_time = milliseconds(500);
  by_all_ways(sh("echo begun; while :; do :; done"), policy, [](const Report& report) {
    EXPECT_EQ(report.outcome, Outcome::timeout) << describe(report);
    EXPECT_TRUE(contains(report.message, "CPU time")) << report.message;
    EXPECT_EQ(report.out.bytes, "begun\n");
    EXPECT_LT(report.usage.wall, milliseconds(8000));
    EXPECT_GE(report.usage.cpu, milliseconds(400));
    EXPECT_LT(report.usage.cpu, milliseconds(2500));
    EXPECT_TRUE(enforces(report, has_cgroups() ? "cpu_time:cgroup" : "cpu_time:per_process"));
  });
}

TEST(Command, CpuTimeIsOfTheWholeTreeWhereACgroupCounts) {
  if (!has_cgroups()) return;  // per process there, and the report says so: see above
  Policy policy = with_wall(15'000);
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
  if (!has_cgroups()) return;
  by_all_ways(guest({"hog", "family", "256"}), policy, [](const Report& report) {
    EXPECT_EQ(report.outcome, Outcome::memory_limit) << describe(report);
  });
}

TEST(Command, EndsWhenItWritesTooMuch) {
  Policy policy = escape::policy();
  policy.limits.output_total = 1_MiB;
  by_all_ways(sh("yes"), policy, [](const Report& report) {
    EXPECT_EQ(report.outcome, Outcome::output_limit) << describe(report).substr(0, 300);
    EXPECT_GT(report.out.total, 1_MiB);
    EXPECT_LT(report.usage.wall, milliseconds(5000));
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
    if (!has_cgroups()) return;
    EXPECT_EQ(report.outcome, Outcome::process_limit) << describe(report);
    EXPECT_EQ(violations(report, "processes", "refused a new process"), 21u);
    EXPECT_TRUE(contains(report.message, "10 processes")) << report.message;
  });
}

TEST(Command, MalformedIsNotRun) {
  Runner runner(policy(), {.ready = 1});
  const auto refused = [&](const Command& command, const std::string& part) {
    for (const Report& report : {runner.run(command), runner.run_async(command).report.get(),
                                 brig::run(command, policy())}) {
      EXPECT_EQ(report.outcome, Outcome::invalid_arguments) << describe(report);
      EXPECT_TRUE(contains(report.message, part)) << report.message;
      EXPECT_EQ(report.out.total, 0u);
    }
  };
  refused({}, "argv is empty");
  refused(argv({""}), "argv[0] is empty");
  refused(argv({"echo", std::string("a\0b", 3)}), "NUL");
  refused(argv({"echo", std::string(128 << 10, 'x')}), "128 KiB");
  refused(argv(std::vector<std::string>(40'000, "echo")), "2 MiB");
  Command command = sh("cat");
  command.stdin_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  refused(command, "stdin");
  close(command.stdin_fd);
  command.stdin_fd = open("/etc/passwd", O_PATH | O_CLOEXEC);
  refused(command, "stdin");
  close(command.stdin_fd);
  command.stdin_fd = 9999;
  refused(command, "not open");
  command.stdin_fd = -1;
  command.tty_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  refused(command, "not a terminal");
  close(command.tty_fd);
  EXPECT_EQ(runner.run(sh("echo fine")).out.bytes, "fine\n");
}

TEST(Command, NotFoundIs127AndNotExecutableIs126) {
  const HostDirectory host;
  write_file(host / "data", "no program\n");
  write_file(host / "script", "#!/no/such/interpreter\n");
  chmod((host / "script").c_str(), 0755);
  Policy policy = escape::policy();
  policy.files.read.push_back(host.path());
  const auto refused = [&](const std::string& name, int code, const std::string& part) {
    by_all_ways(argv({name}), policy, [&](const Report& report) {
      EXPECT_EQ(report.outcome, Outcome::invalid_arguments) << describe(report);
      EXPECT_EQ(report.exit_code, code);
      EXPECT_TRUE(contains(report.message, name)) << report.message;
      EXPECT_TRUE(contains(report.message, part)) << report.message;
    });
  };
  refused("no-such-program", 127, "PATH");
  refused("/no/such/program", 127, "does not exist");
  refused(host / "script", 127, "interpreter");
  refused(host / "data", 126, "could not be run");
  refused("/usr", 126, "could not be run");
}

TEST(Command, IsCancelled) {
  Runner runner(with_wall(20'000));
  auto pending = runner.run_async(sh("echo begun; sleep 100"));
  usleep(200'000);
  EXPECT_TRUE(runner.cancel(pending.id));
  const Report report = pending.report.get();
  EXPECT_EQ(report.outcome, Outcome::cancelled) << describe(report);
  EXPECT_EQ(report.out.bytes, "begun\n");
  EXPECT_EQ(report.signal, SIGTERM);
  EXPECT_LT(report.usage.wall, milliseconds(3000));
}

TEST(Command, IsCancelledByADescriptor) {
  const int event = eventfd(0, EFD_CLOEXEC);
  Command command = sh("echo begun; sleep 100");
  command.cancel_fd = event;
  std::uint64_t one = 1;
  std::thread later([&] {
    usleep(300'000);
    (void)!write(event, &one, sizeof one);
  });
  const auto cancelled = [](const Report& report) {
    EXPECT_EQ(report.outcome, Outcome::cancelled) << describe(report);
    EXPECT_LT(report.usage.wall, milliseconds(3000));
  };
  const Report report = brig::run(command, with_wall(20'000));
  later.join();
  cancelled(report);
  EXPECT_EQ(report.out.bytes, "begun\n");
  // It was not read, so it still cancels whatever comes.
  Runner runner(with_wall(20'000));
  cancelled(runner.run(command));
  auto first = runner.run_async(command), second = runner.run_async(command);
  cancelled(first.report.get());
  cancelled(second.report.get());
  EXPECT_EQ(read(event, &one, sizeof one), 8);
  EXPECT_EQ(one, 1u);
  // Now it is quiet: it cancels nothing.
  Command quick = sh("echo done");
  quick.cancel_fd = event;
  EXPECT_EQ(runner.run(quick).outcome, Outcome::ok);
  EXPECT_EQ(runner.run_async(quick).report.get().outcome, Outcome::ok);
  close(event);
}

TEST(Command, TooManyWaitingIsOverloaded) {
  Runner runner(with_wall(20'000), {.ready = 1, .max_cells = 1, .max_queue = 2});
  auto running = runner.run_async(sh("sleep 1"));
  usleep(200'000);
  auto first = runner.run_async(sh("echo 1")), second = runner.run_async(sh("echo 2"));
  const Report report = runner.run_async(sh("echo 3")).report.get();
  EXPECT_EQ(report.outcome, Outcome::overloaded) << describe(report);
  EXPECT_FALSE(report.message.empty());
  EXPECT_EQ(runner.run(sh("echo 4")).outcome, Outcome::overloaded);
  EXPECT_EQ(running.report.get().outcome, Outcome::ok);
  EXPECT_EQ(first.report.get().out.bytes, "1\n");
  EXPECT_EQ(second.report.get().out.bytes, "2\n");
}

TEST(Command, WhoseTimePassesInTheQueueIsNeverRun) {
  const HostDirectory host;
  const std::string place = host.make("place");
  Policy policy = with_wall(400, 1500);
  policy.files.write = {place};
  Runner runner(policy, {.ready = 1, .max_cells = 1});
  auto stubborn = runner.run_async(sh("trap '' TERM; while :; do sleep 0.05; done"));
  usleep(100'000);
  auto async = runner.run_async(sh("touch " + place + "/async"));
  const Report report = runner.run(sh("touch " + place + "/thread"));
  for (const Report& each : {report, async.report.get()}) {
    EXPECT_EQ(each.outcome, Outcome::timeout) << describe(each);
    EXPECT_TRUE(contains(each.message, "queue")) << each.message;
    EXPECT_GE(each.usage.wall, milliseconds(390));
    EXPECT_LT(each.usage.wall, milliseconds(1000));
    EXPECT_EQ(each.exit_code, std::nullopt);
  }
  EXPECT_EQ(stubborn.report.get().outcome, Outcome::timeout);
  usleep(100'000);
  EXPECT_FALSE(exists(place + "/async"));
  EXPECT_FALSE(exists(place + "/thread"));
  EXPECT_EQ(runner.run(sh("echo works")).out.bytes, "works\n");
}

// --- streams ---

TEST(Command, ReadsItsStdinBytes) {
  Policy policy = escape::policy();
  policy.limits.output = 32_MiB;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{1} << 20, std::size_t{16} << 20}) {
    SCOPED_TRACE(size);
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 4096);
    Command command = argv({"cat"});
    command.stdin_bytes = bytes;
    by_all_ways(command, policy, [&](const Report& report) {
      EXPECT_EQ(report.outcome, Outcome::ok) << report.message;
      EXPECT_EQ(report.out.total, size);
      EXPECT_TRUE(report.out.bytes == bytes);
    });
  }
}

TEST(Command, ReadsAPipeOfTheHost) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  std::thread writer([&] {
    for (int i = 0; i < 20'000; ++i) dprintf(ends[1], "line %d\n", i);
    close(ends[1]);
  });
  Command command = sh("wc -l; cat; echo end");
  command.stdin_fd = ends[0];
  EXPECT_EQ(brig::run(command, policy()).out.bytes, "20000\nend\n");
  writer.join();
  close(ends[0]);
}

TEST(Command, WithoutStdinReadsTheEndAndNeverTheHostsOwn) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(write(ends[1], "request 2\n", 10), 10);
  const int before = dup(0);
  dup2(ends[0], 0);
  by_all_ways(sh("cat; cat /dev/stdin; echo end"), policy(), [](const Report& report) {
    EXPECT_EQ(report.out.bytes, "end\n") << describe(report);
  });
  dup2(before, 0);
  close(before);
  char line[32];
  EXPECT_EQ(read(ends[0], line, sizeof line), 10);
  close(ends[0]);
  close(ends[1]);
}

TEST(Command, TakesAMebibyteOfArgumentsAndAHugeEnvironment) {
  std::vector<std::string> words{"/bin/sh", "-c", "echo $#; printf %s \"$9\" | wc -c", "sh"};
  for (int i = 0; i < 16; ++i) words.push_back(std::string(65'536, static_cast<char>('a' + i)));
  by_all_ways(argv(words), policy(), [](const Report& report) {
    EXPECT_EQ(report.out.bytes, "16\n65536\n") << describe(report);
  });
  Policy policy = escape::policy();
  for (int i = 0; i < 1000; ++i)
    policy.environment.set["BRIG_E2E_" + std::to_string(i)] = std::string(500, 'v');
  by_all_ways(sh("env | grep -c BRIG_E2E_"), policy, [](const Report& report) {
    EXPECT_EQ(report.out.bytes, "1000\n") << describe(report);
  });
}

TEST(Command, MoreWordsThanLinuxTakesIsAnErrorInWords) {
  Policy policy = escape::policy();
  for (int i = 0; i < 20; ++i)
    policy.environment.set["BRIG_E2E_" + std::to_string(i)] = std::string(100'000, 'v');
  std::vector<std::string> words{"/bin/echo"};
  for (int i = 0; i < 18; ++i) words.push_back(std::string(100'000, 'x'));
  const Report report = brig::run(argv(words), policy);
  EXPECT_EQ(report.outcome, Outcome::invalid_arguments) << describe(report);
  EXPECT_EQ(report.exit_code, 126);
}

TEST(Command, KeepsTheHeadAndTheTailOfAFlood) {
  constexpr std::uint64_t kSize = 64_MiB;
  by_all_ways(sh("echo first; head -c 67108852 /dev/zero; echo last!; echo also >&2"), policy(),
              [&](const Report& report) {
                ASSERT_EQ(report.outcome, Outcome::ok) << report.message;
                EXPECT_EQ(report.out.total, kSize);
                EXPECT_TRUE(report.out.truncated);
                EXPECT_EQ(report.out.bytes.size(), 100_KiB);
                EXPECT_EQ(report.out.cut, 50_KiB);
                EXPECT_EQ(report.out.bytes.substr(0, 6), "first\n");
                EXPECT_EQ(report.out.bytes.substr(report.out.bytes.size() - 6), "last!\n");
                EXPECT_EQ(report.out.bytes.find_first_not_of('\0', 6), report.out.bytes.size() - 6);
                EXPECT_EQ(report.err.bytes, "also\n");
                EXPECT_FALSE(report.err.truncated);
              });
}

TEST(Command, CutsOnlyAboveTheCap) {
  Policy policy = escape::policy();
  policy.limits.output = 1000;
  Runner runner(policy);
  for (const int size : {999, 1000, 1001}) {
    const Report report = runner.run(sh("head -c " + std::to_string(size) + " /dev/zero"));
    EXPECT_EQ(report.out.total, static_cast<std::uint64_t>(size));
    EXPECT_EQ(report.out.truncated, size > 1000) << size;
    EXPECT_EQ(report.out.bytes.size(), static_cast<std::size_t>(std::min(size, 1000)));
  }
  policy.limits.output = 0;
  const Report none = brig::run(sh("echo much"), policy);
  EXPECT_EQ(none.out.bytes, "");
  EXPECT_EQ(none.out.total, 5u);
  EXPECT_TRUE(none.out.truncated);
}

TEST(Command, BinaryOutputIsExact) {
  std::string expected;
  for (int i = 0; i < 256; ++i) expected.push_back(static_cast<char>(i));
  Command command = sh("cat; printf '\\377\\376' >&2");
  command.stdin_bytes = expected;
  by_all_ways(command, policy(), [&](const Report& report) {
    EXPECT_EQ(report.out.bytes, expected);
    EXPECT_EQ(report.err.bytes, "\377\376");
  });
}

TEST(Command, AGibibyteOfOutputCostsTheHostNoMemory) {
  for (int i = 0; i < 2; ++i) (void)brig::run(sh("head -c 4000000 /dev/zero"), policy());
  const std::uint64_t before = own_memory("VmHWM");
  const Report report = brig::run(sh("head -c 1073741824 /dev/zero"), with_wall(60'000));
  EXPECT_EQ(report.outcome, Outcome::ok) << report.message;
  EXPECT_EQ(report.out.total, 1_GiB);
  EXPECT_EQ(report.out.bytes.size(), 100_KiB);
  EXPECT_LT(own_memory("VmHWM") - before, 32_MiB);
}

TEST(Command, TheCallbackSeesAllBytesInOrderBeforeTheReport) {
  const std::string line =
      "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; echo oops >&2";
  std::string expected;
  for (int i = 0; i < 20'000; ++i) expected += "line " + std::to_string(i) + "\n";
  std::string out, err;
  const brig::OutputCallback collect = [&](Stream stream, std::string_view bytes) {
    (stream == Stream::out ? out : err).append(bytes);
  };
  const auto check = [&](const Report& report) {
    EXPECT_EQ(report.outcome, Outcome::ok) << report.message;
    EXPECT_EQ(report.out.total, expected.size());
    EXPECT_TRUE(report.out.truncated);
    EXPECT_TRUE(out == expected) << out.size();
    EXPECT_EQ(err, "oops\n");
    out.clear(), err.clear();
  };
  check(brig::run(sh(line), policy(), collect));
  Runner runner(policy());
  check(runner.run(sh(line), collect));
  check(runner.run_async(sh(line), collect).report.get());
}

TEST(Command, OutputComesLive) {
  const auto begin = Clock::now();
  double first = 0;
  (void)brig::run(sh("echo now; sleep 1"), policy(), [&](Stream, std::string_view) {
    if (first == 0) first = seconds_since(begin);
  });
  EXPECT_GT(first, 0);
  EXPECT_LT(first, 0.8);
}

TEST(Command, AGrandchildThatHoldsThePipeDoesNotDelayTheResult) {
  for (const char* line : {"sleep 77 & echo done", "setsid sleep 77 & echo done",
                           "(sleep 77 &) & echo done", "trap '' TERM HUP; sleep 77 & echo done"}) {
    SCOPED_TRACE(line);
    by_all_ways(sh(line), policy(), [](const Report& report) {
      EXPECT_EQ(report.outcome, Outcome::ok) << describe(report);
      EXPECT_EQ(report.out.bytes, "done\n");
      EXPECT_LT(report.usage.wall, milliseconds(2000));
    });
    for (const pid_t pid : processes_with("sleep"))
      EXPECT_FALSE(
          contains(read_file("/proc/" + std::to_string(pid) + "/cmdline"), std::string("sleep\0"
                                                                                       "77",
                                                                                       8)))
          << pid;
  }
}

TEST(Command, NothingSurvivesOnAnyFloor) {
  for (const Isolation isolation : {Isolation::jail, Isolation::landlock, Isolation::process}) {
    Policy policy = with_wall(500, 200);
    policy.isolation = isolation;
    if (isolation == Isolation::process) {
      policy.network = Network::host;
      policy.files.read.clear();
    }
    for (const bool timeout : {false, true})
      for (const char* kind :
           {"%s &", "(trap '' TERM; exec %s) &", "setsid %s &", "(setsid sh -c '%s & exit') &"}) {
        const std::string marker = unique_marker("survivor");
        std::string line = kind;
        line.replace(line.find("%s"), 2, "sh -c \"sleep 60; : " + marker + "\"");
        line += timeout ? " sleep 0.1; echo begun; sleep 60" : " sleep 0.1; echo begun";
        SCOPED_TRACE(std::string(to_string(isolation)) + (timeout ? " timeout: " : " success: ") +
                     line);
        by_all_ways(sh(line), policy, [&](const Report& report) {
          EXPECT_EQ(report.outcome, timeout ? Outcome::timeout : Outcome::ok) << describe(report);
          EXPECT_EQ(report.out.bytes, "begun\n");
          EXPECT_TRUE(processes_with(marker).empty());
        });
      }
  }
}

// --- files ---

TEST(Files, ABadWorkingDirectoryIsAnErrorNotARunElsewhere) {
  const HostDirectory host;
  write_file(host / "file", "");
  Policy policy = escape::policy();
  policy.files.working_directory = "/no/such/place";
  EXPECT_TRUE(contains(error_of(policy, ErrorKind::config), "/no/such/place"));
  policy.files.read.push_back(host / "file");
  policy.files.working_directory = host / "file";
  EXPECT_TRUE(contains(error_of(policy, ErrorKind::config), host / "file"));
  policy.files.working_directory = "relative";
  EXPECT_TRUE(contains(error_of(policy, ErrorKind::config), "relative"));
  // Not listed: the host has it, the cell does not.
  policy.files.read = {};
  policy.files.working_directory = host.path();
  (void)error_of(policy, ErrorKind::config);
}

TEST(Files, WorkingDirectoryMayBeInsideAListedPath) {
  const HostDirectory host;
  host.make("a");
  host.make("a/b");
  Policy policy = escape::policy();
  policy.files.read.push_back(host.path());
  policy.files.working_directory = host / "a/b";
  by_all_ways(sh("pwd"), policy, [&](const Report& report) {
    EXPECT_EQ(report.out.bytes, host / "a/b\n") << describe(report);
  });
  policy.files.working_directory = "/tmp";
  EXPECT_EQ(brig::run(sh("pwd; touch x && echo writable"), policy).out.bytes, "/tmp\nwritable\n");
}

TEST(Files, ListedForReadingCanBeReadAndNotWritten) {
  const HostDirectory host;
  write_file(host / "data", "content\n");
  host.make("sub");
  Policy policy = escape::policy();
  policy.files.read.push_back(host.path());
  by_all_ways(sh("cat " + host / "data" + "; echo x > " + host / "data" + "; touch " +
                 host / "new" + "; rm " + host / "data" + "; mkdir " + host / "sub/x" + "; mv " +
                 host / "data" + " " + host / "other" + "; ls " + host.path()),
              policy, [&](const Report& report) {
                EXPECT_EQ(report.out.bytes, "content\ndata\nsub\n") << describe(report);
              });
  EXPECT_EQ(read_file(host / "data"), "content\n");
  EXPECT_FALSE(exists(host / "new"));
}

TEST(Files, NewFilesBelongToTheOwnerOfTheDirectory) {
  const HostDirectory host;
  const std::string place = host.make("place");
  if (is_root()) {
    ASSERT_EQ(chown(place.c_str(), 12'345, 23'456), 0);
  }
  Policy policy = escape::policy();
  policy.files.write = {place};
  int round = 0;
  by_all_ways(sh("umask 022; n=" + place + "/$(ls " + place +
                 " | wc -l); echo text > $n && mkdir $n.d && ln -s x $n.l && id -u && stat -c "
                 "%u:%g $n && cat $n"),
              policy, [&](const Report& report) {
                EXPECT_EQ(report.out.bytes, "1000\n1000:1000\ntext\n") << describe(report);
                struct stat directory, info;
                ASSERT_EQ(stat(place.c_str(), &directory), 0);
                for (const char* suffix : {"", ".d", ".l"}) {
                  ASSERT_EQ(
                      lstat((place + "/" + std::to_string(3 * round) + suffix).c_str(), &info), 0);
                  EXPECT_EQ(info.st_uid, directory.st_uid);
                  EXPECT_EQ(info.st_gid, directory.st_gid);
                }
                ++round;
              });
  EXPECT_EQ(round, 3);
}

TEST(Files, AListedFileMayBeWrittenAlone) {
  const HostDirectory host;
  write_file(host / "one", "old\n");
  write_file(host / "other", "old\n");
  Policy policy = escape::policy();
  policy.files.write = {host / "one"};
  by_all_ways(sh("cat " + host / "one" + "; echo new > " + host / "one" + "; ls " + host.path()),
              policy, [&](const Report& report) {
                EXPECT_EQ(report.out.bytes, "old\none\n") << describe(report);
                EXPECT_EQ(read_file(host / "one"), "new\n");
                write_file(host / "one", "old\n");
              });
  EXPECT_EQ(read_file(host / "other"), "old\n");
}

TEST(Files, HiddenIsEmptyEvenBelowAListedPath) {
  const HostDirectory host;
  const std::string place = host.make("place");
  host.make("place/secrets");
  write_file(host / "place/secrets/key", "key");
  write_file(host / "place/password", "password");
  write_file(host / "place/open", "open\n");
  Policy policy = escape::policy();
  policy.files.hide = {place + "/secrets", place + "/password", "/usr/include"};
  const std::string look = "cat " + place + "/open; ls -A " + place +
                           "/secrets /usr/include; wc -c < " + place + "/password; touch " + place +
                           "/secrets/x 2>&1 || echo; (echo x > " + place +
                           "/password) 2>/dev/null; echo end";
  for (const bool writable : {false, true}) {
    policy.files.read = {guests()};
    policy.files.write = {};
    (writable ? policy.files.write : policy.files.read).push_back(place);
    by_all_ways(sh(look), policy, [&](const Report& report) {
      EXPECT_FALSE(contains(report.out.bytes, "key")) << describe(report);
      EXPECT_TRUE(contains(report.out.bytes, "open\n" + place + "/secrets:\n\n/usr/include:\n0\n"))
          << describe(report);
      EXPECT_FALSE(exists(place + "/secrets/x"));
      EXPECT_EQ(read_file(place + "/password"), "password");
    });
  }
}

TEST(Files, APathBelowHomeCanBeListed) {
  // A home that exists everywhere and holds something that anyone may read.
  const Variable home("HOME", "/var/lib");
  BRIG_NEEDS(exists("/var/lib/dpkg/status"), "this is not a Debian");
  Policy policy = escape::policy();
  policy.files.read.push_back("/var/lib/dpkg");
  by_all_ways(sh("echo $HOME; cd; ls; test -s dpkg/status && echo readable; touch x && echo "
                 "writable; touch dpkg/x 2>/dev/null || echo read-only"),
              policy, [](const Report& report) {
                EXPECT_EQ(report.out.bytes, "/var/lib\ndpkg\nreadable\nwritable\nread-only\n")
                    << describe(report);
              });
  EXPECT_FALSE(exists("/var/lib/x"));
  // A single file, two levels down.
  policy.files.read = {guests(), "/var/lib/dpkg/status"};
  by_all_ways(sh("cd; ls -A . dpkg; test -s dpkg/status && echo readable"), policy,
              [](const Report& report) {
                EXPECT_EQ(report.out.bytes, ".:\ndpkg\n\ndpkg:\nstatus\nreadable\n")
                    << describe(report);
              });
}

TEST(Files, APathBelowVarTmpCanBeListed) {
  char name[] = "/var/tmp/brig-e2e-XXXXXX";
  ASSERT_TRUE(mkdtemp(name));
  chmod(name, 0755);
  Policy policy = escape::policy();
  policy.files.write = {name};
  try {
    const Report report = brig::run(sh(std::string("echo hello > ") + name + "/file"), policy);
    EXPECT_EQ(report.outcome, Outcome::ok) << describe(report);
    EXPECT_EQ(read_file(std::string(name) + "/file"), "hello\n");
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
  std::filesystem::remove_all(name);
}

TEST(Files, TheScratchSpaceIsPrivateAndBounded) {
  Policy policy;
  policy.limits.scratch = 1_MiB;
  by_all_ways(sh("for d in /tmp /dev/shm $HOME /workspace; do test -z \"$(ls -A $d)\" && touch "
                 "$d/x && echo $d; done; rm -f /tmp/x; head -c 2000000 /dev/zero > /tmp/big "
                 "2>/tmp/why; cat /tmp/why >&2; stat -c %s /tmp/big"),
              policy, [](const Report& report) {
                EXPECT_TRUE(contains(report.out.bytes, "/tmp\n/dev/shm\n")) << describe(report);
                EXPECT_TRUE(contains(report.out.bytes, "/workspace\n")) << describe(report);
                EXPECT_FALSE(contains(report.out.bytes, "2000000")) << describe(report);
              });
  by_all_ways(sh("head -c 2000000 /dev/zero > /dev/shm/big"), policy, [](const Report& report) {
    EXPECT_EQ(report.outcome, Outcome::exit);
    EXPECT_TRUE(contains(report.err.bytes, "No space left")) << describe(report);
  });
}

TEST(Files, AnotherRootTakesThePlaceOfTheHosts) {
  const HostDirectory host;
  const std::string root = host.make("root");
  std::filesystem::copy_file(guests() + "/ending", root + "/ending");
  host.make("root/etc");
  write_file(root + "/etc/motd", "mine\n");
  Policy policy = escape::policy();
  policy.files.read = {};
  policy.files.root = root;
  by_all_ways(argv({"/ending", "exit", "5"}), policy,
              [](const Report& report) { EXPECT_EQ(report.exit_code, 5) << describe(report); });
  by_all_ways(argv({"/bin/sh", "-c", "exit 5"}), policy,
              [](const Report& report) { EXPECT_EQ(report.exit_code, 127) << describe(report); });
}

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
    EXPECT_GE(violations(report, "seccomp", "socket(AF_INET)"), 1u);
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

// --- limits ---

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
    EXPECT_LT(report.usage.cpu, milliseconds(900));
    EXPECT_TRUE(enforces(report, "cpus:cgroup"));
  });
}

// --- usage ---

TEST(Usage, IsPlausible) {
  Policy policy = with_wall(10'000);
  Runner runner(policy, {.ready = 1});
  Report report = runner.run(sh("sleep 0.3"));
  EXPECT_GE(report.usage.wall, milliseconds(300));
  EXPECT_LT(report.usage.wall, milliseconds(2000));
  EXPECT_LT(report.usage.cpu, milliseconds(200));
  // CPU of a child that has been waited for, and of one that has not.
  for (const char* line :
       {"timeout 1 sh -c 'while :; do :; done'", "sh -c 'while :; do :; done' & sleep 1"}) {
    report = runner.run(sh(line));
    EXPECT_GE(report.usage.cpu, milliseconds(300)) << line;  // on a busy machine
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
    report = runner.run(sh("for i in 1 2 3 4 5 6; do sleep 0.2 & done; wait"));
    EXPECT_EQ(report.usage.processes_peak, 7u);
    report = runner.run(argv({"true"}));
    EXPECT_EQ(report.usage.processes_peak, 1u) << "inherited the peak of the call before";
  }
  EXPECT_EQ(
      brig::run(sh("for i in 1 2 3 4 5 6; do sleep 0.2 & done; wait"), policy).usage.processes_peak,
      7u);
  EXPECT_EQ(brig::run(argv({"true"}), policy).usage.processes_peak, 1u);
}

TEST(Usage, CpuOfATreeThatWasKilledCounts) {
  by_all_ways(sh("sh -c 'while :; do :; done' & while :; do :; done"), with_wall(1000, 0),
              [](const Report& report) {
                EXPECT_EQ(report.outcome, Outcome::timeout);
                EXPECT_GE(report.usage.cpu, milliseconds(300))
                    << "of a command that spun for a second";
              });
}

TEST(Usage, OfAKilledCommandIsTold) {
  by_all_ways(
      sh("trap '' TERM; while :; do :; done"), with_wall(600, 200), [](const Report& report) {
        EXPECT_EQ(report.outcome, Outcome::timeout);
        EXPECT_GE(report.usage.cpu, milliseconds(200)) << "of a command that spun for 800 ms";
        EXPECT_GT(report.usage.memory_peak, 0u);
        EXPECT_EQ(report.signal, SIGKILL) << "\"set if a signal ended it, brig's own included\"";
      });
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
    EXPECT_EQ(violations(report, "seccomp", "mount"), 2u);
    EXPECT_EQ(violations(report, "seccomp", "chroot"), 1u);
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
    EXPECT_GE(violations(report, "seccomp", "symlinkat") + violations(report, "seccomp", "symlink"),
              1u);
  });
}

}  // namespace
