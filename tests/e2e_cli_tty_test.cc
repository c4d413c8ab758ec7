// The brig program with --tty: a terminal for the command, and what becomes of the one outside.
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "e2e_program.h"

namespace {

using namespace e2e;

struct Terminal {
  int outside = -1, inside = -1;
  Terminal() {
    outside = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    grantpt(outside);
    unlockpt(outside);
    inside = ioctl(outside, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    winsize size{33, 99, 0, 0};
    ioctl(outside, TIOCSWINSZ, &size);
  }
  ~Terminal() {
    close(outside);
    if (inside >= 0) close(inside);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  // What appears on it until `text` does, or it takes too long.
  std::string until(const std::string& text) {
    const auto begin = Clock::now();
    while (seen.find(text) == std::string::npos && since(begin) < kSoon) {
      pollfd wait{outside, POLLIN, 0};
      char buffer[4096];
      if (poll(&wait, 1, 50) <= 0) continue;
      const ssize_t size = read(outside, buffer, sizeof buffer);
      if (size <= 0) break;
      seen.append(buffer, static_cast<std::size_t>(size));
    }
    return seen;
  }
  std::string seen;
};

TEST(CliTty, AResultThatIsShownThereIsData) {
  const HostDirectory host;
  write_file(host / "brig.toml",
             "[[command]]\nname = 'say'\nargv = ['printf', '%s', '{text}']\n"
             "parameters.text = { type = 'string' }\n");
  for (const char* form : {"--watch", "--json"}) {
    Terminal terminal;
    Brig brig({.arguments = {"call", "--manifest", host / "brig.toml", form, "say",
                             R"({"text": "a\u001b[2Jb\u009b2Jc\u202ed\te\nend"})"},
               .in = terminal.inside,
               .out = terminal.inside,
               .err = terminal.inside,
               .session = true});
    EXPECT_EQ(brig.wait(), 0);
    terminal.until("end");
    EXPECT_TRUE(contains(terminal.seen, "\\u009b2Jc\\u202ed")) << terminal.seen;
    for (const char* control : {"\033[2J", "\u009B", "\u202E"})
      EXPECT_FALSE(contains(terminal.seen, control)) << terminal.seen;
  }
}

TEST(CliTty, GivesTheCommandATerminal) {
  Terminal terminal;
  termios before{}, after{};
  tcgetattr(terminal.inside, &before);
  Brig brig({.arguments = run_sh("tty; test -t 0 && test -t 1 && test -t 2 && echo terminals; stty "
                                 "size; read line; echo got $line; exit 9",
                                 {"--tty"}),
             .in = terminal.inside,
             .out = terminal.inside,
             .err = terminal.inside,
             .session = true});
  EXPECT_TRUE(contains(terminal.until("33 99"), "33 99")) << terminal.seen;
  EXPECT_TRUE(contains(terminal.seen, "terminals")) << terminal.seen;
  EXPECT_EQ(write(terminal.outside, "typed\r", 6), 6);
  EXPECT_TRUE(contains(terminal.until("got typed"), "got typed")) << terminal.seen;
  EXPECT_EQ(brig.wait(), 9) << terminal.seen;
  tcgetattr(terminal.inside, &after);
  EXPECT_EQ(before.c_lflag, after.c_lflag) << "the terminal was not restored";
  EXPECT_EQ(before.c_iflag, after.c_iflag);
}

TEST(CliTty, TheTerminalHasANameInTheCell) {
  Terminal terminal;
  Brig brig(
      {.arguments = run_sh("tty; echo by name > $(tty); echo by tty > /dev/tty; ls /dev/pts; stty "
                           "size; ps -o tty= -p $$; echo end",
                           {"--tty"}),
       .in = terminal.inside,
       .out = terminal.inside,
       .err = terminal.inside,
       .session = true});
  terminal.until("end");
  EXPECT_EQ(brig.wait(), 0) << terminal.seen;
  EXPECT_TRUE(contains(terminal.seen, "/dev/pts/0\r\nby name\r\nby tty\r\n")) << terminal.seen;
  EXPECT_TRUE(contains(terminal.seen, "33 99")) << terminal.seen;
  EXPECT_TRUE(contains(terminal.seen, "pts/0\r\nend")) << terminal.seen;
}

TEST(CliTty, OnTheOtherFloorsTheTerminalIsOneOfTheHosts) {
  for (const char* floor : {"landlock", "process"}) {
    const Result result = brig_program(
        run_sh("test -t 1 && echo terminal", {"--tty", "--isolation", floor, "--net", "host"}));
    EXPECT_EQ(result.out, "terminal\r\n") << floor << result;
  }
}

TEST(CliTty, ControlCGoesToTheCommandAndWindowChangesToo) {
  Terminal terminal;
  Brig brig({.arguments = run_sh("trap 'echo interrupted; exit 4' INT; trap 'stty size' WINCH; "
                                 "echo ready; while :; do sleep 0.05; done",
                                 {"--tty"}),
             .in = terminal.inside,
             .out = terminal.inside,
             .err = terminal.inside,
             .session = true});
  EXPECT_TRUE(contains(terminal.until("ready"), "ready")) << terminal.seen;
  winsize size{44, 88, 0, 0};
  ioctl(terminal.outside, TIOCSWINSZ, &size);
  brig.signal(SIGWINCH);
  EXPECT_TRUE(contains(terminal.until("44 88"), "44 88")) << terminal.seen;
  EXPECT_EQ(write(terminal.outside, "\003", 1), 1);
  EXPECT_TRUE(contains(terminal.until("interrupted"), "interrupted")) << terminal.seen;
  EXPECT_EQ(brig.wait(), 4) << terminal.seen;
}

TEST(CliTty, TimeoutsHoldAndTheTerminalIsRestored) {
  Terminal terminal;
  termios before{}, after{};
  tcgetattr(terminal.inside, &before);
  Brig brig({.arguments = run_sh("echo ready; sleep 60", {"--tty", "--timeout", "500ms"}),
             .in = terminal.inside,
             .out = terminal.inside,
             .err = terminal.inside,
             .session = true});
  EXPECT_TRUE(contains(terminal.until("its timeout"), "its timeout")) << terminal.seen;
  EXPECT_EQ(brig.wait(), 124) << terminal.seen;
  tcgetattr(terminal.inside, &after);
  EXPECT_EQ(before.c_lflag, after.c_lflag) << "the terminal was not restored";
}

TEST(CliTty, WorksWithoutATerminalOutside) {
  const Result result = brig_program(run_sh("test -t 1 && echo terminal; exit 6", {"--tty"}));
  EXPECT_EQ(result.code, 6) << result;
  EXPECT_EQ(result.out, "terminal\r\n") << result;
}

TEST(CliTty, AReaderThatDoesNotReadDoesNotStretchTheTime) {
  Pipe pipe;
  Brig brig({.arguments = run_sh("yes", {"--tty", "--timeout", "1s", "--grace", "200ms"}),
             .out = pipe.ends[1]});
  EXPECT_EQ(brig.wait(), 124) << brig.err;
}

TEST(CliTty, SignalsCancelThereToo) {
  Terminal terminal;
  Brig brig({.arguments = run_sh("echo ready; sleep 60", {"--tty"}),
             .in = terminal.inside,
             .out = terminal.inside,
             .err = terminal.inside,
             .session = true});
  EXPECT_TRUE(contains(terminal.until("ready"), "ready")) << terminal.seen;
  brig.signal(SIGTERM);
  EXPECT_EQ(brig.wait(), 128 + SIGTERM) << terminal.seen;
}

}  // namespace
