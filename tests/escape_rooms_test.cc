// Rooms that are used again (decision 043). Call 1 is clean, so that call 2 stands in a room that was
// kept; call 2 leaves something, in one of many ways (guests/leave.c); call 3 tells all that it can see
// (guests/traces.c), which must be what a first call in a fresh room sees.
#include <brig/sandbox.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "escape.h"
#include "guests/traces.h"
#include "rooms.h"

namespace {

using namespace escape;
using brig::Outcome;
using brig::Policy;
using brig::Report;
using brig::Room;

// What must become of the room: it goes, or it may stay since nothing that was left is still there.
enum class After { goes, may_stay };

struct Way {
  const char* name;
  After after = After::goes;
};
using Ways = std::vector<Way>;

long long now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * 1'000'000'000ll + time.tv_nsec;
}

struct Done {
  Report report;
  std::string output;
};

// Where calls are made: two kinds of tools.
class Caller {
 public:
  virtual ~Caller() = default;
  virtual Done leave(const std::string& way, const std::string& place) = 0;
  virtual Done look(const std::string& place) = 0;
};

class CommandCaller : public Caller {
 public:
  explicit CommandCaller(const Policy& policy) : runner_(policy, {.ready = 1}) {}
  Done leave(const std::string& way, const std::string& place) override {
    return run({"leave", way, place});
  }
  Done look(const std::string& place) override { return run({"traces", place}); }

 private:
  Done run(std::vector<std::string> argv) {
    Report report = runner_.run(guest(std::move(argv)));
    std::string output = report.out.bytes;
    return {std::move(report), std::move(output)};
  }
  brig::Runner runner_;
};

std::string do_in_cell(const std::string& way, const std::string& place) {
  char* text = nullptr;
  std::size_t size = 0;
  FILE* const out = open_memstream(&text, &size);
  print_room(out);
  if (way == "traces")
    print_traces(out, place.c_str());
  else if (leave_behind(way.c_str(), place.c_str()) != 0)
    fprintf(out, "no such way\n");
  fclose(out);
  return {text, size};
}

class FunctionCaller : public Caller {
 public:
  explicit FunctionCaller(const Policy& policy) {
    brig::Toolbox tools;
    tools.add("tool", "A tool.", {"way", "place"}, do_in_cell);
    box_ = std::make_unique<brig::Sandbox>(std::move(tools), policy,
                                           brig::SandboxOptions{.ready_max = 1});
  }
  Done leave(const std::string& way, const std::string& place) override { return call(way, place); }
  Done look(const std::string& place) override { return call("traces", place); }

 private:
  Done call(const std::string& way, const std::string& place) {
    brig::ToolResult result = box_->call("tool", {{"way", way}, {"place", place}});
    std::string output = result.output.is_string() ? result.output.get<std::string>() : "";
    return {std::move(result.report), std::move(output)};
  }
  std::unique_ptr<brig::Sandbox> box_;
};

std::string limited(const Report& report) { return describe(report).substr(0, 500); }

// Calls that leave nothing, until one is in a room that was kept.
bool settle(Caller& caller, const std::string& place) {
  for (int i = 0; i < 60; ++i) {
    const Done done = caller.leave("nothing", place);
    EXPECT_TRUE(done.report.ok()) << limited(done.report);
    if (done.report.room == Room::as_new) return true;
  }
  ADD_FAILURE() << "no room is kept after calls that leave nothing";
  return false;
}

// A call that leaves something, in a room that was kept.
bool leave_in_kept(Caller& caller, const Way& way, const std::string& place, Done& left,
                   long long& before) {
  for (int i = 0; i < 60; ++i) {
    if (!settle(caller, place)) return false;
    before = now();
    left = caller.leave(way.name, place);
    if (left.report.room == Room::as_new) return true;
  }
  ADD_FAILURE() << "it never stood in a room that was kept";
  return false;
}

