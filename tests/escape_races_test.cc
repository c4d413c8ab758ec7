// Escapes by a neighbour on the host: an ordinary user who may rename in the directory above a listed path.
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <filesystem>

#include "escape.h"

namespace {

using namespace escape;
using brig::Error;
using brig::Policy;
using Clock = std::chrono::steady_clock;

constexpr uid_t kNeighbour = 61234;  // no account has it; as an ordinary user: oneself

// `place`, a directory, and `other`, beside it, trade places again and again, until this object goes; where
// there is no `other`, the directory is moved there and back.
class Swapper {
 public:
  Swapper(const std::string& place, const std::string& other) : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    alarm(120);
    if (is_root() && (setgid(kNeighbour) != 0 || setuid(kNeighbour) != 0)) _exit(1);
    const bool exchange = faccessat(AT_FDCWD, other.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    for (bool away = false;; away = !away) {
      const std::string& from = away ? other : place;
      if (syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD,
                  away ? place.c_str() : other.c_str(),
                  exchange ? 2 /* RENAME_EXCHANGE */ : 0) != 0)
        break;
      // One that wakes up gets the processor at once, even on a busy machine: so the two change places
      // several times while a cell is made.
      usleep(50);
    }
    _exit(1);
  }
  ~Swapper() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Swapper(const Swapper&) = delete;
  Swapper& operator=(const Swapper&) = delete;

 private:
  pid_t pid_;
};

struct Neighbourhood {
  HostDirectory host;
  std::string theirs = host.make("theirs"), place = host.make("theirs/place"),
              link = theirs + "/link", victim = host.make("victim");
  int directory;  // what stands at `place` at first, wherever it is now

  Neighbourhood() : directory(open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    EXPECT_EQ(symlink(victim.c_str(), link.c_str()), 0);
    EXPECT_EQ(chmod(host.path().c_str(), 0755), 0);
    EXPECT_EQ(chmod(place.c_str(), 0777), 0);
    EXPECT_EQ(chmod(victim.c_str(), 0777), 0);
    if (!is_root()) return;
    for (const std::string& path : {theirs, place})
      EXPECT_EQ(lchown(path.c_str(), kNeighbour, kNeighbour), 0);
  }
  ~Neighbourhood() { close(directory); }

  // Runs `line` again and again while the two are swapped, for some seconds, and until it has both run
  // and been refused: by run(), and in cells of a Runner, which are made by a zygote, before the call or for it.
  void run_while_swapped(const Policy& policy, const std::string& line) const {
    run_while_swapped(policy, line, link);
  }
  std::string run_while_swapped(const Policy& policy, const std::string& line,
                                const std::string& other) const {
    return run_while_swapped(policy, brig::Command::shell(line), other, 5);
  }
  std::string run_while_swapped(const Policy& policy, const brig::Command& command,
                                const std::string& other, int least) const {
    const Swapper swapper(place, other);
    std::string output;
    int ran[2] = {}, refused[2] = {};
    const auto all_seen = [&] { return ran[0] && ran[1] && refused[0] && refused[1]; };
    const auto begin = Clock::now();
    const auto within = [&](int seconds) {
      return Clock::now() - begin < std::chrono::seconds(seconds);
    };
    for (int way = 0; within(least) || (!all_seen() && within(60)); way = 1 - way) {
      const auto note = [&](const brig::Report& report) {
        ran[way] += report.outcome == brig::Outcome::ok;
        refused[way] += report.outcome == brig::Outcome::internal;
        output += report.out.bytes;
        if (report.outcome == brig::Outcome::exit)
          output += "exit code " + std::to_string(*report.exit_code) + "\n";
      };
      try {
        if (way == 0) {
          note(brig::run(command, policy));
          continue;
        }
        brig::Runner runner(policy, {.ready = 1});
        for (int i = 0; i < 3; ++i) note(runner.run(command));
      } catch (const Error&) {
        ++refused[way];
        usleep(100);  // for the two to change places
      }
    }
    EXPECT_TRUE(all_seen()) << "run(): " << ran[0] << " ran, " << refused[0]
                            << " refused; a Runner: " << ran[1] << " ran, " << refused[1]
                            << " refused";
    return output;
  }
};

