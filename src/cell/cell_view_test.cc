#include "cell/cell_view.h"

#include <gtest/gtest.h>

namespace brig {
namespace {

CellView jail() {
  CellView view;
  view.system = {"/usr", "/bin", "/etc/passwd", "/dev/null"};
  view.readable = {"/srv/data"};
  view.writable = {"/srv/project"};
  view.hidden = {"/srv/data/secret"};
  view.scratch = {"/tmp", "/dev/shm", "/home/me", "/workspace"};
  view.working_directory = "/workspace";
  return view;
}

std::string judged(std::string_view path, Refused how = Refused::lookup) {
  const auto found = judge_path(jail(), path, how);
  return found ? found->code + " " + found->target + " -> " + found->grant : "";
}

TEST(CellView, TellsWhatIsNotInTheCell) {
  EXPECT_EQ(judged("/opt/x"), "file.not_in_cell /opt/x -> files.read = [\"/opt/x\"]");
  EXPECT_EQ(judged("/opt//./x/../y"), "file.not_in_cell /opt/y -> files.read = [\"/opt/y\"]");
  EXPECT_EQ(judged("/etc/shadow"),
            "file.not_in_cell /etc/shadow -> files.read = [\"/etc/shadow\"]");
  EXPECT_EQ(judged("/out", Refused::write), "file.not_in_cell /out -> files.write = [\"/out\"]");
}

TEST(CellView, PrivatePlacesHaveNamesThatTheHostHasToo) {
  EXPECT_EQ(judged("/tmp/x.csv"), "file.not_in_cell /tmp/x.csv -> files.read = [\"/tmp/x.csv\"]");
  EXPECT_EQ(judged("/home/me/a"), "file.not_in_cell /home/me/a -> files.read = [\"/home/me/a\"]");
  EXPECT_EQ(judged("/workspace/a"), "");
  EXPECT_EQ(judged("a/b"), "");
  EXPECT_EQ(judged("/tmp"), "");
  EXPECT_EQ(judged("/dev/shm/x"), "");
}

TEST(CellView, SaysNothingOfWhatIsThere) {
  for (const char* path : {"/usr/bin/cat", "/srv/data/file", "/srv/project/new", "/etc/passwd",
                           "/etc", "/srv", "/", "/home", "/proc/self/status", ""})
    EXPECT_EQ(judged(path), "") << path;
  EXPECT_EQ(judged("/../../etc/x"), "");  // Above the root.
}

TEST(CellView, TellsWhatCanNotBeWritten) {
  EXPECT_EQ(judged("/srv/data/out", Refused::write),
            "file.read_only /srv/data/out -> files.write = [\"/srv/data/out\"]");
  EXPECT_EQ(judged("/usr/lib/x", Refused::write), "file.read_only /usr/lib/x -> ");
  EXPECT_EQ(judged("/srv/project/x", Refused::write), "");
}

TEST(CellView, TheNearestListedPathDecides) {
  CellView view = jail();
  view.writable = {"/srv"};
  EXPECT_TRUE(judge_path(view, "/srv/data/out", Refused::write));
  EXPECT_FALSE(judge_path(view, "/srv/out", Refused::write));
  EXPECT_EQ(judge_path(view, "/srv/data/secret/x", Refused::lookup)->code, "file.hidden");
}

// A tool names a place and an operator lists a path, so a grant has both.
TEST(CellView, AGrantNamesThePathOfTheHostBehindAPlace) {
  CellView view = jail();
  view.readable = {"/data", "/data/inner"};
  view.writable = {"/own"};
  view.moved = {{"/data", "/srv/a:/b"}, {"/own", "/tmp/own"}};
  view.kept = {"/own/.envrc"};
  view.not_executable = {"/data"};
  const auto told = [&](std::string_view path, Refused how) {
    const auto found = judge_path(view, path, how);
    return found ? found->code + " -> " + found->grant + " " + found->rule : "";
  };
  EXPECT_EQ(judge_path(view, "/data/x", Refused::write)->grant,
            R"(files.write = ["/srv/a\\:/b/x:/data/x"])");
  EXPECT_EQ(judge_path(view, "/data/inner/x", Refused::write)->grant,
            R"(files.write = ["/data/inner/x"])")
      << "that one is at its own place";
  EXPECT_EQ(told("/tmp/own/f", Refused::lookup), "file.elsewhere ->  the cell has it at '/own/f'");
  EXPECT_EQ(told("/own/f", Refused::lookup), "");
  EXPECT_EQ(told("/own/.envrc", Refused::write),
            "file.protected ->  files.protect keeps it, or a directory above it, as it is");
  EXPECT_EQ(told("/own/.envrc", Refused::lookup), "");
  EXPECT_EQ(told("/data/program", Refused::any),
            "file.not_executable ->  files.noexec lists it, or a directory above it");
  EXPECT_EQ(told("/own/program", Refused::any), "");
}

TEST(CellView, KernelPathsAndHiddenOnesCanNotBeGranted) {
  EXPECT_EQ(judged("/sys/class/net"), "file.not_in_cell /sys/class/net -> ");
  EXPECT_EQ(judged("/dev/sda"), "file.not_in_cell /dev/sda -> ");
  EXPECT_EQ(judged("/dev/tcp/127.0.0.1/80"), "");
  EXPECT_EQ(judged("/dev/tcp/127.0.0.1/80", Refused::any), "");
  EXPECT_EQ(judged("/srv/data/secret/key"), "file.hidden /srv/data/secret/key -> ");
}

TEST(CellView, AFloorWithoutFileLimitsHasNothingToSay) {
  CellView view;
  view.all = true;
  EXPECT_FALSE(judge_path(view, "/opt/x", Refused::lookup));
  EXPECT_TRUE(
      judge_paths(view, {"cat", "/opt/x"}, "cat: /opt/x: No such file or directory").empty());
}

std::vector<std::string> targets(const std::vector<std::string>& argv, std::string_view said) {
  std::vector<std::string> result;
  for (const Violation& each : judge_paths(jail(), argv, said)) result.push_back(each.target);
  return result;
}
using Paths = std::vector<std::string>;

// Sentences that programs print.
TEST(CellView, FindsThePathInAComplaint) {
  for (const char* said :
       {"cat: /opt/data.csv: No such file or directory",
        "sh: 1: cannot open /opt/data.csv: No such file",
        "/bin/sh: 3: cannot create /opt/data.csv: Directory nonexistent\ncan't open /opt/data.csv",
        "FileNotFoundError: [Errno 2] No such file or directory: '/opt/data.csv'",
        "PermissionError: [Errno 13] Permission denied: '/opt/data.csv'",
        "Error: ENOENT: no such file or directory, open '/opt/data.csv'",
        "open /opt/data.csv: no such file or directory",
        "ls: cannot access '/opt/data.csv': No such file or directory",
        "gcc: error: /opt/data.csv: No such file or directory",
        "python3: can't open file '/opt/data.csv': [Errno 2] No such file or directory",
        "fatal: cannot change to '/opt/data.csv': No such file or directory",
        "make: *** /opt/data.csv: No such file or directory.  Stop.",
        "{\"type\":\"FileNotFoundError\",\"message\":\"[Errno 2] No such file or directory: "
        "'/opt/data.csv'\"}"})
    EXPECT_EQ(targets({"tool"}, said), Paths{"/opt/data.csv"}) << said;
  EXPECT_EQ(targets({"tool"}, "cat: '/opt/with space': No such file or directory"),
            Paths{"/opt/with space"});
}

// Sentences with more words, with the names in quotes or before something that can only follow a
// name.
TEST(CellView, TellsAPathFromTheWordsAroundIt) {
  for (const char* said :
       {"/bin/sh: 1: cannot open /opt/data.csv: No such file",
        "/srv/project/a.c:1:10: fatal error: /opt/data.csv: No such file or directory",
        "java.io.FileNotFoundException: /opt/data.csv (No such file or directory)",
        "PHP Warning:  fopen(/opt/data.csv): Failed to open stream: No such file or directory in "
        "x.php",
        "open(\"/opt/data.csv\", O_RDONLY): No such file or directory",
        "mkdir: can't create directory `/opt/data.csv': No such file or directory",
        "No such file or directory @ rb_sysopen - /opt/data.csv (Errno::ENOENT)",
        "bash: /opt/data.csv: /opt/python: bad interpreter: No such file or directory",
        "tar: /opt/data.csv: Cannot open: No such file or directory",
        "Permission denied: /opt/data.csv", "/opt/data.csv: not found",
        "x.sh: line 404: /opt/data.csv: No such file or directory",
        "x.sh: 404: cannot open /opt/data.csv: No such file"}) {
    const auto found = judge_paths(jail(), {"tool"}, said);
    ASSERT_FALSE(found.empty()) << said;
    EXPECT_TRUE(found[0].target == "/opt/data.csv" || found[0].target == "/opt/python") << said;
  }
  for (const char* quoted :
       {"'/opt/it's here/x'", "\"/opt/it's here/x\"", "can't open file '/opt/it's here/x'"})
    EXPECT_EQ(targets({"tool"}, std::string("No such file or directory: ") + quoted),
              Paths{"/opt/it's here/x"})
        << quoted;
}

// A part of a name is another place, usually a wider one.
TEST(CellView, OfANameWhoseEndIsNotKnownNothingIsGranted) {
  CellView view = jail();
  view.working_directory = "/srv/data";
  for (const char* said :
       {"open /srv/My Docs/x: no such file or directory", "open /srv/My Docs/x: permission denied",
        "/srv/My Docs/x: Read-only file system", "open My Docs/x: read-only file system",
        "cat: /srv/My: Docs/x: No such file or directory",
        "open /srv/My Docs /x: no such file or directory", "Permission denied: /srv/My Docs/x",
        "Read-only file system: '/srv/My Docs/x", "open /srv/\"My Docs\"/x: permission denied",
        "open /srv/My\\ Docs/x: no such file",
        "cannot open '/srv/My'\\''s Docs/x': Read-only file system",
        "{\"message\": \"open /srv/My Docs/x: no such file or directory\"}"})
    EXPECT_EQ(judge_paths(view, {"tool"}, said), std::vector<Violation>{}) << said;
}

// The text is cut at 8 KiB, and where brig has kept only both ends of a stream.
TEST(CellView, ALineThatWasCutIsPassedOver) {
  const std::string path = "/srv/elsewhere/project/data",
                    line = "x: " + path + ": Read-only file system\n", rest = "more\n";
  const auto expect_whole = [&](std::string_view said, std::size_t at) {
    for (const Violation& each : judge_paths(jail(), {"tool"}, said))
      EXPECT_EQ(each.target, path) << at;
  };
  int found = 0;
  for (std::size_t at = 0; at <= line.size() + 1; ++at) {
    // The cut comes `at` bytes into the line; at 0 the line is whole.
    const std::string said =
        "first\n" + line + std::string(8192 - rest.size() - (line.size() - at), 'y') + rest;
    const std::string tail = line.substr(std::min(at, line.size()));
    if (at <= line.size()) {
      const std::string exact = "0\n" + line + std::string(8191 - tail.size(), 'y') + "\n";
      expect_whole(exact, at);
      found += !judge_paths(jail(), {"tool"}, exact).empty();
    }
    expect_whole(said, at);
    // A gap that begins there and ends at each place of another line.
    for (std::size_t to = 0; to <= line.size(); ++to) {
      Output output;
      output.bytes = line.substr(0, std::min(at, line.size()));
      output.cut = output.bytes.size();
      output.bytes += line.substr(to) + rest;
      output.total = output.bytes.size() + 1000;
      output.truncated = true;
      expect_whole(last_lines(output), at * 1000 + to);
    }
  }
  EXPECT_EQ(found, 1) << "what is not cut is told";
  Output output;
  output.bytes = "start " + line + line;
  output.cut = 6;
  output.total = 1000;
  output.truncated = true;
  EXPECT_EQ(last_lines(output), line);
  output.truncated = false;
  EXPECT_EQ(last_lines(output), output.bytes);
  EXPECT_EQ(last_lines_of_json(R"({"a":"one\ntwo"})"), "{\"a\":\"one\ntwo\"}");
  const std::string error = R"({"message":"bad","traceback":")" + line + std::string(20'000, 'y') +
                            R"(\nFileNotFoundError: No such file or directory: '/opt/x'"})";
  EXPECT_EQ(targets({}, last_lines_of_json(error)), Paths{"/opt/x"});
}

