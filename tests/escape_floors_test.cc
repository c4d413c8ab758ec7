// The two lower floors: what they promise, they keep. `landlock` has no namespaces; `process` only
// ends the tree.
#include "escape.h"

namespace {

using namespace escape;
using brig::Isolation;
using brig::Outcome;
using brig::Policy;
using brig::Report;

Policy landlock() {
  Policy result = policy();
  result.isolation = Isolation::landlock;
  for_lower_floors(result);
  return result;
}

Policy process() {
  Policy result;
  result.limits.timeout = milliseconds(20'000);
  result.isolation = Isolation::process;
  result.network = brig::Network::host;
  return result;
}

std::string landlock_missing() {
  try {
    (void)brig::run({.argv = {"true"}}, landlock());
    return "";
  } catch (const brig::Error& error) {
    return error.what();
  }
}

#define NEEDS_LANDLOCK() BRIG_NEEDS(landlock_missing().empty(), landlock_missing())

void expect_floor_leaves_none(const char* how, bool ends, Policy policy,
                              bool outcome_known = true) {
  SCOPED_TRACE(how);
  policy.limits.timeout = milliseconds(ends ? 20'000 : 1000);
  policy.limits.grace = milliseconds(200);
  const std::string marker = unique_marker(how);
  const Report report = brig::run(guest({"survivors", how, marker}), policy);
  EXPECT_EQ(processes_with(marker).size(), 0u) << "right after run(): " << describe(report);
  if (outcome_known) {
    EXPECT_EQ(report.outcome, ends ? Outcome::ok : Outcome::timeout) << describe(report);
  }
  const std::string second = unique_marker(how);
  brig::Runner runner(policy, {.ready = 1});
  (void)runner.run(guest({"survivors", how, second}));
  EXPECT_EQ(processes_with(second).size(), 0u) << "right after Runner::run()";
}

TEST(LandlockFloor, CannotReadOrWriteOutside) {
  NEEDS_LANDLOCK();
  HostDirectory host;
  write_file(host / "secret", "the-secret");
  chmod((host / "secret").c_str(), 0666);
  chmod(host.path().c_str(), 0777);
  const Report read = attack({"files", "read", host / "secret"}, landlock());
  expect_refused(read, {"read"});
  expect_refused(attack({"files", "write", host / "secret"}, landlock()), {"write"});
  expect_refused(attack({"files", "write", host / "new"}, landlock()), {"write"});
  EXPECT_EQ(read_file(host / "secret"), "the-secret");
  EXPECT_FALSE(exists(host / "new"));
  Policy listed = landlock();
  listed.files.read.push_back(host.path());
  EXPECT_EQ(brig::run(brig::Command{.argv = {"cat", host / "secret"}}, listed).out.bytes,
            "the-secret");
}

TEST(LandlockFloor, AReadOnlyPathBelowAWritableOneIsKeptOrRefused) {
  NEEDS_LANDLOCK();
  HostDirectory host;
  const std::string inner = host.make("protected");
  write_file(inner + "/file", "original");
  chmod((inner + "/file").c_str(), 0666);
  Policy mixed = landlock();
  mixed.files.write = {host.path()};
  mixed.files.read.push_back(inner);
  bool refused = false;
  try {
    (void)brig::run(brig::Command::shell("echo evil > " + inner + "/file"), mixed);
  } catch (const brig::Error& error) {
    refused = true;  // what can't be enforced is an error
  }
  EXPECT_EQ(read_file(inner + "/file"), "original") << refused;
}

TEST(LandlockFloor, KillingItsInitIsNotBlamedOnBrig) {
  NEEDS_LANDLOCK();
  const Report report = brig::run(brig::Command::shell("kill -9 $PPID; sleep 5"), landlock());
  EXPECT_STRNE(to_string(report.outcome), "internal") << describe(report);
}

// Landlock does not cover chmod: only an id of its own, which root can give, keeps modes safe.
TEST(LandlockFloor, StartedAsRootItCannotChangeModesOutside) {
  NEEDS_LANDLOCK();
  if (!is_root()) GTEST_SKIP() << "not as root it can, on files of the same user (SECURITY.md)";
  HostDirectory host;
  write_file(host / "key", "x");
  chmod((host / "key").c_str(), 0600);
  (void)brig::run({.argv = {"chmod", "666", host / "key"}}, landlock());
  EXPECT_EQ(mode_of(host / "key") & 07777, 0600u);
}

TEST(LandlockFloor, CannotSpoilTheNextCallsByItsScratchDirectory) {
  NEEDS_LANDLOCK();
  brig::Runner runner(landlock(), {.ready = 1});
  const Report spoiled = runner.run(
      brig::Command::shell("printf %s $TMPDIR; ln -s /tmp $TMPDIR/link; mkdir $TMPDIR/d; chmod 0 "
                           "$TMPDIR/d; chmod 0 $TMPDIR/..; chmod 0 $TMPDIR"));
  // The keeper gives the rights back after the report is out.
  const std::string above = spoiled.out.bytes.substr(0, spoiled.out.bytes.rfind('/'));
  for (int i = 0; i < 1500 && (mode_of(above) & 0777) != 0700; ++i) usleep(10'000);
  EXPECT_EQ(mode_of(above) & 0777, 0700u) << above;
  for (int i = 0; i < 3; ++i) {
    const Report report =
        runner.run(brig::Command::shell("echo works > $TMPDIR/file && cat $TMPDIR/file"));
    EXPECT_EQ(report.out.bytes, "works\n") << describe(report);
    if (!report.ok()) break;
  }
}

TEST(LandlockFloor, CannotReachItsHostBySignalOrLimit) {
  NEEDS_LANDLOCK();
  const Victim victim;
  const Report report = attack({"signals", "at", std::to_string(victim.pid())}, landlock());
  BRIG_NEEDS(enforces(report, "landlock_scope"),
             "this kernel's Landlock does not scope signals (ABI 6)");
  EXPECT_TRUE(victim.alive());
  expect_refused(report, {"kill " + std::to_string(victim.pid()), "tgkill", "rt_sigqueueinfo",
                          "pidfd", "prlimit", "setpriority", "sched_setaffinity"});
}

TEST(LandlockFloor, CannotReadItsHostsEnvironment) {
  NEEDS_LANDLOCK();
  const std::string pid = std::to_string(getpid());
  for (const char* file : {"/environ", "/mem", "/maps", "/root/etc/hostname", "/fd/0", "/cwd/."})
    expect_refused(attack({"files", "read", "/proc/" + pid + file}, landlock()), {"read"});
}

// Sockets with a path are out of Landlock's reach (SECURITY.md says so); those without are not.
TEST(LandlockFloor, CannotReachAbstractSocketsOfTheHost) {
  NEEDS_LANDLOCK();
  const std::string name = "@brig-floor-" + std::to_string(getpid());
  const Witness abstract = Witness::local(name, SOCK_STREAM);
  const Report report = attack({"network", "unix", name}, landlock());
  if (enforces(report, "landlock_scope")) {
    EXPECT_FALSE(abstract.reached());
    EXPECT_EQ(report.out.bytes.find("SUCCEEDED"), std::string::npos) << describe(report);
  }
}

TEST(LandlockFloor, CannotReachTheHostsNetwork) {
  NEEDS_LANDLOCK();
  const Witness tcp = Witness::tcp(), udp = Witness::udp();
  for (const int port : {tcp.port(), udp.port()})
    expect_refused(attack({"network", "everywhere", std::to_string(port)}, landlock()),
                   {"tcp 127.0.0.1", "udp 127.0.0.1", "vsock 2"});
  EXPECT_FALSE(tcp.reached());
  EXPECT_FALSE(udp.reached());
}

TEST(LandlockFloor, LeavesNoIpcObjectOnTheHost) {
  NEEDS_LANDLOCK();
  const auto segments = [] {
    const std::string text = read_file("/proc/sysvipc/shm");
    return std::count(text.begin(), text.end(), '\n');
  };
  const auto before = segments();
  const Report report = attack({"hog", "shm", "16"}, landlock());
  const auto after = segments();
  if (after > before)
    (void)!system(
        "ipcs -m | awk '$4 == 600 && $6 == 0 && $5 == 16777216 {print $2}' | xargs -r -n1 ipcrm "
        "-m");
  EXPECT_EQ(after, before) << describe(report);
}

TEST(LandlockFloor, HasTheSameFilterAndNoDescriptors) {
  NEEDS_LANDLOCK();
  expect_refused(attack({"syscalls", "dangerous"}, landlock()), {"keyctl", "bpf", "reboot"});
  expect_refused(attack({"syscalls", "numbers"}, landlock()), {"number -1", "number 451"});
#if defined(__x86_64__)
  expect_refused(attack({"syscalls", "foreign"}, landlock()), {"x32 number 39", "int 0x80 getpid"});
#endif
  expect_refused(attack({"syscalls", "loosen"}, landlock()), {"filter with a listener"});
  expect_refused(attack({"mounts"}, landlock()), {"mount tmpfs", "chroot"});
  // The bounding set can't be emptied without a capability to do it; no_new_privs makes it idle.
  const Report capabilities = attack({"namespaces", "capabilities"}, landlock());
  for (const char* line :
       {"no capability at all: holds", "capset: refused", "setuid 0: refused", "not root: holds"})
    EXPECT_TRUE(has_line(capabilities, line)) << describe(capabilities);
}

TEST(LandlockFloor, SaysWhetherProcessesAreBounded) {
  NEEDS_LANDLOCK();
  Policy few = landlock();
  few.limits.processes = 8;
  const Report report = attack({"hog", "forks", "24"}, few);
  ASSERT_TRUE(has_line(report, "made ")) << describe(report);
  const unsigned long made =
      strtoul(report.out.bytes.c_str() + report.out.bytes.find("made ") + 5, nullptr, 10);
  EXPECT_EQ(enforces(report, "processes:"), made <= 8) << describe(report);
}

TEST(LandlockFloor, LeavesNoSurvivor) {
  NEEDS_LANDLOCK();
  expect_floor_leaves_none("daemon", true, landlock());
  expect_floor_leaves_none("daemon-sleep", false, landlock());
  expect_floor_leaves_none("deaf", false, landlock());
  expect_floor_leaves_none("stop", false, landlock());
  expect_floor_leaves_none("subreaper", true, landlock());
  expect_floor_leaves_none("hold-pipe", true, landlock());
}

TEST(LandlockFloor, LeavesNoSurvivorOfAStorm) {
  NEEDS_LANDLOCK();
  expect_floor_leaves_none("storm", true, landlock());
  expect_floor_leaves_none("storm-stay", false, landlock());
}

TEST(LandlockFloor, KillingItsInitSavesNobody) {
  NEEDS_LANDLOCK();
  expect_floor_leaves_none("kill-parent", false, landlock(), false);
}

TEST(LandlockFloor, LeavesNoFileBehind) {
  NEEDS_LANDLOCK();
  std::string scratch;
  {
    brig::Runner runner(landlock(), {.ready = 1});
    scratch = runner.run(brig::Command::shell("printf %s $TMPDIR")).out.bytes;
    const Report deep =
        runner.run(brig::Command::shell("cd $TMPDIR && exec " + guests() + "/scratch deep 500"));
    EXPECT_EQ(deep.outcome, Outcome::ok) << describe(deep);
    const Report next = runner.run(brig::Command::shell("ls -A $TMPDIR"));
    EXPECT_EQ(next.out.bytes, "") << describe(next);
  }
  ASSERT_TRUE(scratch.starts_with("/")) << scratch;
  EXPECT_FALSE(exists(scratch));
  EXPECT_FALSE(exists(scratch.substr(0, scratch.rfind('/'))));
}

TEST(LandlockFloor, CleaningUpDoesNotFollowSymlinks) {
  NEEDS_LANDLOCK();
  HostDirectory host;
  write_file(host / "file", "original");
  chmod((host / "file").c_str(), 0644);
  host.make("directory");
  write_file(host / "directory/inside", "x");
  {
    brig::Runner runner(landlock(), {.ready = 1});
    const Report report = runner.run(brig::Command::shell(
        "cd $TMPDIR && ln -s " + (host / "file") + " a && ln -s " + (host / "directory") +
        " b && mkdir c && ln -s " + (host / "file") + " c/d && chmod 555 c . && echo made"));
    EXPECT_EQ(report.out.bytes, "made\n") << describe(report);
    (void)runner.run({.argv = {"true"}});
  }
  EXPECT_EQ(read_file(host / "file"), "original");
  EXPECT_EQ(mode_of(host / "file") & 07777, 0644u);
  EXPECT_EQ(mode_of(host / "directory") & 07777, 0755u);
  EXPECT_TRUE(exists(host / "directory/inside"));
}

TEST(ProcessFloor, LeavesNoSurvivor) {
  BRIG_NEEDS(!guests().empty(), "BRIG_GUESTS is not set");
  for (const char* how : {"daemon", "subreaper", "hold-pipe"})
    expect_floor_leaves_none(how, true, process());
  for (const char* how : {"daemon-sleep", "deaf", "stop"})
    expect_floor_leaves_none(how, false, process());
}

TEST(ProcessFloor, LeavesNoSurvivorOfAStorm) { expect_floor_leaves_none("storm", true, process()); }

TEST(ProcessFloor, HasACleanEnvironmentAndNoDescriptors) {
  setenv("BRIG_TEST_SECRET", "brig-test-secret", 1);
  const int kept = open("/", O_PATH | O_DIRECTORY);
  const Report environment = brig::run({.argv = {"env"}}, process());
  const Report descriptors = brig::run(brig::Command::shell("ls /proc/self/fd"), process());
  unsetenv("BRIG_TEST_SECRET");
  close(kept);
  EXPECT_EQ(environment.out.bytes.find("brig-test-secret"), std::string::npos);
  EXPECT_NE(environment.out.bytes.find("PATH="), std::string::npos);
  EXPECT_EQ(descriptors.out.bytes, "0\n1\n2\n3\n");  // 3 is ls' own
}

TEST(ProcessFloor, RefusesWhatItCannotEnforce) {
  Policy none = process();
  none.network = brig::Network::none;
  EXPECT_THROW((void)brig::run({.argv = {"true"}}, none), brig::Error);
  Policy files = process();
  files.files.read = {"/usr"};
  EXPECT_THROW((void)brig::run({.argv = {"true"}}, files), brig::Error);
}

}  // namespace
