// The files a command sees, through the library: listed, hidden, its own scratch, another root.
#include "e2e_support.h"

namespace {

using namespace e2e;

TEST(Files, ABadWorkingDirectoryIsAnErrorNotARunElsewhere) {
  const HostDirectory host;
  write_file(host / "file", "");
  Policy policy = escape::policy();
  policy.files.working_directory = "/no/such/place";
  EXPECT_TRUE(contains(error_of(policy, ErrorKind::config), "/no/such/place"));
  policy.files.read.push_back(host / "file");
  policy.files.working_directory = host / "file";
  EXPECT_TRUE(contains(error_of(policy, ErrorKind::config), host / "file"));
  policy.files.working_directory = "relative";
  EXPECT_TRUE(contains(error_of(policy, ErrorKind::config), "relative"));
  // Not listed: the host has it, the cell does not.
  policy.files.read = {};
  policy.files.working_directory = host.path();
  (void)error_of(policy, ErrorKind::config);
}

TEST(Files, WorkingDirectoryMayBeInsideAListedPath) {
  const HostDirectory host;
  host.make("a");
  host.make("a/b");
  Policy policy = escape::policy();
  policy.files.read.push_back(host.path());
  policy.files.working_directory = host / "a/b";
  by_all_ways(sh("pwd"), policy, [&](const Report& report) {
    EXPECT_EQ(report.out.bytes, host / "a/b\n") << describe(report);
  });
  policy.files.working_directory = "/tmp";
  EXPECT_EQ(brig::run(sh("pwd; touch x && echo writable"), policy).out.bytes, "/tmp\nwritable\n");
}

TEST(Files, ListedForReadingCanBeReadAndNotWritten) {
  const HostDirectory host;
  write_file(host / "data", "content\n");
  host.make("sub");
  Policy policy = escape::policy();
  policy.files.read.push_back(host.path());
  by_all_ways(sh("cat " + host / "data" + "; echo x > " + host / "data" + "; touch " +
                 host / "new" + "; rm " + host / "data" + "; mkdir " + host / "sub/x" + "; mv " +
                 host / "data" + " " + host / "other" + "; ls " + host.path()),
              policy, [&](const Report& report) {
                EXPECT_EQ(report.out.bytes, "content\ndata\nsub\n") << describe(report);
              });
  EXPECT_EQ(read_file(host / "data"), "content\n");
  EXPECT_FALSE(exists(host / "new"));
}

// As root too, where the tool is somebody else.
TEST(Files, APrivateFileThatIsListedByItselfIsRead) {
  const HostDirectory host;
  host.make("directory");
  for (const char* name : {"private", "directory/private"}) {
    write_file(host / name, "secret\n");
    ASSERT_EQ(chmod((host / name).c_str(), 0600), 0);
  }
  Policy policy = escape::policy();
  policy.files.read.push_back(host / "private");
  policy.files.read.push_back(host / "directory");
  by_all_ways(sh("cat " + host / "private" + "; cat " + host / "directory/private" +
                 "; echo x >> " + host / "private" + "; chmod 644 " + host / "private"),
              policy, [&](const Report& report) {
                EXPECT_EQ(report.out.bytes, is_root() ? "secret\n" : "secret\nsecret\n")
                    << describe(report);
              });
  EXPECT_EQ(read_file(host / "private"), "secret\n");
  struct stat info;
  ASSERT_EQ(stat((host / "private").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(Files, NewFilesBelongToTheOwnerOfTheDirectory) {
  const HostDirectory host;
  const std::string place = host.make("place");
  if (is_root()) {
    ASSERT_EQ(chown(place.c_str(), 12'345, 23'456), 0);
  }
  Policy policy = escape::policy();
  policy.files.write = {place};
  int round = 0;
  by_all_ways(sh("umask 022; n=" + place + "/$(ls " + place +
                 " | wc -l); echo text > $n && mkdir $n.d && ln -s x $n.l && id -u && stat -c "
                 "%u:%g $n && cat $n"),
              policy, [&](const Report& report) {
                EXPECT_EQ(report.out.bytes, "1000\n1000:1000\ntext\n") << describe(report);
                struct stat directory, info;
                ASSERT_EQ(stat(place.c_str(), &directory), 0);
                for (const char* suffix : {"", ".d", ".l"}) {
                  ASSERT_EQ(
                      lstat((place + "/" + std::to_string(3 * round) + suffix).c_str(), &info), 0);
                  EXPECT_EQ(info.st_uid, directory.st_uid);
                  EXPECT_EQ(info.st_gid, directory.st_gid);
                }
                ++round;
              });
  EXPECT_EQ(round, 3);
}

TEST(Files, AListedFileMayBeWrittenAlone) {
  const HostDirectory host;
  write_file(host / "one", "old\n");
  write_file(host / "other", "old\n");
  Policy policy = escape::policy();
  policy.files.write = {host / "one"};
  by_all_ways(sh("cat " + host / "one" + "; echo new > " + host / "one" + "; ls " + host.path()),
              policy, [&](const Report& report) {
                EXPECT_EQ(report.out.bytes, "old\none\n") << describe(report);
                EXPECT_EQ(read_file(host / "one"), "new\n");
                write_file(host / "one", "old\n");
              });
  EXPECT_EQ(read_file(host / "other"), "old\n");
}

TEST(Files, HiddenIsEmptyEvenBelowAListedPath) {
  const HostDirectory host;
  const std::string place = host.make("place");
  host.make("place/secrets");
  write_file(host / "place/secrets/key", "key");
  write_file(host / "place/password", "password");
  write_file(host / "place/open", "open\n");
  Policy policy = escape::policy();
  policy.files.hide = {place + "/secrets", place + "/password", "/usr/include"};
  const std::string look = "cat " + place + "/open; ls -A " + place +
                           "/secrets /usr/include; wc -c < " + place + "/password; touch " + place +
                           "/secrets/x 2>&1 || echo; (echo x > " + place +
                           "/password) 2>/dev/null; echo end";
  for (const bool writable : {false, true}) {
    policy.files.read = {guests()};
    policy.files.write = {};
    (writable ? policy.files.write : policy.files.read).push_back(place);
    by_all_ways(sh(look), policy, [&](const Report& report) {
      EXPECT_FALSE(contains(report.out.bytes, "key")) << describe(report);
      EXPECT_TRUE(contains(report.out.bytes, "open\n" + place + "/secrets:\n\n/usr/include:\n0\n"))
          << describe(report);
      EXPECT_FALSE(exists(place + "/secrets/x"));
      EXPECT_EQ(read_file(place + "/password"), "password");
    });
  }
}

TEST(Files, APathBelowHomeCanBeListed) {
  // A home that exists everywhere and holds something that anyone may read.
  const Variable home("HOME", "/var/lib");
  BRIG_NEEDS(exists("/var/lib/dpkg/status"), "this is not a Debian");
  Policy policy = escape::policy();
  policy.files.read.push_back("/var/lib/dpkg");
  by_all_ways(sh("echo $HOME; cd; ls; test -s dpkg/status && echo readable; touch x && echo "
                 "writable; touch dpkg/x 2>/dev/null || echo read-only"),
              policy, [](const Report& report) {
                EXPECT_EQ(report.out.bytes, "/var/lib\ndpkg\nreadable\nwritable\nread-only\n")
                    << describe(report);
              });
  EXPECT_FALSE(exists("/var/lib/x"));
  // A single file, two levels down.
  policy.files.read = {guests(), "/var/lib/dpkg/status"};
  by_all_ways(sh("cd; ls -A . dpkg; test -s dpkg/status && echo readable"), policy,
              [](const Report& report) {
                EXPECT_EQ(report.out.bytes, ".:\ndpkg\n\ndpkg:\nstatus\nreadable\n")
                    << describe(report);
              });
}

TEST(Files, APathBelowVarTmpCanBeListed) {
  char name[] = "/var/tmp/brig-e2e-XXXXXX";
  ASSERT_TRUE(mkdtemp(name));
  chmod(name, 0755);
  Policy policy = escape::policy();
  policy.files.write = {name};
  try {
    const Report report = brig::run(sh(std::string("echo hello > ") + name + "/file"), policy);
    EXPECT_EQ(report.outcome, Outcome::ok) << describe(report);
    EXPECT_EQ(read_file(std::string(name) + "/file"), "hello\n");
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
  std::filesystem::remove_all(name);
}

// Unless something is listed below it, the cell's /var/tmp is a link to its own /tmp.
TEST(Files, APathBelowVarTmpCanBeHidden) {
  char name[] = "/var/tmp/brig-e2e-XXXXXX";
  ASSERT_TRUE(mkdtemp(name));
  chmod(name, 0755);
  const std::string place = name, secret = place + "/secret";
  std::filesystem::create_directory(secret);
  write_file(secret + "/key", "key");
  const std::string look = "cat " + secret + "/key 2>/dev/null; ls -A /var/tmp; echo x > " +
                           "/var/tmp/own && cat /tmp/own && rm /tmp/own";
  Policy policy;
  for (const std::string& hidden : {secret, place, std::string("/var/tmp")}) {
    policy.files.hide = {hidden};
    by_all_ways(sh(look), policy, [](const Report& report) {
      EXPECT_EQ(report.out.bytes, "x\n") << describe(report);
    });
  }
  // The same directory, shown at another place.
  policy.files.hide = {secret};
  policy.files.read = {place + ":/opt/place"};
  by_all_ways(sh(look + "; ls -A /opt/place /opt/place/secret"), policy, [](const Report& report) {
    EXPECT_EQ(report.out.bytes, "x\n/opt/place:\nsecret\n\n/opt/place/secret:\n")
        << describe(report);
  });
  // Something beside it is listed: /var/tmp is a directory then, with nothing else in it.
  std::filesystem::create_directory(place + "/listed");
  policy.files.read = {place + "/listed"};
  by_all_ways(sh("ls -A " + place + "; cat " + secret + "/key"), policy, [](const Report& report) {
    EXPECT_EQ(report.out.bytes, "listed\n") << describe(report);
  });
  EXPECT_EQ(read_file(secret + "/key"), "key");
  std::filesystem::remove_all(name);
}

// Editors, git and linkers put a new file in the old one's place. The kernel mounts one that has no name any more
// nowhere, and cells are made long after the policy was read.
TEST(Files, AListedFileThatAnotherTookThePlaceOfIsStillTheOldOne) {
  const HostDirectory host;  // below /tmp, which is the cell's own
  const std::string file = host / "file", other = host / "other", directory = host.make("gone");
  write_file(file, "old\n");
  write_file(other, "other\n");
  Policy policy;
  policy.files.read = {file, other, directory};
  Runner runner(policy, {.ready = 1});
  for (int i = 0; i < 3; ++i) {
    const Report report = runner.run(sh("cat " + file + " " + other + "; ls -A " + directory +
                                        "; echo x >> " + file + " || echo refused"));
    EXPECT_EQ(report.out.bytes, "old\nother\nrefused\n") << describe(report);
    if (i > 0) continue;
    write_file(host / "new", "new\n");
    ASSERT_EQ(rename((host / "new").c_str(), file.c_str()), 0);
    ASSERT_EQ(rmdir(directory.c_str()), 0);
  }
  EXPECT_EQ(read_file(file), "new\n") << "nothing of the host's is changed by it";
  // A new Runner sees the new one.
  policy.files.read = {file, other};
  EXPECT_EQ(Runner(policy).run(sh("cat " + file)).out.bytes, "new\n");
}

// A read-only path below a writable one must not become writable by it.
TEST(Files, AReadOnlyFileBelowAWritablePathIsNotGivenAwayByIt) {
  const HostDirectory host;
  const std::string directory = host.make("work"), file = directory + "/file";
  write_file(file, "old\n");
  Policy policy;
  policy.files.write = {directory};
  policy.files.read = {file};
  Runner runner(policy, {.ready = 0});  // no cell is there yet but the first, which is used here
  (void)runner.run(sh("true"));
  write_file(host / "new", "new\n");
  ASSERT_EQ(rename((host / "new").c_str(), file.c_str()), 0);
  for (int i = 0; i < 3; ++i) {
    const Report report = runner.run(sh("echo x >> " + file + "; rm -f " + file));
    EXPECT_NE(report.outcome, Outcome::ok) << describe(report);
  }
  EXPECT_EQ(read_file(file), "new\n");
}

TEST(Files, TheScratchSpaceIsPrivateAndBounded) {
  Policy policy;
  policy.limits.scratch = 1_MiB;
  by_all_ways(sh("for d in /tmp /dev/shm $HOME /workspace; do test -z \"$(ls -A $d)\" && touch "
                 "$d/x && echo $d; done; rm -f /tmp/x; head -c 2000000 /dev/zero > /tmp/big "
                 "2>/tmp/why; cat /tmp/why >&2; stat -c %s /tmp/big"),
              policy, [](const Report& report) {
                EXPECT_TRUE(contains(report.out.bytes, "/tmp\n/dev/shm\n")) << describe(report);
                EXPECT_TRUE(contains(report.out.bytes, "/workspace\n")) << describe(report);
                EXPECT_FALSE(contains(report.out.bytes, "2000000")) << describe(report);
              });
  by_all_ways(sh("head -c 2000000 /dev/zero > /dev/shm/big"), policy, [](const Report& report) {
    EXPECT_EQ(report.outcome, Outcome::exit);
    EXPECT_TRUE(contains(report.err.bytes, "No space left")) << describe(report);
  });
}

TEST(Files, AnotherRootTakesThePlaceOfTheHosts) {
  const HostDirectory host;
  const std::string root = host.make("root");
  std::filesystem::copy_file(guests() + "/ending", root + "/ending");
  host.make("root/etc");
  write_file(root + "/etc/motd", "mine\n");
  Policy policy = escape::policy();
  policy.files.read = {};
  policy.files.root = root;
  by_all_ways(argv({"/ending", "exit", "5"}), policy,
              [](const Report& report) { EXPECT_EQ(report.exit_code, 5) << describe(report); });
  by_all_ways(argv({"/bin/sh", "-c", "exit 5"}), policy, [](const Report& report) {
    EXPECT_EQ(report.exec_error, ENOENT) << describe(report);
  });
}

}  // namespace
