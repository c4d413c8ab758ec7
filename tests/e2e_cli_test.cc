// The brig program: exit codes, JSON, streams, signals, messages.
#include <limits.h>
#include <sys/ioctl.h>

#include <regex>

#include "e2e_program.h"

namespace {

using namespace e2e;

void expect_nothing_left(pid_t brig) {
  EXPECT_TRUE(comes_true([&] { return cgroups_of(brig).empty(); })) << cgroups_of(brig).front();
  EXPECT_TRUE(comes_true([] {
    for (const Process& each : descendants(getpid()))
      if (each.name.starts_with("brig-")) return false;
    return true;
  })) << names(descendants(getpid()));
}

TEST(Cli, ExitCodes) {
  const auto code = [](std::vector<std::string> arguments, int expected) {
    const Result result = brig_program(std::move(arguments));
    EXPECT_EQ(result.code, expected) << result;
    return result;
  };
  EXPECT_EQ(code(run_sh("echo hello"), 0).out, "hello\n");
  EXPECT_EQ(code(run_sh("echo err >&2; exit 7"), 7).err, "err\n");
  EXPECT_TRUE(contains(code(run_sh("echo early; sleep 60", {"--timeout", "1s"}), 124).err,
                       "its timeout of 1 s"));
  EXPECT_TRUE(contains(code({"run", "--memory", "nonsense", "--", "true"}, 125).err, "nonsense"));
  EXPECT_TRUE(contains(code({"run", "--", "/usr"}, 126).err, "/usr"));
  EXPECT_TRUE(contains(code({"run", "--", "no-such-program"}, 127).err, "no-such-program"));
  EXPECT_TRUE(contains(code(run_sh("kill -SEGV $$"), 128 + SIGSEGV).err, "SIGSEGV"));
  code(run_sh("kill -TERM $$"), 128 + SIGTERM);
  code(run_sh("yes", {"--output-total", "100K"}), 128 + SIGKILL);
  code({"run", "true"}, 0);
  EXPECT_EQ(code({"run", "echo", "--json", "x"}, 0).out, "--json x\n") << "words of the command";
  EXPECT_EQ(code({"run", "--", "echo", "--", "--help"}, 0).out, "-- --help\n");
  EXPECT_EQ(code({"run", "--timeout", "9s", "echo", "--", "x"}, 0).out, "-- x\n") << "its own --";
  EXPECT_EQ(code({"run", "--timeout=9s", "--env", "A=1", "printenv", "A"}, 0).out, "1\n");
}

TEST(Cli, OutputThatCouldNotBeWrittenIsNoSuccess) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  const auto lost = [&](std::vector<std::string> arguments, int code) {
    const Result result = brig_program(std::move(arguments), {.out = full});
    EXPECT_EQ(result.code, code) << result;
    EXPECT_TRUE(contains(result.err, "brig: standard output: ")) << result;
  };
  lost(run_sh("echo hello"), 125);
  lost(run_sh("yes | head -c 200000"), 125);
  lost(run_sh("true", {"--json"}), 125);
  lost(run_sh("echo hello; exit 3"), 3);
  lost({"doctor"}, 125);
  lost({"doctor", "--json"}, 125);
  lost({"--help"}, 125);
  lost({"--version"}, 125);
  lost({"run", "--help"}, 125);
  EXPECT_EQ(brig_program(run_sh("echo hello >&2"), {.err = full}).code, 125);
  EXPECT_EQ(brig_program({"run", "--", "no-such-program"}, {.err = full}).code, 127);
  close(full);
}

TEST(Cli, BothStreamsAreExact) {
  const Result result = brig_program(
      run_sh("head -c 3000000 /dev/zero; head -c 200000 /dev/zero >&2; printf '\\377\\000x'"));
  EXPECT_EQ(result.code, 0) << result.err.substr(0, 300);
  EXPECT_EQ(result.out.size(), 3'000'003u);
  EXPECT_EQ(result.out.substr(3'000'000), std::string("\377\0x", 3));
  EXPECT_EQ(result.err.size(), 200'000u);
}

TEST(Cli, JsonHasEveryKey) {
  const Result result = brig_program(run_sh("echo out; printf '\\377' >&2; exit 3", {"--json"}));
  EXPECT_EQ(result.code, 3) << result;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1) << result.out;
  for (const char* key : {"\"outcome\":\"exit\"", "\"exit_code\":3", "\"signal\":null",
                          "\"signal_name\":null", "\"message\":\"", "\"stdout\":\"out\\n\"",
                          "\"stderr_base64\":\"/w==\"", "\"stdout_bytes\":4", "\"stderr_bytes\":1",
                          "\"stdout_truncated\":false", "\"stderr_truncated\":false",
                          "\"usage\":{\"wall_ms\":", "\"cpu_ms\":", "\"memory_peak_bytes\":",
                          "\"processes_peak\":", "\"enforced\":[\"process\"", "\"violations\":[]"})
    EXPECT_TRUE(contains(result.out, key)) << key << " in " << result.out;
  const Result cut =
      brig_program(run_sh("head -c 3000 /dev/zero; kill -9 $$", {"--json", "--output", "1000"}));
  EXPECT_EQ(cut.code, 137);
  for (const char* key : {"\"stdout_truncated\":true", "\"stdout_cut_at\":500", "\"signal\":9",
                          "\"signal_name\":\"SIGKILL\"", "\"exit_code\":null"})
    EXPECT_TRUE(contains(cut.out, key)) << key << " in " << cut.out;
}