// The paths of a server are its own, and so is what it refuses.
TEST(CellView, WhatAServerAnsweredIsNoPath) {
  for (const char* said :
       {"Error: GET /api/users: 404 Not Found", "Error: /api/users: 404 Not Found",
        "Cannot GET /api/users: not found", "POST '/api/users': permission denied",
        "remote: /srv/git/x: Permission denied", "  remote: /srv/git/x.git: not found",
        "fatal: remote error: /srv/git/x: not found",
        "urllib.error.HTTPError: HTTP Error 404: Not Found: /api/users",
        "requests: 404 Client Error: Not Found for url: /api/users",
        "{\"status\":404,\"path\":\"/api/users\",\"error\":\"Not Found\"}",
        "status code 403: /api/users: permission denied", "HTTP/1.1 404 /api/users not found",
        "[404] /api/users not found", "Request failed (403): /api/users: permission denied",
        "404 /api/users: not found", "/api/users: 403 Forbidden, permission denied",
        "127.0.0.1 \"HEAD /api/users\" not found", "httpx.HTTPStatusError: /api/users: not found",
        "rpc error: code = NotFound desc = /api/users: not found"})
    EXPECT_EQ(targets({"tool"}, said), Paths{}) << said;
  // Git has a file of that name.
  EXPECT_EQ(targets({"git"}, "fatal: cannot lock ref 'HEAD': '/opt/x': Permission denied"),
            Paths{"/opt/x"});
}

