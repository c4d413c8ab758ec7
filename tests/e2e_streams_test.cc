// What goes into a command and comes out of it, through the library: stdin, arguments, output, and what
// is left running when the output has ended.
#include "e2e_support.h"

namespace {

using namespace e2e;
using brig::Isolation;
using brig::Network;
using brig::Stream;

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
  EXPECT_EQ(report.exec_error, E2BIG);
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
  EXPECT_LT(own_memory("VmHWM"), before + 32_MiB);
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

// The command goes on when its first words have come: if they came with the end, it would have none.
TEST(Command, OutputComesLive) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  Command command = sh("echo now; read answer; echo $answer");
  command.stdin_fd = ends[0];
  bool told = false;
  const Report report = brig::run(command, policy(), [&](Stream, std::string_view) {
    if (!std::exchange(told, true)) (void)!write(ends[1], "heard\n", 6);
  });
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(report.out.bytes, "now\nheard\n") << describe(report);
}

TEST(Command, AGrandchildThatHoldsThePipeDoesNotDelayTheResult) {
  for (std::string line : {"%s & echo done", "setsid %s & echo done", "(%s &) & echo done",
                           "trap '' TERM HUP; %s & echo done"}) {
    SCOPED_TRACE(line);
    const std::string marker = unique_marker("grandchild");
    line.replace(line.find("%s"), 2, "sh -c 'sleep 77; : " + marker + "'");
    by_all_ways(sh(line), policy(), [&](const Report& report) {
      EXPECT_EQ(report.outcome, Outcome::ok) << describe(report);
      EXPECT_EQ(report.out.bytes, "done\n");
      EXPECT_LT(report.usage.wall, kSoon);
      EXPECT_TRUE(processes_with(marker).empty());
    });
  }
}

TEST(Command, NothingSurvivesOnAnyFloor) {
  for (const Isolation isolation : kFloors)
    for (const bool timeout : {false, true}) {
      const std::string marker = unique_marker("survivor");
      std::string line;
      for (std::string kind :
           {"%s & ", "(trap '' TERM; exec %s) & ", "setsid %s & ", "(setsid sh -c '%s & exit') & "})
        line += kind.replace(kind.find("%s"), 2, "sh -c \"sleep 60; : " + marker + "\"");
      line += timeout ? "sleep 0.2; echo begun; sleep 60" : "sleep 0.2; echo begun";
      SCOPED_TRACE(std::string(to_string(isolation)) + (timeout ? " timeout: " : " success: ") +
                   line);
      Policy policy = policy_of(isolation);
      policy.limits.grace = milliseconds(200);
      // On a busy machine the first times may be over before all of them have begun.
      bool begun = false;
      for (const int wall : {1500, 10'000, 60'000}) {
        if (std::exchange(begun, true)) break;
        if (timeout) policy.limits.timeout = milliseconds(wall);
        by_all_ways(sh(line), policy, [&](const Report& report) {
          EXPECT_EQ(report.outcome, timeout ? Outcome::timeout : Outcome::ok) << describe(report);
          begun = begun && report.out.bytes == "begun\n";
          expect_gone(marker, report, policy.limits);
        });
      }
      EXPECT_TRUE(begun);
    }
}

}  // namespace