TEST(Cli, PassesStdinOn) {
  Pipe pipe;
  std::thread writer([&] {
    for (int i = 0; i < 50'000; ++i) dprintf(pipe.ends[1], "line %d\n", i);
    pipe.close_write();
  });
  const Result result = brig_program({"run", "--", "wc", "-l"}, {.in = pipe.ends[0]});
  pipe.close_read();
  writer.join();
  EXPECT_EQ(result.out, "50000\n") << result;
  const int file = open("/etc/hostname", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(brig_program({"run", "--", "cat"}, {.in = file}).out, read_file("/etc/hostname"));
  close(file);
}

TEST(Cli, ClosedDescriptorsAreNotTakenByAnythingElse) {
  EXPECT_EQ(brig_program(run_sh("cat; echo end"), {.in = -1}).out, "end\n");
  const Result no_out = brig_program(run_sh("echo out; echo err >&2; exit 5"), {.out = -1});
  EXPECT_EQ(no_out.code, 5) << no_out;
  EXPECT_EQ(no_out.err, "err\n");
  const Result no_err = brig_program(run_sh("echo out; echo err >&2; exit 5"), {.err = -1});
  EXPECT_EQ(no_err.code, 5) << no_err;
  EXPECT_EQ(no_err.out, "out\n");
  EXPECT_EQ(brig_program(run_sh("exit 5"), {.in = -1, .out = -1, .err = -1}).code, 5);
}

TEST(Cli, SignalsCancelAndNothingIsLeft) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    SCOPED_TRACE(number);
    const std::string marker = unique_marker("signal");
    // The whole names are on the command lines of these two alone, not on that of brig.
    Brig brig({.arguments = run_sh("m=" + marker +
                                       "; setsid sh -c \"sleep 60; : $m-far\" & echo begun; "
                                       "sh -c \"sleep 60; : $m-near\"",
                                   {"--json"})});
    for (const char* which : {"-far", "-near"})
      EXPECT_TRUE(comes_true([&] { return !processes_with(marker + which).empty(); })) << which;
    const auto begin = Clock::now();
    brig.signal(number);
    EXPECT_EQ(brig.wait(), 128 + number) << brig.err;
    EXPECT_LT(since(begin), kSoon);
    EXPECT_TRUE(contains(brig.out, "\"outcome\":\"cancelled\"")) << brig.out;
    EXPECT_TRUE(contains(brig.out, "begun")) << brig.out;
    EXPECT_TRUE(processes_with(marker).empty());
    expect_nothing_left(brig.pid());
  }
}

TEST(Cli, KilledHardLeavesNothing) {
  const std::string marker = unique_marker("killed");
  Brig brig({.arguments = run_sh("trap '' TERM; setsid sh -c 'sleep 60; : " + marker +
                                 "' & sh -c 'sleep 60; : " + marker + "'")});
  EXPECT_TRUE(comes_true([&] { return processes_with(marker).size() >= 3; }));
  brig.signal(SIGKILL);
  EXPECT_EQ(brig.wait(), 137);
  EXPECT_TRUE(comes_true([&] { return processes_with(marker).empty(); }));
  expect_nothing_left(brig.pid());
}

TEST(Cli, ABrokenPipeEndsTheCommand) {
  Pipe pipe;
  Brig brig({.arguments = run_sh("echo first; yes"), .out = pipe.ends[1]});
  pipe.close_write();
  char line[6];
  EXPECT_EQ(read(pipe.ends[0], line, sizeof line), 6);
  pipe.close_read();
  const auto begin = Clock::now();
  EXPECT_EQ(brig.wait(), 128 + SIGPIPE) << brig.err;
  EXPECT_LT(since(begin), kSoon);
  expect_nothing_left(brig.pid());
}

