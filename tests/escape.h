// What the escape tests share: guests, host-side witnesses, and skips that CI turns into failures.
#pragma once

#include <brig/brig.h>
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

// A test that can't run here says why. BRIG_MUST_WORK=1 (CI) makes that a failure.
#define BRIG_NEEDS(condition, reason)                                                    \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      const char* must = getenv("BRIG_MUST_WORK");                                       \
      if (must && std::string(must) == "1") FAIL() << "must work here, but: " << reason; \
      GTEST_SKIP() << reason;                                                            \
    }                                                                                    \
  } while (0)

namespace escape {

using namespace brig::literals;
using std::chrono::milliseconds;

inline bool is_root() { return geteuid() == 0; }

// Root has them, or the test fails; an ordinary user has where one was delegated.
inline bool has_cgroups() {
  static const bool has = [] {
    if (is_root()) return true;
    for (const brig::Layer& layer : brig::probe().layers)
      if (layer.name == "cgroup_memory") return layer.present;
    return false;
  }();
  return has;
}

inline std::string guests() {
  const char* directory = getenv("BRIG_GUESTS");
  return directory ? directory : "";
}

// The default policy, with the guests visible.
inline brig::Policy policy() {
  brig::Policy policy;
  policy.files.read = {guests()};
  policy.limits.wall_time = milliseconds(20'000);
  return policy;
}

inline brig::Command guest(std::vector<std::string> argv) {
  brig::Command command;
  argv[0] = guests() + "/" + argv[0];
  command.argv = std::move(argv);
  return command;
}

inline std::string describe(const brig::Report& report) {
  return std::string(to_string(report.outcome)) + ": " + report.message + "\n" + report.out.bytes +
         report.err.bytes;
}

// Words of a guest for which something went wrong.
inline constexpr const char* kBadWords[] = {": SUCCEEDED", ": FAILED", ": BROKEN", ": WRONG ERROR",
                                            ": PRESENT"};

inline bool went_wrong(const brig::Report& report) {
  return std::any_of(std::begin(kBadWords), std::end(kBadWords), [&](const char* word) {
    return report.out.bytes.find(word) != std::string::npos;
  });
}

// Runs a guest twice: a Runner makes its cells from a zygote, run() makes its one cell directly, and
// both must hold. The report is that of run(), unless the Runner's cell was the one that gave way.
inline brig::Report attack(const std::vector<std::string>& argv,
                           const brig::Policy& policy = escape::policy()) {
  brig::Report pooled = brig::Runner(policy, {.ready = 1}).run(guest(argv));
  if (went_wrong(pooled)) return pooled;
  brig::Report single = brig::run(guest(argv), policy);
  EXPECT_STREQ(to_string(pooled.outcome), to_string(single.outcome))
      << "Runner: " << describe(pooled) << "\nrun(): " << describe(single);
  return single;
}

inline bool has_line(const brig::Report& report, const std::string& start) {
  return ("\n" + report.out.bytes).find("\n" + start) != std::string::npos;
}

// The guest ran to its end, every attempt it made was refused, and those named were among them: a
// guest that did nothing does not pass.
inline void expect_refused(const brig::Report& report, const std::vector<std::string>& names) {
  EXPECT_TRUE(report.ok() && !went_wrong(report)) << describe(report);
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names)
    EXPECT_TRUE(has_line(report, name + ": refused") || has_line(report, name + ": holds") ||
                has_line(report, name + ": works"))
        << "no refused attempt '" << name << "'";
}

inline bool enforces(const brig::Report& report, const std::string& prefix) {
  return std::any_of(report.enforced.begin(), report.enforced.end(),
                     [&](const std::string& layer) { return layer.starts_with(prefix); });
}

inline std::uint64_t violations(const brig::Report& report, const std::string& layer,
                                const std::string& what) {
  std::uint64_t count = 0;
  for (const brig::Violation& each : report.violations)
    if (each.layer == layer && each.what == what) count += each.count;
  return count;
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  ASSERT_TRUE(file.good()) << path;
}

inline bool exists(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0;
}

inline mode_t mode_of(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 ? info.st_mode : 0;
}

// A directory of the host's, removed at the end.
class HostDirectory {
 public:
  HostDirectory() {
    char name[] = "/tmp/brig-escape-XXXXXX";
    if (mkdtemp(name)) path_ = name;
    chmod(name, 0755);
  }
  ~HostDirectory() {
    if (!path_.empty())
      (void)!system(("chmod -R u+rwx " + path_ + " 2>/dev/null; rm -rf " + path_).c_str());
  }
  HostDirectory(const HostDirectory&) = delete;
  HostDirectory& operator=(const HostDirectory&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  // A sub-directory.
  std::string make(const std::string& name) const {
    const std::string path = path_ + "/" + name;
    mkdir(path.c_str(), 0755);
    return path;
  }
  // Every file below with a set-user-ID or set-group-ID bit.
  std::string set_id_files() const {
    const std::string list = path_ + "/.set-id";
    (void)!system(("find " + path_ + " -perm /6000 > " + list).c_str());
    std::string found = read_file(list);
    unlink(list.c_str());
    return found;
  }

 private:
  std::string path_;
};

// A process of the host's, of the same user, that does nothing until it is killed.
class Victim {
 public:
  Victim() : pid_(fork()) {
    if (pid_ == 0) {
      setpgid(0, 0);
      alarm(120);
      for (;;) pause();
    }
  }
  ~Victim() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;
  pid_t pid() const { return pid_; }
  bool alive() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
  }

