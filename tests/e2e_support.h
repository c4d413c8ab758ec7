// What the end-to-end tests share beyond escape.h: the three ways to run a command, what is left of
// brig in the system, and the brig program as a child.
#pragma once

#include <poll.h>
#include <sys/resource.h>

#include <filesystem>
#include <functional>
#include <set>
#include <thread>

#include "escape.h"

namespace e2e {

using namespace escape;
using brig::Command;
using brig::Error;
using brig::ErrorKind;
using brig::Outcome;
using brig::Policy;
using brig::Report;
using brig::Runner;
using brig::RunnerOptions;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// True as soon as `fact` holds, false if it does not within `seconds`.
template <typename Fact>
bool comes_true(double seconds, Fact fact) {
  const auto begin = Clock::now();
  while (!fact()) {
    if (seconds_since(begin) > seconds) return false;
    usleep(2000);
  }
  return true;
}

inline Command sh(const std::string& line) { return Command::shell(line); }

inline Command argv(std::vector<std::string> words) {
  Command command;
  command.argv = std::move(words);
  return command;
}

// The same command by brig::run, Runner::run and Runner::run_async: all must tell the same.
inline void by_all_ways(const Command& command, const Policy& policy,
                        const std::function<void(const Report&)>& check) {
  {
    SCOPED_TRACE("brig::run");
    check(brig::run(command, policy));
  }
  Runner runner(policy, {.ready = 1});
  {
    SCOPED_TRACE("Runner::run");
    check(runner.run(command));
  }
  {
    SCOPED_TRACE("Runner::run_async");
    check(runner.run_async(command).report.get());
  }
}

inline std::string error_of(const Policy& policy, ErrorKind kind) {
  std::string text = "(no error)";
  try {
    const Report report = brig::run(sh("echo ran"), policy);
    ADD_FAILURE() << "ran: " << describe(report);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    text = error.what();
  }
  try {
    Runner runner(policy, {.ready = 1});
    ADD_FAILURE() << "a Runner started";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
  }
  return text;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Process {
  pid_t pid = 0, parent = 0;
  std::string name;
  char state = '?';
};

inline std::vector<Process> processes() {
  std::vector<Process> found;
  DIR* proc = opendir("/proc");
  while (const dirent* entry = proc ? readdir(proc) : nullptr) {
    const pid_t pid = static_cast<pid_t>(strtol(entry->d_name, nullptr, 10));
    if (pid <= 0) continue;
    const std::string stat = read_file("/proc/" + std::string(entry->d_name) + "/stat");
    const std::size_t open = stat.find('('), close = stat.rfind(')');
    if (close == std::string::npos || stat.size() < close + 5) continue;
    found.push_back({pid, static_cast<pid_t>(strtol(stat.c_str() + close + 4, nullptr, 10)),
                     stat.substr(open + 1, close - open - 1), stat[close + 2]});
  }
  if (proc) closedir(proc);
  return found;
}

// Every living process below `root`, itself not included.
inline std::vector<Process> descendants(pid_t root) {
  const std::vector<Process> all = processes();
  std::vector<pid_t> tree{root};
  std::vector<Process> found;
  for (std::size_t i = 0; i < tree.size(); ++i)
    for (const Process& each : all)
      if (each.parent == tree[i] && std::find(tree.begin(), tree.end(), each.pid) == tree.end()) {
        tree.push_back(each.pid);
        if (each.state != 'Z') found.push_back(each);
      }
  return found;
}

inline std::vector<pid_t> descendants_named(pid_t root, const std::string& name) {
  std::vector<pid_t> found;
  for (const Process& each : descendants(root))
    if (each.name == name) found.push_back(each.pid);
  return found;
}

inline std::string names(const std::vector<Process>& list) {
  std::string text;
  for (const Process& each : list) text += each.name + "(" + std::to_string(each.pid) + ") ";
  return text;
}

// brig's cgroup directories that belong to process `owner`, slots included.
// Other tests' cgroups come and go meanwhile, which ends an iteration with an error: then once more.
inline std::vector<std::string> cgroups_of(pid_t owner) {
  std::vector<std::string> found;
  const std::string part = "-" + std::to_string(owner) + "-";
  std::error_code error;
  for (int attempt = 0; attempt == 0 || (error && attempt < 100); ++attempt) {
    found.clear();
    error.clear();
    std::filesystem::recursive_directory_iterator at(
        "/sys/fs/cgroup", std::filesystem::directory_options::skip_permission_denied, error),
        end;
    for (; !error && at != end; at.increment(error)) {
      std::error_code ignored;
      if (!at->is_directory(ignored) || at->is_symlink(ignored)) continue;
      const std::string path = at->path().string();
      const std::size_t brig = path.find("/brig-");
      if (brig != std::string::npos && path.find(part, brig) != std::string::npos)
        found.push_back(path);
    }
  }
  return found;
}

inline std::size_t open_descriptors(const std::string& pid = "self") {
  std::error_code error;
  std::size_t count = 0;
  for (std::filesystem::directory_iterator at("/proc/" + pid + "/fd", error), end;
       !error && at != end; at.increment(error))
    ++count;
  return count;
}

// A "Name:  123 kB" line of /proc/self/status, in bytes.
inline std::uint64_t own_memory(const std::string& field) {
  const std::string status = read_file("/proc/self/status");
  const std::size_t at = status.find("\n" + field + ":");
  return at == std::string::npos
             ? 0
             : strtoull(status.c_str() + at + field.size() + 2, nullptr, 10) * 1024;
}

// Sets a variable of this process for the life of the object.
class Variable {
 public:
  Variable(std::string name, const char* value) : name_(std::move(name)) {
    if (const char* before = getenv(name_.c_str())) before_ = before;
    if (value)
      setenv(name_.c_str(), value, 1);
    else
      unsetenv(name_.c_str());
  }
  ~Variable() {
    if (before_)
      setenv(name_.c_str(), before_->c_str(), 1);
    else
      unsetenv(name_.c_str());
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  std::string name_;
  std::optional<std::string> before_;
};

// --- the program ---

inline std::string program() {
  const char* path = getenv("BRIG_PROGRAM");
  return path ? path : "";
}

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
  };

  explicit Brig(const Options& options) : begin_(Clock::now()) {
    (void)!pipe2(out_, O_CLOEXEC);
    (void)!pipe2(err_, O_CLOEXEC);
    std::vector<const char*> argv{"brig"};
    for (const std::string& each : options.arguments) argv.push_back(each.c_str());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      for (const std::string& each : options.variables) putenv(const_cast<char*>(each.c_str()));
      if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) _exit(99);
      if (options.session) setsid();
      const int null = open("/dev/null", O_RDWR);
      const int sources[3] = {options.in == -2 ? null : options.in,
                              options.out == -2 ? out_[1] : options.out,
                              options.err == -2 ? err_[1] : options.err};
      int high[3];
      for (int i = 0; i < 3; ++i) high[i] = sources[i] < 0 ? -1 : fcntl(sources[i], F_DUPFD, 50);
      for (int i = 0; i < 3; ++i) {
        if (high[i] < 0) {
          close(i);
          continue;
        }
        dup2(high[i], i);
        close(high[i]);
      }
      if (null > 2) close(null);
      execv(program().c_str(), const_cast<char**>(argv.data()));
      _exit(98);
    }
    close(out_[1]);
    close(err_[1]);
    const auto collect = [](int fd, std::string* text) {
      char buffer[65536];
      for (ssize_t size; (size = read(fd, buffer, sizeof buffer)) > 0;)
        text->append(buffer, static_cast<std::size_t>(size));
      close(fd);
    };
    readers_[0] = std::thread(collect, out_[0], &out);
    readers_[1] = std::thread(collect, err_[0], &err);
  }
  ~Brig() { wait(20); }
  Brig(const Brig&) = delete;
  Brig& operator=(const Brig&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const { kill(pid_, number); }
  // Its exit code, 128+n for a signal, or -1 if it had to be killed.
  int wait(double limit = 20) {
    if (done_) return code_;
    done_ = true;
    const bool ended = comes_true(limit, [&] {
      siginfo_t info{};
      return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
             info.si_pid != 0;
    });
    if (!ended) kill(pid_, SIGKILL);
    int status = 0;
    waitpid(pid_, &status, 0);
    this->seconds = seconds_since(begin_);
    for (std::thread& reader : readers_) reader.join();
    code_ = !ended ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return code_;
  }

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

inline Result brig_program(std::vector<std::string> arguments, Brig::Options options = {}) {
  options.arguments = std::move(arguments);
  Brig brig(options);
  const int code = brig.wait();
  return {code, brig.out, brig.err, brig.seconds};
}

inline std::ostream& operator<<(std::ostream& stream, const Result& result) {
  return stream << "exit code " << result.code << " after " << result.seconds
                << " s\nstdout: " << result.out << "\nstderr: " << result.err;
}

}  // namespace e2e