TEST(Escape, ANeighbourWhoSwapsAWritablePathDoesNotChooseTheOwnerThatACellActsAs) {
  if (!is_root()) GTEST_SKIP() << "only root's cells act as the owner of a writable path";
  const Neighbourhood at;
  const std::string real = "/proc/self/fd/" + std::to_string(at.directory);
  const std::string roots =
      real + "/roots";  // in the neighbour's directory, and not the neighbour's
  ASSERT_EQ(mkdir(roots.c_str(), 0755), 0);
  Policy swapped = policy();
  swapped.files.write = {at.place};
  at.run_while_swapped(swapped, "cd " + at.place + " && echo planted >$(date +%N); echo planted " +
                                    ">roots/planted; true");
  EXPECT_TRUE(std::filesystem::is_empty(roots)) << "a cell acted as root";
  ASSERT_EQ(rmdir(roots.c_str()), 0);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(real)) {
    struct stat info;
    ASSERT_EQ(lstat(entry.path().c_str(), &info), 0);
    ASSERT_EQ(info.st_uid, kNeighbour) << "a cell acted as another on what the neighbour owns";
    ++files;
  }
  EXPECT_GT(files, 0);
  EXPECT_TRUE(std::filesystem::is_empty(at.victim));
}

TEST(Escape, ANeighbourWhoMovesAHiddenDirectoryAwayAndBackDoesNotUncoverIt) {
  const Neighbourhood at;
  const int secret = openat(at.directory, "secret", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  ASSERT_EQ(write(secret, "hidden", 6), 6);
  close(secret);
  Policy hides = policy();
  hides.files.read = {at.theirs};
  hides.files.hide = {at.place};
  const std::string output = at.run_while_swapped(
      hides, "for i in 1 2 3 4 5 6 7 8; do cat " + at.place + "/secret; done; true",
      at.theirs + "/away");
  EXPECT_EQ(output, "");
}

// What else a policy can say of a path, each while a neighbour swaps that for a link to `victim`.
constexpr int kBrief = 2;

TEST(Escape, ANeighbourWhoSwapsTheRootDoesNotChooseWhatACellRuns) {
  const Neighbourhood at;
  std::filesystem::copy_file(guests() + "/ending",
                             "/proc/self/fd/" + std::to_string(at.directory) + "/program");
  std::filesystem::copy_file(guests() + "/hog", at.victim + "/program");  // ends with 2
  Policy swapped = policy();
  swapped.files.read.clear();
  swapped.files.root = at.place;
  brig::Command command;
  command.argv = {"/program", "exit", "0"};
  EXPECT_EQ(at.run_while_swapped(swapped, command, at.link, kBrief), "");
}

// Who may rename in a writable directory decides what stands at a protected name (SECURITY.md), and no more than that.
TEST(Escape, ANeighbourWhoSwapsAProtectedPathLeadsNowhereElse) {
  const Neighbourhood at;
  Policy swapped = policy();
  swapped.files.write = {at.theirs};
  swapped.files.protect = {at.place};
  at.run_while_swapped(swapped,
                       brig::Command::shell("for i in 1 2 3 4 5 6 7 8; do echo planted >" +
                                            at.place + "/planted; echo planted >" + at.link +
                                            "/planted; done 2>/dev/null; true"),
                       at.link, kBrief);
  EXPECT_TRUE(std::filesystem::is_empty(at.victim));
}

TEST(Escape, ANeighbourWhoSwapsAPathThatIsNotExecutedDoesNotMakeItRun) {
  const Neighbourhood at;
  for (const std::string& directory : {"/proc/self/fd/" + std::to_string(at.directory), at.victim})
    std::filesystem::copy_file(guests() + "/ending", directory + "/program");
  Policy swapped = policy();
  swapped.files.read.push_back(at.place);
  swapped.files.noexec = {at.place};
  EXPECT_EQ(at.run_while_swapped(swapped,
                                 brig::Command::shell("for i in 1 2 3 4 5 6 7 8; do " + at.place +
                                                      "/program exit 7 2>/dev/null; "
                                                      "test $? = 7 && echo ran; done; true"),
                                 at.link, kBrief),
            "");
}

TEST(Escape, ANeighbourWhoSwapsAnOptionalPathDoesNotChooseAnother) {
  const Neighbourhood at;
  Policy swapped = policy();
  swapped.files.write_optional.push_back(at.place);
  at.run_while_swapped(
      swapped,
      brig::Command::shell("echo planted >" + at.place + "/planted; echo planted >" + at.victim +
                           "/planted; true"),
      at.link, kBrief);
  EXPECT_TRUE(std::filesystem::is_empty(at.victim));
}

TEST(Escape, ANeighbourWhoSwapsAPathAtAnotherPlaceDoesNotChooseWhatIsThere) {
  const Neighbourhood at;
  Policy swapped = policy();
  swapped.files.write = {at.place + ":/opt/x"};
  at.run_while_swapped(swapped, brig::Command::shell("echo planted >/opt/x/planted; true"), at.link,
                       kBrief);
  EXPECT_TRUE(std::filesystem::is_empty(at.victim));
  EXPECT_TRUE(exists("/proc/self/fd/" + std::to_string(at.directory) + "/planted"));
}

TEST(LandlockFloor, ANeighbourWhoSwapsAWritablePathDoesNotChooseWhatACellMayWrite) {
  const brig::Capabilities machine = brig::probe();
  BRIG_NEEDS(machine.landlock, "this kernel has no Landlock");
  const Neighbourhood at;
  Policy swapped = policy();
  swapped.isolation = brig::Isolation::landlock;
  for_lower_floors(swapped);
  swapped.files.write = {at.place};
  at.run_while_swapped(swapped, "echo planted >" + at.victim + "/planted; true");
  EXPECT_TRUE(std::filesystem::is_empty(at.victim)) << "the rule was made for the link's target";
}

// What is above a listed path below another one becomes a link to the system, and a directory again: the mount goes nowhere else.
TEST(Escape, ANeighbourWhoSwapsWhatIsAboveAListedPathDoesNotChooseWhereItIsMounted) {
  const Neighbourhood at;
  const std::string link = at.theirs + "/system", given = at.host.make("given");
  ASSERT_EQ(symlink("/usr", link.c_str()), 0);
  ASSERT_EQ(mkdir((at.place + "/bin").c_str(), 0777), 0);
  std::filesystem::copy_file("/usr/bin/id", given + "/cat");
  for (const char* where : {"", "/opt/theirs"}) {
    const std::string place = *where ? where : at.theirs;
    Policy nested = policy();
    nested.files.write = {at.theirs + ":" + place, given + ":" + place + "/place/bin"};
    const std::string output = at.run_while_swapped(
        nested, "/usr/bin/cat /etc/hostname; /usr/bin/cat /etc/hostname; true", link);
    std::size_t good = 0;
    while (output.compare(good, 5, "brig\n") == 0) good += 5;
    EXPECT_EQ(good, output.size()) << output.substr(good, 200);
  }
}

// A tool shuts its directory, so that the next cell can't look whether what hides a file there is in place; then the host puts a
// new file there. The tool of that cell, which could open the directory again, must not run.
TEST(Escape, ADirectoryThatAToolShutsDoesNotUncoverWhatIsHiddenInIt) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can replace a file in a directory that is shut";
  const HostDirectory host;
  const std::string place = host.make("place"), shut = place + "/shut", path = shut + "/.env";
  EXPECT_EQ(chmod(host.path().c_str(), 0755), 0);
  EXPECT_EQ(mkdir(shut.c_str(), 0755), 0);
  write_file(path, "old");
  // Somebody's, not root's: what the cell may do there is what that user may.
  for (const std::string& each : {place, shut, path})
    EXPECT_EQ(chown(each.c_str(), 65533, 65533), 0);
  Policy policy = escape::policy();
  policy.files.write = {place};
  policy.files.hide = {path};
  brig::Runner runner(policy, {.ready = 2});
  const auto mode_of = [&] {
    struct stat info {};
    return stat(shut.c_str(), &info) == 0 ? info.st_mode & 0777 : 0777u;
  };
  // To a file: a call whose zygote is lost meanwhile has no output to show, and has read the secret all the same.
  const std::string leak = place + "/leak";
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 200 && mode_of() != 0; ++i)
      (void)runner.run(brig::Command::shell("chmod 000 '" + shut + "'"));
    ASSERT_EQ(mode_of(), 0u);
    write_file(place + "/new", "new secret");
    EXPECT_EQ(chmod((place + "/new").c_str(), 0666), 0);
    ASSERT_EQ(rename((place + "/new").c_str(), path.c_str()), 0);
    bool served = false;
    for (int i = 0; i < 200 && !served; ++i) {
      const brig::Report report =
          runner.run(brig::Command::shell("chmod 755 '" + shut + "'; read -r line < '" + path +
                                          "'; echo \"$line\" > '" + leak + "'"));
      served = report.outcome != brig::Outcome::internal;
      EXPECT_EQ(report.out.bytes, "") << describe(report);
    }
    EXPECT_TRUE(served) << "calls go on";
    EXPECT_EQ(read_file(leak).find("secret"), std::string::npos) << "in round " << round;
    unlink(leak.c_str());
  }
}

