// Who a tool is inside its cell, variables that are taken out, policies out of pipes, and presets.
#include <nlohmann/json.hpp>

#include "e2e_program.h"

namespace {

using namespace e2e;

struct stat status_of(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
  return info;
}

// --- user ---

TEST(User, IsTheIdInsideAndNeverOutside) {
  for (const std::uint32_t id : {0u, 1u, 4242u, 2147483647u}) {
    SCOPED_TRACE(id);
    Policy policy = escape::policy();
    policy.user = id;
    by_all_ways(sh("id -u; id -g; cut -c1-20 /proc/self/uid_map; touch here; stat -c %u:%g here . "
                   "~ /tmp; echo $USER"),
                policy, [&](const Report& report) {
                  const std::string own = std::to_string(id);
                  const std::string& out = report.out.bytes;
                  EXPECT_TRUE(report.ok()) << describe(report);
                  EXPECT_TRUE(out.starts_with(own + "\n" + own + "\n")) << out;
                  const std::string owner = own + ":" + own + "\n";
                  EXPECT_TRUE(contains(out, owner + owner + owner + owner)) << out;
                  EXPECT_TRUE(contains(out, id == 0 ? "\nroot\n" : "\nbrig\n")) << out;
                });
  }
}

// The host's view of the only process below `of` that is called sleep.
void expect_ids_outside(pid_t of, std::uint32_t id) {
  std::vector<pid_t> tools;
  ASSERT_TRUE(comes_true([&] { return !(tools = descendants_named(of, "sleep")).empty(); }));
  const std::string proc = "/proc/" + std::to_string(tools.front());
  const std::string status = read_file(proc + "/status");
  for (const auto& [line, map, own] :
       {std::tuple{"\nUid:", "/uid_map", geteuid()}, std::tuple{"\nGid:", "/gid_map", getegid()}}) {
    const std::size_t at = status.find(line);
    ASSERT_NE(at, std::string::npos) << status;
    std::istringstream ids(status.substr(at + strlen(line))), words(read_file(proc + map));
    std::uint64_t real = 0, effective = 0, saved = 0, filesystem = 0;
    ids >> real >> effective >> saved >> filesystem;
    EXPECT_TRUE(ids);
    if (is_root()) {
      EXPECT_NE(real, 0u) << line;
      EXPECT_NE(real, id) << line;
    } else {
      EXPECT_EQ(real, own) << line;
    }
    EXPECT_EQ((std::vector{effective, saved, filesystem}), std::vector(3, real)) << line;
    std::uint64_t inside = 0, outside = 0, count = 0;
    words >> inside >> outside >> count;
    EXPECT_TRUE(words) << map;
    EXPECT_EQ((std::vector{inside, outside, count}), (std::vector<std::uint64_t>{id, real, 1}))
        << map;
    EXPECT_FALSE(words >> count) << map << " has a second line";
  }
}

TEST(User, IsForTheHostAnIdWithoutAnyRight) {
  for (const std::uint32_t id : {0u, 1u, 4242u, 2147483647u}) {
    SCOPED_TRACE(id);
    Policy policy = escape::policy();
    policy.user = id;
    {
      Runner runner(policy, {.ready = 1});
      const auto pending = runner.run_async(argv({"sleep", "60"}));
      expect_ids_outside(getpid(), id);
      EXPECT_TRUE(runner.cancel(pending.id, true));
    }
    // And the one cell that is made directly.
    Brig brig({.arguments = {"run", "--user", std::to_string(id), "--", "sleep", "60"}});
    expect_ids_outside(brig.pid(), id);
    kill(brig.pid(), SIGTERM);
    brig.wait();
  }
}

TEST(User, RootHasNoCapabilityAndCannotBecomeAnyoneElse) {
  Policy policy = escape::policy();
  policy.user = 0;
  escape::expect_refused(attack({"namespaces", "capabilities"}, policy),
                         {"no capability at all", "capset", "empty bounding set", "raise ambient",
                          "setuid 0", "setgroups"});
  escape::expect_refused(attack({"namespaces", "prctl"}, policy),
                         {"no_new_privs is on", "securebits"});
  escape::expect_refused(attack({"proc", "changes"}, policy),
                         {"/proc/self/uid_map", "/proc/sys/user/max_user_namespaces",
                          "/proc/sys/kernel/core_pattern"});
  escape::expect_refused(attack({"mounts"}, policy), {"mount tmpfs", "chroot"});
}

TEST(User, FilesOfAWritablePathBelongToItsOwnerOutsideAndToTheToolInside) {
  const HostDirectory host;
  const std::string path = host.make("writable");
  if (is_root()) {
    ASSERT_EQ(chown(path.c_str(), 12345, 12346), 0);
  }
  const struct stat owner = status_of(path);
  Policy policy = escape::policy();
  policy.user = 0;
  policy.files.write = {path};
  by_all_ways(sh("rm -f made; cd " + path +
                 "; rm -f made; touch made; stat -c %u:%g . made; chown 0:0 made; chown 1 made"),
              policy, [&](const Report& report) {
                EXPECT_EQ(report.out.bytes, "0:0\n0:0\n") << describe(report);
                EXPECT_TRUE(contains(report.err.bytes, "Invalid argument"))
                    << "there is no other id";
                const struct stat made = status_of(path + "/made");
                EXPECT_EQ(made.st_uid, owner.st_uid);
                EXPECT_EQ(made.st_gid, owner.st_gid);
              });
}

TEST(User, RootReadsNoPrivateFileOfTheHosts) {
  if (!is_root()) GTEST_SKIP() << "what an ordinary user lists is its own";
  const HostDirectory host;
  write_file(host / "private", "secret");
  ASSERT_EQ(chmod((host / "private").c_str(), 0600), 0);
  Policy policy = escape::policy();
  policy.user = 0;
  policy.files.read.push_back(host.path());
  by_all_ways(
      sh("stat -c %u " + host / "private" + "; cat " + host / "private"), policy,
      [&](const Report& report) { EXPECT_EQ(report.out.bytes, "65534\n") << describe(report); });
}

TEST(User, IsRefusedWithoutAUserNamespace) {
  for (const brig::Isolation floor : {brig::Isolation::landlock, brig::Isolation::process}) {
    Policy policy = policy_of(floor);
    policy.user = 0;
    try {
      (void)brig::run(sh("true"), policy);
      ADD_FAILURE() << "it ran";
    } catch (const Error& error) {
      EXPECT_TRUE(contains(error.what(), "user: an id of the cell's own needs the jail floor"))
          << error.what();
      EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    }
  }
}

TEST(User, OnTheCommandLineIsRootOrANumber) {
  EXPECT_EQ(brig_program(run_sh("id -un", {"--user", "root"})).out, "root\n");
  EXPECT_EQ(brig_program(run_sh("id -u; id -un", {"--user", "77"})).out, "77\nbrig\n");
  const Result wrong = brig_program(run_sh("true", {"--user", "ana"}));
  EXPECT_EQ(wrong.code, 125);
  EXPECT_TRUE(contains(wrong.err, "--user: 'ana' is not \"root\" or a number such as 1000"))
      << wrong;
  EXPECT_EQ(brig_program(run_sh("true", {"--user", ""})).code, 125);
  const Result floor = brig_program(run_sh("true", {"--user", "0", "--isolation", "landlock"}));
  EXPECT_TRUE(contains(floor.err, "use --isolation jail, or leave it out")) << floor;
}

// --- protect ---

// As a file and as a directory; what is beside them shows that the attacks do work.
TEST(Protect, EveryDefaultNameStaysAsItIs) {
  for (const bool as_directories : {false, true}) {
    SCOPED_TRACE(as_directories ? "directories" : "files");
    const HostDirectory host;
    const std::string top = host.make("top");
    std::vector<std::string> attacked(brig::protected_names().begin(),
                                      brig::protected_names().end());
    ASSERT_GT(attacked.size(), 40u);
    attacked.insert(attacked.end(), {"beside", ".git/beside", ".config/beside"});
    const auto file_of = [&](const std::string& name) {
      return top + "/" + name + (as_directories ? "/inner" : "");
    };
    const auto make = [&](const std::string& name) {
      std::filesystem::create_directories(std::filesystem::path(file_of(name)).parent_path());
      write_file(file_of(name), "original");
    };
    for (const std::string& name : attacked) make(name);
    std::string line = "cd '" + top + "'; attack() { ";
    if (as_directories)
      line +=
          "echo x >\"$1\"/inner; echo x >>\"$1\"/inner; rm -f \"$1\"/inner; "
          "echo x >\"$1\"/new; mv \"$1\"/inner \"$1\"/moved; rm -rf \"$1\"; ";
    else
      line += "echo x >\"$1\"; echo x >>\"$1\"; rm -f \"$1\"; ln -sf /etc/passwd \"$1\"; ";
    line += "mv -T \"$1\" moved; mv -T new \"$1\"; rm -rf moved; }; ";
    for (const std::string& name : attacked)
      line += std::string(as_directories ? "mkdir -p" : "touch") + " new; attack '" + name + "'; ";
    line += "echo end";
    Policy policy = escape::policy();
    policy.files.write = {top};
    policy.files.protect = {"@default"};
    by_all_ways(sh(line), policy, [&](const Report& report) {
      EXPECT_EQ(report.out.bytes, "end\n") << describe(report);
      EXPECT_TRUE(escape::enforces(report, "protect:existing")) << describe(report);
      for (const std::string& name : attacked) {
        const bool is_beside = name.ends_with("beside");
        EXPECT_EQ(exists(file_of(name)) && read_file(file_of(name)) == "original", !is_beside)
            << name;
        if (as_directories && !is_beside) {
          EXPECT_FALSE(exists(top + "/" + name + "/new")) << name;
        }
        if (!is_beside) continue;
        std::filesystem::remove_all(top + "/" + name);
        make(name);
      }
    });
  }
}

// --- variables ---

TEST(Unset, TakesAVariableOutOnEveryFloor) {
  const Variable lang("LANG", "C.UTF-8"), own("BRIG_E2E_OWN", "1");
  for (const brig::Isolation floor : kFloors) {
    SCOPED_TRACE(to_string(floor));
    Policy policy = policy_of(floor);
    if (floor == brig::Isolation::landlock && !brig::probe().landlock) continue;
    policy.environment.passthrough = {"BRIG_E2E_OWN"};
    policy.environment.set = {{"BRIG_E2E_SET", "2"}, {"BRIG_E2E_LEFT", "3"}};
    policy.environment.unset = {"LANG",   "BRIG_E2E_OWN", "BRIG_E2E_SET",  "HOME",
                                "TMPDIR", "USER",         "BRIG_E2E_NEVER"};
    by_all_ways(argv({"/usr/bin/env"}), policy, [&](const Report& report) {
      EXPECT_TRUE(report.ok()) << describe(report);
      for (const std::string& name : policy.environment.unset)
        EXPECT_FALSE(has_line(report, name + "=")) << name << "\n" << describe(report);
      EXPECT_TRUE(has_line(report, "BRIG_E2E_LEFT=3")) << describe(report);
      EXPECT_TRUE(has_line(report, "PATH=")) << describe(report);
    });
  }
}

TEST(Unset, OnTheCommandLineIsAnOptionOfItsOwn) {
  const Result result = brig_program({"run", "--env", "A=1", "--env", "B=2", "--unset", "A",
                                      "--unset", "TERM", "--", "/usr/bin/env"},
                                     {.variables = {"TERM=dumb"}});
  EXPECT_FALSE(contains("\n" + result.out, "\nA=")) << result;
  EXPECT_FALSE(contains("\n" + result.out, "\nTERM=")) << result;
  EXPECT_TRUE(contains("\n" + result.out, "\nB=2\n")) << result;
  const Result wrong = brig_program(run_sh("true", {"--unset", "A=1"}));
  EXPECT_TRUE(contains(wrong.err, "--unset: 'A=1': '=' is not allowed")) << wrong;
}

// --- a policy out of a pipe ---

// `text` comes through the standard input of brig, by a pipe.
Result with_input(const std::string& text, std::vector<std::string> arguments) {
  Pipe pipe;
  EXPECT_EQ(write(pipe.ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  pipe.close_write();
  return brig_program(std::move(arguments), {.in = pipe.ends[0]});
}

TEST(PolicyFromAPipe, StandardInputIsAMinus) {
  const Result result = with_input("user = 77", run_sh("id -u; cat", {"--policy", "-"}));
  EXPECT_EQ(result.out, "77\n") << "and the command's own input is empty; " << result;
  EXPECT_EQ(result.code, 0);
  for (const char* name : {"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
    EXPECT_EQ(with_input("user = 77", run_sh("id -u", {"--policy", name})).out, "77\n") << name;
}

TEST(PolicyFromAPipe, SaysItsMistakesWithTheirLines) {
  const Result wrong = with_input("\nusr = 77", run_sh("true", {"--policy", "-"}));
  EXPECT_EQ(wrong.code, 125);
  EXPECT_TRUE(contains(wrong.err, "/dev/stdin:2: unknown key 'usr'; did you mean 'user'?"))
      << wrong;
}

TEST(PolicyFromAPipe, ThatIsEmptyOrNoPipeIsRefused) {
  const Result empty = with_input("", run_sh("echo ran", {"--policy", "-"}));
  EXPECT_EQ(empty.code, 125) << empty;
  EXPECT_TRUE(contains(empty.err, "it ended without any data")) << empty;
  const Result device = brig_program(run_sh("echo ran", {"--policy", "-"}));  // /dev/null
  EXPECT_EQ(device.code, 125) << device;
  EXPECT_TRUE(contains(device.err, "not a regular file or a pipe")) << device;
  EXPECT_EQ(empty.out + device.out, "");
}

TEST(PolicyFromAPipe, ThatIsTooLongIsRefusedWithoutWaitingForItsEnd) {
  Pipe pipe;
  signal(SIGPIPE, SIG_IGN);
  std::thread writer([&] {
    const std::string chunk(1 << 16, '#');
    for (int i = 0; i < 20 && write(pipe.ends[1], chunk.data(), chunk.size()) > 0; ++i) {
    }
  });
  const auto begin = Clock::now();
  std::optional<Result> result;
  {
    Brig brig({.arguments = run_sh("echo ran", {"--policy", "-"}), .in = pipe.ends[0]});
    pipe.close_read();  // so that the writer ends with it
    const int code = brig.wait();
    result = Result{code, brig.out, brig.err, 0};
  }
  writer.join();
  EXPECT_LT(since(begin), kSoon);
  EXPECT_EQ(result->code, 125) << *result;
  EXPECT_EQ(result->out, "");
}

TEST(PolicyFromAPipe, OfAShellWorksAsAFileDoes) {
  const Result result = brig_program({"run", "--policy", "/dev/null", "--", "true"});
  EXPECT_EQ(result.code, 125);
  Pipe pipe;
  dprintf(pipe.ends[1], "environment.set = { A = 'by bash' }\n");
  pipe.close_write();
  // As <(...) gives it: a descriptor that is not closed at exec.
  const int given = dup(pipe.ends[0]);
  const Result named =
      brig_program(run_sh("echo $A", {"--policy", "/dev/fd/" + std::to_string(given)}));
  close(given);
  EXPECT_EQ(named.out, "by bash\n") << named;
}

TEST(PolicyFromAPipe, IsNotWhatMcpIsSpokenThrough) {
  const Result result = with_input("user = 77", {"mcp", "--builtins", "--policy", "-"});
  EXPECT_EQ(result.code, 125) << result;
  EXPECT_TRUE(contains(result.err, "--policy -: standard input carries MCP")) << result;
}

// --- optional paths, sizes ---

TEST(OptionalPaths, OnTheCommandLineMayBeMissing) {
  const HostDirectory host;
  const std::string read = host.make("read"), written = host.make("written");
  write_file(read + "/file", "text\n");
  const std::string line = "cat " + read + "/file; echo x > " + written +
                           "/made && echo written; " + "echo x > " + read +
                           "/no && echo wrong; ls -d " + host / "no*";
  const Result result =
      brig_program(run_sh(line, {"--read-optional", read, "--read-optional", host / "none",
                                 "--write-optional", written, "--write-optional", host / "no"}));
  EXPECT_EQ(result.out, "text\nwritten\n") << result;
  EXPECT_EQ(read_file(written + "/made"), "x\n");
  for (const char* option : {"--read", "--write"}) {
    const Result refused = brig_program(run_sh("echo ran", {option, host / "none"}));
    EXPECT_EQ(refused.code, 125) << refused;
    EXPECT_EQ(refused.out, "");
  }
}

// What the cgroups of a call say, while it is under way.
std::string memory_limits_of(const std::string& size) {
  Pipe in, out;
  Brig brig({.arguments = run_sh("echo begun; read x", {"--memory", size}),
             .in = in.ends[0],
             .out = out.ends[1]});
  char line[8];
  EXPECT_EQ(read(out.ends[0], line, 6), 6);
  std::string text;
  for (const std::string& path : cgroups_of(brig.pid()))
    text += read_file(path + "/memory.max") + read_file(path + "/memory.limit_in_bytes");
  in.close_write();
  brig.wait();
  return text;
}

TEST(Sizes, OnTheCommandLineMayBeFractions) {
  const Result result = brig_program(run_sh("echo $(($(stat -f -c '%b * %S' /tmp)))",
                                            {"--memory", "1.5G", "--scratch", "1.5M", "--json"}));
  EXPECT_EQ(result.code, 0) << result;
  EXPECT_EQ(nlohmann::json::parse(result.out)["stdout"], "1572864\n") << result;
  if (has_cgroups()) {
    EXPECT_TRUE(contains(memory_limits_of("1.5G"), "1610612736"));
    EXPECT_TRUE(contains(memory_limits_of("0.5 GiB"), "536870912"));
  }
  for (const char* wrong : {"1.5", "1.5.1G", "G"}) {
    const Result refused = brig_program(run_sh("echo ran", {"--memory", wrong}));
    EXPECT_EQ(refused.code, 125) << wrong << refused;
    EXPECT_TRUE(contains(refused.err, "is not a size such as 512M or 1.5G")) << refused;
  }
}

// --- presets ---

class Preset : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(host_ / ".cargo/registry");
    std::filesystem::create_directories(host_ / ".cargo/bin");
    write_file(host_ / ".cargo/registry/crate", "a crate\n");
    write_file(host_ / ".cargo/credentials.toml", "secret\n");
    write_file(host_ / ".gitconfig", "secret\n");
    (void)!system(("chmod -R a+rX " + host_.path()).c_str());
  }
  Result brig(std::vector<std::string> arguments) const {
    return brig_program(std::move(arguments), {.variables = {"HOME=" + host_.path(),
                                                             "XDG_CACHE_HOME=" + host_ / "cache"}});
  }
  const HostDirectory host_;
};

TEST_F(Preset, ShowsWhatItListsReadOnlyAndNothingBesideIt) {
  const std::string cargo = host_ / ".cargo";
  const Result result = brig(run_sh("cat " + cargo + "/registry/crate; ls -A " + cargo + " " +
                                        host_.path() + "; touch " + cargo + "/registry/x; touch " +
                                        cargo + "/own && echo $CARGO_NET_OFFLINE",
                                    {"--preset", "rust"}));
  EXPECT_TRUE(result.out.starts_with("a crate\n")) << result;
  EXPECT_TRUE(contains(result.err, "Read-only file system")) << result;
  EXPECT_FALSE(contains(result.out, "credentials")) << result;
  EXPECT_FALSE(contains(result.out, ".gitconfig")) << result;
  EXPECT_TRUE(contains(result.out, "\ntrue\n"))
      << "what is around it is the cell's own to write; " << result;
  EXPECT_FALSE(exists(cargo + "/own"));
  EXPECT_FALSE(exists(host_ / "cache"));
}

// libgit2 before 1.6, which Debian's cargo has, knows no "*", and reads no GIT_CONFIG_COUNT.
TEST_F(Preset, RustNamesTheRepositoriesOfCargosCacheToGitInACellOfRoots) {
  const std::string cargo = host_ / ".cargo";
  for (const char* repository :
       {"git/db/own \"[a]\" \\", "git/db/hidden", "registry/index/x-1/.git"})
    for (const char* part : {"objects", "HEAD"})
      std::filesystem::create_directories(cargo + "/" + repository + "/" + part);
  (void)!system(("chmod -R a+rX " + host_.path()).c_str());
  BRIG_NEEDS(system("git --version >/dev/null 2>&1") == 0, "no git");
  const Result result = brig(run_sh("git config --system --get-all safe.directory",
                                    {"--preset", "rust", "--hide", cargo + "/git/db/hidden"}));
  // To an ordinary user's cell its own files belong.
  EXPECT_EQ(
      result.out,
      is_root() ? "*\n" + cargo + "/git/db/own \"[a]\" \\\n" + cargo + "/registry/index/x-1\n" : "")
      << result;
}

// Each is read, and does what it says in a cell.
TEST_F(Preset, AFileWithEveryNewKey) {
  const std::string data = host_.make("data"), plain = host_.make("plain"),
                    there = host_.make("there"), written = host_.make("written"),
                    optional = host_.make("optional");
  write_file(data + "/file", "of data\n");
  write_file(there + "/file", "of there\n");
  write_file(plain + "/program", "#!/bin/sh\necho it ran\n");
  chmod((plain + "/program").c_str(), 0755);
  host_.make("written/.git");
  host_.make("written/.git/hooks");
  write_file(written + "/kept", "as it was\n");
  (void)!system(("chmod -R a+rX " + host_.path()).c_str());
  write_file(host_ / "p.toml", "user = 'root'\npreset = ['rust']\n[limits]\nscratch = '1.5M'\n" +
                                   ("[files]\nread = ['" + data + ":/opt/data', '" + plain) +
                                   "']\nread_optional = ['" + there + "', '" + (host_ / "none") +
                                   "']\nwrite = ['" + written + "']\nwrite_optional = ['" +
                                   optional + ":/opt/own', '" + (host_ / "no") + "']\nnoexec = ['" +
                                   plain + "']\nprotect = ['@default', '" + written +
                                   "/kept']\n[environment]\nunset = ['LANG', 'HIDDEN']\n"
                                   "set = { HIDDEN = 'x', SHOWN = 'y' }\n");
  const std::string line =
      "id -u; cat " + (host_ / ".cargo/registry/crate") +
      "; echo $CARGO_NET_OFFLINE; "
      "echo $(($(stat -f -c '%b * %S' /tmp))); cat /opt/data/file " +
      there + "/file; ls " + data + " " + (host_ / "none") + "; " + plain + "/program || . " +
      plain + "/program; echo x > /opt/own/made; cd " + written +
      "; echo x > made; echo x > kept || cat kept; echo x > .git/hooks/made || echo no hook; "
      "echo ${LANG-no LANG} ${HIDDEN-hidden} $SHOWN";
  const Result result = brig(run_sh(line, {"--policy", host_ / "p.toml"}));
  EXPECT_EQ(result.out,
            "0\na crate\ntrue\n1572864\nof data\nof there\nit ran\nas it was\nno hook\n"
            "no LANG hidden y\n")
      << result;
  EXPECT_TRUE(contains(result.err, "Permission denied")) << "of the program; " << result;
  EXPECT_EQ(read_file(optional + "/made") + read_file(written + "/made"), "x\nx\n");
  EXPECT_EQ(read_file(written + "/kept"), "as it was\n");
  EXPECT_FALSE(exists(written + "/.git/hooks/made"));
}

TEST_F(Preset, OutOfAPolicyAndTheCommandLineAddUp) {
  write_file(host_ / "p.toml", "preset = ['git']\n[environment]\nset = { EMAIL = 'own' }\n");
  const Result result = brig(run_sh("echo $EMAIL $GIT_TERMINAL_PROMPT $PIP_NO_INDEX",
                                    {"--policy", host_ / "p.toml", "--preset", "python"}));
  EXPECT_EQ(result.out, "own 0 1\n") << result;
  const Result online =
      brig(run_sh("echo \"$PIP_NO_INDEX\"", {"--preset", "python", "--net", "host"}));
  EXPECT_EQ(online.out, "\n") << online;
}

TEST_F(Preset, ASharedCacheLastsAndAPrivateOneDoesNot) {
  const std::string line =
      "cat $GOCACHE/left $HOME/left 2>/dev/null; mkdir -p $GOCACHE; echo here >$GOCACHE/left; echo "
      "no >$HOME/left";
  for (const char* expected : {"", "here\n"}) {
    const Result result = brig(run_sh(line, {"--preset", "go:shared"}));
    EXPECT_EQ(result.out, expected) << result;
    EXPECT_EQ(result.code, 0) << result;
  }
  EXPECT_EQ(read_file(host_ / "cache/brig/presets/go/build/left"), "here\n");
  EXPECT_EQ(brig(run_sh("echo \"$GOCACHE\"; ls " + host_ / "cache", {"--preset", "go"})).out, "\n");
}

TEST_F(Preset, AWrongNameIsToldWithTheNearest) {
  for (const std::vector<std::string>& words :
       {run_sh("true", {"--preset", "pyton"}), std::vector<std::string>{"presets", "pyton"}}) {
    const Result result = brig(words);
    EXPECT_EQ(result.code, 125) << result;
    EXPECT_TRUE(contains(result.err, "'pyton': there is no such preset; did you mean 'python'?"))
        << result;
  }
}

TEST_F(Preset, ListSaysWhatEachAddsAndWhatOfItIsHere) {
  const Result text = brig({"presets"});
  EXPECT_EQ(text.code, 0) << text;
  for (const char* part : {"node  ", "python  ", "rust  ", "go  ", "java  ", "git  ",
                           "~/.cargo/registry", "CARGO_NET_OFFLINE=true", "GIT_CONFIG_VALUE_0=*"})
    EXPECT_TRUE(contains(text.out, part)) << part << text;
  EXPECT_TRUE(contains(text.out, host_ / ".cargo/registry")) << text;
  const auto json = nlohmann::json::parse(brig({"presets", "rust", "--json"}).out);
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["name"], "rust");
  EXPECT_EQ(json[0]["here"],
            (std::vector<std::string>{host_ / ".cargo/bin", host_ / ".cargo/registry"}));
  EXPECT_EQ(json[0]["offline"]["CARGO_NET_OFFLINE"], "true");
  EXPECT_EQ(nlohmann::json::parse(brig({"presets", "--json"}).out).size(), 6u);
}

TEST_F(Preset, OfARunnerIsThatOfACall) {
  const Variable home("HOME", host_.path().c_str());
  Policy policy = escape::policy();
  policy.preset = {"rust"};
  by_all_ways(sh("cat " + host_ / ".cargo/registry/crate" + "; echo $CARGO_NET_OFFLINE; touch " +
                 host_ / ".cargo/x"),
              policy, [&](const Report& report) {
                EXPECT_EQ(report.out.bytes, "a crate\ntrue\n") << describe(report);
                EXPECT_EQ(report.err.bytes, "") << describe(report);
              });
}

// What run_command of `brig mcp` with these options prints.
std::string said_to_mcp(std::vector<std::string> options, const std::string& line,
                        const std::vector<std::string>& variables) {
  const auto say = [](int id, const std::string& method, const nlohmann::json& params) {
    return nlohmann::json{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}}
               .dump() +
           "\n";
  };
  const nlohmann::json hello{{"protocolVersion", "2025-11-25"},
                             {"capabilities", nlohmann::json::object()},
                             {"clientInfo", {{"name", "test"}, {"version", "1"}}}};
  const nlohmann::json call{{"name", "run_command"}, {"arguments", {{"command", line}}}};
  Pipe in, out;
  const std::string text = say(1, "initialize", hello) +
                           R"({"jsonrpc": "2.0", "method": "notifications/initialized"})"
                           "\n" +
                           say(2, "tools/call", call);
  EXPECT_EQ(write(in.ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  options.insert(options.begin(), {"mcp", "--audit", "none"});
  Brig brig({.arguments = options, .in = in.ends[0], .out = out.ends[1], .variables = variables});
  in.close_read();
  out.close_write();
  FILE* answers = fdopen(dup(out.ends[0]), "re");
  std::string said;
  for (char each[1 << 16]; fgets(each, sizeof each, answers);) {
    const auto answer = nlohmann::json::parse(each);
    if (answer.value("id", 0) != 2) continue;
    const auto text_at = nlohmann::json::json_pointer("/result/content/0/text");
    said = answer.value(text_at, answer.dump());
    break;
  }
  fclose(answers);
  in.close_write();
  EXPECT_EQ(brig.wait(), 0) << brig.err;
  return said;
}

TEST_F(Preset, OfABuiltInToolIsAnOptionOfMcp) {
  EXPECT_EQ(said_to_mcp({"--preset", "rust", "--user", "root", "--unset", "LANG"},
                        "cat " + host_ / ".cargo/registry/crate" +
                            "; echo $CARGO_NET_OFFLINE ${LANG-none}; id -u",
                        {"HOME=" + host_.path(), "LANG=C.UTF-8"}),
            "a crate\ntrue none\n0\n");
  EXPECT_EQ(
      said_to_mcp(
          {}, "ls " + host_ / ".cargo" + " 2>&1 | wc -l; echo \"$CARGO_NET_OFFLINE\" $LANG; id -u",
          {"HOME=" + host_.path(), "LANG=C.UTF-8"}),
      "1\n C.UTF-8\n1000\n")
      << "without them";
  for (const char* option : {"--user", "--unset"}) {
    const Result both = brig({"mcp", option, "root", "--manifest", host_ / "none.toml"});
    EXPECT_TRUE(contains(both.err, std::string(option) + " and --manifest can't be combined"))
        << both;
  }
  const Result wrong = brig({"mcp", "--builtins", "--preset", "pyton"});
  EXPECT_EQ(wrong.code, 125) << wrong;
  EXPECT_TRUE(contains(wrong.err, "did you mean 'python'?")) << wrong;
}

}  // namespace