template <typename Kind>
void expect_nothing_passes(const Ways& ways, const Policy& policy, const std::string& place,
                           const std::function<void(const Way&)>& meanwhile) {
  const Traces fresh = [&] {
    Kind first(policy);
    const Done done = first.look(place);
    EXPECT_TRUE(done.report.ok()) << limited(done.report);
    EXPECT_EQ(done.report.room, Room::fresh);
    return traces_of(done.output);
  }();
  ASSERT_GT(fresh.text.size(), 2000u);
  Kind caller(policy);
  for (const Way& way : ways) {
    SCOPED_TRACE(std::string(way.name) + " (left by a " +
                 (std::is_same_v<Kind, CommandCaller> ? "command)" : "function)"));
    Done left;
    long long before = 0;
    if (!leave_in_kept(caller, way, place, left, before)) return;
    const std::string room = traces_of(left.output).room;  // "": it came to no end.
    EXPECT_NE(left.report.exit_code.value_or(0), 2) << "there is no such way";
    EXPECT_EQ(left.output.find("no such way"), std::string::npos);
    if (meanwhile) meanwhile(way);
    // A caller can have two rooms, so the first look may be into the other one.
    bool stayed = false;
    for (int looks = 0; looks < 3 && !stayed; ++looks) {
      const Done seen = caller.look(place);
      EXPECT_TRUE(seen.report.ok()) << limited(seen.report);
      Traces traces = traces_of(seen.output);
      stayed = traces.room == room;
      EXPECT_EQ(difference(fresh.text, traces.text, stayed), "") << "seen by the next call";
      if (!stayed) continue;
      EXPECT_EQ(seen.report.room, Room::as_new);
      EXPECT_LE(traces.changed, before) << "a directory changed while it left something";
      EXPECT_EQ(way.after, After::may_stay) << limited(left.report);
    }
    EXPECT_TRUE(!room.empty() || !left.report.ok()) << limited(left.report);
    if (getenv("BRIG_ROOMS_TELL"))
      std::cout << way.name << ": " << to_string(left.report.outcome) << ", its room "
                << (stayed ? "stayed" : "went") << "\n";
  }
}

void expect_nothing_passes(const Ways& ways, const Policy& policy = room_policy(),
                           const std::string& place = "",
                           const std::function<void(const Way&)>& meanwhile = {}) {
  expect_nothing_passes<CommandCaller>(ways, policy, place, meanwhile);
  expect_nothing_passes<FunctionCaller>(ways, policy, place, meanwhile);
}

// --- that the tests below mean something ---

TEST(Rooms, CleanCallsStandInTheSameRoom) {
  CommandCaller commands(room_policy());
  FunctionCaller functions(room_policy());
  for (Caller* const caller : std::initializer_list<Caller*>{&commands, &functions}) {
    // One is made ahead while the first call runs, so that there can be two.
    std::map<std::string, int> rooms;
    int kept = 0;
    for (int i = 0; i < 40; ++i) {
      const Done done = caller->leave("nothing", "");
      kept += done.report.room == Room::as_new;
      const int before = rooms[traces_of(done.output).room]++;
      EXPECT_EQ(before > 0, done.report.room == Room::as_new) << "the report says what was";
    }
    EXPECT_GE(kept, 30);
    EXPECT_LE(rooms.size(), 10u);
  }
}

TEST(Rooms, AFreshOneAndAKeptOneLookTheSame) {
  const Policy policy = room_policy();
  const auto look = [&]<typename Kind>(bool kept) {
    Kind caller(policy);
    Done done;
    do {
      if (kept && !settle(caller, "")) return std::string();
      done = caller.look("");
    } while (kept && done.report.room == Room::fresh);
    EXPECT_EQ(done.report.room, kept ? Room::as_new : Room::fresh);
    EXPECT_TRUE(done.report.ok()) << limited(done.report);
    return traces_of(done.output).text;
  };
  const auto look_twice = [&]<typename Kind>(const char* kind) {
    const std::string fresh = look.template operator()<Kind>(false);
    EXPECT_EQ(difference(fresh, look.template operator()<Kind>(false)), "")
        << kind << ", two fresh";
    EXPECT_EQ(difference(fresh, look.template operator()<Kind>(true)), "") << kind << ", one kept";
  };
  look_twice.template operator()<CommandCaller>("commands");
  look_twice.template operator()<FunctionCaller>("functions");
}

// --- whose rooms they are, and when they are fresh ---

// How many of these calls stood in a room that was kept.
int kept_of(int calls, const std::function<Report()>& call) {
  int kept = 0;
  for (int i = 0; i < calls; ++i) {
    const Report report = call();
    EXPECT_TRUE(report.ok()) << limited(report);
    kept += report.room == Room::as_new;
  }
  return kept;
}

