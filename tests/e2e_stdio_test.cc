// stdin, stdout, stderr and signals as a command has them without brig.
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "e2e_program.h"

namespace {

using namespace e2e;
using brig::Isolation;

// A line of a shell outside of any cell; what it prints. $BRIG is the program.
std::string host_sh(const std::string& line) {
  const Variable brig("BRIG", program().c_str());
  std::string out;
  FILE* stream = popen(line.c_str(), "re");
  if (!stream) return "popen failed";
  char bytes[4096];
  for (std::size_t size; (size = fread(bytes, 1, sizeof bytes, stream)) > 0;)
    out.append(bytes, size);
  pclose(stream);
  return out;
}

// A file of the host's, open.
struct Input {
  HostDirectory host;
  std::string path = host / "input";
  int fd = -1;
  explicit Input(const std::string& text, int flags = O_RDONLY) {
    write_file(path, text);
    fd = open(path.c_str(), flags | O_CLOEXEC);
  }
  ~Input() { close(fd); }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  off_t at() const { return lseek(fd, 0, SEEK_CUR); }
};

TEST(Stdio, ALoopOverAFileRunsOncePerLine) {
  const Input input("one\ntwo\nthree\n");
  const std::string loop = "while read x; do \"$BRIG\" run -- echo got $x; done";
  EXPECT_EQ(host_sh(loop + " < " + input.path), "got one\ngot two\ngot three\n");
  EXPECT_EQ(host_sh("cat " + input.path + " | (" + loop + ")"), "got one\ngot two\ngot three\n");
}

TEST(Stdio, AFileStaysWhereTheCommandLeftOff) {
  const Input input("one\ntwo\nthree\n");
  // head reads a block, and goes back to behind the first line: it can only do so in a file.
  for (const auto& [line, at] : {std::pair{"one\n", 4}, {"two\n", 8}}) {
    EXPECT_EQ(brig_program({"run", "--", "head", "-n", "1"}, {.in = input.fd}).out, line);
    EXPECT_EQ(input.at(), at);
  }
  // What ends otherwise has read as much.
  const Result killed = brig_program(run_sh("read x; kill -9 $$"), {.in = input.fd});
  EXPECT_EQ(killed.code, 137) << killed;
  EXPECT_EQ(input.at(), 14);
}

// Through a pipe, where there is no mount to show the file by.
TEST(Stdio, AFileStaysWhereTheCommandLeftOffInEveryKindOfCell) {
  for (const Isolation floor : kFloors) {
    SCOPED_TRACE(to_string(floor));
    const Input input(std::string(100'000, 'x') + "\nlast\n");
    Command command = sh("dd bs=1 count=7 2>/dev/null");
    command.stdin_fd = input.fd;
    off_t at = 0;
    by_all_ways(command, policy_of(floor), [&](const Report& report) {
      EXPECT_EQ(report.out.bytes, "xxxxxxx") << describe(report);
      at += 7;
    });
    EXPECT_EQ(input.at(), at);
    command = sh("cat | tail -n 1");
    command.stdin_fd = input.fd;
    EXPECT_EQ(brig::run(command, policy_of(floor)).out.bytes, "last\n");
    EXPECT_EQ(input.at(), 100'006);
  }
}

// Where it is a pipe, its user may write to it.
TEST(Stdio, AFileIsNeverSetBackToBeforeWhereItStood) {
  const Input input("twenty bytes and two\ntwenty more of these\n");
  ASSERT_EQ(lseek(input.fd, 21, SEEK_SET), 21);
  brig::Command command =
      brig::Command::shell("printf 'ten bytes!' >/proc/self/fd/0; printf 'ten bytes!' >/dev/stdin");
  command.stdin_fd = input.fd;
  brig::Runner runner(policy_of(Isolation::jail));
  (void)runner.run(command);
  EXPECT_EQ(input.at(), 21);
}

TEST(Stdio, AFileThatHasLostItsNameCanStillBeRead) {
  const Input input("one\ntwo\n");
  unlink(input.path.c_str());
  EXPECT_EQ(brig_program(run_sh("read x; echo $x"), {.in = input.fd}).out, "one\n");
  EXPECT_EQ(input.at(), 4);
  EXPECT_EQ(brig_program({"run", "--", "cat"}, {.in = input.fd}).out, "two\n");
}

// What it shows depends on who opens it: there is no view of it, and the host's own descriptor is read.
TEST(Stdio, AFileOfProcIsReadAsTheHostOpenedIt) {
  for (const std::string path : {"/proc/self/comm", "/proc/version", "/proc/sys/kernel/ostype"}) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(brig_program({"run", "--", "cat"}, {.in = fd}).out, read_file(path)) << path;
    close(fd);
  }
}

TEST(Stdio, AFileIsAFileInTheCell) {
  const Input input("one\ntwo\nthree\n");
  lseek(input.fd, 4, SEEK_SET);
  const Result result = brig_program(
      run_sh(
          "stat -L -c %F /dev/stdin; tail -c 6; cat /dev/stdin | head -n 1; cat /proc/self/fd/0 | "
          "tail -n 1; head -n 1 /dev/fd/0"),
      {.in = input.fd});
  EXPECT_EQ(result.out, "regular file\nthree\none\nthree\none\n") << result;
}

TEST(Stdio, StreamsCanBeOpenedByName) {
  Pipe pipe;
  ASSERT_EQ(write(pipe.ends[1], "in the pipe\n", 12), 12);
  pipe.close_write();
  const Result result = brig_program(
      run_sh("cat /dev/stdin; echo out > /dev/stdout; echo err > /dev/stderr; echo fd > /dev/fd/1"),
      {.in = pipe.ends[0]});
  EXPECT_EQ(result.out, "in the pipe\nout\nfd\n") << result;
  EXPECT_EQ(result.err, "err\n") << result;
}

// `<>` opens for both, and so does a terminal's program with what it hands on.
TEST(Stdio, WhatIsOpenForWritingTooCanOnlyBeReadInTheCell) {
  const Input input("as it was\n", O_RDWR);
  struct stat before {
  }, after{};
  ASSERT_EQ(fstat(input.fd, &before), 0);
  const Result result = brig_program(
      run_sh("cat; echo more >&0 || echo not written; chmod 777 /dev/stdin || echo not changed"),
      {.in = input.fd});
  EXPECT_EQ(result.out, "as it was\nnot written\nnot changed\n") << result;
  EXPECT_EQ(read_file(input.path), "as it was\n");
  ASSERT_EQ(fstat(input.fd, &after), 0);
  EXPECT_EQ(before.st_mode, after.st_mode);

  const HostDirectory host;
  ASSERT_EQ(mkfifo((host / "fifo").c_str(), 0600), 0);
  const int fifo = open((host / "fifo").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(write(fifo, "line\n", 5), 5);
  const Result pipe =
      brig_program(run_sh("read x; echo $x; echo more >&0 || echo not written"), {.in = fifo});
  EXPECT_EQ(pipe.out, "line\nnot written\n") << pipe;
  int waiting = -1;
  EXPECT_EQ(ioctl(fifo, FIONREAD, &waiting), 0);
  EXPECT_EQ(waiting, 0);
  close(fifo);
}

TEST(Stdio, WhatCannotBeReadCannotBeReadInTheCell) {
  const Input input("secret\n", O_WRONLY);
  const Result result = brig_program(run_sh("cat || echo no; echo x >&0"), {.in = input.fd});
  EXPECT_EQ(result.out, "no\n") << result;
  EXPECT_EQ(read_file(input.path), "secret\n");
}

TEST(Stdio, FlagsThatACommandSetsOnItsStdinAreNotTheHosts) {
  Pipe pipe;
  Policy policy = escape::policy();
  Command command = guest({"streams", "nonblock"});
  command.stdin_fd = pipe.ends[0];
  by_all_ways(command, policy, [&](const Report& report) {
    EXPECT_EQ(report.out.bytes, "set\n") << describe(report);
    EXPECT_EQ(fcntl(pipe.ends[0], F_GETFL) & O_NONBLOCK, 0);
  });
}

struct Sockets {
  int ends[2] = {-1, -1};
  explicit Sockets(int type) { (void)!socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends); }
  ~Sockets() {
    for (const int end : ends)
      if (end >= 0) close(end);
  }
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;
};

// As Node.js and some of ssh start programs.
TEST(Stdio, OfASocketTheCommandReadsAndTheRestStaysInIt) {
  const Sockets sockets(SOCK_STREAM);
  std::string text = "one\ntwo\n" + std::string(20'000, 'x') + "\n";
  ASSERT_EQ(write(sockets.ends[0], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  const Result first = brig_program(
      run_sh("read x; echo $x; stat -L -c %F /dev/stdin; echo out >&0 || echo not written"),
      {.in = sockets.ends[1]});
  EXPECT_EQ(first.out, "one\nfifo\nnot written\n") << first;
  EXPECT_EQ(brig_program({"run", "--", "true"}, {.in = sockets.ends[1]}).code, 0);
  EXPECT_EQ(brig_program(run_sh("read x; echo $x"), {.in = sockets.ends[1]}).out, "two\n");
  shutdown(sockets.ends[0], SHUT_WR);
  EXPECT_EQ(brig_program({"run", "--", "wc", "-c"}, {.in = sockets.ends[1]}).out, "20001\n");
  char byte;
  EXPECT_EQ(recv(sockets.ends[1], &byte, 1, MSG_DONTWAIT), 0);
  EXPECT_EQ(recv(sockets.ends[0], &byte, 1, MSG_DONTWAIT), -1) << "something was written";
  const Result refused = brig_program({"run", "--", "cat"}, {.in = Sockets(SOCK_DGRAM).ends[0]});
  EXPECT_EQ(refused.code, 125) << refused;
  EXPECT_TRUE(contains(refused.err, "not a stream socket")) << refused;
}

// The relay fills a pipe of one page, and knows by that when it is empty. The command can make it larger.
TEST(Stdio, OfASocketNothingIsShownTwice) {
  const Sockets sockets(SOCK_STREAM);
  const std::string text = "eighteen bytes in\n", more = "more\n";
  ASSERT_EQ(write(sockets.ends[0], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  const Result result = brig_program(
      {"run", "--read", guests(), "--", guests() + "/streams", "enlarge"}, {.in = sockets.ends[1]});
  EXPECT_EQ(result.out, "18 0\n") << result;
  char byte;
  EXPECT_EQ(recv(sockets.ends[1], &byte, 1, MSG_DONTWAIT), -1) << "what was read is taken out";
  // A pipe that was made larger gets what comes later.
  Brig later(
      {.arguments = run_sh(guests() + "/streams enlarge only; read x; echo $x; read x; echo $x",
                           {"--read", guests()}),
       .in = sockets.ends[1]});
  ASSERT_EQ(write(sockets.ends[0], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  usleep(500'000);
  ASSERT_EQ(write(sockets.ends[0], more.data(), more.size()), static_cast<ssize_t>(more.size()));
  EXPECT_EQ(later.wait(), 0) << later.err;
  EXPECT_EQ(later.out, "eighteen bytes in\nmore\n");
}

// --- output ---

const char kBoth[] = "i=0; while [ $i -lt 200 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done";

std::string both_in_order() {
  std::string lines;
  for (int i = 0; i < 200; ++i)
    lines += "out " + std::to_string(i) + "\nerr " + std::to_string(i) + "\n";
  return lines;
}

TEST(Stdio, BothStreamsInOneFileKeepTheirOrder) {
  const HostDirectory host;
  const std::string line = "\"$BRIG\" run -- sh -c '" + std::string(kBoth) + "'";
  host_sh(line + " > " + (host / "log") + " 2>&1");
  EXPECT_EQ(read_file(host / "log"), both_in_order());
  host_sh(line + " >> " + (host / "twice") + " 2>> " + (host / "twice"));
  EXPECT_EQ(read_file(host / "twice"), both_in_order());
  EXPECT_EQ(host_sh(line + " 2>&1"), both_in_order());
}

TEST(Stdio, JoinedOutputIsCountedAndToldAsAnyOther) {
  Command command = sh(kBoth);
  command.join_output = true;
  by_all_ways(command, policy(), [](const Report& report) {
    EXPECT_EQ(report.out.bytes, both_in_order()) << describe(report);
    EXPECT_EQ(report.err.total, 0u);
  });
  Policy small = policy();
  small.limits.output_total = 1000;
  command = sh("yes >&2");
  command.join_output = true;
  EXPECT_EQ(brig::run(command, small).outcome, Outcome::output_limit);
  // What a program complains of is found there as well.
  const std::string told = host_sh("\"$BRIG\" run -- cat /srv/not/in/the/cell 2>&1");
  EXPECT_TRUE(contains(told, "'/srv/not/in/the/cell' is not in the cell")) << told;
  // A report has two streams, wherever it goes.
  const std::string json = host_sh("\"$BRIG\" run --json -- sh -c 'echo out; echo err >&2' 2>&1");
  EXPECT_TRUE(contains(json, "\"stdout\":\"out\\n\"")) << json;
  EXPECT_TRUE(contains(json, "\"stderr\":\"err\\n\"")) << json;
}

// --- signals ---

TEST(Stdio, ASignalThatWasIgnoredAtTheStartEndsNothing) {
  for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGQUIT}) {
    SCOPED_TRACE(number);
    Pipe in, out;
    Brig brig({.arguments = run_sh("echo begun; read x; echo $x"),
               .in = in.ends[0],
               .out = out.ends[1],
               .ignored = {number}});
    char line[16] = "";
    ASSERT_EQ(read(out.ends[0], line, 6), 6);
    brig.signal(number);
    ASSERT_EQ(write(in.ends[1], "on\n", 3), 3);
    EXPECT_EQ(brig.wait(), 0) << brig.err;
    EXPECT_EQ(read(out.ends[0], line, sizeof line), 3) << line;
  }
}

TEST(Stdio, TheOthersStillCancel) {
  Pipe out;
  Brig brig({.arguments = run_sh("echo begun; sleep 60"),
             .out = out.ends[1],
             .ignored = {SIGHUP, SIGINT}});
  char line[16];
  ASSERT_EQ(read(out.ends[0], line, 6), 6);
  brig.signal(SIGHUP);
  brig.signal(SIGINT);
  brig.signal(SIGTERM);
  EXPECT_EQ(brig.wait(), 128 + SIGTERM) << brig.err;
}

TEST(Stdio, NohupHolds) {
  const HostDirectory host;
  // The signal comes while the command runs.
  const std::string line =
      "cd " + host.path() +
      "; mkfifo in out; nohup \"$BRIG\" run -- sh -c 'echo begun; read x; echo $x' <in >out 2>err "
      "& "
      "exec 3>in 4<out; read said <&4; echo $said; kill -HUP $!; echo on >&3; cat <&4; wait $!; "
      "echo ended with $?; cat err";
  EXPECT_EQ(host_sh(line), "begun\non\nended with 0\n");
}

TEST(Stdio, TheCommandFindsIgnoredWhatWasIgnored) {
  const std::vector<std::string> look{"run", "--", "grep", "SigIgn", "/proc/self/status"};
  EXPECT_EQ(brig_program(look, {.ignored = {SIGHUP, SIGQUIT}}).out, "SigIgn:\t0000000000000005\n");
  // Others are brig's own affair: what a host ignores is no business of its tools.
  EXPECT_EQ(brig_program(look, {.ignored = {SIGPIPE, SIGUSR1}}).out, "SigIgn:\t0000000000000000\n");
  Command command = argv({"grep", "SigIgn", "/proc/self/status"});
  command.ignored_signals = {SIGPIPE};
  by_all_ways(command, policy(), [](const Report& report) {
    EXPECT_EQ(report.out.bytes, "SigIgn:\t0000000000001000\n") << describe(report);
  });
}

// --- programs that need a terminal ---

TEST(Stdio, ProgramsMakeTerminalsInACell) {
  by_all_ways(sh("script -q -c 'tty; test -t 0 && echo terminal' /dev/null"), policy(),
              [](const Report& report) {
                EXPECT_EQ(report.out.bytes, "/dev/pts/0\r\nterminal\r\n") << describe(report);
              });
  const Report python = brig::run(
      argv({"/usr/bin/python3", "-c", "import pty, sys; sys.exit(pty.spawn(['tty']) >> 8)"}),
      policy());
  BRIG_NEEDS(python.exec_error == 0, "no /usr/bin/python3");
  EXPECT_EQ(python.out.bytes, "/dev/pts/0\r\n") << describe(python);
  const Report tmux = brig::run(sh("tmux -L brig -f /dev/null new-session -d 'tty > /tmp/name' && "
                                   "until [ -s /tmp/name ]; do sleep 0.02; done; cat /tmp/name"),
                                policy());
  BRIG_NEEDS(tmux.exit_code != 127, "no tmux");
  EXPECT_EQ(tmux.out.bytes, "/dev/pts/0\n") << describe(tmux);
  // As an agent uses it: what is typed before there is a prompt would stand before it. The shell says another line than
  // the one that was typed.
  const Report typed =
      brig::run(sh("tmux -L brig -f /dev/null new-session -d -x 80 -y 24 sh && "
                   "until tmux -L brig capture-pane -p | grep -q '[$#]'; do sleep 0.02; done; "
                   "tmux -L brig send-keys 'echo h''\"\"i' Enter && "
                   "until tmux -L brig capture-pane -p | grep -x hi; do sleep 0.02; done"),
                policy());
  EXPECT_EQ(typed.out.bytes, "hi\n") << describe(typed);
}

// --- git, and brig itself ---

TEST(Stdio, GitReadsAListedRepository) {
  const HostDirectory host;
  const std::string made =
      host_sh("cd " + host.path() +
              " && git init -q . && git -c user.name=a -c user.email=a@b commit "
              "-q --allow-empty -m first && echo made");
  BRIG_NEEDS(made == "made\n", "no git");
  const Result result = brig_program(
      {"run", "--read", host.path(), "--cwd", host.path(), "--", "git", "log", "--format=%s"});
  EXPECT_EQ(result.out, "first\n") << result;
}

TEST(Stdio, InsideACellBrigSaysSoAndAdvisesNothingForTheMachine) {
  const std::string directory = program().substr(0, program().rfind('/'));
  for (const char* floor : {"jail", "landlock"}) {
    // Where memory is not counted for the tree, a cell has no memfd_create, and brig says that.
    // A leak sanitizer can't look at its process there, and fails it.
    const Result result =
        brig_program({"run", "--isolation", floor, "--env", "ASAN_OPTIONS=detect_leaks=0", "--read",
                      directory, "--", program(), "run", "--", "true"});
    EXPECT_EQ(result.code, 125) << result;
    EXPECT_TRUE(contains(result.err, "inside a cell of brig")) << floor << result;
    for (const char* advice : {"sysctl", "seccomp=unconfined", "start brig as root"})
      EXPECT_FALSE(contains(result.err, advice)) << floor << result;
  }
}

}  // namespace
