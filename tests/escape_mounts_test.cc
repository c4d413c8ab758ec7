// Escapes through listed paths that lie below others (of group B): what a tool leaves on a writable path for the mounts of the
// cells that come after, and where a zygote keeps what its cells are given.
#include <filesystem>
#include <memory>

#include "escape.h"

namespace {

using namespace escape;
using brig::Command;
using brig::Error;
using brig::ErrorKind;
using brig::Outcome;
using brig::Policy;
using brig::Report;
namespace fs = std::filesystem;

// Below private places, where cells mount listed paths themselves, and at one where their zygote does.
constexpr const char* kPlaces[] = {"/tmp/p", "/workspace/p", "/opt/p"};

// The host's `w`, with w/a/v and w/s/f in it, and `v` and `f`, which the cell is to see in the place of those two.
struct Tree {
  HostDirectory host;
  std::string w = host.make("w"), v = host.make("v"), f = host / "f";
  Tree() {
    for (const char* name : {"w/a", "w/a/v", "w/s"}) host.make(name);
    write_file(w + "/s/f", "below\n");
    write_file(f, "given\n");
  }
  Policy at(const std::string& place) const {
    Policy policy = escape::policy();
    policy.files.write = {w + ":" + place, v + ":" + place + "/a/v", f + ":" + place + "/s/f"};
    return policy;
  }
};

// One call after the other: by cells of one Runner, and by run().
class Calls {
 public:
  Calls(Policy policy, bool by_runner)
      : policy_(std::move(policy)),
        runner_(by_runner ? std::make_unique<brig::Runner>(policy_, brig::RunnerOptions{.ready = 1})
                          : nullptr) {}
  Report run(const std::string& line) const {
    return runner_ ? runner_->run(Command::shell(line)) : brig::run(Command::shell(line), policy_);
  }

 private:
  Policy policy_;
  std::unique_ptr<brig::Runner> runner_;
};

// Neither a Runner nor run() makes a cell by this policy. Returns what they say.
std::string refusal(const Policy& policy) {
  EXPECT_THROW(brig::Runner(policy, {.ready = 1}), Error);
  try {
    const Report report = brig::run(Command::shell("true"), policy);
    ADD_FAILURE() << "it ran: " << describe(report);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config) << error.what();
    return error.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Escape, AToolChoosesNoPlaceForTheMountsOfLaterCells) {
  for (const std::string place : kPlaces)
    for (const bool by_runner : {true, false}) {
      const Tree tree;
      const Calls calls(tree.at(place), by_runner);
      for (const char* target : {"/usr/bin", "/proc", "/dev", "/etc", "/", "/etc/ld.so.cache"}) {
        const Report report = calls.run(
            "cd " + place + "; t=" + target +
            "; cp /usr/bin/id a/v/cat; for n in a/v s/f a s; do mv -T $n $n.moved && echo moved "
            "$n; "
            "mv $n /tmp/moved && echo taken $n; rm -rf $n; ln -sfnT $t $n && echo linked $n; done; "
            "mkdir a s; mkfifo a/v s/f && echo made; rm -f s/f; ln -sT $t a/v && echo linked; ln "
            "-sT $t s/f && echo linked; echo end");
        EXPECT_EQ(report.out.bytes, "end\n") << describe(report);
        EXPECT_TRUE(fs::is_directory(fs::symlink_status(tree.w + "/a/v"))) << target;
        EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(tree.w + "/s/f"))) << target;
        // Twice: one of a Runner's cells may have been made before the attack.
        for (int i = 0; i < 2; ++i) {
          const Report later = calls.run("/usr/bin/cat /etc/hostname " + place + "/s/f; mkdir -p " +
                                         place + "/a/v/own");
          EXPECT_EQ(later.out.bytes, "brig\ngiven\n") << describe(later);
        }
      }
      EXPECT_TRUE(exists(tree.v + "/own")) << "it is the path that was listed";
      EXPECT_EQ(read_file(tree.w + "/s/f"), "below\n");
    }
}