int kept_of(const Policy& policy) {
  brig::Runner runner(policy, {.ready = 1});
  return kept_of(8, [&] { return runner.run({.argv = {"true"}}); });
}

TEST(Rooms, TwoCallersOrSessionsNeverShareOne) {
  brig::Toolbox tools;
  tools.add("room", "Which one it is.", {}, [] { return do_in_cell("nothing", ""); });
  brig::Sandbox box(std::move(tools), room_policy(), {.concurrency = 4});
  const std::vector<std::pair<std::string, std::string>> callers = {
      {"", ""}, {"one", ""}, {"two", ""}, {"one", "a"}, {"one", "b"}, {"", "a"}, {"onea", ""}};
  std::map<std::string, std::set<std::size_t>> users_of;
  std::mutex mutex;
  int kept = 0;
  const auto call = [&](std::size_t i) {
    const auto result =
        box.call("room", nullptr,
                 brig::CallOptions{.caller = callers[i].first, .session = callers[i].second});
    ASSERT_TRUE(result.ok()) << result.error;
    const std::lock_guard lock(mutex);
    users_of[result.output.get<std::string>()].insert(i);
    kept += result.report.room == Room::as_new;
  };
  // In turn, in pairs, and all at once.
  for (int round = 0; round < 3; ++round)
    for (std::size_t i = 0; i < callers.size(); ++i) call(i), call(i), call(i);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < callers.size(); ++i)
    threads.emplace_back([&, i] {
      for (int j = 0; j < 15; ++j) call(i);
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& [room, users] : users_of) EXPECT_EQ(users.size(), 1u) << room;
  EXPECT_GT(kept, 20);
}

TEST(Rooms, APolicyCanAskForAFreshOneEachTime) {
  Policy policy = room_policy();
  EXPECT_GT(kept_of(policy), 3);
  policy.room = Room::fresh;
  EXPECT_EQ(kept_of(policy), 0);
  FunctionCaller caller(policy);
  std::set<std::string> rooms;
  for (int i = 0; i < 8; ++i) rooms.insert(traces_of(caller.leave("nothing", "").output).room);
  EXPECT_EQ(rooms.size(), 8u);
  EXPECT_EQ(brig::run({.argv = {"true"}}, room_policy()).room, Room::fresh);
}

TEST(Rooms, WhereAPolicyGivesMoreEachIsFresh) {
  const HostDirectory host;
  std::map<std::string, Policy> policies;
  const auto with = [&](const char* name, const std::function<void(Policy&)>& change) {
    change(policies.emplace(name, room_policy()).first->second);
  };
  with("loopback", [](Policy& p) { p.network = brig::Network::loopback; });
  with("host", [](Policy& p) { p.network = brig::Network::host; });
  with("write", [&](Policy& p) { p.files.write = {host.path()}; });
  with("write_optional", [&](Policy& p) { p.files.write_optional = {host.path()}; });
  with("ptrace", [](Policy& p) { p.syscalls.allow = {"ptrace"}; });
  with("inotify", [](Policy& p) {
    p.syscalls.allow = {"inotify_init", "inotify_init1", "inotify_add_watch"};
  });
  with("deny", [](Policy& p) { p.syscalls.deny = {"symlink"}; });
  for (const auto& [name, policy] : policies) EXPECT_EQ(kept_of(policy), 0) << name;
  for (const brig::Isolation floor : {brig::Isolation::landlock, brig::Isolation::process}) {
    Policy policy = room_policy();
    for_lower_floors(policy);
    policy.isolation = floor;
    policy.network = brig::Network::host;
    if (floor == brig::Isolation::process) policy.files = {};
    EXPECT_EQ(kept_of(policy), 0) << to_string(floor);
  }
  // And these words take nothing away.
  Policy policy = room_policy();
  policy.user = 0;
  EXPECT_GT(kept_of(policy), 3) << "root inside";
  policy = room_policy();
  policy.files.read.push_back(host.path());
  policy.environment.set["A"] = "b";
  policy.limits.cpu_time = std::chrono::seconds(5);
  EXPECT_GT(kept_of(policy), 3) << "other words";
}

