// The brig program as a child of the end-to-end tests, and the pipes to it.
#pragma once

#include <ostream>

#include "e2e_support.h"

namespace e2e {

// Where it is: BRIG_PROGRAM.
std::string program();

// The brig program, running. Its stdout and stderr are pipes unless given.
class Brig {
 public:
  struct Options {
    std::vector<std::string> arguments;
    int in = -2;   // -2: /dev/null, -1: closed
    int out = -2;  // -2: captured, -1: closed
    int err = -2;
    std::string directory;
    std::vector<std::string> variables;  // "K=V", on top of this process' own
    bool session = false;                // its own, with `in` as controlling terminal
    std::vector<int> ignored;            // signals that it finds ignored
  };

  explicit Brig(const Options& options);
  ~Brig() { wait(); }
  Brig(const Brig&) = delete;
  Brig& operator=(const Brig&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const { kill(pid_, number); }
  // Its exit code, 128+n for a signal, or -1 if it had to be killed.
  int wait(std::chrono::seconds limit = 2 * kSoon);

  std::string out, err;  // after wait()
  double seconds = 0;

 private:
  Clock::time_point begin_;
  pid_t pid_ = -1;
  int out_[2]{-1, -1}, err_[2]{-1, -1}, code_ = -1;
  bool done_ = false;
  std::thread readers_[2];
};

struct Result {
  int code = -1;
  std::string out, err;
  double seconds = 0;
};

std::ostream& operator<<(std::ostream& stream, const Result& result);

// Runs it to its end.
Result brig_program(std::vector<std::string> arguments, Brig::Options options = {});

// The arguments of `brig run [options] -- /bin/sh -c line`.
std::vector<std::string> run_sh(const std::string& line, std::vector<std::string> options = {});

// A pipe with nobody at the other end but this test.
struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() { (void)!pipe2(ends, O_CLOEXEC); }
  ~Pipe() {
    close_read();
    close_write();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_read() { shut(ends[0]); }
  void close_write() { shut(ends[1]); }
  static void shut(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
};

}  // namespace e2e