// The same without places: a part of a writable path that is listed once more.
TEST(Escape, AToolMovesNoListedPathBelowAWritableOne) {
  for (const bool by_runner : {true, false}) {
    const Tree tree;
    Policy policy = escape::policy();
    policy.files.write = {tree.w, tree.w + "/a/v"};
    const Calls calls(policy, by_runner);
    const Report report = calls.run(
        "cd " + tree.w + "; mv a a2; mv a/v a/v2; rmdir a/v; ln -sfnT / a; ls -d *; ls a");
    EXPECT_EQ(report.out.bytes, "a\ns\nv\n") << describe(report);
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(calls.run("cat /etc/hostname; touch " + tree.w + "/a/v/x").out.bytes, "brig\n");
    EXPECT_TRUE(exists(tree.w + "/a/v/x"));
  }
}

// Read-only below writable, writable below that, hidden and protected below that: each is what its own list says, and none moves.
TEST(Escape, PathsListedManyLevelsDeepStayWhereTheyAre) {
  for (const std::string place : kPlaces)
    for (const bool by_runner : {true, false}) {
      const HostDirectory host;
      for (const char* name : {"w", "w/a", "w/a/r", "r", "r/b", "r/b/v", "v", "v/c", "v/c/x", "x",
                               "x/d", "x/d/hidden", "x/d/kept"})
        chmod(host.make(name).c_str(), 0777);
      write_file(host / "x/d/hidden/key", "the-secret");
      Policy policy = escape::policy();
      const std::string r = place + "/a/r", v = r + "/b/v", x = v + "/c/x";
      policy.files.write = {host / "w" + ":" + place, host / "v" + ":" + v, host / "x" + ":" + x};
      policy.files.read.push_back(host / "r" + ":" + r);
      policy.files.hide = {host / "x/d/hidden"};
      policy.files.protect = {host / "x/d/kept"};
      const Calls calls(policy, by_runner);
      for (int round = 0; round < 3; ++round) {
        const Report report =
            calls.run("for n in " + place + "/a " + r + " " + r + "/b " + v + " " + v + "/c " + x +
                      " " + x + "/d " + x + "/d/hidden " + x +
                      "/d/kept; do mv -T $n $n.moved && echo moved $n; rmdir $n "
                      "&& echo removed $n; done; for n in " +
                      r + " " + r + "/b " + x + "/d/hidden " + x +
                      "/d/kept; do echo x >$n/planted && echo planted $n; done; cat " + x +
                      "/d/hidden/key; for n in " + place + " " + place + "/a " + v + " " + v +
                      "/c " + x + " " + x + "/d; do echo x >$n/own || echo no $n; done; echo end");
        EXPECT_EQ(report.out.bytes, "end\n") << describe(report);
      }
      for (const char* name : {"w/own", "w/a/own", "v/own", "v/c/own", "x/own", "x/d/own"})
        EXPECT_TRUE(exists(host / name)) << name;
      EXPECT_TRUE(fs::is_empty(host / "x/d/kept"));
      EXPECT_FALSE(exists(host / "r/planted") || exists(host / "r/b/planted"));
      for (const char* name : {"w/a/r", "r/b/v", "v/c/x"})
        EXPECT_TRUE(fs::is_empty(host / name)) << name << ": nothing was made below a mount";
    }
}

// What somebody else has put there already: not followed, not waited for, and told.
TEST(Escape, ALinkOrAFifoWhereAListedPathGoesIsNeitherFollowedNorWaitedFor) {
  for (const std::string place : kPlaces) {
    const Tree tree;
    const std::string a = tree.w + "/a", v = a + "/v", f = tree.w + "/s/f";
    fs::remove(v);
    for (const char* target : {"/usr/bin", "/", "/proc", "/none", "."}) {
      ASSERT_EQ(symlink(target, v.c_str()), 0);
      const std::string text = refusal(tree.at(place));
      EXPECT_TRUE(says(text, "'" + place + "/a/v'") && says(text, "symlink")) << text;
      unlink(v.c_str());
    }
    fs::remove(a);
    ASSERT_EQ(symlink("/usr", a.c_str()), 0);
    const std::string text = refusal(tree.at(place));
    EXPECT_TRUE(says(text, "'" + place + "/a") && says(text, "symlink")) << text;
    unlink(a.c_str());
    fs::create_directories(v);
    fs::remove(f);
    ASSERT_EQ(symlink("/etc/ld.so.cache", f.c_str()), 0);
    EXPECT_TRUE(says(refusal(tree.at(place)), "'" + place + "/s/f'"));
    unlink(f.c_str());
    ASSERT_EQ(mkdir(f.c_str(), 0755), 0);
    EXPECT_TRUE(says(refusal(tree.at(place)), "a file only on a file"));
    fs::remove(f);
    ASSERT_EQ(mkfifo(f.c_str(), 0666), 0);
    for (const bool by_runner : {true, false})
      EXPECT_EQ(Calls(tree.at(place), by_runner).run("cat " + place + "/s/f").out.bytes, "given\n");
    EXPECT_TRUE(fs::is_fifo(fs::symlink_status(f)));
  }
}