TEST(Rooms, AnEndThatIsNotCleanTakesItsRoomAlong) {
  Policy policy = room_policy();
  policy.limits.timeout = milliseconds(700);
  policy.limits.output_total = 200'000;
  policy.limits.memory = 32_MiB;
  policy.limits.processes = 20;
  brig::Runner runner(policy, {.ready = 1});
  struct End {
    const char *name, *line;
    std::vector<Outcome> outcomes;
  };
  const std::vector<End> ends = {
      {"signal", "kill -9 $$", {Outcome::signal}},
      {"crash", "kill -SEGV $$", {Outcome::signal}},
      {"timeout", "while :; do :; done", {Outcome::timeout}},
      {"cancellation", "sleep 60", {Outcome::cancelled}},
      {"output", "head -c 900000 /dev/zero", {Outcome::output_limit}},
      // Without a cgroup the program is told that there is no more, and ends by itself.
      {"memory",
       "exec $GUESTS/hog malloc 200 >/dev/null",
       {has_cgroups() ? Outcome::memory_limit : Outcome::exit}},
      {"violation", "$GUESTS/leave mount >/dev/null", {Outcome::ok}},
  };
  const auto room_of = [](const Report& report) { return traces_of(report.out.bytes).room; };
  for (const End& each : ends) {
    SCOPED_TRACE(each.name);
    Report end;
    for (int i = 0; i < 20 && end.room != Room::as_new; ++i) {
      for (int j = 0; j < 2; ++j) (void)runner.run(guest({"leave", "nothing"}));
      brig::Command command =
          brig::Command::shell("GUESTS='" + guests() + "'; $GUESTS/leave nothing; " + each.line);
      std::atomic<bool> begun = false;
      auto pending =
          runner.run_async(command, [&](brig::Stream, std::string_view) { begun = true; });
      if (each.outcomes[0] == Outcome::cancelled) {
        for (int wait = 0; wait < 500 && !begun; ++wait) usleep(1000);
        runner.cancel(pending.id, true);
      }
      end = pending.report.get();
    }
    EXPECT_EQ(end.room, Room::as_new);
    EXPECT_TRUE(std::count(each.outcomes.begin(), each.outcomes.end(), end.outcome))
        << limited(end);
    ASSERT_NE(room_of(end), "") << limited(end);
    if (end.outcome == Outcome::exit) continue;
    for (int i = 0; i < 6; ++i) {
      const Report next = runner.run(guest({"leave", "nothing"}));
      EXPECT_TRUE(next.ok()) << limited(next);
      EXPECT_NE(room_of(next), room_of(end));
    }
  }
}

TEST(Rooms, ToolsThatFailCleanlyKeepTheirRoom) {
  brig::Runner runner(room_policy(), {.ready = 1});
  int kept = 0;
  for (int i = 0; i < 10; ++i) {
    const Report report = runner.run(brig::Command::shell("exit 3"));
    EXPECT_EQ(report.outcome, Outcome::exit);
    kept += report.room == Room::as_new;
  }
  EXPECT_GT(kept, 3);
}

// --- what is counted ---

TEST(Rooms, WhatACallUsedIsNotTheNextOnes) {
  Policy policy = room_policy();
  policy.limits.cpu_time = milliseconds(1000);
  brig::Runner runner(policy, {.ready = 1});
  Report report;
  for (int i = 0; i < 4; ++i) {
    report = runner.run(guest({"leave", "processor-time"}));
    EXPECT_TRUE(report.ok()) << i << ": it has its own second: " << limited(report);
    EXPECT_LT(report.usage.cpu, std::chrono::milliseconds(1000)) << i;
  }
  // A call with much memory, and one with little.
  for (int i = 0; i < 3; ++i) {
    const Report large =
        runner.run(brig::Command::shell("head -c 100m /dev/zero | tail -c 90m | wc -c"));
    EXPECT_TRUE(large.ok()) << limited(large);
    report = runner.run(guest({"leave", "nothing"}));
    EXPECT_LT(report.usage.memory_peak, large.usage.memory_peak) << i;
    EXPECT_TRUE(report.violations.empty());
  }
}

