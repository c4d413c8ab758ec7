// Escapes through descriptors and files (groups A and B of the attack list).
#include <sched.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include <atomic>
#include <functional>
#include <thread>

#include "escape.h"

namespace {

using namespace escape;
using brig::Error;
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
  const std::string before = read_file("/proc/self/mountinfo");
  expect_refused(attack({"files", "write-system"}),
                 {"/usr/brig-escape", "/etc/brig-escape", "//brig-escape", "write /usr/bin/env",
                  "truncate /etc/passwd", "chmod /usr/bin/env", "unlink /usr/bin/env"});
  for (const char* path : {"/brig-escape", "/usr/brig-escape", "/usr/bin/brig-escape",
                           "/etc/brig-escape", "/var/brig-escape", "/dev/brig-escape"})
    EXPECT_FALSE(exists(path)) << path;
  EXPECT_TRUE(exists("/usr/bin/env"));
  EXPECT_EQ(read_file("/proc/self/mountinfo"), before);
}

TEST(Escape, CannotChangeTheMounts) {
  const std::string before = read_file("/proc/self/mountinfo");
  const Report report = attack({"mounts"});
  expect_refused(
      report, {"mount tmpfs", "remount /usr writable", "remount / writable", "mount_setattr",
               "open_tree clone", "move_mount", "fsopen", "fspick", "umount /proc/kcore", "chroot",
               "pivot_root", "a hundred .. end at the root", "write in the root"});
  EXPECT_GT(violations(report, "seccomp", "mount"), 0u);
  EXPECT_GT(violations(report, "seccomp", "pivot_root"), 0u);
  EXPECT_EQ(read_file("/proc/self/mountinfo"), before);
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

TEST(Escape, CannotMakeDeviceNodesInScratchOrOnAWritablePath) {
  HostDirectory host;
  expect_refused(attack({"files", "devices", "/tmp"}), {"mknod mem", "mknod disk", "mknodat kmsg"});
  Policy writable = policy();
  writable.files.write = {host.path()};
  expect_refused(attack({"files", "devices", host.path()}, writable), {"mknod mem", "mknod disk"});
  for (const char* name : {"node-mem", "node-disk", "node-null"}) EXPECT_FALSE(exists(host / name));
}

TEST(Escape, CannotLinkRenameOrExchangeAcrossAReadOnlyPath) {
  HostDirectory host;
  const std::string readable = host.make("readable"), writable = host.make("writable");
  write_file(readable + "/file", "original");
  chmod((readable + "/file").c_str(), 0666);
  chmod(readable.c_str(), 0777);
  Policy both = policy();
  both.files.read.push_back(readable);
  both.files.write = {writable};
  expect_refused(attack({"files", "across", readable, writable}, both),
                 {"read the listed file", "hard link out", "linkat of the descriptor", "rename out",
                  "rename in", "exchange", "reopen for writing", "fchmod", "set a user attribute"});
  EXPECT_EQ(read_file(readable + "/file"), "original");
  EXPECT_EQ(mode_of(readable + "/file") & 07777, 0666u);
  EXPECT_FALSE(exists(readable + "/planted"));
  EXPECT_FALSE(exists(writable + "/taken"));
  EXPECT_TRUE(exists(writable + "/own"));
}

TEST(Escape, APreexistingHardLinkOfADeniedFileGivesOnlyTheRightsOfItsListedPath) {
  HostDirectory host;
  const std::string readable = host.make("readable"), closed = host.make("closed");
  write_file(closed + "/file", "original");
  ASSERT_EQ(link((closed + "/file").c_str(), (readable + "/file").c_str()), 0);
  Policy listed = policy();
  listed.files.read.push_back(readable);
  expect_refused(attack({"files", "write", readable + "/file"}, listed), {"write"});
  expect_refused(attack({"files", "read", closed + "/file"}, listed), {"read"});
  EXPECT_EQ(read_file(closed + "/file"), "original");
}

TEST(Escape, CannotMoveTheParentOfAProtectedPathAway) {
  HostDirectory host;
  const std::string writable = host.make("writable");
  host.make("writable/parent");
  const std::string protected_path = host.make("writable/parent/protected");
  write_file(protected_path + "/file", "original");
  Policy mixed = policy();
  mixed.files.write = {writable};
  mixed.files.read.push_back(protected_path);
  expect_refused(attack({"files", "replace", writable}, mixed),
                 {"write the protected file", "rename the protected directory",
                  "remove the protected directory"});
  // The host's view of that path is what it was.
  EXPECT_EQ(read_file(protected_path + "/file"), "original");
}

TEST(Escape, AHiddenPathStaysHiddenInTheNextRunAfterItsParentWasRenamed) {
  HostDirectory host;
  const std::string writable = host.make("writable");
  host.make("writable/parent");
  const std::string hidden = host.make("writable/parent/hidden");
  write_file(hidden + "/key", "the-secret");
  Policy mixed = policy();
  mixed.files.write = {writable};
  mixed.files.hide = {hidden};
  const Report first = brig::run(
      brig::Command::shell("cd " + writable +
                           " && cat parent/hidden/key; mv parent moved && mkdir -p parent/hidden"),
      mixed);
  EXPECT_EQ(first.out.bytes.find("the-secret"), std::string::npos);
  const Report second = brig::run(brig::Command::shell("cat " + writable + "/*/hidden/key"), mixed);
  EXPECT_EQ(second.out.bytes.find("the-secret"), std::string::npos) << describe(second);
  EXPECT_EQ(read_file(hidden + "/key"), "the-secret");
}

// The test body for hosts with a mount below a listed path: in a mount namespace of the test's own.
int in_private_mounts(const std::function<bool()>& body) {
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    if (unshare(CLONE_NEWNS | (uid ? CLONE_NEWUSER : 0)) != 0) _exit(77);
    if (uid) {
      std::ofstream("/proc/self/setgroups") << "deny";
      std::ofstream("/proc/self/uid_map") << uid << " " << uid << " 1";
      std::ofstream("/proc/self/gid_map") << gid << " " << gid << " 1";
    }
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) _exit(77);
    bool ok = false;
    try {
      ok = body();
    } catch (const std::exception& error) {
      fprintf(stderr, "%s\n", error.what());
    }
    fflush(nullptr);
    _exit(ok && !::testing::Test::HasFailure() ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

// A user can't make a node, but can bind one; to the cell it is the same.
TEST(Escape, CannotOpenADeviceNodeThatStandsOnAListedPath) {
  HostDirectory host;
  const std::string readable = host.make("readable"), writable = host.make("writable");
  const int result = in_private_mounts([&] {
    for (const std::string& directory : {readable, writable}) {
      const std::string device = directory + "/device";
      if (is_root()) {
        if (mknod(device.c_str(), S_IFCHR | 0666, makedev(1, 5)) != 0) _exit(77);
        chmod(device.c_str(), 0666);
      } else {
        write_file(device, "");
        if (mount("/dev/zero", device.c_str(), nullptr, MS_BIND, nullptr) != 0) _exit(77);
      }
    }
    Policy listed = policy();
    listed.files.read.push_back(readable);
    listed.files.write = {writable};
    for (const std::string& directory : {readable, writable})
      expect_refused(attack({"files", "devices", directory}, listed),
                     {"open the host's device node", "read the host's device node"});
    return true;
  });
  BRIG_NEEDS(result != 77, "no mount namespace or no device could be made for the test");
  EXPECT_EQ(result, 0);
}

TEST(Escape, AMountBelowAReadOnlyPathIsReadOnlyToo) {
  HostDirectory host;
  const std::string sub = host.make("sub");
  const int result = in_private_mounts([&] {
    if (mount("sub", sub.c_str(), "tmpfs", 0, "mode=0777") != 0) _exit(77);
    write_file(sub + "/file", "original");
    chmod((sub + "/file").c_str(), 0666);
    Policy listed = policy();
    listed.files.read.push_back(host.path());
    expect_refused(attack({"files", "write", sub + "/new"}, listed), {"write"});
    expect_refused(attack({"files", "write", sub + "/file"}, listed), {"write"});
    EXPECT_NE(
        brig::run(brig::Command{.argv = {"cat", sub + "/file"}}, listed).out.bytes.find("original"),
        std::string::npos);  // the mount is there
    return !exists(sub + "/new") && read_file(sub + "/file") == "original";
  });
  BRIG_NEEDS(result != 77, "no mount namespace could be made for the test");
  EXPECT_EQ(result, 0);
}

TEST(Escape, AMountMadeInTheCellsTimeDoesNotReachIt) {
  HostDirectory host;
  const std::string sub = host.make("sub");
  const int result = in_private_mounts([&] {
    Policy listed = policy();
    listed.files.read.push_back(host.path());
    brig::Runner runner(listed);
    if (mount("sub", sub.c_str(), "tmpfs", 0, "mode=0777") != 0) _exit(77);
    write_file(sub + "/late", "late");
    const Report report = runner.run({.argv = {"cat", sub + "/late"}});
    return report.out.bytes.find("late") == std::string::npos;
  });
  BRIG_NEEDS(result != 77, "no mount namespace could be made for the test");
  EXPECT_EQ(result, 0);
}

TEST(Escape, ASymlinkInAListedPathIsRefused) {
  HostDirectory host;
  const std::string real = host.make("real");
  host.make("real/below");
  ASSERT_EQ(symlink(real.c_str(), (host / "link").c_str()), 0);
  for (const std::string& path : {host / "link", host / "link/below"}) {
    Policy listed = policy();
    listed.files.write = {path};
    EXPECT_THROW(brig::run({.argv = {"touch", path + "/made"}}, listed), Error) << path;
  }
  EXPECT_FALSE(exists(real + "/made"));
  EXPECT_FALSE(exists(real + "/below/made"));
}

TEST(Escape, APathThatIsSwappedForASymlinkWhileTheCellStartsLeadsNowhereElse) {
  HostDirectory host;
  const std::string secret = host.make("secret"), swapped = host.make("swapped");
  write_file(secret + "/key", "the-secret");
  std::atomic<bool> stop{false};
  std::thread swapper([&] {
    const std::string link = host / "link", away = host / "away";
    while (!stop) {
      (void)!symlink(secret.c_str(), link.c_str());
      (void)!rename(swapped.c_str(), away.c_str());
      (void)!rename(link.c_str(), swapped.c_str());
      (void)!unlink(swapped.c_str());
      (void)!rename(away.c_str(), swapped.c_str());
    }
  });
  unsigned ran = 0;
  for (int i = 0; i < 60; ++i) {
    Policy listed = policy();
    listed.files.write = {swapped};
    try {
      const Report report = brig::run(
          brig::Command::shell("cat " + swapped + "/key; echo x > " + swapped + "/planted"),
          listed);
      EXPECT_EQ(report.out.bytes.find("the-secret"), std::string::npos);
      ++ran;
    } catch (const Error&) {  // caught in the act
    }
  }
  stop = true;
  swapper.join();
  EXPECT_FALSE(exists(secret + "/planted"));
  SUCCEED() << ran << " of 60 ran";
}

TEST(Escape, ASymlinkPlantedInAWritablePathIsJudgedAtItsTarget) {
  HostDirectory host;
  const std::string writable = host.make("writable");
  write_file(host / "secret", "the-secret");
  ASSERT_EQ(symlink((host / "secret").c_str(), (writable + "/link").c_str()), 0);
  Policy listed = policy();
  listed.files.write = {writable};
  expect_refused(attack({"files", "read", writable + "/link"}, listed), {"read"});
  // (It may succeed: /tmp is the cell's own there, and so is what it then writes to.)
  brig::run(brig::Command::shell("ln -s " + (host / "secret") + " " + writable + "/own; echo x > " +
                                 writable + "/own; echo y > " + writable + "/link"),
            listed);
  EXPECT_TRUE(exists(writable + "/own"));
  EXPECT_EQ(read_file(host / "secret"), "the-secret");
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
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

}  // namespace
