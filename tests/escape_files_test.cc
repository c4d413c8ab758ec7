// Escapes through descriptors and files (groups A and B of the attack list): the system's files, set-ID
// files, stdin, scratch. The rest of group B is in escape_paths_test.cc.
#include <atomic>
#include <thread>

#include "escape.h"

namespace {

using namespace escape;
using brig::Outcome;
using brig::Policy;
using brig::Report;

TEST(Escape, HasNoDescriptorButItsThreeStreams) {
  expect_refused(attack({"descriptors"}),
                 {"descriptors above 2: none", "/proc/self/fd has 0, 1, 2 and its own", "send on 0",
                  "write to 3", "pidfd_getfd of pid 1", "pidfd_getfd of oneself", "userfaultfd",
                  "/proc/1/fd"});
}

TEST(Escape, InheritsNothingThatTheHostOpensWithoutCloexecWhileCellsStart) {
  std::atomic<bool> stop{false};
  std::atomic<unsigned> opened{0};
  std::thread opener([&] {
    while (!stop) {
      int fds[16], count = 0, ends[2];
      for (int i = 0; i < 4; ++i) {
        fds[count++] = open("/", O_RDONLY | O_DIRECTORY);  // the worst: a way to the host's root
        if (pipe(ends) == 0) fds[count++] = ends[0], fds[count++] = ends[1];
        fds[count++] = socket(AF_UNIX, SOCK_STREAM, 0);
      }
      opened += 1;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      for (int i = 0; i < count; ++i) close(fds[i]);
    }
  });
  const int kept = open("/", O_PATH | O_DIRECTORY);  // and one that stays open
  for (int i = 0; i < 10; ++i)
    expect_refused(attack({"descriptors"}), {"descriptors above 2: none"});
  {
    brig::Runner runner(policy(), {.ready = 4});
    for (int i = 0; i < 20; ++i)
      expect_refused(runner.run(guest({"descriptors"})), {"descriptors above 2: none"});
  }
  stop = true;
  opener.join();
  close(kept);
  EXPECT_GT(opened, 0u);
}

TEST(Escape, CannotWriteToTheSystem) {
  with_own_mounts([] {
    const std::string before = mount_table();
    expect_refused(attack({"files", "write-system"}),
                   {"/usr/brig-escape", "/etc/brig-escape", "//brig-escape", "write /usr/bin/env",
                    "truncate /etc/passwd", "chmod /usr/bin/env", "unlink /usr/bin/env"});
    EXPECT_EQ(mount_table(), before);
  });
  for (const char* path : {"/brig-escape", "/usr/brig-escape", "/usr/bin/brig-escape",
                           "/etc/brig-escape", "/var/brig-escape", "/dev/brig-escape"})
    EXPECT_FALSE(exists(path)) << path;
  EXPECT_TRUE(exists("/usr/bin/env"));
}

TEST(Escape, CannotChangeTheMounts) {
  with_own_mounts([] {
    const std::string before = mount_table();
    const Report report = attack({"mounts"});
    expect_refused(report,
                   {"mount tmpfs", "remount /usr writable", "remount / writable", "mount_setattr",
                    "open_tree clone", "move_mount", "fsopen", "fspick", "umount /proc/kcore",
                    "chroot", "pivot_root", "a hundred .. end at the root", "write in the root"});
    EXPECT_GT(violations(report, "syscall", "mount"), 0u);
    EXPECT_GT(violations(report, "syscall", "pivot_root"), 0u);
    EXPECT_EQ(mount_table(), before);
  });
}

TEST(Escape, CannotReadAnUnlistedFileByAnySpelling) {
  HostDirectory host;
  write_file(host / "secret", "the-secret");
  chmod((host / "secret").c_str(), 0666);
  const Report report = attack({"files", "spellings", host / "secret"});
  expect_refused(report, {"plain", "through /proc/self/root", "through /proc/1/root",
                          "through a symlink", "openat2", "through a stream", "stat", "inotify"});
  EXPECT_EQ(report.out.bytes.find("the-secret"), std::string::npos);
}

TEST(Escape, CannotUseFileHandles) {
  expect_refused(attack({"files", "handles", "/usr/bin/env"}),
                 {"name_to_handle_at", "open_by_handle_at", "fanotify_init"});
}

TEST(Escape, CannotWatchWhatOthersStart) {
  const Report report = attack({"files", "watch", "/usr/bin"});
  expect_refused(report, {"inotify_init", "inotify_init1", "inotify_add_watch"});
  for (const char* name : {"inotify_init", "inotify_init1", "inotify_add_watch"})
    EXPECT_EQ(violations(report, "syscall", name), 1u) << name;
  Policy given = policy();
  given.syscalls.allow = {"inotify_init1", "inotify_add_watch"};
  expect_refused(attack({"files", "watch-given", "/usr/bin"}, given),
                 {"inotify_init1", "inotify_add_watch"});
}

// Not below /tmp or HOME: there the right to write to the private space covers it, see SECURITY.md.
TEST(Escape, CannotWriteToAFifoBelowAReadablePath) {
  char directory[] = "/var/tmp/brig-escape-XXXXXX";
  ASSERT_TRUE(mkdtemp(directory)) << strerror(errno);
  const std::string path = std::string(directory) + "/fifo";
  chmod(directory, 0755);
  ASSERT_EQ(mkfifo(path.c_str(), 0666), 0);
  chmod(path.c_str(), 0666);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  Policy readable = policy();
  readable.files.read.push_back(directory);
  const Report report = attack({"files", "fifo", path}, readable);
  char byte;
  EXPECT_LE(read(reader, &byte, 1), 0);
  close(reader);
  unlink(path.c_str());
  rmdir(directory);
  BRIG_NEEDS(enforces(report, "landlock_abi"), "only Landlock keeps a FIFO from being written");
  expect_refused(report, {"write to a FIFO", "read and write a FIFO", "read a FIFO"});
}

// What SECURITY.md says of those places. If this fails, brig has become better than its documents.
TEST(Escape, CanWriteToAFifoBelowAReadablePathInAPrivatePlace) {
  const HostDirectory host;  // below /tmp
  ASSERT_TRUE(host.path().starts_with("/tmp/"));
  const std::string path = host / "fifo";
  ASSERT_EQ(chmod(host.path().c_str(), 0755), 0);
  ASSERT_EQ(mkfifo(path.c_str(), 0666), 0);
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  Policy readable = policy();
  readable.files.read.push_back(host.path());
  const Report report = brig::run(guest({"files", "fifo", path}), readable);
  close(reader);
  EXPECT_TRUE(has_line(report, "write to a FIFO: SUCCEEDED")) << describe(report);
}

TEST(Escape, CannotTakeALeaseOnAFileThatItMayRead) {
  HostDirectory host;
  write_file(host / "file", "text");
  Policy readable = policy();
  readable.files.read.push_back(host.path());
  const Report report = attack({"files", "leases", host / "file"}, readable);
  expect_refused(
      report, {"read lease", "write lease", "lease with a dirty command", "notice", "delegation"});
  EXPECT_EQ(violations(report, "syscall", "fcntl(F_SETLEASE)"), 3u);
  EXPECT_EQ(violations(report, "syscall", "fcntl(F_NOTIFY)"), 1u);
}

TEST(Escape, CannotMakeDeviceNodesInScratchOrOnAWritablePath) {
  HostDirectory host;
  expect_refused(attack({"files", "devices", "/tmp"}), {"mknod mem", "mknod disk", "mknodat kmsg"});
  Policy writable = policy();
  writable.files.write = {host.path()};
  expect_refused(attack({"files", "devices", host.path()}, writable), {"mknod mem", "mknod disk"});
  for (const char* name : {"node-mem", "node-disk", "node-null"}) EXPECT_FALSE(exists(host / name));
}

TEST(Escape, CannotLeaveSetIdFilesOnAWritablePath) {
  HostDirectory host;
  Policy writable = policy();
  writable.files.write = {host.path()};
  expect_refused(
      attack({"set_id", host.path()}, writable),
      {"make a plain file", "chmod u+s", "chmod g+s", "fchmod u+s", "fchmodat u+s", "fchmodat2 u+s",
       "openat2 u+s", "open u+s", "openat u+s", "openat g+s", "creat u+s", "mknod u+s", "mkdir g+s",
       "O_TMPFILE u+s", "file capability", "chown"});
  EXPECT_EQ(host.set_id_files(), "");
}

TEST(Escape, DenyingASyscallLoosensNothingElse) {
  HostDirectory host;
  for (const char* name : {"mknod", "chmod", "fchmod", "creat", "mkdir", "open", "ioctl", "seccomp",
                           "prctl", "socket"}) {
    SCOPED_TRACE(name);
    Policy writable = policy();
    writable.files.write = {host.path()};
    writable.syscalls.deny = {name};
    const Report report = attack({"set_id", host.path()}, writable);
    EXPECT_TRUE(has_line(report, "fchmodat u+s: refused")) << describe(report);
    EXPECT_EQ(report.out.bytes.find("SUCCEEDED"), std::string::npos) << describe(report);
    EXPECT_EQ(host.set_id_files(), "");
    const Report mounts = attack({"mounts"}, writable);
    EXPECT_TRUE(has_line(mounts, "mount tmpfs: refused")) << describe(mounts);
    EXPECT_EQ(mounts.out.bytes.find("SUCCEEDED"), std::string::npos) << describe(mounts);
  }
}

TEST(Escape, CannotTouchAHostFileThatIsOnlyItsStdin) {
  HostDirectory host;
  const std::string writable = host.make("writable"), input = host / "input";
  write_file(input, "the input");
  chmod(input.c_str(), 0600);
  struct stat before {
  }, after{};
  ASSERT_EQ(stat(input.c_str(), &before), 0);
  const int fd = open(input.c_str(), O_RDONLY | O_CLOEXEC);
  Policy listed = policy();
  listed.files.write = {writable};
  brig::Command command = guest({"streams", writable});
  command.stdin_fd = fd;
  // It reaches the guest through a pipe, which is the guest's own to change: the host's file tells.
  const Report report = brig::run(command, listed);
  EXPECT_NE(report.out.bytes.find("read it: works"), std::string::npos) << describe(report);
  EXPECT_NE(report.out.bytes.find("hard link: refused"), std::string::npos) << describe(report);
  close(fd);
  ASSERT_EQ(stat(input.c_str(), &after), 0);
  EXPECT_EQ(read_file(input), "the input");
  EXPECT_EQ(after.st_mode, before.st_mode);
  EXPECT_EQ(after.st_mtime, before.st_mtime);
  EXPECT_EQ(after.st_nlink, 1u);
  EXPECT_FALSE(exists(writable + "/stolen"));
}

TEST(Escape, RefusesADirectoryOrAPathDescriptorAsStdin) {
  for (const int flags : {O_RDONLY | O_DIRECTORY, O_PATH | O_DIRECTORY, O_PATH}) {
    brig::Command command = guest({"descriptors"});
    command.stdin_fd = open("/", flags | O_CLOEXEC);
    EXPECT_EQ(brig::run(command, policy()).outcome, Outcome::invalid_arguments);
    close(command.stdin_fd);
  }
}

TEST(Escape, FindsNothingOfTheCallBefore) {
  brig::Runner runner(policy(), {.ready = 1});
  for (int i = 0; i < 3; ++i) {
    expect_refused(runner.run(guest({"scratch", "find"})),
                   {"/tmp/left-behind-0", "/dev/shm/left-behind-1", "/var/tmp/left-behind-2",
                    "/workspace/left-behind-3", "fresh pages are zero"});
    const Report left = runner.run(guest({"scratch", "leave"}));
    EXPECT_EQ(left.outcome, Outcome::ok) << describe(left);
  }
  for (const char* path :
       {"/tmp/left-behind-0", "/dev/shm/left-behind-1", "/var/tmp/left-behind-2"})
    EXPECT_FALSE(exists(path)) << path;
}

TEST(Escape, FillingScratchEndsInNoSpaceInsideAndNothingOnTheHost) {
  Policy small = policy();
  small.limits.scratch = 8_MiB;
  brig::Runner runner(small, {.ready = 1});
  for (const char* place : {"/tmp", "/workspace", "/dev/shm"}) {
    const Report report = runner.run(guest({"scratch", "fill", place, "64"}));
    expect_refused(report, {"fill with one file", "fallocate", "fill with empty files"});
    EXPECT_TRUE(has_line(report, "wrote ")) << describe(report);
  }
  // And it is free again for the next.
  EXPECT_TRUE(
      runner.run(brig::Command::shell("head -c 6000000 /dev/zero > /tmp/x && echo fits")).ok());
}

TEST(Escape, ADeepTreeWithHostileNamesIsCleanedUp) {
  brig::Runner runner(policy(), {.ready = 1});
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 2; ++i) {
    const Report report = runner.run(guest({"scratch", "deep", "4096"}));
    EXPECT_EQ(report.outcome, Outcome::ok) << describe(report);
    EXPECT_TRUE(has_line(report, "depth 4096"));
  }
  EXPECT_TRUE(runner.run({.argv = {"true"}}).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

// Named by itself it is given; below a directory that is listed it stays private.
TEST(Escape, APrivateFileOfRootsIsGivenByItsOwnNameAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "an ordinary user's cells read as that user";
  const HostDirectory host;
  const std::string file = host / "private";
  write_file(file, "of root");
  ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  Policy by_itself = policy(), below = policy();
  by_itself.files.read.push_back(file);
  below.files.read.push_back(host.path());
  const brig::Command cat =
      brig::Command::shell("cat '" + file + "'; { echo x >>'" + file + "'; } 2>/dev/null; true");
  EXPECT_EQ(brig::run(cat, by_itself).out.bytes, "of root");
  EXPECT_EQ(brig::Runner(by_itself).run(cat).out.bytes, "of root");
  EXPECT_EQ(brig::run(cat, below).out.bytes, "");
  EXPECT_EQ(brig::Runner(below).run(cat).out.bytes, "");
  EXPECT_EQ(read_file(file), "of root");
}

}  // namespace