// An editor, or git, puts a new file in the place of one that is hidden, or protected below a writable path: the kernel takes
// away what was mounted on the old one, everywhere. No call may see or change the new one, and calls go on.
TEST(Escape, AFileThatIsReplacedStaysHiddenAndProtected) {
  for (const char* how : {"hide", "read", "protect"}) {
    SCOPED_TRACE(how);
    const bool hides = !strcmp(how, "hide");
    const HostDirectory host;
    const std::string place = host.make("place"), path = place + "/.env";
    EXPECT_EQ(chmod(host.path().c_str(), 0755), 0);
    EXPECT_EQ(chmod(place.c_str(), 0777), 0);
    write_file(path, "old");
    EXPECT_EQ(chmod(path.c_str(), 0666), 0);
    Policy policy = escape::policy();
    policy.files.write = {place};
    if (!strcmp(how, "protect"))
      policy.files.protect.push_back(path);
    else
      (hides ? policy.files.hide : policy.files.read) = {path};
    brig::Runner runner(policy);
    const auto attack = [&] {
      return runner.run(brig::Command::shell("cat '" + path + "'; echo mine >> '" + path + "'"));
    };
    EXPECT_EQ(attack().out.bytes, hides ? "" : "old");
    for (int round = 0; round < 3; ++round) {
      write_file(place + "/new", "new secret");
      EXPECT_EQ(chmod((place + "/new").c_str(), 0666), 0);
      ASSERT_EQ(rename((place + "/new").c_str(), path.c_str()), 0);
      bool served = false;
      for (int i = 0; i < 200 && !served; ++i) {
        const brig::Report report = attack();
        served = report.outcome != brig::Outcome::internal;
        // Not run, or as if nothing had happened.
        EXPECT_EQ(report.out.bytes, served && !hides ? "new secret" : "") << describe(report);
      }
      EXPECT_TRUE(served) << "calls go on";
      EXPECT_EQ(read_file(path), "new secret");
    }
  }
}

}  // namespace