TEST(Rooms, LimitsOfOneCallAreNotTheNextOnes) {
  brig::Toolbox tools;
  tools.add("spin", "Uses 600 ms of the processor.", {},
            [] { return leave_behind("processor-time", ""); });
  brig::Sandbox box(std::move(tools), room_policy(), {.ready_max = 1});
  for (int i = 0; i < 2; ++i) {
    const auto narrow =
        box.call("spin", nullptr, brig::CallOptions{.limits = {.cpu_time = milliseconds(100)}});
    EXPECT_FALSE(narrow.ok());
    const auto wide = box.call("spin", nullptr, brig::CallOptions{});
    EXPECT_TRUE(wide.ok()) << wide.error;
  }
}

TEST(Rooms, AKillThatACallSurvivesIsNotBlamedOnTheNext) {
  if (!has_cgroups()) return;  // Then nobody is killed for memory.
  Policy policy = room_policy();
  policy.limits.memory = 32_MiB;
  brig::Runner runner(policy, {.ready = 1});
  for (int i = 0; i < 3; ++i) {
    const Report left =
        runner.run(brig::Command::shell("'" + guests() + "'/hog malloc 200 >/dev/null; exit 0"));
    EXPECT_TRUE(!left.ok() || !left.violations.empty()) << "nothing was killed";
    const Report report = runner.run(guest({"leave", "nothing"}));
    EXPECT_TRUE(report.ok() && report.violations.empty()) << limited(report);
  }
}

TEST(Rooms, PageCacheOfACallLeavesTheNextOneItsMemory) {
  Policy policy = room_policy();
  policy.limits.memory = 48_MiB;
  brig::Runner runner(policy, {.ready = 1});
  for (int i = 0; i < 4; ++i) {
    const Report left = runner.run(
        brig::Command::shell("cat /usr/bin/* 2>/dev/null | head -c 60000000 >/dev/null; true"));
    EXPECT_TRUE(left.ok()) << limited(left);
    const Report report =
        runner.run(brig::Command::shell("head -c 30m /dev/zero | tail -c 30m | wc -c"));
    EXPECT_TRUE(report.ok()) << limited(report);
  }
}

// --- arguments and memory ---

// The shadow of a sanitizer is memory that nobody may read.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Rooms, ASecretOfOneCallIsNotInTheMemoryOfTheNext) {
  brig::Toolbox tools;
  // The secret comes inverted to the second tool, so that its own arguments hold no copy.
  tools.add("take", "Takes a secret.", {"secret"}, [](const std::string& secret) {
    setenv("SECRET", secret.c_str(), 1);
    std::vector<std::string> copies(2000, secret);
    return copies.size();
  });
  tools.add("find", "Looks for it.", {"inverted"}, [](const std::vector<int>& inverted) {
    std::ifstream maps("/proc/self/maps");
    int found = 0;
    for (std::string line; std::getline(maps, line);) {
      unsigned long from = 0, to = 0;
      char rights[8] = "", name[512] = "";
      if (sscanf(line.c_str(), "%lx-%lx %7s %*s %*s %*s %511s", &from, &to, rights, name) < 3 ||
          rights[0] != 'r' || name[0] == '/' || to - from > (256ul << 20) ||
          (name[0] == '[' && std::string(name) != "[heap]" && std::string(name) != "[stack]"))
        continue;
      for (auto* at = reinterpret_cast<const unsigned char*>(from);
           at + inverted.size() <= reinterpret_cast<const unsigned char*>(to); ++at) {
        std::size_t same = 0;
        while (same < inverted.size() && at[same] + inverted[same] == 255) ++same;
        found += same == inverted.size();
      }
    }
    return found;
  });
  brig::Sandbox box(std::move(tools), room_policy(), {.ready_max = 1});
  int kept = 0;
  for (int i = 0; i < 6; ++i) {
    const std::string secret = "a secret of call " + std::to_string(i * 7919 + getpid());
    const auto taken = box.call("take", {{"secret", secret}});
    EXPECT_TRUE(taken.ok()) << taken.error;
    std::vector<int> inverted;
    for (const char c : secret) inverted.push_back(255 - c);
    const auto found = box.call("find", {{"inverted", inverted}});
    EXPECT_TRUE(found.ok()) << found.error;
    EXPECT_EQ(found.output, 0);
    kept += found.report.room == Room::as_new;
  }
  EXPECT_GT(kept, 1);
}
#endif

volatile sig_atomic_t g_signals = 0;

