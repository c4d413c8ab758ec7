// Resource abuse: memory, processes, kernel objects, time, output, and cgroups left behind (group G).
#include <sys/resource.h>

#include "escape.h"

namespace {

using namespace escape;
using brig::Error;
using brig::Outcome;
using brig::Policy;
using brig::Report;

// With a memory cgroup the tree is bounded. Without, private memory is bounded for each process and shared
// memory for the tree, and the report says so.
void expect_memory_bounded(const std::string& what, const std::string& amount = "192") {
  SCOPED_TRACE(what);
  Policy small = policy();
  small.limits.memory = 64_MiB;
  small.limits.scratch = 1_GiB;  // tmpfs must not be what stops it
  small.limits.timeout = milliseconds(20'000);
  const Report report = attack({"hog", what, amount}, small);
  if (enforces(report, "memory:cgroup")) {
    EXPECT_EQ(report.outcome, Outcome::memory_limit) << describe(report);
    EXPECT_GT(violations(report, "memory", "killed by the out-of-memory killer"), 0u);
    EXPECT_LE(report.usage.memory_peak, 65_MiB);
    EXPECT_GE(report.usage.memory_peak, 32_MiB);
  } else {
    EXPECT_TRUE(enforces(report, "memory:per_process")) << describe(report);
    EXPECT_TRUE(enforces(report, "shared_memory:counted")) << describe(report);
    EXPECT_EQ(report.exit_code, 3) << describe(report);
    EXPECT_NE(report.out.bytes.find(": refused"), std::string::npos) << describe(report);
    EXPECT_EQ(report.outcome, Outcome::exit) << "nobody could have told";
    // Of the rest nothing tells that it was memory: a memfd or a device does not exist.
    for (const char* told : {"malloc", "shared", "small-shared", "shm"})
      if (what == told) {
        const char* refused =
            what == "malloc" ? "may have been refused memory" : "refused more shared memory";
        EXPECT_GT(violations(report, "memory", refused), 0u) << describe(report);
        EXPECT_NE(report.message.find("aise limits.memory"), std::string::npos) << report.message;
      }
  }
}

TEST(Escape, HeapMemoryIsBounded) { expect_memory_bounded("malloc"); }
TEST(Escape, SharedAnonymousMemoryIsBounded) {
  expect_memory_bounded("shared");
  expect_memory_bounded("small-shared");
}
TEST(Escape, SharedMemoryOfDevZeroIsBounded) { expect_memory_bounded("zero"); }
TEST(Escape, MemoryInMemfdsIsBounded) { expect_memory_bounded("memfd"); }
// Private memory that RLIMIT_DATA does not count.
TEST(Escape, MemoryThatGrowsDownwardsIsBounded) { expect_memory_bounded("downwards"); }
TEST(Escape, RemappedMemoryIsBounded) {
  expect_memory_bounded("remapped-stack");
  expect_memory_bounded("remapped-heap");
}
TEST(Escape, HugePagesThatAPipeKeepsAreBounded) { expect_memory_bounded("spliced"); }
TEST(Escape, MemoryInSysvSegmentsIsBounded) { expect_memory_bounded("shm"); }

// Those of the machine's pool, which no memory limit counts.
TEST(Escape, HugePagesOfTheMachineCannotBeTaken) {
  const std::vector<std::string> all = {"huge pages", "shared huge pages", "a memfd of huge pages",
                                        "a segment of huge pages"};
  expect_refused(attack({"hog", "hugepages", "0"}), all);
  BRIG_NEEDS(brig::probe().landlock, "this kernel has no Landlock");
  Policy floor = policy();
  floor.isolation = brig::Isolation::landlock;
  for_lower_floors(floor);
  expect_refused(attack({"hog", "hugepages", "1"}, floor), all);  // no segments of any kind there
}

// The cgroup stopped it, or it says itself that it was refused: a guest that did nothing does not pass.
void expect_memory_limit_or_line(const std::string& what, const std::string& amount,
                                 const std::string& line) {
  SCOPED_TRACE(what);
  Policy small = policy();
  small.limits.memory = 64_MiB;
  const Report report = attack({"hog", what, amount}, small);
  if (report.outcome == Outcome::memory_limit) {
    EXPECT_TRUE(enforces(report, "memory:cgroup")) << describe(report);
    EXPECT_LE(report.usage.memory_peak, 65_MiB);
    return;
  }
  EXPECT_EQ(report.exit_code, 3) << describe(report);
  EXPECT_TRUE(has_line(report, line)) << describe(report);
}

// What the kernel keeps for them, version 1 charges as memory too; how much of it is its affair.
TEST(Escape, MemoryInSysvQueuesAndSemaphoresIsBounded) {
  for (const char* what : {"queues", "semaphores"})
    expect_memory_limit_or_line(what, "512", std::string(what) + ": refused at ");
}

// Without a cgroup the address space is what bounds them: 16 GiB of it take 32 MiB of page tables.
TEST(Escape, MemoryInPageTablesIsBounded) {
  expect_memory_limit_or_line("tables", "192", "tables: refused at ");
}

// The kernel counts them for the user, or they hang on descriptors: bounded for each process.
TEST(Escape, WhatPipesAndSocketsHoldIsBounded) {
  for (const char* what : {"pipes", "sockets"})
    expect_memory_limit_or_line(what, "192", std::string(what) + ": hold ");
}

TEST(Escape, MemoryInScratchFilesIsBounded) {
  if (has_cgroups()) return expect_memory_bounded("tmpfs");
  Policy small = policy();
  small.limits.scratch = 64_MiB;
  const Report report = attack({"hog", "tmpfs", "192"}, small);
  EXPECT_TRUE(has_line(report, "tmpfs: refused at 6")) << describe(report);
}

TEST(Escape, MemoryOfManySmallProcessesIsBounded) {
  if (!has_cgroups()) GTEST_SKIP() << "without a cgroup the limit is per process";
  expect_memory_bounded("family");
}

// What the host lets go on once it has counted it is none of what the policy refuses.
TEST(Escape, WhatIsRefusedIsNotGrantedByBeingCounted) {
  Policy denies = policy();
  denies.syscalls.deny = {"shmget"};
  const Report report = attack({"hog", "shm", "32"}, denies);
  EXPECT_TRUE(has_line(report, "shm: refused at 0 MiB")) << describe(report);
  EXPECT_GT(violations(report, "syscall", "shmget"), 0u) << describe(report);
}

// What is counted and not refused goes on as ever, and the end of a call ends the count.
TEST(Escape, MemoryWithinTheLimitIsGranted) {
  for (const char* what : {"shared", "small-shared", "shm", "remapped-heap"}) {
    const Report report = attack({"hog", what, "32"});
    EXPECT_TRUE(report.ok()) << describe(report);
    EXPECT_EQ(report.violations.size(), 0u) << describe(report);
  }
}

TEST(Escape, TheStackIsBounded) {
  Policy small = policy();
  small.limits.memory = 64_MiB;
  const Report report = attack({"hog", "stack", "256"}, small);
  EXPECT_TRUE(report.outcome == Outcome::signal || report.outcome == Outcome::memory_limit)
      << describe(report);
}

TEST(Escape, ProcessesAndThreadsAreBounded) {
  Policy few = policy();
  few.limits.processes = 16;
  for (const char* what : {"forks", "threads"}) {
    SCOPED_TRACE(what);
    const Report report = attack({"hog", what, "64"}, few);
    ASSERT_TRUE(has_line(report, "made ")) << describe(report);
    const std::size_t at = report.out.bytes.find("made ");
    EXPECT_LE(strtoul(report.out.bytes.c_str() + at + 5, nullptr, 10), 15u) << describe(report);
    if (enforces(report, "processes:cgroup")) {
      EXPECT_EQ(report.outcome, Outcome::process_limit) << describe(report);
      EXPECT_GT(violations(report, "processes", "refused a new process"), 0u);
      EXPECT_LE(report.usage.processes_peak.value_or(999), 16u);
    } else {
      EXPECT_TRUE(enforces(report, "processes:rlimit"));
      EXPECT_EQ(report.outcome, Outcome::exit) << describe(report);
    }
  }
}

TEST(Escape, AForkBombStaysInItsCell) {
  Policy few = policy();
  few.limits.processes = 32;
  const std::string marker = unique_marker("bomb");
  const Report report = attack({"hog", "bomb", "12", marker}, few);
  EXPECT_TRUE(enforces(report, "processes:"));
  EXPECT_EQ(processes_with(marker).size(), 0u);
  if (report.usage.processes_peak) {
    EXPECT_LE(*report.usage.processes_peak, 32u);
  }
  EXPECT_TRUE(attack({"ending", "exit", "0"}, few).ok());
}

TEST(Escape, KernelObjectsAreBounded) {
  const Report report = attack({"hog", "kernel", "4000"});
  EXPECT_EQ(report.outcome, Outcome::ok) << describe(report);
  EXPECT_TRUE(has_line(report, "descriptors 25")) << describe(report);  // open_files is 256
  EXPECT_TRUE(has_line(report, "layers 1")) << describe(report);  // the kernel's 16, less ours
}

TEST(Escape, SpinningOnEveryCoreEndsOnTime) {
  Policy brief = policy();
  brief.limits.timeout = milliseconds(800);
  brief.limits.grace = milliseconds(0);
  const Report wall = attack({"hog", "spin", "20"}, brief);
  EXPECT_EQ(wall.outcome, Outcome::timeout) << describe(wall);
  EXPECT_LT(wall.usage.wall, milliseconds(15'000));
  brief.limits.timeout = milliseconds(100'000);
  brief.limits.cpu_time = milliseconds(1000);
  // By two: without a cgroup each process has a second, and nine would wait for each other on a busy machine.
  const Report cpu = attack({"hog", "spin", "100", "1"}, brief);
  EXPECT_EQ(cpu.outcome, Outcome::timeout) << describe(cpu);
  EXPECT_NE(cpu.message.find("CPU"), std::string::npos) << cpu.message;  // not limits.timeout
}

TEST(Escape, AFloodOfOutputIsCountedAndCut) {
  Policy small = policy();
  small.limits.output = 64_KiB;
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  const Report report = attack({"hog", "flood", "96"}, small);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_EQ(report.outcome, Outcome::ok) << report.message;
  EXPECT_GE(report.out.total, 96_MiB);  // and its last line
  EXPECT_EQ(report.err.total, 96_MiB);
  EXPECT_EQ(report.out.bytes.size(), 64_KiB);
  EXPECT_TRUE(report.out.truncated && report.err.truncated);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10);  // KiB
  small.limits.output_total = 1_MiB;
  const Report stopped = attack({"hog", "flood", "96"}, small);
  EXPECT_EQ(stopped.outcome, Outcome::output_limit) << stopped.message;
  EXPECT_LT(stopped.out.total + stopped.err.total, 150_MiB);  // of 192
  const Report bytes = attack({"hog", "bytes", "20000"}, small);
  EXPECT_EQ(bytes.err.total, 10'000u);
}

// Cgroups of this process, in all hierarchies.
long own_cgroups() {
  const std::string list = "/tmp/brig-cgroups-" + std::to_string(getpid());
  (void)!system(("find /sys/fs/cgroup -type d -name 'brig-*-" + std::to_string(getpid()) +
                 "-*' > " + list + " 2>/dev/null")
                    .c_str());
  const std::string found = read_file(list);
  unlink(list.c_str());
  return std::count(found.begin(), found.end(), '\n');
}

TEST(Escape, LeavesNoCgroupBehind) {
  const long before = own_cgroups();
  {
    Policy few = policy();
    few.limits.processes = 16;
    brig::Runner runner(few);
    const Report report = runner.run(guest({"hog", "bomb", "8"}));
    if (enforces(report, "memory:cgroup")) {
      EXPECT_GT(own_cgroups(), before);
    }
    (void)runner.run(guest({"survivors", "storm", unique_marker("cgroup")}));
  }
  EXPECT_EQ(own_cgroups(), before);
}

TEST(Escape, APolicyThatIsRefusedLeavesNoCgroupBehind) {
  const long before = own_cgroups();
  Policy wrong = policy();
  wrong.syscalls.allow = {"mount"};
  EXPECT_THROW((void)brig::run({.argv = {"true"}}, wrong), Error);
  wrong = policy();
  wrong.files.working_directory = "/no/such/place";
  EXPECT_THROW((void)brig::run({.argv = {"true"}}, wrong), Error);
  EXPECT_EQ(own_cgroups(), before);
}

}  // namespace
