// What the end-to-end tests share beyond escape.h: the three ways to run a command, and what is left of
// brig in the system. The brig program as a child is in e2e_program.h.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <thread>
#include <utility>

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

// What "at once" means in a test: no figure of speed, but far less than the minute that the command
// would take. A machine that stalls for seconds must not fail a test; the speed is in bench/.
inline constexpr std::chrono::seconds kSoon{15};

inline Clock::duration since(Clock::time_point begin) { return Clock::now() - begin; }

// True as soon as `fact` holds, false if it does not within `limit`.
template <typename Fact>
bool comes_true(Fact fact, std::chrono::seconds limit = kSoon) {
  const auto begin = Clock::now();
  while (!fact()) {
    if (since(begin) > limit) return false;
    usleep(2000);
  }
  return true;
}

// Counts the calls that have written something: give it as their live output, and wait for them.
class Begun {
 public:
  auto live() {
    return [this, first = true](brig::Stream, std::string_view) mutable {
      count_ += std::exchange(first, false);
    };
  }
  [[nodiscard]] bool are(int count) const {
    return comes_true([&] { return count_ >= count; });
  }

 private:
  std::atomic<int> count_{0};
};

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// --- commands and policies ---

inline Command sh(const std::string& line) { return Command::shell(line); }

inline Command argv(std::vector<std::string> words) {
  Command command;
  command.argv = std::move(words);
  return command;
}

// The usual policy with another timeout.
Policy with_wall(int wall_ms, int grace_ms = 300);

inline constexpr brig::Isolation kFloors[] = {brig::Isolation::jail, brig::Isolation::landlock,
                                              brig::Isolation::process};

// The usual policy, as far as that floor can hold it.
Policy policy_of(brig::Isolation isolation);

// The same command by brig::run, Runner::run and Runner::run_async: all must tell the same.
void by_all_ways(const Command& command, const Policy& policy,
                 const std::function<void(const Report&)>& check);

// What brig::run throws; a Runner must throw an error of that kind too.
std::string error_of(const Policy& policy, ErrorKind kind);

// --- what is in the system ---

struct Process {
  pid_t pid = 0, parent = 0;
  std::string name;
  char state = '?';
};

std::vector<Process> processes();

// Every living process below `root`, itself not included.
std::vector<Process> descendants(pid_t root);
std::vector<pid_t> descendants_named(pid_t root, const std::string& name);

std::string names(const std::vector<Process>& list);

// brig's cgroup directories that belong to process `owner`, slots included.
std::vector<std::string> cgroups_of(pid_t owner);

std::size_t open_descriptors(const std::string& pid = "self");

// A "Name:  123 kB" line of /proc/self/status, in bytes.
std::uint64_t own_memory(const std::string& field);

// Sets a variable of this process for the life of the object.
class Variable {
 public:
  Variable(std::string name, const char* value);
  ~Variable();
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace e2e
