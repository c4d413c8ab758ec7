// How a command ends and what its report says of that, through the library: exit codes, signals, time,
// refusals, cancelling, the queue.
#include <sys/eventfd.h>

#include "e2e_support.h"

namespace {

using namespace e2e;

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
  // A machine that is busy may give the command no turn in its first second.
  for (int seconds : {1, 4, 16}) {
    bool printed = true;
    by_all_ways(
        sh("echo early; sleep 100; echo late"), with_wall(1000 * seconds, 60'000),
        [&](const Report& report) {
          EXPECT_EQ(report.outcome, Outcome::timeout) << describe(report);
          EXPECT_EQ(report.exit_code, std::nullopt);
          EXPECT_EQ(report.signal, SIGTERM);
          EXPECT_TRUE(contains(report.message, "its timeout of " + std::to_string(seconds) + " s"))
              << report.message;
          EXPECT_GE(report.usage.wall, std::chrono::seconds(seconds));
          EXPECT_LT(report.usage.wall, std::chrono::seconds(seconds) + kSoon);
          printed = printed && report.out.bytes == "early\n";
          if (seconds == 16) {
            EXPECT_EQ(report.out.bytes, "early\n");
          }
        });
    if (printed) return;
  }
}

TEST(Command, MayCleanUpInItsGracePeriod) {
  by_all_ways(sh("trap 'echo cleaned; exit 3' TERM; echo ready; while :; do sleep 0.02; done"),
              with_wall(1000, 60'000), [](const Report& report) {
                EXPECT_EQ(report.outcome, Outcome::timeout) << describe(report);
                EXPECT_EQ(report.out.bytes, "ready\ncleaned\n");
                EXPECT_EQ(report.exit_code, 3);
                EXPECT_LT(report.usage.wall, kSoon) << "did not wait for the whole grace period";
              });
}

TEST(Command, IsKilledWhenItIgnoresSigterm) {
  by_all_ways(sh("trap '' TERM; echo ready; while :; do sleep 0.02; done"), with_wall(1000, 400),
              [](const Report& report) {
                EXPECT_EQ(report.outcome, Outcome::timeout) << describe(report);
                EXPECT_EQ(report.out.bytes, "ready\n");
                EXPECT_GE(report.usage.wall, milliseconds(1390));
                EXPECT_LT(report.usage.wall, kSoon);
              });
}

TEST(Command, WithoutGraceIsKilledAtOnce) {
  by_all_ways(sh("trap 'echo cleaned' TERM; while :; do sleep 0.02; done"), with_wall(500, 0),
              [](const Report& report) {
                EXPECT_EQ(report.outcome, Outcome::timeout) << describe(report);
                EXPECT_EQ(report.out.bytes, "");
                EXPECT_LT(report.usage.wall, kSoon);
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
  command.stdin_fd = eventfd(1, EFD_CLOEXEC);
  refused(command, "stdin");
  close(command.stdin_fd);
  command.stdin_fd = 9999;
  refused(command, "not open");
  command.stdin_fd = -1;
  for (const int number : {0, SIGKILL, SIGSTOP, 65}) {
    command.ignored_signals = {number};
    refused(command, "can't be ignored");
  }
  command.ignored_signals.clear();
  command.tty_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  refused(command, "not a terminal");
  close(command.tty_fd);
  EXPECT_EQ(runner.run(sh("echo fine")).out.bytes, "fine\n");
}

TEST(Command, AProgramThatCannotBeRunHasNoExitCodeButAnErrno) {
  const HostDirectory host;
  write_file(host / "data", "no program\n");
  write_file(host / "script", "#!/no/such/interpreter\n");
  chmod((host / "script").c_str(), 0755);
  Policy policy = escape::policy();
  policy.files.read.push_back(host.path());
  const auto refused = [&](const std::string& name, int error, const std::string& part) {
    by_all_ways(argv({name}), policy, [&](const Report& report) {
      EXPECT_EQ(report.outcome, Outcome::invalid_arguments) << describe(report);
      EXPECT_EQ(report.exit_code, std::nullopt) << describe(report);
      EXPECT_EQ(report.signal, std::nullopt);
      EXPECT_EQ(report.exec_error, error);
      EXPECT_TRUE(contains(to_json(report), "\"exit_code\":null")) << to_json(report);
      EXPECT_TRUE(contains(report.message, name)) << report.message;
      EXPECT_TRUE(contains(report.message, part)) << report.message;
    });
  };
  refused("no-such-program", ENOENT, "PATH");
  refused("/no/such/program", ENOENT, "is not in the cell");
  refused(host / "script", ENOENT, "interpreter");
  refused(host / "data", EACCES, "could not be run");
  refused("/usr", EACCES, "could not be run");
}

TEST(Command, IsCancelled) {
  Runner runner(with_wall(20'000));
  Begun begun;
  auto pending = runner.run_async(sh("echo begun; sleep 100"), begun.live());
  EXPECT_TRUE(begun.are(1));
  EXPECT_TRUE(runner.cancel(pending.id));
  const Report report = pending.report.get();
  EXPECT_EQ(report.outcome, Outcome::cancelled) << describe(report);
  EXPECT_EQ(report.out.bytes, "begun\n");
  EXPECT_EQ(report.signal, SIGTERM);
  EXPECT_LT(report.usage.wall, kSoon);
}

TEST(Command, IsCancelledByADescriptor) {
  const int event = eventfd(0, EFD_CLOEXEC);
  Command command = sh("echo begun; sleep 100");
  command.cancel_fd = event;
  std::uint64_t one = 1;
  Begun begun;
  std::thread later([&] {
    EXPECT_TRUE(begun.are(1));
    (void)!write(event, &one, sizeof one);
  });
  const auto cancelled = [](const Report& report) {
    EXPECT_EQ(report.outcome, Outcome::cancelled) << describe(report);
    EXPECT_LT(report.usage.wall, kSoon);
  };
  const Report report = brig::run(command, with_wall(20'000), begun.live());
  later.join();
  cancelled(report);
  EXPECT_EQ(report.out.bytes, "begun\n");
  // It was not read, so it still cancels whatever comes.
  Runner runner(with_wall(20'000));
  cancelled(runner.run(command));
  auto first = runner.run_async(command), second = runner.run_async(command);
  cancelled(first.report.get());
  cancelled(second.report.get());
  // One after the other: each call watches a copy of its own, perhaps under the number of the last.
  for (int i = 0; i < 3; ++i) cancelled(runner.run_async(command).report.get());
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
  Begun begun;
  int ends[2];  // it runs until its stdin ends
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  Command until_closed = sh("echo begun; cat");
  until_closed.stdin_fd = ends[0];
  auto running = runner.run_async(until_closed, begun.live());
  EXPECT_TRUE(begun.are(1));
  auto first = runner.run_async(sh("echo 1")), second = runner.run_async(sh("echo 2"));
  const Report report = runner.run_async(sh("echo 3")).report.get();
  EXPECT_EQ(report.outcome, Outcome::overloaded) << describe(report);
  EXPECT_FALSE(report.message.empty());
  EXPECT_EQ(runner.run(sh("echo 4")).outcome, Outcome::overloaded);
  close(ends[1]);
  close(ends[0]);
  EXPECT_EQ(running.report.get().outcome, Outcome::ok);
  EXPECT_EQ(first.report.get().out.bytes, "1\n");
  EXPECT_EQ(second.report.get().out.bytes, "2\n");
}

TEST(Command, WhoseTimePassesInTheQueueIsNeverRun) {
  const HostDirectory host;
  const std::string place = host.make("place");
  Policy policy = with_wall(1000, 3000);
  policy.files.write = {place};
  Runner runner(policy, {.ready = 1, .max_cells = 1});
  Begun begun;
  auto stubborn =
      runner.run_async(sh("trap '' TERM; echo begun; while :; do sleep 0.05; done"), begun.live());
  EXPECT_TRUE(begun.are(1));
  auto async = runner.run_async(sh("touch " + place + "/async"));
  const Report report = runner.run(sh("touch " + place + "/thread"));
  for (const Report& each : {report, async.report.get()}) {
    EXPECT_EQ(each.outcome, Outcome::timeout) << describe(each);
    EXPECT_TRUE(contains(each.message, "queue")) << each.message;
    EXPECT_GE(each.usage.wall, milliseconds(990));
    EXPECT_EQ(each.exit_code, std::nullopt);
  }
  EXPECT_EQ(stubborn.report.get().outcome, Outcome::timeout);
  // There is one cell: what had been left in the queue would have run before this.
  EXPECT_EQ(runner.run(sh("echo works")).out.bytes, "works\n");
  EXPECT_FALSE(exists(place + "/async"));
  EXPECT_FALSE(exists(place + "/thread"));
}

}  // namespace
