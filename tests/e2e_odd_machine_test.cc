// The program on machines that are odd in one way each: small limits, parts of the file system that are missing,
// namespaces used up. It works there, or ends with 125 and the one sentence that says why.
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include <algorithm>

#include "e2e_program.h"

namespace {

using namespace e2e;

struct Said {
  int code = -1;  // 99: the machine could not be made so
  std::string text;
};

std::ostream& operator<<(std::ostream& stream, const Said& said) {
  return stream << said.code << ": " << said.text;
}

// What `brig run OPTIONS -- /bin/echo ran` says and ends with, in a process that prepared itself so.
template <typename Prepare>
Said brig_on(Prepare prepare, const std::string& options = "", const std::string& before = "") {
  const std::string line = before + "exec '" + program() + "' run " + options + " -- /bin/echo ran";
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    if (!prepare()) _exit(99);
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(98);
  }
  close(ends[1]);
  Said said;
  char block[4096];
  for (ssize_t size; (size = read(ends[0], block, sizeof block)) > 0;)
    said.text.append(block, static_cast<std::size_t>(size));
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  said.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return said;
}

constexpr auto kAsItIs = [] { return true; };

bool put_into(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool ok =
      fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) close(fd);
  return ok;
}

// A user namespace with one id, which is called `inside` there.
bool own_ids(const std::string& inside) {
  const std::string uid = std::to_string(geteuid()), gid = std::to_string(getegid());
  return unshare(CLONE_NEWUSER) == 0 && put_into("/proc/self/setgroups", "deny") &&
         put_into("/proc/self/uid_map", inside + " " + uid + " 1") &&
         put_into("/proc/self/gid_map", inside + " " + gid + " 1");
}

