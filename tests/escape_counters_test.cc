// What the kernel counts per user or per machine: a cell that takes all it can of it must not stop other
// cells, nor the user that brig runs as (group G). SECURITY.md has the table of these counters.
#include <poll.h>
#include <pwd.h>
#include <sys/resource.h>

#include <optional>
#include <thread>

#include "e2e_support.h"

namespace {

using namespace escape;
using brig::Policy;
using brig::Report;

// A call that has taken all it can of `what`, and keeps it until it is let go.
class Holder {
 public:
  Holder(brig::Runner& runner, const std::string& what) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ours_ = ends[0];
    const int on = 1;
    EXPECT_EQ(setsockopt(ours_, SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
    brig::Command command = guest({"counters", what, "hold"});
    command.stdin_fd = ends[1];
    thread_ = std::thread([this, &runner, command, theirs = ends[1]] {
      report_ = runner.run(command);
      close(theirs);
    });
    char line[64] = "";
    pollfd wait{ours_, POLLIN, 0};
    iovec iov{line, sizeof line - 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))] = {};
    msghdr message{};
    message.msg_iov = &iov;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (poll(&wait, 1, 30'000) != 1 || recvmsg(ours_, &message, 0) <= 0) return;
    taken_ = strtol(line, nullptr, 10);
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_type == SCM_CREDENTIALS)
      memcpy(&who_, CMSG_DATA(header), sizeof who_);
  }
  ~Holder() { let_go(); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  // How much it got; -1 if it never said.
  long taken() const { return taken_; }
  // Who said so, by the host's ids.
  const ucred& who() const { return who_; }
  Report let_go() {
    if (thread_.joinable()) {
      shutdown(ours_, SHUT_RDWR);
      close(ours_);
      thread_.join();
    }
    return report_;
  }

 private:
  int ours_ = -1;
  long taken_ = -1;
  ucred who_{};
  std::thread thread_;
  Report report_;
};

// This user, outside of any cell.
bool host_can_use(const std::string& what) {
  return system((guests() + "/counters " + what + " use > /dev/null").c_str()) == 0;
}

void expect_others_work(const std::string& what, long least, long most,
                        const Policy& policy = escape::policy()) {
  SCOPED_TRACE(what);
  ASSERT_TRUE(host_can_use(what)) << "nothing to be seen here: it did not work before either";
  brig::Runner runner(policy, {.ready = 1});
  // Another run of these tests, by the same user, may hold it just now.
  std::optional<Holder> holder;
  EXPECT_TRUE(e2e::comes_true([&] { return holder.emplace(runner, what).taken() >= least; }))
      << holder->taken();
  EXPECT_LE(holder->taken(), most);
  for (int i = 0; i < 3; ++i) {  // more than were ready before
    const Report same = runner.run(guest({"counters", what, "use"}));
    EXPECT_TRUE(same.ok()) << "a cell of the same Runner: " << describe(same);
  }
  const Report other = attack({"counters", what, "use"}, policy);
  EXPECT_TRUE(other.ok()) << "cells of others: " << describe(other);
  EXPECT_TRUE(host_can_use(what)) << "the user's own programs";
  const Report report = holder->let_go();
  EXPECT_TRUE(report.ok()) << describe(report);
}

TEST(EscapeCounters, PendingSignalsAreTheCellsOwn) { expect_others_work("signals", 1, 1024); }

TEST(EscapeCounters, TimersThatSendSignalsAreTheCellsOwn) { expect_others_work("timers", 1, 1024); }

// They count for the user of the host, too, whose own limit is mostly thousands.
TEST(EscapeCounters, ProcessesOfACellLeaveTheUserHisOwn) {
  Policy few = policy();
  few.limits.processes = 32;
  rlimit host{};
  getrlimit(RLIMIT_NPROC, &host);
  BRIG_NEEDS(host.rlim_cur > 2000, "this user may have few processes");
  ASSERT_TRUE(host_can_use("processes"));
  brig::Runner runner(few, {.ready = 1});
  Holder first(runner, "processes"), second(runner, "processes");
  for (const Holder* each : {&first, &second}) {
    EXPECT_GE(each->taken(), 16);
    EXPECT_LT(each->taken(), 32);
  }
  EXPECT_TRUE(runner.run(guest({"counters", "processes", "use"})).ok());
  EXPECT_TRUE(attack({"counters", "processes", "use"}, few).ok());
  EXPECT_TRUE(host_can_use("processes"));
}

TEST(EscapeCounters, TerminalsOfTheMachineCannotBeTaken) {
  expect_others_work("terminals", 16, 16);
}

// Landlock refuses them altogether; where it is absent a limit holds.
TEST(EscapeCounters, MessageQueuesOfTheUserCannotBeTaken) {
  ASSERT_TRUE(host_can_use("queues"));
  brig::Runner runner(policy(), {.ready = 1});
  Holder holder(runner, "queues");
  EXPECT_GE(holder.taken(), 0);
  EXPECT_LE(holder.taken(), 3);
  EXPECT_TRUE(host_can_use("queues"));
  EXPECT_TRUE(holder.let_go().ok());
  Policy floor = policy();
  floor.isolation = brig::Isolation::process;
  for_lower_floors(floor);
  floor.network = brig::Network::host;
  floor.files.read.clear();
  brig::Runner open_runner(floor, {.ready = 1});
  // Linux 6.1 has no refusal yet, and counts the first cell's for the user until it has taken their namespace down.
  std::optional<Holder> open_holder;
  e2e::comes_true([&] { return open_holder.emplace(open_runner, "queues").taken() >= 1; });
  EXPECT_GE(open_holder->taken(), 1);
  EXPECT_LE(open_holder->taken(), 3);
  // Other cells of that floor have the same user and the same limit: for them nothing is left (SECURITY.md).
  EXPECT_TRUE(host_can_use("queues"));
}

TEST(EscapeCounters, LargePipesLeaveOthersTheirSmallOnes) { expect_others_work("pipes", 1, 256); }

TEST(EscapeCounters, LockedMemoryIsTheCellsOwn) { expect_others_work("locked", 1, 16); }

TEST(EscapeCounters, WatchesOfManyDescriptorsLeaveOthersTheirs) {
  expect_others_work("watches", 64, 200'000);
}

TEST(EscapeCounters, WatchesOfManyProcessesLeaveOthersTheirs) {
  expect_others_work("many-watches", 16, 16);
}

TEST(EscapeCounters, OpenFilesOfManyProcessesLeaveOthersTheirs) {
  expect_others_work("files", 2, 1000);
}

TEST(EscapeCounters, WatchersOfFilesAreTheCellsOwnWhereTheyAreGivenBack) {
  Policy given = policy();
  given.syscalls.allow = {"inotify_init1", "inotify_add_watch"};
  expect_others_work("watchers", 1, 8, given);
}

TEST(EscapeCounters, WatchesOfFilesAreTheCellsOwnWhereTheyAreGivenBack) {
  Policy given = policy();
  given.syscalls.allow = {"inotify_init1", "inotify_add_watch"};
  expect_others_work("file-watches", 1024, 4096, given);
}

// Without a limit the buffers of 500 sockets hold 200 MiB.
TEST(EscapeCounters, BuffersOfSocketsAreMemoryOfTheCell) {
  if (!has_cgroups()) GTEST_SKIP() << "without a cgroup nothing bounds the buffers of sockets";
  Policy small = policy();
  small.network = brig::Network::loopback;
  small.limits.memory = 64_MiB;
  small.limits.open_files = 1024;
  for (const bool pooled : {true, false}) {
    const brig::Command fill = guest({"counters", "sockets", "500"});
    const Report report =
        pooled ? brig::Runner(small, {.ready = 1}).run(fill) : brig::run(fill, small);
    if (report.outcome == brig::Outcome::memory_limit)
      continue;  // charged with the rest: version 2
    ASSERT_TRUE(report.ok() && has_line(report, "MiB ")) << describe(report);
    EXPECT_LE(strtol(report.out.bytes.c_str() + 4, nullptr, 10), 72) << describe(report);
  }
}

TEST(EscapeCounters, BuffersOfSocketsOfACellLeaveOthersTheirs) {
  if (!has_cgroups()) GTEST_SKIP() << "without a cgroup nothing bounds the buffers of sockets";
  Policy loopback = policy();
  loopback.network = brig::Network::loopback;
  expect_others_work("buffers", 16, 256, loopback);
}

// In flight: sent, and not yet received. The kernel counts them per user, and without this a cell that has as
// many as its limit of open files keeps every other one of that user from starting.
TEST(EscapeCounters, DescriptorsInFlightStopNoOtherCell) {
  expect_others_work("descriptors", 2, 20);
  Policy many = policy();
  many.limits.open_files = 4096;  // more than the soft limit of most hosts
  rlimit host{};
  getrlimit(RLIMIT_NOFILE, &host);
  if (host.rlim_max < 3 * many.limits.open_files)
    GTEST_SKIP() << "the host's own hard limit of open files is not above the policy's";
  expect_others_work("descriptors", 2, 40, many);
}

// Slots that can write to the host share a user, whatever other words their policy has.
Policy that_writes_nothing() {
  Policy policy = escape::policy();
  policy.files.write_optional.clear();
  policy.files.protect.clear();
  return policy;
}

// What the kernel counts for each user is then each slot's own. (With BRIG_CELL_WORDS=1 the policies of all other tests here
// write, so that as root those run once more in a Runner whose cells share one user.)
TEST(EscapeCounters, AsRootEverySlotHasAUserOfItsOwn) {
  brig::Runner runner(that_writes_nothing(), {.ready = 2});
  Holder first(runner, "signals"), second(runner, "signals");
  ASSERT_GE(first.taken(), 0);
  ASSERT_GE(second.taken(), 0);
  if (geteuid() != 0) {
    EXPECT_EQ(first.who().uid, geteuid());
    EXPECT_EQ(second.who().uid, geteuid());
    return;
  }
  EXPECT_NE(first.who().uid, second.who().uid);
  EXPECT_NE(first.who().gid, second.who().gid);
  for (const Holder* each : {&first, &second}) {
    EXPECT_EQ(each->who().uid, each->who().gid);
    EXPECT_EQ(getpwuid(each->who().uid), nullptr) << "no account has it";
  }
}

// Whoever owns it is one user, and so are all that may write there. See decision 025.
TEST(EscapeCounters, AsRootSlotsThatWriteToTheHostShareAUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root's cells have ids of their own";
  const HostDirectory host;
  Policy writes = policy();
  writes.files.write = {host.path()};
  brig::Runner runner(writes, {.ready = 2});
  Holder first(runner, "signals"), second(runner, "signals");
  ASSERT_GE(first.taken(), 0);
  ASSERT_GE(second.taken(), 0);
  EXPECT_EQ(first.who().uid, second.who().uid);
}

// A private file that is listed by itself is shown as the cell's own; a preset's shared cache is a path to write.
TEST(EscapeCounters, AsRootSlotsThatReadAPrivateFileOrShareACacheShareAUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root's cells have ids of their own";
  const HostDirectory host;
  write_file(host / "private", "of root");
  ASSERT_EQ(chmod((host / "private").c_str(), 0600), 0);
  ASSERT_EQ(chmod(host.path().c_str(), 0700), 0);
  const e2e::Variable cache("XDG_CACHE_HOME", (host / "cache").c_str());
  Policy reads = policy(), caches = policy();
  reads.files.read.push_back(host / "private");
  caches.preset = {"go:shared"};
  for (const Policy& each : {reads, caches}) {
    brig::Runner runner(each, {.ready = 2});
    Holder first(runner, "signals"), second(runner, "signals");
    ASSERT_GE(first.taken(), 0);
    ASSERT_GE(second.taken(), 0);
    EXPECT_EQ(first.who().uid, second.who().uid);
    EXPECT_EQ(getpwuid(first.who().uid), nullptr) << "no account has it";
  }
}

TEST(EscapeCounters, AsRootDescriptorsInFlightAreTheSlotsOwn) {
  if (geteuid() != 0)
    GTEST_SKIP() << "the cells of an ordinary user have its id, and share the count";
  expect_others_work("sending", 2, 20, that_writes_nothing());
}

TEST(EscapeCounters, AsRootPagesOfPipesAreTheSlotsOwn) {
  if (geteuid() != 0)
    GTEST_SKIP() << "the cells of an ordinary user have its id, and share the count";
  expect_others_work("large-pipes", 1, 256, that_writes_nothing());
}

// Each cell needs some for its own filters, and without it no cell of any user could start.
TEST(EscapeCounters, MemoryForFiltersCannotBeTakenBySockets) {
  expect_others_work("filters", 0, 0);
}

TEST(EscapeCounters, FlowLabelsOfTheMachineCannotBeTaken) {
  if (!host_can_use("labels")) GTEST_SKIP() << "this machine gives no flow labels";
  Policy loopback = policy();
  loopback.network = brig::Network::loopback;
  brig::Runner runner(loopback, {.ready = 1});
  Holder holder(runner, "labels");
  EXPECT_EQ(holder.taken(), 0);
  EXPECT_TRUE(host_can_use("labels"));
  EXPECT_TRUE(holder.let_go().ok());
}

TEST(EscapeCounters, AsynchronousIoOfTheMachineCannotBeTaken) {
  ASSERT_TRUE(host_can_use("aio"));
  brig::Runner runner(policy(), {.ready = 1});
  Holder holder(runner, "aio");
  EXPECT_EQ(holder.taken(), 0);
  EXPECT_TRUE(host_can_use("aio"));
  EXPECT_TRUE(holder.let_go().ok());
  Policy given = policy();
  given.syscalls.allow = {"io_setup"};
  const Report report = attack({"counters", "aio", "use"}, given);
  EXPECT_TRUE(report.ok()) << describe(report);
}

}  // namespace