TEST(Cli, AReaderThatDoesNotReadDoesNotStretchTheTime) {
  for (const bool stderr_too : {false, true}) {
    Pipe pipe;
    Brig brig({.arguments =
                   run_sh(stderr_too ? "yes >&2" : "yes", {"--timeout", "1s", "--grace", "200ms"}),
               .out = stderr_too ? -2 : pipe.ends[1],
               .err = stderr_too ? pipe.ends[1] : -2});
    // Its time ends though nobody reads.
    const auto runs = [&] { return !descendants_named(brig.pid(), "yes").empty(); };
    EXPECT_TRUE(comes_true(runs));
    EXPECT_TRUE(comes_true([&] { return !runs(); }));
    // The last words of brig itself need room on stderr, so someone must read there in the end.
    std::thread reader([&] {
      char buffer[65536];
      pipe.close_write();
      while (stderr_too && read(pipe.ends[0], buffer, sizeof buffer) > 0) {
      }
    });
    EXPECT_EQ(brig.wait(), 124) << brig.err.substr(0, 300);
    reader.join();
    expect_nothing_left(brig.pid());
  }
}

TEST(Cli, AReaderThatDoesNotReadDoesNotKeepASignalFromCancelling) {
  Pipe pipe;
  Brig brig({.arguments = run_sh("yes", {"--timeout", "60s"}), .out = pipe.ends[1]});
  const int room = fcntl(pipe.ends[0], F_GETPIPE_SZ);
  EXPECT_TRUE(comes_true([&] {
    int waiting = 0;
    return ioctl(pipe.ends[0], FIONREAD, &waiting) == 0 && waiting > room - PIPE_BUF;
  }));
  const auto begin = Clock::now();
  brig.signal(SIGTERM);
  EXPECT_EQ(brig.wait(), 128 + SIGTERM);
  EXPECT_LT(since(begin), kSoon)
      << "brig did not answer to SIGTERM while its own output waited for a reader";
}