// Mounts of its own. Only root may have them without a user namespace.
bool own_mounts() {
  return (is_root() || own_ids("1000")) && unshare(CLONE_NEWNS) == 0 &&
         mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool empty(const char* path) { return mount("none", path, "tmpfs", 0, "size=64k") == 0; }

void expect_ran(const Said& said) {
  EXPECT_EQ(said.code, 0) << said;
  EXPECT_EQ(said.text, "ran\n");
}

void expect_refused(const Said& said, const std::string& reason) {
  EXPECT_EQ(said.code, 125) << said;
  EXPECT_TRUE(contains(said.text, reason)) << said;
  EXPECT_EQ(std::count(said.text.begin(), said.text.end(), '\n'), 1) << said;
}

// With so few files. Descriptors on their way are counted for all processes of a user: as long as another one, a test that
// attacks by them, has more than this one may have, it is not this one's turn.
Said with_files(int files, const std::string& options = "") {
  Said said;
  comes_true([&] {
    said = brig_on(kAsItIs, options, "ulimit -n " + std::to_string(files) + "; ");
    return !contains(said.text, "on their way") && !contains(said.text, "ended while it was made");
  });
  return said;
}

TEST(OddMachine, FewOpenFilesAreToldAsThat) {
  expect_ran(with_files(64));
  // How many it takes is no promise; but whatever is too few, the reason is that.
  for (int files = 16; files > 4; --files) {
    const Said said = with_files(files);
    if (said.code != 0) expect_refused(said, "Too many open files");
  }
  expect_refused(with_files(8), "Too many open files");
  expect_refused(with_files(8, "--isolation landlock"), "Too many open files");
}

TEST(OddMachine, ASmallStackIsEnough) {
  expect_ran(brig_on(kAsItIs, "", "ulimit -s 64; "));
  expect_ran(brig_on(kAsItIs, "--isolation landlock", "ulimit -s 64; "));
}

TEST(OddMachine, ALimitOfCpuTimeBelowThePolicysIsKept) {
  for (const char* time : {"--cpu-time 60", "--cpu-time 10", "--cpu-time 5"})
    expect_ran(brig_on(kAsItIs, time, "ulimit -t 10; "));
  expect_ran(brig_on(kAsItIs, "--cpu-time 60 --isolation landlock", "ulimit -t 10; "));
}

TEST(OddMachine, ALimitOfFileSizeIsToldAsThat) {
  for (const char* limit : {"ulimit -f 0; ", "ulimit -f 100; "})
    expect_refused(brig_on(kAsItIs, "", limit), "the limit of file size is too small: ulimit -f");
}

TEST(OddMachine, WithoutRoomForAnotherProcessThatIsTold) {
  if (is_root()) GTEST_SKIP() << "the kernel holds root to no number of processes";
  const Said said = brig_on([] {
    const rlimit one{1, 1};
    return setrlimit(RLIMIT_NPROC, &one) == 0;
  });
  expect_refused(said, "no more processes: ulimit -u");
}

TEST(OddMachine, WithoutProcThatIsTold) {
  if (kSanitized) GTEST_SKIP() << "a sanitized program itself can't start there";
  for (const char* floor : {"", "--isolation landlock"}) {
    const Said said = brig_on([] { return own_mounts() && empty("/proc"); }, floor);
    BRIG_NEEDS(said.code != 99, "no mounts of its own can be made here");
    expect_refused(said, "/proc is not mounted here");
  }
}

TEST(OddMachine, WithoutDevThatIsTold) {
  for (const char* floor : {"", "--isolation landlock"}) {
    const Said said = brig_on([] { return own_mounts() && empty("/dev"); }, floor);
    BRIG_NEEDS(said.code != 99, "no mounts of its own can be made here");
    expect_refused(said, "starting the helper: opening /dev/null: No such file");
  }
}

TEST(OddMachine, ADevThatLacksADeviceIsToldByItsName) {
  const auto bind_null = [] {
    return own_mounts() && mount("/dev", "/mnt", nullptr, MS_BIND | MS_REC, nullptr) == 0 &&
           empty("/dev") && close(open("/dev/null", O_CREAT | O_WRONLY | O_CLOEXEC, 0666)) == 0 &&
           mount("/mnt/null", "/dev/null", nullptr, MS_BIND, nullptr) == 0;
  };
  const Said said = brig_on(bind_null);
  BRIG_NEEDS(said.code != 99, "no mounts of its own can be made here");
  expect_refused(said, "mounts: opening '/dev/zero': No such file or directory; a cell's /dev");
  expect_ran(brig_on(bind_null, "--isolation landlock"));
}

// All of it; a user may not take the flags away that a mount has, so they stay.
bool read_only_root() {
  struct statvfs info;
  if (!own_mounts() || statvfs("/", &info) != 0) return false;
  unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY;
  for (const auto& [has, flag] : {std::pair<unsigned long, unsigned long>{ST_NOSUID, MS_NOSUID},
                                  {ST_NODEV, MS_NODEV},
                                  {ST_NOATIME, MS_NOATIME},
                                  {ST_RELATIME, MS_RELATIME}})
    if (info.f_flag & has) flags |= flag;
  return mount(nullptr, "/", nullptr, flags, nullptr) == 0;
}

TEST(OddMachine, AReadOnlyRootIsEnoughForTheJail) {
  const Said said = brig_on(read_only_root);
  BRIG_NEEDS(said.code != 99, "no mounts of its own can be made here");
  expect_ran(said);
}

TEST(OddMachine, WithoutATemporaryDirectoryTheJailWorksAndOthersSayWhatToSet) {
  expect_ran(brig_on(kAsItIs, "", "export TMPDIR=/nonexistent; "));
  expect_refused(brig_on(kAsItIs, "--isolation landlock", "export TMPDIR=/nonexistent; "),
                 "set TMPDIR to one that can be written to");
}

TEST(OddMachine, WithoutCgroupsALimitHoldsPerProcessAndTheReportSaysSo) {
  const Said said = brig_on([] { return own_mounts() && empty("/sys/fs/cgroup"); }, "--json");
  BRIG_NEEDS(said.code != 99, "no mounts of its own can be made here");
  EXPECT_EQ(said.code, 0) << said;
  EXPECT_TRUE(contains(said.text, "\"memory:")) << said;
  EXPECT_FALSE(contains(said.text, "\"memory:cgroup")) << said;
}

// Of every kind in turn; the kinds that root makes outside of a user namespace are counted for the same one.
TEST(OddMachine, NamespacesThatAreOffAreToldByTheirKind) {
  for (const std::string kind : {"user", "pid", "mnt", "ipc", "uts", "cgroup", "net"}) {
    const Said said = brig_on([&] {
      return own_ids("1000") && put_into("/proc/sys/user/max_" + kind + "_namespaces", "0");
    });
    BRIG_NEEDS(said.code != 99, "no user namespace can be made here");
    expect_refused(said, kind + " namespaces are disabled here: set the sysctl user.max_" + kind +
                             "_namespaces above 0");
  }
}

TEST(OddMachine, NamespacesThatAreUsedUpAreToldAsThat) {
  const Said said = brig_on([&] {
    return own_ids("1000") && put_into("/proc/sys/user/max_mnt_namespaces", "1") &&
           unshare(CLONE_NEWNS) == 0;
  });
  BRIG_NEEDS(said.code != 99, "no user namespace can be made here");
  expect_refused(said, "the limit of a sysctl user.max_*_namespaces is reached");
}

TEST(OddMachine, RootOfAUserNamespaceWithOneIdIsEnough) {
  if (is_root() && !has_cgroups())
    GTEST_SKIP() << "without a cgroup nothing holds root's processes";
  const Said said = brig_on([] { return own_ids("0"); });
  BRIG_NEEDS(said.code != 99, "no user namespace can be made here");
  expect_ran(said);
  expect_ran(brig_on([] { return own_ids("0"); }, "--isolation landlock"));
}

TEST(OddMachine, InsideACellItSaysThatAndWhatToDo) {
  if (kSanitized) GTEST_SKIP() << "a sanitized program itself can't start there";
  const std::string path = program();
  const std::string folder = path.substr(0, path.rfind('/'));
  for (const char* floor : {"", "--isolation landlock"}) {
    const Result result = brig_program(
        run_sh("exec '" + path + "' run " + floor + " -- /bin/true", {"--read", folder}));
    EXPECT_EQ(result.code, 125) << result;
    EXPECT_TRUE(contains(result.err, "brig runs inside a cell of brig")) << result;
    EXPECT_FALSE(contains(result.err, "accept the weaker floor")) << result;
  }
  // A cell without a cgroup has no memfd_create, which would be memory that nothing counts, unless its policy says so.
  const HostDirectory host;
  write_file(host / "outer.toml", "syscalls.allow = ['memfd_create']\n");
  for (const bool given : {false, true}) {
    std::vector<std::string> options{"--read", folder};
    if (given) options.insert(options.end(), {"--policy", host / "outer.toml"});
    const Result result = brig_program(
        run_sh("exec '" + path + "' run --isolation process --net host -- /bin/echo ran", options));
    if (given || has_cgroups())
      EXPECT_EQ(result.out, "ran\n") << result;
    else
      EXPECT_TRUE(contains(result.err, "brig runs inside a cell of brig")) << result;
  }
}

}  // namespace
