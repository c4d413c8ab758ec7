// What the escape tests share: guests, host-side witnesses, and skips that CI turns into failures.
#pragma once

#include <brig/capabilities.h>
#include <brig/command.h>
#include <brig/error.h>
#include <brig/policy.h>
#include <brig/report.h>
#include <brig/runner.h>
#include <brig/seed.h>
#include <brig/version.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
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
bool has_cgroups();

std::string guests();

// Who tools are in their cells: BRIG_CELL_USER. All attacks must fail for root (0), too.
std::optional<std::uint32_t> inside();

// Whether policies use the other words as well: BRIG_CELL_WORDS=1. All attacks must fail beside them, too.
bool has_words();

// If so: a path at another place, one that is missing, one that can't be executed, one that stays as it is below one that
// can be written, variables taken out, and a preset.
void add_words(brig::Policy& policy);

// Takes out what only the jail has: `user`, and what add_words() adds.
void for_lower_floors(brig::Policy& policy);

// The default policy, with the guests visible.
brig::Policy policy();

brig::Command guest(std::vector<std::string> argv);

std::string describe(const brig::Report& report);

// Whether the guest says that something it tried went wrong.
bool went_wrong(const brig::Report& report);

// Runs a guest twice: a Runner makes its cells from a zygote, run() makes its one cell directly, and
// both must hold. The report is that of run(), unless the Runner's cell was the one that gave way.
brig::Report attack(const std::vector<std::string>& argv,
                    const brig::Policy& policy = escape::policy());

// Whether a line of its output begins so.
bool has_line(const brig::Report& report, const std::string& start);

// The guest ran to its end, every attempt it made was refused, and those named were among them: a
// guest that did nothing does not pass.
void expect_refused(const brig::Report& report, const std::vector<std::string>& names);

// Whether a layer that was in force has this prefix.
bool enforces(const brig::Report& report, const std::string& prefix);

// How often `what` was counted, of the codes that begin with `kind`: "syscall", "network", "memory", "processes".
std::uint64_t violations(const brig::Report& report, const std::string& kind,
                         const std::string& what);

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);
bool exists(const std::string& path);
mode_t mode_of(const std::string& path);

// A directory of the host's, removed at the end.
class HostDirectory {
 public:
  HostDirectory();
  ~HostDirectory();
  HostDirectory(const HostDirectory&) = delete;
  HostDirectory& operator=(const HostDirectory&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  // A sub-directory.
  std::string make(const std::string& name) const;
  // Every file below with a set-user-ID or set-group-ID bit.
  std::string set_id_files() const;

 private:
  std::string path_;
};

// Runs `body` in a child that has a mount namespace of its own: mounts that others on this machine make
// or remove meanwhile don't show there. Returns 0 if the body returned true and nothing failed, 77 if
// no such namespace can be made here.
int in_private_mounts(const std::function<bool()>& body);

// As root, runs `body` in private mounts, so that mount_table() can be compared. An ordinary user can't
// change the table of mounts, and others may: as such a user `body` just runs, and the table is "".
void with_own_mounts(const std::function<void()>& body);
std::string mount_table();

// A process of the host's, of the same user, that does nothing until it is killed.
class Victim {
 public:
  Victim();
  ~Victim();
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;
  pid_t pid() const { return pid_; }
  // Asks it, and waits for its answer. One that was sent a deadly signal before never answers, even if it
  // has not had the time to die; nor does one that was stopped.
  bool alive() const;

 private:
  pid_t pid_;
  int answers_;
};

// Pids of processes whose command line holds `marker`; zombies have none.
std::vector<pid_t> processes_with(const std::string& marker);
// That none of them outlived the call of `report`, which has these limits. If the machine gave a kill no time within six
// more seconds, it is left to the keeper (ARCHITECTURE.md): then, and only then, the last of them may end a little later.
void expect_gone(const std::string& marker, const brig::Report& report, const brig::Limits& limits);

std::string unique_marker(const char* what);

// A socket of the host's that tells whether anyone reached it.
class Witness {
 public:
  static Witness tcp() { return inet(SOCK_STREAM); }
  static Witness udp() { return inet(SOCK_DGRAM); }
  // `name` beginning with '@' is abstract.
  static Witness local(const std::string& name, int type);
  Witness(Witness&& other) noexcept : fd_(other.fd_), type_(other.type_) { other.fd_ = -1; }
  ~Witness();
  int port() const;
  bool reached() const;

 private:
  Witness(int fd, int type) : fd_(fd), type_(type) {}
  static Witness inet(int type);
  int fd_, type_;
};

}  // namespace escape
