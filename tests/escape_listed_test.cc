// Escapes through how a policy lists paths: at other places, optional, not executable, protected (of group B).
#include <atomic>
#include <filesystem>
#include <thread>

#include "escape.h"

namespace {

using namespace escape;
using brig::Error;
using brig::Policy;
using brig::Report;

// Hiding something below a read-only path, which is below a writable one, must not open what is between.
TEST(Escape, HidingBelowAReadOnlyPathMakesNothingThereWritable) {
  HostDirectory host;
  const std::string writable = host.make("w"), readable = host.make("w/r");
  host.make("w/r/between");
  const std::string hidden = host.make("w/r/between/hidden");
  for (const std::string& path : {readable, readable + "/between"}) chmod(path.c_str(), 0777);
  Policy mixed = policy();
  mixed.files.write = {writable};
  mixed.files.read.push_back(readable);
  mixed.files.hide = {hidden};
  expect_refused(attack({"files", "write", readable + "/between/planted"}, mixed), {"write"});
  expect_refused(attack({"files", "write", readable + "/planted"}, mixed), {"write"});
  EXPECT_FALSE(exists(readable + "/between/planted"));
}

// What stands between a writable path and a guarded one is mounted once more: with the rights of the writable path's owner, not of its own.
TEST(Escape, ADirectoryOfRootsBetweenAWritablePathAndAGuardedOneStaysRoots) {
  if (!is_root()) GTEST_SKIP() << "only root's cells act as the owner of a writable path";
  for (const char* how : {"hide", "read", "protect"}) {
    HostDirectory host;
    const std::string writable = host.make("w"), roots = host.make("w/roots");
    const std::string guarded = host.make("w/roots/guarded");
    ASSERT_EQ(chown(writable.c_str(), 61234, 61234), 0);
    ASSERT_EQ(chmod(roots.c_str(), 0755), 0);
    Policy mixed = policy();
    mixed.files.write = {writable};
    if (!strcmp(how, "hide")) mixed.files.hide = {guarded};
    if (!strcmp(how, "read")) mixed.files.read.push_back(guarded);
    if (!strcmp(how, "protect")) mixed.files.protect = {guarded};
    expect_refused(attack({"files", "write", roots + "/planted"}, mixed), {"write"});
    EXPECT_FALSE(exists(roots + "/planted")) << how;
  }
}

TEST(Escape, APathAtAnotherPlaceIsThereAndNowhereElse) {
  HostDirectory host;
  const std::string data = host.make("data"), beside = host.make("beside");
  write_file(data + "/file", "original");
  write_file(beside + "/secret", "the-secret");
  chmod((data + "/file").c_str(), 0666);
  Policy moved = policy();
  moved.files.read.push_back(data + ":/opt/brig/data");
  const Report seen = brig::run({.argv = {"cat", "/opt/brig/data/file"}}, moved);
  EXPECT_EQ(seen.out.bytes, "original") << describe(seen);
  expect_refused(attack({"files", "read", data + "/file"}, moved), {"read"});
  expect_refused(attack({"files", "read", "/opt/brig/data/../beside/secret"}, moved), {"read"});
  expect_refused(attack({"files", "read", "/opt/brig/beside/secret"}, moved), {"read"});
  expect_refused(attack({"files", "write", "/opt/brig/data/file"}, moved), {"write"});
  expect_refused(attack({"files", "write", "/opt/brig/planted"}, moved), {"write"});
  EXPECT_EQ(read_file(data + "/file"), "original");
}

TEST(Escape, LinksAndRenamesDoNotCrossPathsAtOtherPlaces) {
  HostDirectory host;
  const std::string readable = host.make("readable"), writable = host.make("writable");
  write_file(readable + "/file", "original");
  chmod((readable + "/file").c_str(), 0666);
  chmod(readable.c_str(), 0777);
  Policy both = policy();
  both.files.read.push_back(readable + ":/opt/r");
  both.files.write = {writable + ":/opt/w"};
  expect_refused(attack({"files", "across", "/opt/r", "/opt/w"}, both),
                 {"read the listed file", "hard link out", "linkat of the descriptor", "rename out",
                  "rename in", "exchange", "reopen for writing", "fchmod", "set a user attribute"});
  EXPECT_EQ(read_file(readable + "/file"), "original");
  EXPECT_TRUE(exists(writable + "/own"));
  EXPECT_FALSE(exists(writable + "/taken"));
}

// One path of the host's at three places, some below others: what is hidden or protected is so at each.
TEST(Escape, WhatIsHiddenOrProtectedIsSoAtEveryPlaceThatShowsIt) {
  HostDirectory host;
  const std::string top = host.make("top");
  for (const char* name :
       {"top/repo", "top/repo/a", "top/repo/a/b", "top/repo/a/b/kept", "top/repo/secret"})
    host.make(name);
  write_file(top + "/repo/a/file", "original");
  write_file(top + "/repo/secret/key", "the-secret");
  ASSERT_EQ(symlink("a/file", (top + "/repo/link").c_str()), 0);
  Policy mixed = policy();
  mixed.files.write = {top + ":/opt/top", top + "/repo:/opt/repo", top + "/repo:/tmp/repo",
                       top + "/repo/a:/opt/a", top + "/repo"};
  mixed.files.hide = {top + "/repo/secret"};
  mixed.files.protect = {top + "/repo/a/b/kept", top + "/repo/a/file"};
  for (const std::string& repo : {std::string("/opt/top/repo"), std::string("/opt/repo"),
                                  std::string("/tmp/repo"), top + "/repo"}) {
    expect_refused(attack({"files", "read", repo + "/secret/key"}, mixed), {"read"});
    expect_refused(attack({"files", "write", repo + "/secret/new"}, mixed), {"write"});
    expect_refused(attack({"files", "write", repo + "/a/file"}, mixed), {"write"});
    expect_refused(attack({"files", "write", repo + "/a/b/kept/new"}, mixed), {"write"});
  }
  expect_refused(attack({"files", "write", "/opt/a/file"}, mixed), {"write"});
  expect_refused(attack({"files", "write", "/opt/a/b/kept/new"}, mixed), {"write"});
  EXPECT_EQ(read_file(top + "/repo/a/file"), "original");
  EXPECT_FALSE(exists(top + "/repo/a/b/kept/new"));
}

TEST(Escape, WhatIsProtectedStaysAsItIs) {
  for (const char* place : {"", ":/opt/top", ":/workspace/top"}) {
    HostDirectory host;
    const std::string top = host.make("top");
    for (const char* name : {"top/a", "top/a/b", "top/a/b/kept"}) host.make(name);
    write_file(top + "/a/file", "original");
    Policy mixed = policy();
    mixed.files.write = {top + place};
    mixed.files.protect = {top + "/a/b/kept", top + "/a/file"};
    const std::string at = *place ? place + 1 : top;
    // Each run leaves things of its own beside, so each has a directory of its own.
    for (const bool by_runner : {false, true}) {
      std::error_code ignored;
      for (const char* name : {"/own", "/own-directory", "/a/b/beside", "/away"})
        std::filesystem::remove_all(top + name, ignored);
      brig::Command command = guest({"paths", "kept", at});
      const Report report =
          by_runner ? brig::Runner(mixed).run(command) : brig::run(command, mixed);
      expect_refused(report,
                     {"make a file in it", "rename it", "exchange it", "rename its parent",
                      "rename its parent's parent", "write the file", "rename over the file",
                      "exchange the file", "hard link of the file", "reopen the file for writing"});
      EXPECT_TRUE(enforces(report, "protect"));
    }
    EXPECT_EQ(read_file(top + "/a/file"), "original");
    EXPECT_TRUE(std::filesystem::is_empty(top + "/a/b/kept"));
    EXPECT_TRUE(exists(top + "/a/b/beside")) << "what is beside it is writable";
  }
}

TEST(Escape, TheDefaultNamesAreProtectedAndLinksAmongThemToo) {
  HostDirectory host;
  const std::string top = host.make("top");
  for (const char* name : {"top/.git", "top/.git/hooks", "top/.vscode"}) host.make(name);
  for (const char* name : {"/.git/config", "/.envrc", "/AGENTS.md"})
    write_file(top + name, "original");
  ASSERT_EQ(symlink("AGENTS.md", (top + "/CLAUDE.md").c_str()), 0);
  Policy mixed = policy();
  mixed.files.write = {top};
  mixed.files.protect = {"@default"};
  const std::string line =
      "cd '" + top +
      "'; echo x >.git/hooks/pre-commit; echo x >.git/config; echo x >.vscode/tasks.json; echo x "
      ">.envrc; rm -f .envrc CLAUDE.md; ln -sf /etc/passwd CLAUDE.md; echo x >CLAUDE.md; mv .git "
      "g; "
      "mv .vscode v; rm -rf .git; echo x >.git/index; mkdir sub; cat AGENTS.md";
  for (const bool by_runner : {false, true}) {
    const Report report = by_runner ? brig::Runner(mixed).run(brig::Command::shell(line))
                                    : brig::run(brig::Command::shell(line), mixed);
    EXPECT_EQ(report.out.bytes, "original") << describe(report);
    EXPECT_TRUE(enforces(report, "protect:existing"));
  }
  for (const char* name : {"/.git/config", "/.envrc", "/AGENTS.md"})
    EXPECT_EQ(read_file(top + name), "original") << name;
  EXPECT_TRUE(std::filesystem::is_empty(top + "/.git/hooks"));
  EXPECT_TRUE(std::filesystem::is_empty(top + "/.vscode"));
  EXPECT_EQ(std::filesystem::read_symlink(top + "/CLAUDE.md"), "AGENTS.md");
  EXPECT_TRUE(exists(top + "/.git/index")) << "git can commit";
  EXPECT_TRUE(exists(top + "/sub"));
}

// Nothing keeps a tool from making what does not exist; the report tells it, and of nothing else.
TEST(Escape, ADefaultNameThatAToolMakesIsTold) {
  HostDirectory host;
  const std::string top = host.make("top");
  host.make("top/.git");
  write_file(top + "/.envrc", "original");
  Policy mixed = policy();
  mixed.files.write = {top + ":/opt/top"};
  mixed.files.protect = {"@default"};
  brig::Runner runner(mixed);
  const auto told = [&](const std::string& line) {
    std::string targets;
    for (const brig::Violation& each : runner.run(brig::Command::shell(line)).violations)
      if (each.code == "file.appeared") targets += each.target + " ";
    return targets;
  };
  EXPECT_EQ(told("echo x >/opt/top/.envrc; touch /opt/top/other"), "");
  EXPECT_EQ(told("ln -s .. /opt/top/.git/commondir; mkdir /opt/top/.vscode"),
            top + "/.git/commondir " + top + "/.vscode ");
  EXPECT_EQ(told("true"), "") << "it was there when this call began";
  EXPECT_EQ(told("(setsid sh -c 'ln -s / /opt/top/.config') & wait"),
            top + "/.config/autostart " + top + "/.config/fish " + top + "/.config/systemd ");
}

// git leads elsewhere from a .git that is a file, and takes a directory for a repository that has in itself what a .git has.
TEST(Escape, ARepositoryOfAnyLayoutThatAToolMakesIsTold) {
  HostDirectory host;
  const std::string top = host.make("top");
  Policy mixed = policy();
  mixed.files.write = {top};
  mixed.files.protect = {"@default"};
  const auto told = [&](const Report& report) {
    std::string targets;
    for (const brig::Violation& each : report.violations)
      if (each.code == "file.appeared") targets += each.target + " ";
    return targets;
  };
  const std::string at = "cd '" + top + "'; ";
  const auto file = brig::Command::shell(at + "mkdir -p evil; echo 'gitdir: evil' >.git"),
             bare = brig::Command::shell(at +
                                         "mkdir -p objects refs; echo x >config; "
                                         "echo 'ref: refs/heads/x' >HEAD"),
             split = brig::Command::shell(at + "echo evil >commondir; echo 'ref: x' >HEAD");
  const auto clean = [&] {
    for (const char* name : {"/.git", "/objects", "/refs", "/config", "/HEAD", "/commondir"})
      std::filesystem::remove_all(top + name);
  };
  for (const bool by_runner : {false, true}) {
    std::optional<brig::Runner> runner;
    if (by_runner) runner.emplace(mixed);
    const auto run = [&](const brig::Command& command) {
      const std::string targets =
          told(by_runner ? runner->run(command) : brig::run(command, mixed));
      clean();
      return targets;
    };
    EXPECT_EQ(run(file), top + "/.git ");
    EXPECT_EQ(run(bare), top + "/HEAD ");
    EXPECT_EQ(run(split), top + "/HEAD ");
    host.make("top/.git");
    EXPECT_EQ(run(brig::Command::shell(at + "rmdir .git; echo 'gitdir: evil' >.git")),
              top + "/.git ")
        << "a directory became a file";
  }
}

TEST(Escape, ARepositoryWithoutAWorkTreeIsProtectedAsOneWith) {
  HostDirectory host;
  const std::string top = host.make("top");
  for (const char* name : {"top/objects", "top/refs", "top/hooks"}) host.make(name);
  write_file(top + "/HEAD", "ref: refs/heads/main\n");
  write_file(top + "/config", "original");
  Policy mixed = policy();
  mixed.files.write = {top};
  mixed.files.protect = {"@default"};
  const std::string line =
      "cd '" + top + "'; echo x >hooks/pre-commit; echo x >config; mv hooks h; echo >own";
  for (const bool by_runner : {false, true})
    by_runner ? brig::Runner(mixed).run(brig::Command::shell(line))
              : brig::run(brig::Command::shell(line), mixed);
  EXPECT_EQ(read_file(top + "/config"), "original");
  EXPECT_TRUE(std::filesystem::is_empty(top + "/hooks"));
  EXPECT_TRUE(exists(top + "/own"));
}

// A zygote keeps what was there when it was made. What comes later, by the host or by a call, the next one keeps.
TEST(Escape, WhatComesToBeThereLaterIsProtectedFromTheNextCall) {
  for (const char* place : {"", ":/opt/top", ":/workspace/top"}) {
    HostDirectory host;
    const std::string top = host.make("top"), at = *place ? place + 1 : top;
    Policy mixed = policy();
    mixed.files.write = {top + place};
    mixed.files.protect = {"@default"};
    brig::Runner runner(mixed, {.ready = 2});
    EXPECT_EQ(runner.run(brig::Command::shell("echo x >'" + at + "/own'")).outcome,
              brig::Outcome::ok);
    for (const char* name : {"top/.git", "top/.git/hooks"}) host.make(name);
    for (const char* name : {"/.git/config", "/.envrc", "/AGENTS.md"})
      write_file(top + name, "original");
    const std::string line = "cd '" + at +
                             "'; echo x >>.git/config; echo x >.git/hooks/pre-commit; echo x "
                             ">>.envrc; rm -f AGENTS.md; echo x >.git/index; touch '" +
                             at + "/.envrc'";
    const auto look = [&](const Report& report) {
      EXPECT_EQ(report.outcome, brig::Outcome::exit) << describe(report);
      const auto& all = report.violations;
      EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const brig::Violation& each) {
        return each.code == "file.protected";
      })) << describe(report);
      for (const char* name : {"/.git/config", "/.envrc", "/AGENTS.md"})
        EXPECT_EQ(read_file(top + name), "original") << name;
      EXPECT_TRUE(std::filesystem::is_empty(top + "/.git/hooks"));
      EXPECT_TRUE(exists(top + "/.git/index")) << "git can commit";
    };
    look(runner.run(brig::Command::shell(line)));
    look(runner.run(brig::Command::shell(line)));
    // By a call, which is told; and calls that the Runner drives.
    const Report made = runner.run(brig::Command::shell("echo mine >'" + at + "/.npmrc'"));
    ASSERT_EQ(made.violations.size(), 1u) << describe(made);
    EXPECT_EQ(made.violations[0].target, top + "/.npmrc");
    EXPECT_EQ(runner.run_async(brig::Command::shell("echo more >>'" + at + "/.npmrc'"))
                  .report.get()
                  .outcome,
              brig::Outcome::exit);
    EXPECT_EQ(read_file(top + "/.npmrc"), "mine\n");
  }
}