TEST(Cli, APolicyFileWithAnErrorIsNamedWithItsLine) {
  const HostDirectory host;
  const auto complaint = [&](const std::string& text) {
    write_file(host / "policy.toml", text);
    const Result result = brig_program({"run", "--policy", host / "policy.toml", "--", "true"});
    EXPECT_EQ(result.code, 125) << result;
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  const std::string unknown = complaint("isolation = \"jail\"\n\n[limits]\ntmeout = \"3s\"\n");
  EXPECT_TRUE(contains(unknown, host / "policy.toml:4")) << unknown;
  EXPECT_TRUE(contains(unknown, "timeout")) << unknown;
  EXPECT_TRUE(contains(complaint("[limits]\nwall_time = 3 3\n"), ":2"));
  EXPECT_TRUE(contains(complaint("[limits]\n\nmemory = \"lots\"\n"), ":3"));
  EXPECT_TRUE(contains(brig_program({"run", "--policy", host / "missing.toml", "--", "true"}).err,
                       "missing.toml"));
  write_file(host / "policy.toml", "[environment]\nset = { WHO = \"policy\" }\n");
  EXPECT_EQ(
      brig_program({"run", "--policy", host / "policy.toml", "--", "sh", "-c", "echo $WHO"}).out,
      "policy\n");
  write_file(host / "policy.toml", "[limits]\nwall_time = \"500ms\"\n");
  EXPECT_EQ(brig_program({"run", "--policy", host / "policy.toml", "--", "sleep", "20"}).code, 124);
  EXPECT_EQ(brig_program(
                {"run", "--policy", host / "policy.toml", "--timeout", "30s", "--", "sleep", "0.7"})
                .code,
            0)
      << "options come on top";
}

TEST(Cli, BadUsageIs125WithAHint) {
  const auto complaint = [](std::vector<std::string> arguments) {
    const Result result = brig_program(std::move(arguments));
    EXPECT_EQ(result.code, 125) << result;
    EXPECT_TRUE(result.err.starts_with("brig: ")) << result;
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  EXPECT_TRUE(contains(complaint({"run", "--tiemout", "3s", "--", "true"}), "--help"));
  EXPECT_TRUE(contains(complaint({"run"}), "CMD"));
  EXPECT_TRUE(contains(complaint({"run", "--"}), "CMD"));
  EXPECT_TRUE(contains(complaint({}), "brig help"));
  EXPECT_TRUE(contains(complaint({"no-such-thing"}), "brig help"));
  EXPECT_TRUE(contains(complaint({"run", "--net", "everything", "--", "true"}), "loopback"));
  EXPECT_TRUE(contains(complaint({"run", "--timeout", "--", "true"}), "--timeout"));
  EXPECT_TRUE(contains(complaint({"run", "--processes", "-1", "--", "true"}), "processes"));
}

TEST(Cli, HelpAndVersion) {
  Result result = brig_program({"--help"});
  EXPECT_EQ(result.code, 0);
  for (const char* word : {"Examples", "brig run --", "doctor", "124"})
    EXPECT_TRUE(contains(result.out, word)) << word;
  result = brig_program({"run", "--help"});
  EXPECT_EQ(result.code, 0);
  for (const char* word : {"Examples", "--timeout", "--write", "--json", "--tty", "--isolation"})
    EXPECT_TRUE(contains(result.out, word)) << word;
  result = brig_program({"--version"});
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(std::regex_search(result.out, std::regex("^brig \\d+\\.\\d+\\.\\d+\n$")))
      << result.out;
}

TEST(Cli, DoctorSaysTheJailWorksHere) {
  Result result = brig_program({"doctor"});
  EXPECT_EQ(result.code, 0) << result;
  EXPECT_TRUE(contains(result.out, "works here")) << result;
  EXPECT_FALSE(contains(result.out, "\033")) << "colour in a pipe";
  result = brig_program({"doctor", "--json"});
  EXPECT_EQ(result.code, 0) << result;
  for (const char* key :
       {"\"jail\":true", "\"isolation_level\":\"jail\"", "\"filesystem_isolation\":true",
        "\"network_isolation\":true", "\"layers\":[", "\"backend\":\"brig\"", "\"available\":true"})
    EXPECT_TRUE(contains(result.out, key)) << key << " in " << result.out;
  EXPECT_TRUE(descendants(getpid()).empty());
}

TEST(Cli, NoColourInAPipe) {
  EXPECT_FALSE(contains(brig_program({"run", "--", "no-such-program"}).err, "\033"));
  EXPECT_FALSE(contains(brig_program({"run", "--bad"}).err, "\033"));
}

TEST(Cli, AMessageCannotCarryTerminalCommands) {
  const Result result = brig_program({"run", "--", "/no/\033]0;title\007\033[2J\nbrig: forged"});
  EXPECT_EQ(result.code, 127);
  EXPECT_FALSE(contains(result.err, "\033")) << result;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result;
}

TEST(Cli, AMessageCannotCarryC1ControlsOrTurnItsTextAround) {
  const Result result = brig_program({"run", "--", "/no/\u009B2J\u202Egpj.exe"});
  EXPECT_EQ(result.code, 127);
  EXPECT_TRUE(contains(result.err, "/no/\\u009b2J\\u202egpj.exe")) << result;
}

TEST(Cli, RelativePathsAreOfTheCurrentDirectory) {
  const HostDirectory host;
  host.make("sub");
  write_file(host / "sub/file", "content\n");
  const Result result = brig_program(
      {"run", "--read", "sub", "--cwd", "./sub", "--", "cat", "file"}, {.directory = host.path()});
  EXPECT_EQ(result.out, "content\n") << result;
  const Result written =
      brig_program({"run", "--write", ".", "--cwd", ".", "--", "sh", "-c", "echo x > new; pwd"},
                   {.directory = host.path()});
  EXPECT_EQ(written.out, host.path() + "\n") << written;
  EXPECT_EQ(read_file(host / "new"), "x\n");
  const Result up =
      brig_program({"run", "--read", "../sub", "--", "true"}, {.directory = host / "sub"});
  EXPECT_EQ(up.code, 125) << up;
  EXPECT_TRUE(contains(up.err, "..")) << up;
}

TEST(Cli, OptionsReachTheCell) {
  const HostDirectory host;
  host.make("hidden");
  write_file(host / "hidden/x", "x");
  EXPECT_EQ(brig_program(run_sh("echo $A-$B-${C-unset}; ulimit -n",
                                {"--env", "A=1", "--env", "B", "--open-files", "40"}),
                         {.variables = {"B=2", "C=3"}})
                .out,
            "1-2-unset\n40\n");
  EXPECT_EQ(brig_program(
                run_sh("ls " + host / "hidden", {"--read", host.path(), "--hide", host / "hidden"}))
                .out,
            "");
  EXPECT_EQ(brig_program(run_sh("wc -l < /proc/net/dev", {"--net", "loopback"})).out, "3\n");
  EXPECT_EQ(brig_program(run_sh("echo hi", {"--isolation", "landlock"})).out, "hi\n");
  EXPECT_EQ(brig_program(run_sh("echo hi", {"--isolation", "process", "--net", "host"})).out,
            "hi\n");
  EXPECT_TRUE(contains(brig_program(run_sh("echo hi", {"--isolation", "process"})).err, "network"));
}

}  // namespace