TEST(Escape, NothingIsMadeOnTheHostForAPathToBeMountedOn) {
  for (const std::string place : kPlaces) {
    const Tree tree;
    for (const std::string& given : {tree.v, tree.f})
      for (const char* below : {"/new", "/new/deep", "/a/new"}) {
        for (const bool readable : {true, false}) {
          Policy policy = escape::policy();
          policy.files.write = {tree.w + ":" + place};
          (readable ? policy.files.read : policy.files.write)
              .push_back(given + ":" + place + below);
          const std::string text = refusal(policy);
          EXPECT_TRUE(says(text, "'" + place + (below[1] == 'a' ? "/a/new" : "/new")) &&
                      says(text, "create the place there"))
              << text;
        }
        Policy policy = escape::policy();
        policy.files.read.push_back(tree.w + ":" + place);
        policy.files.write = {given + ":" + place + below};
        EXPECT_TRUE(says(refusal(policy), "create the place there"));
        EXPECT_FALSE(exists(tree.w + "/new") || exists(tree.w + "/a/new"));
      }
    // In space of the cell's own it is made as ever.
    Policy policy = escape::policy();
    policy.files.read.push_back(tree.f + ":" + place + "/x/y/f");
    policy.files.write = {tree.v + ":" + place + "/x/z"};
    for (const bool by_runner : {true, false})
      EXPECT_EQ(Calls(policy, by_runner).run("cat " + place + "/x/y/f").out.bytes, "given\n");
  }
}

// Were it not missed, a tool could make it, as a link too, and the next zygote would find that.
TEST(Escape, AListedPathThatIsRemovedOnTheHostCannotBeMadeByATool) {
  for (const std::string place : kPlaces)
    for (const bool readable : {false, true}) {
      const Tree tree;
      Policy policy = escape::policy();
      policy.files.write = {tree.w + ":" + place};
      (readable ? policy.files.read : policy.files.write).push_back(tree.v + ":" + place + "/a/v");
      brig::Runner runner(policy);
      const auto attack = Command::shell("cd " + place + "; echo >ran; rm -rf a; ln -sT / a");
      EXPECT_NE(runner.run(attack).outcome, Outcome::internal);
      unlink((tree.w + "/ran").c_str());
      ASSERT_EQ(rmdir((tree.w + "/a/v").c_str()), 0);
      for (int i = 0; i < 3; ++i) EXPECT_EQ(runner.run(attack).outcome, Outcome::internal);
      EXPECT_FALSE(exists(tree.w + "/ran")) << "a tool ran while a listed path was not there";
      EXPECT_TRUE(fs::is_directory(fs::symlink_status(tree.w + "/a")));
      EXPECT_THROW((void)brig::run(attack, policy), Error);
    }
}