// A function's init is a copy of the host: what its handlers change would be in all later calls.
TEST(Rooms, AHandlerOfTheHostsDoesNotRunInTheInit) {
  struct sigaction action {
  }, old{};
  action.sa_handler = [](int) { g_signals = g_signals + 1; };
  sigaction(SIGHUP, &action, &old);
  sigaction(SIGRTMIN + 2, &action, nullptr);
  brig::Toolbox tools;
  tools.add("signals", "Signals to the init.", {}, [] {
    const int before = g_signals;
    for (int i = 0; i < 5; ++i) kill(1, SIGHUP), kill(1, SIGRTMIN + 2);
    usleep(20'000);
    return before;
  });
  brig::Sandbox box(std::move(tools), room_policy(), {.ready_max = 1});
  int kept = 0;
  for (int i = 0; i < 8; ++i) {
    const auto result = box.call("signals", nullptr);
    EXPECT_EQ(result.output, 0) << i;
    kept += result.report.room == Room::as_new;
  }
  EXPECT_GT(kept, 2);
  sigaction(SIGHUP, &old, nullptr);
  signal(SIGRTMIN + 2, SIG_DFL);
}

// What the host shares with others is private to each copy of it, and not to each room.
TEST(Rooms, SharedMemoryOfTheHostIsPrivateToEachCall) {
  void* const shared =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const value = static_cast<volatile int*>(shared);
  static int own = 0;
  brig::Toolbox tools;
  tools.add("count", "Counts.", {}, [value] {
    *value = *value + 1;
    return std::vector<int>{*value, ++own};
  });
  brig::Sandbox box(std::move(tools), room_policy(), {.ready_max = 1});
  int kept = 0;
  for (int i = 0; i < 8; ++i) {
    const auto result = box.call("count", nullptr);
    EXPECT_EQ(result.output, brig::Json({1, 1})) << i;
    kept += result.report.room == Room::as_new;
  }
  EXPECT_GT(kept, 2);
  EXPECT_EQ(*value, 0);
  munmap(shared, 4096);
}

// --- what is left in the scratch space ---

TEST(RoomWays, Files) {
  expect_nothing_passes({{"file-in-tmp"},
                         {"file-in-home"},
                         {"file-in-shm"},
                         {"file-in-workspace"},
                         {"file-in-var-tmp"},
                         {"empty-file"},
                         {"sparse-file"},
                         {"directory"},
                         {"closed-directory"},
                         {"deep-tree"},
                         {"symlink"},
                         {"hard-link"},
                         {"fifo"},
                         {"device", After::may_stay},
                         {"strange-names"},
                         {"file-moved-about"},
                         {"full-scratch"},
                         {"posix-shared-memory"},
                         {"socket-with-a-path"},
                         {"unnamed-file-given-a-name"}});
}

TEST(RoomWays, FilesThatAreDeleted) {
  expect_nothing_passes({{"unnamed-file", After::may_stay},
                         {"deleted-file-still-open"},
                         {"deleted-file-held-by-a-daemon"},
                         {"mapped-file-held-by-a-daemon"},
                         {"files-made-and-removed"},
                         {"full-scratch-emptied"}});
}

TEST(RoomWays, AttributesAndAcls) {
  expect_nothing_passes({{"attribute-of-tmp"},
                         {"attribute-of-each"},
                         {"attribute-set-and-removed"},
                         {"large-attribute"},
                         {"default-acl"},
                         {"access-acl"},
                         {"default-acl-of-shm"}});
}

TEST(RoomWays, ModesTimesAndFlags) {
  expect_nothing_passes({{"times-of-tmp"},
                         {"times-of-shm"},
                         {"times-put-back"},
                         {"listed-directory", After::may_stay},
                         {"mode-of-tmp"},
                         {"mode-of-home"},
                         {"mode-put-back"},
                         {"sticky-tmp"},
                         {"owner-anew"},
                         {"flag-noatime", After::may_stay},
                         {"flag-nodump", After::may_stay},
                         {"flag-append", After::may_stay},
                         {"mode-of-terminals", After::may_stay},
                         {"mode-of-ptmx", After::may_stay},
                         {"times-of-ptmx", After::may_stay},
                         {"modes-of-devices", After::may_stay}});
}

TEST(RoomWays, DirectoriesAboveAListedPath) {
  // Below HOME: what is above it is the cell's own.
  const HostDirectory host;
  const std::string data = host.make("data");
  write_file(data + "/file", "the host's\n");
  Policy policy = room_policy();
  const std::string place = "/tmp/above/it/data";
  policy.files.read.push_back(data + ":" + place);
  expect_nothing_passes({{"parent-moved"},
                         {"parent-moved-and-back"},
                         {"parent-replaced"},
                         {"parent-linked"},
                         {"parent-exchanged"},
                         {"parent-shut"},
                         {"parent-attribute"},
                         {"parent-times"},
                         {"parent-has-another-name-beside"},
                         {"parent-listed-itself"}},
                        policy, place);
}

// --- objects with names, and what is in flight ---

TEST(RoomWays, ObjectsOfSystemV) {
  expect_nothing_passes({{"shared-memory"},
                         {"private-shared-memory"},
                         {"semaphores"},
                         {"semaphores-with-undo"},
                         {"queue"},
                         {"empty-queue"},
                         {"destroyed-memory-still-attached", After::may_stay},
                         {"objects-made-and-removed", After::may_stay}});
}

TEST(RoomWays, QueuesKeysAndNames) {
  expect_nothing_passes({{"posix-queue", After::may_stay},
                         {"keys", After::may_stay},
                         {"abstract-name", After::may_stay},
                         {"abstract-names-of-a-daemon", After::may_stay},
                         {"abstract-datagrams-of-a-daemon"},
                         {"pending-connection"}});
}

TEST(RoomWays, WhatIsInFlight) {
  expect_nothing_passes({{"memfd", After::may_stay},
                         {"memfd-in-flight", After::may_stay},
                         {"file-in-flight"},
                         {"directory-in-flight", After::may_stay},
                         {"many-in-flight", After::may_stay},
                         {"listener-in-flight", After::may_stay},
                         {"pidfd-in-flight", After::may_stay},
                         {"terminal-in-flight", After::may_stay},
                         {"mount-in-flight", After::may_stay},
                         {"full-pipe", After::may_stay}});
}

TEST(RoomWays, Terminals) {
  expect_nothing_passes(
      {{"terminals", After::may_stay}, {"terminal-of-a-daemon", After::may_stay}});
}

// A socket of the host's in a listed directory, and what came by it.
class Receiver {
 public:
  Receiver(const std::string& path, int type) : fd_(socket(AF_UNIX, type | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    if (type != SOCK_DGRAM) {
      EXPECT_EQ(listen(fd_, 8), 0);
    }
    chmod(path.c_str(), 0777);
    fcntl(fd_, F_SETFL, O_NONBLOCK);
    is_datagram_ = type == SOCK_DGRAM;
  }
  ~Receiver() { close(fd_); }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  // -1: nothing came.
  int take() const {
    const int from = is_datagram_ ? dup(fd_) : accept(fd_, nullptr, nullptr);
    if (from < 0) return -1;
    char byte;
    iovec part{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    int came = -1;
    if (recvmsg(from, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) > 0)
      if (const cmsghdr* header = CMSG_FIRSTHDR(&message);
          header && header->cmsg_type == SCM_RIGHTS)
        memcpy(&came, CMSG_DATA(header), sizeof came);
    close(from);
    return came;
  }

 private:
  int fd_;
  bool is_datagram_;
};

TEST(RoomWays, DescriptorsThatLeaveTheCell) {
  const HostDirectory host;
  const Receiver stream(host / "stream", SOCK_STREAM),
      seqpacket(host / "seqpacket", SOCK_SEQPACKET), datagram(host / "datagram", SOCK_DGRAM);
  Policy policy = room_policy();
  policy.files.read.push_back(host.path());
  unsigned came = 0;
  const Ways ways = {{"outside-stream"},   {"outside-home"},        {"outside-seqpacket"},
                     {"outside-datagram"}, {"outside-by-a-daemon"}, {"outside-connected-datagram"},
                     {"outside-raw"},      {"outside-pair"}};
  std::vector<int> kept;
  expect_nothing_passes(ways, policy, host.path(), [&](const Way& way) {
    for (const Receiver* each : {&stream, &seqpacket, &datagram})
      for (int directory; (directory = each->take()) >= 0; kept.push_back(directory)) {
        ++came;
        // Now, and when the next call has begun.
        const int planted = openat(directory, "planted", O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
        if (planted >= 0) close(planted);
        fchmod(directory, 0700);
      }
    SCOPED_TRACE(way.name);
  });
  EXPECT_GE(came, 2 * ways.size() - 2) << "the test would mean little";
  for (const int each : kept) close(each);
  expect_nothing_passes({{"outside-own-socket", After::goes}}, policy, host.path());
}

// --- processes ---

TEST(RoomWays, SignalsToTheInit) {
  expect_nothing_passes({{"term-to-init", After::may_stay},
                         {"kill-to-init", After::may_stay},
                         {"stop-to-init", After::may_stay},
                         {"all-signals-to-init", After::may_stay},
                         {"queued-signals-to-init", After::may_stay},
                         {"signals-without-end", After::may_stay},
                         {"kill-to-init-when-the-tool-is-gone", After::may_stay},
                         {"owner-of-a-pipe", After::may_stay},
                         {"owner-is-everyone", After::may_stay}});
}

TEST(RoomWays, Processes) {
  expect_nothing_passes({{"timers", After::may_stay},
                         {"blocked-and-ignored-signals", After::may_stay},
                         {"daemon", After::may_stay},
                         {"daemons-that-write", After::may_stay},
                         {"stopped-process", After::may_stay},
                         {"process-in-vfork", After::may_stay},
                         {"process-without-a-signal-at-its-end", After::may_stay},
                         {"brother", After::may_stay},
                         {"brother-with-the-same-memory", After::may_stay},
                         {"thread", After::may_stay},
                         {"zombies", After::may_stay},
                         {"subreaper", After::may_stay},
                         {"storm", After::may_stay},
                         {"traced-process"},
                         {"group-of-init", After::may_stay},
                         {"group-of-a-daemon", After::may_stay},
                         {"many-numbers", After::may_stay}});
}

TEST(RoomWays, LimitsAndSchedulingOfTheInit) {
  Ways ways = {{"nice-of-init"},
               {"nice-of-its-group"},
               {"nice-of-the-user"},
               {"nice-of-the-user-by-number"},
               {"nice-with-dirty-upper-half"},
               {"ioprio-of-init"},
               {"ioprio-of-its-group"},
               {"ioprio-of-the-user"},
               {"processor-of-init"},
               {"policy-of-init"},
               {"parameter-of-init"},
               {"attributes-of-init"},
               {"attributes-of-init-with-dirty-upper-half"},
               {"autogroup-of-its-own", After::may_stay},
               {"files-of-init", After::may_stay},
               {"files-of-its-own", After::may_stay}};
  expect_nothing_passes(ways);
  std::vector<std::string> names;
  for (int i = 0; i < 16; ++i) names.push_back("limit-of-init-" + std::to_string(i));
  ways.clear();
  for (const std::string& each : names)
    // That of core dumps is answered as if it had been set.
    ways.push_back({each.c_str(), each == "limit-of-init-4" ? After::may_stay : After::goes});
  expect_nothing_passes<CommandCaller>(ways, room_policy(), "", {});
}

TEST(RoomWays, WhatAProcessHasOfItsOwn) {
  expect_nothing_passes({{"limits-of-its-own", After::may_stay},
                         {"scheduling-of-its-own", After::may_stay},
                         {"own-habits", After::may_stay},
                         {"memory-of-its-own", After::may_stay},
                         {"filter-of-its-own", After::may_stay},
                         {"names-that-are-not-there", After::may_stay}});
}

TEST(RoomWays, TheShapeOfTheRoom) {
  expect_nothing_passes({{"mount"},
                         {"bound-mount"},
                         {"unmount"},
                         {"namespace"},
                         {"root"},
                         {"host-name"},
                         {"sysctls", After::may_stay},
                         {"memory-of-init"},
                         {"memory-of-init-by-its-file", After::may_stay}});
}

TEST(RoomWays, LocksAndWatches) {
  const HostDirectory host;
  write_file(host / "file", "the host's\n");
  Policy policy = room_policy();
  policy.files.read.push_back(host.path());
  expect_nothing_passes({{"locks", After::may_stay},
                         {"locks-of-a-daemon", After::may_stay},
                         {"locks-in-flight", After::may_stay},
                         {"lease"},
                         {"notice-of-a-directory"},
                         {"watch-of-files"}},
                        policy, host.path());
}

}  // namespace