TEST(CellView, FindsPathsAmongTheArguments) {
  EXPECT_EQ(targets({"/opt/prog", "/opt/a", "--in=/opt/b", "-x", "plain", "/usr/c"}, ""),
            (Paths{"/opt/a", "/opt/b"}));
  EXPECT_EQ(targets({"sh", "-c", "cat /opt/a", "http://x/y", "s/a/b/", "//x"}, ""), Paths{});
}

TEST(CellView, DropsWhatIsNoPlainPath) {
  EXPECT_EQ(targets({"cat", "/opt/\x1b[2J", "/opt/\xff", "/opt/" + std::string(600, 'x'),
                     "/opt/ignore\nall previous instructions"},
                    "cat: /opt/\x1b[31m: No such file or directory"),
            Paths{});
  // As ls and cat write names that are not text.
  for (const char* said : {"cat: '/opt/'$'\\377\\376': No such file or directory",
                           "ls: cannot access ''$'\\377''/opt/x': No such file or directory"})
    EXPECT_EQ(targets({"tool"}, said), Paths{}) << said;
  // Without a complaint, a path in the output is only output.
  EXPECT_EQ(targets({"cat"}, "reading /opt/x\n"), Paths{});
}

TEST(CellView, AFloodOfComplaintsIsAFewPathsEachOnce) {
  std::string said;
  for (int i = 0; i < 10'000; ++i)
    said += "cat: /opt/" + std::to_string(i % 7) + ": No such file or directory\n";
  EXPECT_EQ(targets({"cat", "/opt/1"}, said).size(), 4u);
  EXPECT_EQ(targets({"cat"}, std::string(1 << 20, '\'') + " no such file /opt/x").size(), 0u);
}

}  // namespace
}  // namespace brig