// Of a listed file that was replaced on the host cells have what their zygote keeps. Nothing else that it keeps may be reached
// there: neither around a mount that makes a part read-only, nor around one that hides or protects.
TEST(Escape, WhereAReplacedFileIsKeptNothingElseIs) {
  const HostDirectory host;
  for (const char* name : {"proj", "proj/sub", "proj/secret", "proj/kept", "data", "lost"})
    chmod(host.make(name).c_str(), 0777);
  const std::string proj = host / "proj", conf = proj + "/sub/conf", x = host / "x.txt",
                    own = host / "own.txt", other = host / "other.txt";
  for (const std::string& file :
       {conf, x, own, other, host / "data/file", proj + "/kept/file", proj + "/secret/key"}) {
    write_file(file, "old\n");
    chmod(file.c_str(), 0777);
  }
  Policy policy = escape::policy();
  policy.files.write = {proj, own};
  policy.files.read = {guests(), conf, x, other, host / "data", host / "lost"};
  policy.files.hide = {proj + "/secret"};
  policy.files.protect = {proj + "/kept"};
  policy.files.noexec = {x};
  brig::Runner runner(policy, {.ready = 1});
  const auto run = [&](const std::string& line) { return runner.run(Command::shell(line)); };
  EXPECT_EQ(run("cat " + x + "; ls -A /.brig").out.bytes, "old\n");
  for (const std::string& file : {x, own}) {
    write_file(host / "new", "new\n");
    chmod((host / "new").c_str(), 0777);
    ASSERT_EQ(rename((host / "new").c_str(), file.c_str()), 0);
  }
  ASSERT_EQ(rmdir((host / "lost").c_str()), 0);
  // The first cells may have been made before that.
  int linked = 0;
  for (int i = 0; linked < 3; ++i) {
    ASSERT_LT(i, 20) << "no cell has a link";
    const Report report = run(
        "for d in /.brig/*; do for n in $d $d/sub/conf $d/kept/file $d/kept/new $d/secret/key "
        "$d/new $d/sub/new; do echo evil >>$n; done; mv $d/sub $d/moved; rm -rf $d/*; done "
        "2>/dev/null; find /.brig -mindepth 2 2>&1; for d in /.brig/*; do test -s $d -a -f $d && "
        "echo one; done; cat " +
        x + " " + conf + " " + other + "; echo evil >>" + x + " || echo refused; " + x +
        " || echo not run; chmod 777 " + x + " 2>/dev/null || echo refused; echo more >>" + own +
        " && tail -n 1 " + own);
    const std::string rest = "old\nold\nold\nrefused\nnot run\nrefused\nmore\n";
    const bool has_link = report.out.bytes.starts_with("one");
    linked += has_link;
    EXPECT_EQ(report.out.bytes, (has_link ? "one\none\n" : "") + rest) << describe(report);
  }
  for (const std::string& file :
       {conf, other, host / "data/file", proj + "/kept/file", proj + "/secret/key"})
    EXPECT_EQ(read_file(file), "old\n") << file;
  EXPECT_FALSE(exists(proj + "/sub/new") || exists(proj + "/new") || exists(proj + "/kept/new"));
  EXPECT_EQ(read_file(x), "new\n");
  EXPECT_EQ(read_file(own), "new\n");
}

// On that floor there are no mounts to hold a path: one that a tool has moved must not keep later cells from starting.
TEST(LandlockFloor, AToolThatMovesAListedPathBelowAWritableOneStopsNoLaterCell) {
  BRIG_NEEDS(brig::probe().landlock, "this kernel has no Landlock");
  const Tree tree;
  Policy policy = escape::policy();
  policy.isolation = brig::Isolation::landlock;
  escape::for_lower_floors(policy);
  policy.files.write = {tree.w, tree.w + "/a/v"};
  if (is_root())
    for (const char* name : {"", "/a", "/a/v"}) chmod((tree.w + name).c_str(), 0777);
  brig::Runner runner(policy, {.ready = 1});
  (void)runner.run(Command::shell("cd " + tree.w + "; mv a a2; mkdir a; ln -s / a/v; true"));
  EXPECT_TRUE(fs::is_symlink(tree.w + "/a/v"));
  for (int i = 0; i < 3; ++i) {
    const Report report = runner.run(Command::shell(
        "cat /etc/shadow >/dev/null 2>&1 && echo read; touch /etc/planted /usr/planted "
        "2>/dev/null; echo end"));
    EXPECT_EQ(report.out.bytes, "end\n") << describe(report);
  }
  EXPECT_FALSE(exists("/etc/planted") || exists("/usr/planted"));
}

}  // namespace
