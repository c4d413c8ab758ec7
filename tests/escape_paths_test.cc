// Escapes through the paths that a policy lists (of group B): links, renames, mounts, symlinks.
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include <atomic>
#include <thread>

#include "escape.h"

namespace {

using namespace escape;
using brig::Error;
using brig::Policy;
using brig::Report;

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

// --- hosts with mounts below a listed path ---

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
    EXPECT_THROW((void)brig::run({.argv = {"touch", path + "/made"}}, listed), Error) << path;
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
  unsigned ran = 0, refused = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (int i = 0; i < 60 || ((ran == 0 || refused == 0) && std::chrono::steady_clock::now() < end);
       ++i) {
    Policy listed = policy();
    listed.files.write = {swapped};
    try {
      const Report report = brig::run(
          brig::Command::shell("cat " + swapped + "/key; echo x > " + swapped + "/planted"),
          listed);
      EXPECT_EQ(report.out.bytes.find("the-secret"), std::string::npos);
      ++ran;
    } catch (const Error&) {  // caught in the act
      ++refused;
    }
  }
  stop = true;
  swapper.join();
  EXPECT_FALSE(exists(secret + "/planted"));
  EXPECT_GT(ran, 0u);
  EXPECT_GT(refused, 0u);
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
  (void)brig::run(
      brig::Command::shell("ln -s " + (host / "secret") + " " + writable + "/own; echo x > " +
                           writable + "/own; echo y > " + writable + "/link"),
      listed);
  EXPECT_TRUE(exists(writable + "/own"));
  EXPECT_EQ(read_file(host / "secret"), "the-secret");
}

}  // namespace