 private:
  pid_t pid_;
};

// Pids of processes whose command line holds `marker`; zombies have none.
inline std::vector<pid_t> processes_with(const std::string& marker) {
  std::vector<pid_t> found;
  DIR* proc = opendir("/proc");
  while (const dirent* entry = proc ? readdir(proc) : nullptr) {
    const pid_t pid = static_cast<pid_t>(strtol(entry->d_name, nullptr, 10));
    if (pid > 0 && read_file("/proc/" + std::string(entry->d_name) + "/cmdline").find(marker) !=
                       std::string::npos)
      found.push_back(pid);
  }
  if (proc) closedir(proc);
  return found;
}

inline std::string unique_marker(const char* what) {
  static int counter = 0;
  return "brig-marker-" + std::to_string(getpid()) + "-" + what + "-" + std::to_string(counter++);
}

// A socket of the host's that tells whether anyone reached it.
class Witness {
 public:
  static Witness tcp() { return inet(SOCK_STREAM); }
  static Witness udp() { return inet(SOCK_DGRAM); }
  // `name` beginning with '@' is abstract.
  static Witness local(const std::string& name, int type) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, sizeof address.sun_path - 1);
    socklen_t size = sizeof address;
    if (name[0] == '@') {
      address.sun_path[0] = '\0';
      size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    }
    Witness witness(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), type);
    EXPECT_EQ(bind(witness.fd_, reinterpret_cast<sockaddr*>(&address), size), 0) << strerror(errno);
    if (type != SOCK_DGRAM) {
      EXPECT_EQ(listen(witness.fd_, 8), 0);
    }
    if (name[0] != '@') chmod(name.c_str(), 0777);
    return witness;
  }
  Witness(Witness&& other) noexcept : fd_(other.fd_), type_(other.type_) { other.fd_ = -1; }
  ~Witness() {
    if (fd_ >= 0) close(fd_);
  }
  int port() const {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
  }
  bool reached() const {
    if (type_ != SOCK_DGRAM) {
      const int peer = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
      if (peer >= 0) close(peer);
      return peer >= 0;
    }
    char byte;
    return recv(fd_, &byte, 1, MSG_DONTWAIT) >= 0;
  }

 private:
  Witness(int fd, int type) : fd_(fd), type_(type) {}
  static Witness inet(int type) {
    Witness witness(socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), type);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(witness.fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    if (type == SOCK_STREAM) {
      EXPECT_EQ(listen(witness.fd_, 8), 0);
    }
    return witness;
  }
  int fd_, type_;
};

}  // namespace escape