// Nobody ends the calls of others by making a name.
TEST(Escape, CallsThatRunGoOnWhenAnotherZygoteIsNeeded) {
  HostDirectory host;
  const std::string top = host.make("top");
  Policy mixed = policy();
  mixed.files.write = {top};
  mixed.files.protect = {"@default"};
  brig::Runner runner(mixed, {.ready = 1, .max_cells = 4});
  std::vector<std::future<Report>> running;
  for (const char* name : {".envrc", ".npmrc", ".bashrc"}) {
    running.push_back(runner
                          .run_async(brig::Command::shell(
                              "cd '" + top + "'; echo x >" + name + "; echo >began-" + name +
                              "; until test -e go; do sleep 0.02; done; echo went on"))
                          .report);
    for (int i = 0; i < 1000 && !exists(top + "/began-" + name); ++i) usleep(10'000);
  }
  EXPECT_EQ(runner.run(brig::Command::shell("echo more >>'" + top + "/.envrc'")).outcome,
            brig::Outcome::exit);
  write_file(top + "/go", "");
  for (auto& each : running) {
    const Report report = each.get();
    EXPECT_EQ(report.outcome, brig::Outcome::ok) << describe(report);
    EXPECT_EQ(report.out.bytes, "went on\n");
  }
  EXPECT_EQ(read_file(top + "/.envrc"), "x\n");
  for (int i = 0; i < 6; ++i) EXPECT_EQ(runner.run({.argv = {"true"}}).outcome, brig::Outcome::ok);
}

TEST(Escape, WhatIsProtectedAndThenRemovedOnTheHostCannotBeMadeByATool) {
  HostDirectory host;
  const std::string top = host.make("top"), path = top + "/.envrc";
  write_file(path, "original");
  Policy mixed = policy();
  mixed.files.write = {top};
  mixed.files.protect = {path};
  brig::Runner runner(mixed);
  const std::string line = "echo mine >'" + path + "'; echo >'" + top + "/ran'";
  EXPECT_EQ(runner.run(brig::Command::shell(line)).outcome, brig::Outcome::ok);
  ASSERT_EQ(read_file(path), "original");
  ASSERT_EQ(unlink(path.c_str()), 0);
  unlink((top + "/ran").c_str());
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(runner.run(brig::Command::shell(line)).outcome, brig::Outcome::internal);
  EXPECT_FALSE(exists(path));
  EXPECT_FALSE(exists(top + "/ran")) << "a tool ran while nothing was protected";
  EXPECT_THROW((void)brig::run(brig::Command::shell(line), mixed), Error);
}

TEST(Escape, NothingOfANoexecPathRuns) {
  for (const char* place : {"", ":/opt/data", ":/tmp/data"})
    for (const bool writable : {false, true}) {
      HostDirectory host;
      const std::string data = host.make("data");
      std::filesystem::copy_file("/bin/true", data + "/program");
      write_file(data + "/script", "#!/bin/sh\ntrue\n");
      for (const char* name : {"/program", "/script"}) chmod((data + name).c_str(), 0755);
      Policy listed = policy();
      (writable ? listed.files.write : listed.files.read).push_back(data + place);
      listed.files.noexec = {data};
      expect_refused(
          attack({"paths", "noexec", *place ? place + 1 : data}, listed),
          {"read the program", "execve", "execveat", "execve of a script", "map it as code",
           "map it as data", "turn that into code", "turn a changed copy into code"});
      // An interpreter reads a script as data: noexec is no guard against that.
      const Report read =
          brig::run({.argv = {"sh", (*place ? place + 1 : data) + std::string("/script")}}, listed);
      EXPECT_EQ(read.outcome, brig::Outcome::ok) << describe(read);
    }
}

TEST(Escape, AMissingOptionalPathLiftsNoRefusal) {
  HostDirectory host;
  const std::string top = host.make("p"), none = host / "none";
  host.make("p/ro");
  host.make("p/bin");
  const brig::Command command = brig::Command::shell("true");
  Policy writes = policy();
  writes.files.write = {top + ":/w"};
  writes.files.read.push_back(top + "/ro");
  Policy executes = policy();
  executes.files.read.push_back(top + ":/w");
  executes.files.read.push_back(top + "/bin");
  executes.files.noexec = {top + "/bin"};
  for (auto& [mixed, place] : {std::pair(&writes, ":/w/ro"), std::pair(&executes, ":/w/bin")}) {
    EXPECT_THROW((void)brig::run(command, *mixed), Error);
    mixed->files.read_optional = {none + place};
    EXPECT_THROW((void)brig::run(command, *mixed), Error);
    EXPECT_THROW(brig::Runner{*mixed}, Error);
  }
}

TEST(Escape, AnOptionalPathThatAppearsLaterIsNotInTheCellsOfARunner) {
  HostDirectory host;
  const std::string late = host / "late";
  Policy optional = policy();
  optional.files.read_optional.push_back(late);
  optional.files.write_optional.push_back(late + "-own:/opt/own");
  brig::Runner runner(optional, {.ready = 1});
  const auto look = brig::Command::shell("cat '" + late + "/file'; echo x >/opt/own/planted");
  EXPECT_EQ(runner.run(look).out.bytes, "");
  host.make("late");
  host.make("late-own");
  write_file(late + "/file", "appeared");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(runner.run(look).out.bytes, "");
  EXPECT_FALSE(exists(late + "-own/planted"));
  // A call of its own is made anew.
  EXPECT_EQ(brig::run(look, optional).out.bytes, "appeared");
  EXPECT_TRUE(exists(late + "-own/planted"));
}

TEST(Escape, AnOptionalPathThatIsSwappedForASymlinkLeadsNowhereElse) {
  HostDirectory host;
  const std::string secret = host.make("secret"), swapped = host / "swapped";
  write_file(secret + "/key", "the-secret");
  ASSERT_EQ(symlink(secret.c_str(), swapped.c_str()), 0);
  Policy optional = policy();
  optional.files.read_optional.push_back(swapped + ":/opt/x");
  EXPECT_THROW((void)brig::run({.argv = {"cat", "/opt/x/key"}}, optional), Error);
  std::atomic<bool> stop{false};
  std::thread swapper([&] {
    while (!stop) {
      (void)!unlink(swapped.c_str());
      (void)!mkdir(swapped.c_str(), 0755);
      (void)!rmdir(swapped.c_str());
      (void)!symlink(secret.c_str(), swapped.c_str());
    }
  });
  for (int i = 0; i < 40; ++i) {
    try {
      const Report report = brig::run({.argv = {"cat", "/opt/x/key"}}, optional);
      EXPECT_EQ(report.out.bytes.find("the-secret"), std::string::npos);
    } catch (const Error&) {  // caught in the act
    }
  }
  stop = true;
  swapper.join();
}

}  // namespace
