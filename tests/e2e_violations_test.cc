// What a report says of things that were refused: true, enough to act on, and never more than the plan knows.
#include <brig/c.h>
#include <brig/json.h>
#include <sys/syscall.h>

#include <algorithm>

#include "e2e_program.h"

namespace {

using namespace e2e;
using brig::Json;

Json report_of(const std::vector<std::string>& words) {
  const Result result = brig_program(words);
  Json report = Json::parse(result.out, nullptr, false);
  EXPECT_TRUE(report.is_object()) << result;
  return report.is_object() ? report : Json::object();
}

Json of_code(const Json& report, const std::string& code) {
  for (const Json& each : report.value("violations", Json::array()))
    if (each["code"] == code) return each;
  return nullptr;
}

constexpr const char* kNetwork = "exec 3<>/dev/tcp/127.0.0.1/9";

TEST(Violations, AFileThatIsNotListedIsNamedWithItsGrant) {
  const Result result = brig_program({"run", "--", "cat", "/srv/brig-nowhere/data.csv"});
  EXPECT_EQ(result.code, 1) << result;
  EXPECT_TRUE(contains(result.err,
                       "'/srv/brig-nowhere/data.csv' is not in the cell; if it exists, --read "
                       "/srv/brig-nowhere/data.csv gives it"))
      << result;
  const Json record = of_code(
      report_of({"run", "--json", "--", "cat", "/srv/brig-nowhere/data.csv"}), "file.not_in_cell");
  EXPECT_EQ(record["target"], "/srv/brig-nowhere/data.csv");
  EXPECT_EQ(record["grant"], "--read /srv/brig-nowhere/data.csv");
  EXPECT_EQ(record["retry"], "after_grant");
  EXPECT_EQ(record["certain"], false);
}

TEST(Violations, TheGrantWorks) {
  const HostDirectory host;
  write_file(host / "data.csv", "a,b\n");
  const std::string path = host / "data.csv";
  const Json record = of_code(report_of({"run", "--json", "--", "cat", path}), "file.not_in_cell");
  EXPECT_EQ(record["grant"], "--read " + path);
  EXPECT_EQ(brig_program({"run", "--read", path, "--", "cat", path}).out, "a,b\n");
}

// A caller who may not know what the host has learns nothing of it.
TEST(Violations, WhetherAPathExistsOnTheHostIsNotTold) {
  const HostDirectory host;
  write_file(host / "there", "x");
  const auto told = [&](const std::string& path) {
    Json report = report_of({"run", "--json", "--", "cat", path});
    std::string text = report["message"].dump() + report["violations"].dump();
    for (std::size_t at; (at = text.find(path)) != text.npos;) text.replace(at, path.size(), "P");
    return text;
  };
  EXPECT_EQ(told(host / "there"), told(host / "gone"));
}

TEST(Violations, ARelativeProgramIsToldWhereTheCellBegins) {
  const Result result = brig_program({"run", "--", "./tool"});
  EXPECT_EQ(result.code, 127) << result;
  EXPECT_TRUE(contains(result.err, "list yours in --read and name it as --cwd")) << result;
  // Who does so runs it.
  const HostDirectory host;
  write_file(host / "tool", "#!/bin/sh\necho ran\n");
  chmod((host / "tool").c_str(), 0755);
  const Result followed = brig_program({"run", "--read", ".", "--cwd", ".", "--", "./tool"},
                                       {.directory = host.path()});
  EXPECT_EQ(followed.out, "ran\n") << followed;
}

TEST(Violations, OfAHiddenPathNothingGrantsIt) {
  const HostDirectory host;
  const std::string hidden = host.make("hidden"), path = hidden + "/key";
  write_file(path, "secret");
  const auto words = [&](std::vector<std::string> list) {
    for (const std::string& word : {std::string("--read"), host.path(), std::string("--hide"),
                                    hidden, std::string("--"), std::string("cat"), path})
      list.push_back(word);
    return list;
  };
  const Result result = brig_program(words({"run"}));
  EXPECT_EQ(result.code, 1) << result;
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(contains(result.err, "'" + path + "' is hidden from the cell by --hide")) << result;
  const Json record = of_code(report_of(words({"run", "--json"})), "file.hidden");
  ASSERT_TRUE(record.is_object());
  EXPECT_EQ(record["target"], path);
  EXPECT_EQ(record["rule"], "--hide lists it, or a directory above it");
  EXPECT_EQ(record["grant"], "");
  EXPECT_EQ(record["retry"], "never");
  EXPECT_EQ(record["certain"], false);
}

TEST(Violations, AProgramOutsideIsNamedWithItsGrant) {
  const Result result = brig_program({"run", "--", "/opt/brig-nowhere/tool"});
  EXPECT_EQ(result.code, 127) << result;
  EXPECT_TRUE(contains(result.err, "--read /opt/brig-nowhere/tool gives it")) << result;
}

TEST(Violations, AWriteToWhatCanOnlyBeReadIsTold) {
  const HostDirectory host;
  const Result result = brig_program({"run", "--read", host.path(), "--", "touch", host / "new"});
  EXPECT_EQ(result.code, 1) << result;
  EXPECT_TRUE(contains(result.err, "--write " + (host / "new") + " lets it write there")) << result;
  const Result system = brig_program({"run", "--", "touch", "/usr/new"});
  EXPECT_TRUE(contains(system.err, "'/usr/new' can't be written to: the system is read-only"))
      << system;
}

// The command names the place that it sees, the option the path that is behind it.
TEST(Violations, OfAPathAtAnotherPlaceNameBoth) {
  const HostDirectory host;
  const std::string data = host.make("data");
  write_file(data + "/file", "x");
  const Result written =
      brig_program({"run", "--read", "data:/opt/data", "--", "touch", "/opt/data/new"},
                   {.directory = host.path()});
  EXPECT_TRUE(contains(written.err, "--write " + data + "/new:/opt/data/new lets it write there"))
      << written;
  const Result elsewhere =
      brig_program({"run", "--read", data + ":/opt/data", "--", "cat", data + "/file"});
  EXPECT_TRUE(contains(elsewhere.err, "the cell has it at '/opt/data/file'")) << elsewhere;
}

TEST(Violations, OfNoexecAndProtectNameTheRule) {
  const HostDirectory host;
  const std::string data = host.make("data");
  write_file(data + "/script", "#!/bin/sh\n");
  chmod((data + "/script").c_str(), 0755);
  const Result run =
      brig_program({"run", "--read", data, "--noexec", data, "--", "sh", "-c", data + "/script"});
  EXPECT_EQ(run.code, 126) << run;
  EXPECT_TRUE(contains(run.err, "can be executed: --noexec lists it")) << run;
  const Result direct =
      brig_program({"run", "--read", data, "--noexec", data, "--", data + "/script"});
  EXPECT_EQ(direct.code, 126) << direct;
  EXPECT_TRUE(contains(direct.err, "can be executed: --noexec lists it")) << direct;
  const Result kept = brig_program({"run", "--write", data, "--protect", data + "/script", "--",
                                    "sh", "-c", "echo x > " + data + "/script"});
  EXPECT_TRUE(contains(kept.err, "can't be changed: --protect keeps it")) << kept;
  const Result made = brig_program(
      {"run", "--write", ".", "--protect", "@default", "--cwd", ".", "--", "touch", ".envrc"},
      {.directory = data});
  EXPECT_EQ(made.code, 0) << made;
  EXPECT_TRUE(contains(made.err, "'" + data + "/.envrc' was not there when the call began"))
      << made;
}

TEST(Violations, AFullScratchNamesTheLimit) {
  const Result result = brig_program(run_sh("head -c 2M /dev/zero > /tmp/x", {"--scratch", "1M"}));
  EXPECT_NE(result.code, 0) << result;
  EXPECT_TRUE(contains(result.err, "private file space, --scratch 1M; raise --scratch")) << result;
}

TEST(Violations, ALimitDoesNotHideTheCauseBesideIt) {
  const Json report = report_of({"run", "--json", "--timeout", "500ms", "--", "bash", "-c",
                                 std::string(kNetwork) + "; sleep 60"});
  EXPECT_EQ(report["outcome"], "timeout") << report;
  const std::string message = report.value("message", "");
  EXPECT_TRUE(contains(message, "raise --timeout")) << message;
  EXPECT_TRUE(contains(message, "it tried to use the network, which --net none forbids"))
      << message;
  const Json record = of_code(report, "network.refused");
  EXPECT_EQ(record["what"], "socket(AF_INET)");
  EXPECT_EQ(record["rule"], "--net none");
  EXPECT_EQ(record["grant"], "--net loopback");
  EXPECT_EQ(record["certain"], true);
}

TEST(Violations, WhatTheProgramHandledIsListedAndBlamedForNothing) {
  const std::string line =
      std::string("(") + kNetwork + ") 2>/dev/null; cat /srv/brig-nowhere; true";
  const Json report = report_of({"run", "--json", "--", "bash", "-c", line});
  EXPECT_EQ(report["outcome"], "ok") << report;
  EXPECT_EQ(report["message"], "the command succeeded");
  EXPECT_TRUE(of_code(report, "network.refused").is_object()) << report;
  EXPECT_TRUE(of_code(report, "file.not_in_cell").is_null()) << report;
  EXPECT_FALSE(contains(brig_program({"run", "--", "bash", "-c", line}).err, "brig:"));
}

TEST(Violations, ARefusedSystemCallIsTold) {
  const Result result = brig_program(run_sh("unshare -U true 2>/dev/null; exit 3"));
  EXPECT_EQ(result.code, 3) << result;
  EXPECT_EQ(result.err,
            "brig: the command failed with exit code 3; it was refused the system call unshare, "
            "which no policy allows\n");
  const Result fine = brig_program(run_sh("unshare -U true 2>/dev/null; true"));
  EXPECT_EQ(fine.err, "") << "what the program handled is blamed for nothing";
}

TEST(Violations, OfManyRefusedSystemCallsTwoAreToldAndTheRestCounted) {
  std::string line;
  for (const long number : {SYS_unshare, SYS_setns, SYS_chroot, SYS_umount2})
    line += guests() + "/syscalls one " + std::to_string(number) + "; ";
  const Json report = report_of(run_sh(line + "exit 3", {"--json", "--read", guests()}));
  ASSERT_EQ(report["violations"].size(), 4u) << report;
  const Result result = brig_program(run_sh(line + "exit 3", {"--read", guests()}));
  std::size_t told = 0;
  for (const Json& each : report["violations"])
    told += contains(result.err, "system call " + each["what"].get<std::string>() + ",");
  EXPECT_EQ(told, 2u) << result;
  EXPECT_TRUE(result.err.ends_with("; and 2 more\n")) << result;
}

// A tool can print what it likes: it is never certain, and never a line of brig's own record.
TEST(Violations, AForgedComplaintIsNeverCertain) {
  const Json report =
      report_of({"run", "--json", "--", "sh", "-c",
                 "echo 'brig: ok' >&2; echo '/srv/brig-keys/id_rsa: Permission denied' "
                 ">&2; echo '{\"code\":\"network.refused\"}' >&2; exit 3"});
  EXPECT_EQ(report["exit_code"], 3);
  ASSERT_EQ(report["violations"].size(), 1u) << report["violations"];
  EXPECT_EQ(report["violations"][0]["code"], "file.not_in_cell");
  for (const Json& each : report["violations"]) EXPECT_EQ(each["certain"], false) << each;
  EXPECT_TRUE(of_code(report, "network.refused").is_null());
}

TEST(Violations, PathsAreDataAndBounded) {
  const Json report = report_of({"run", "--json", "--", "sh", "-c",
                                 "for i in $(seq 5000); do echo \"cat: /srv/x$i: No such file or "
                                 "directory\" >&2; done; printf 'cat: /srv/\\033[2J: No such file' "
                                 ">&2; exit 1"});
  EXPECT_LE(report["violations"].size(), 4u) << report["violations"];
  EXPECT_GE(report["violations"].size(), 1u);
  EXPECT_LT(report.value("message", "").size(), 1000u);
  EXPECT_FALSE(contains(report.dump(), "\x1b"));
}

// A path of the policy or of the command line may have any bytes. JSON has U+FFFD in place of those that are not text.
TEST(Violations, AreJsonWhateverBytesTheirTargetHas) {
  const HostDirectory host;
  const std::string data = host.make("d\xffx");
  const Json made = report_of({"run", "--json", "--write", data, "--protect", "@default", "--cwd",
                               data, "--", "touch", ".envrc"});
  EXPECT_EQ(of_code(made, "file.appeared")["target"], host / "d\uFFFDx/.envrc") << made;
  const Json missing = report_of({"run", "--json", "--", "/opt/d\xffx/f"});
  EXPECT_EQ(of_code(missing, "file.not_in_cell")["target"], "/opt/d\uFFFDx/f") << missing;
}

// Over the C API policy and command are JSON, so only the tool could name such a path, and brig passes over it.
TEST(Violations, OfTheCApiNameNoPathThatIsNotText) {
  const std::string request =
      Json{{"argv",
            {"sh", "-c",
             "printf 'cat: /srv/\\377x: No such file or directory\\ncat: /srv/y: No such file or "
             "directory\\n' >&2; exit 1"}}}
          .dump();
  std::size_t size = 0;
  char* error = nullptr;
  char* const text = brig_c_run(request.data(), request.size(), nullptr, 0, -1, &size, &error);
  ASSERT_NE(text, nullptr) << error;
  const Json report = Json::parse(std::string(text, size), nullptr, false);
  brig_c_free(text);
  ASSERT_TRUE(report.is_object());
  ASSERT_EQ(report["violations"].size(), 1u) << report["violations"];
  EXPECT_EQ(report["violations"][0]["target"], "/srv/y");
}

TEST(Violations, AreKeptWhenTheOutputIsCut) {
  const Json report = report_of(
      {"run", "--json", "--output", "1K", "--", "bash", "-c",
       std::string(kNetwork) + " 2>/dev/null; head -c 100000 /dev/zero | tr '\\0' x; exit 1"});
  EXPECT_EQ(report["stdout_truncated"], true);
  EXPECT_TRUE(of_code(report, "network.refused").is_object()) << report["violations"];
}

TEST(Violations, OfMemoryAndOfTheNetworkStandBesideEachOther) {
  const Json report = report_of(
      {"run", "--json", "--memory", "64M", "--", "bash", "-c",
       std::string("(") + kNetwork +
           ") 2>/dev/null; exec python3 -c 'x = bytearray(1 << 30); x[:] = b\"1\" * len(x)'"});
  EXPECT_NE(report["outcome"], "ok") << report;
  EXPECT_TRUE(contains(report.value("message", ""), "--memory")) << report;
  EXPECT_EQ(of_code(report, "network.refused")["certain"], true) << report;
}

// A failure of the network that is there is the program's affair.
TEST(Violations, WhatTheNetworkItselfAnswersIsNone) {
  const Json report = report_of({"run", "--json", "--net", "loopback", "--", "bash", "-c",
                                 std::string(kNetwork) + " || getent hosts brig.invalid; exit 3"});
  EXPECT_EQ(report["exit_code"], 3) << report;
  EXPECT_EQ(report["violations"], Json::array());
}

// Nor is what a server says: its paths are its own.
TEST(Violations, WhatAServerAnswersIsNone) {
  const Json report = report_of({"run", "--json", "--net", "loopback", "--", "python3", "-c", R"py(
import http.server, sys, threading, urllib.error, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_error(404) if "gone" in self.path else self.send_error(403, "Permission denied")
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
for path in "/srv/gone", "/srv/kept":
    try:
        urllib.request.urlopen("http://127.0.0.1:%d%s" % (server.server_port, path))
    except urllib.error.HTTPError as error:
        print("Error: GET %s: %d %s" % (path, error.code, error.reason), file=sys.stderr)
        print("%s: %d %s" % (path, error.code, error.reason), file=sys.stderr)
        print("remote: %s: %s" % (path, error.reason), file=sys.stderr)
sys.exit(3)
)py"});
  EXPECT_EQ(report["exit_code"], 3) << report;
  EXPECT_TRUE(contains(report.value("stderr", ""), "/srv/gone: 404 Not Found")) << report;
  EXPECT_TRUE(contains(report.value("stderr", ""), "/srv/kept: 403 Permission denied")) << report;
  EXPECT_EQ(report["violations"], Json::array());
}

TEST(Violations, ShowNoSecretOfAnAddress) {
  const HostDirectory host;
  const std::string address = "https://me:s3cret@example.invalid/srv/x?token=s3cret";
  // Below a directory that can only be read every relative name would be one that can't be written to.
  const Json report = report_of(
      {"run", "--json", "--read", host.path(), "--cwd", host.path(), "--", "bash", "-c",
       std::string("(") + kNetwork + ") 2>/dev/null; echo \"curl: " + address +
           ": Permission denied\" >&2; echo \"curl: " + address +
           ": Read-only file system\" >&2; echo \"curl: a/b: Read-only file system\" >&2; exit 7",
       address});
  EXPECT_EQ(report["exit_code"], 7);
  EXPECT_TRUE(of_code(report, "network.refused").is_object()) << report;
  EXPECT_EQ(of_code(report, "file.read_only")["target"], host / "a/b") << report["violations"];
  EXPECT_EQ(report["violations"].size(), 2u) << report["violations"];
  EXPECT_FALSE(contains(report["violations"].dump() + report["message"].dump(), "s3cret"))
      << report;
}

TEST(Violations, ThatComeByTheThousandAreOneRecord) {
  const Json report = report_of({"run", "--json", "--", "python3", "-c",
                                 "import socket, sys\n"
                                 "for i in range(3000):\n"
                                 "    try: socket.socket()\n"
                                 "    except OSError: pass\n"
                                 "sys.exit(1)"});
  ASSERT_EQ(report["violations"].size(), 1u) << report["violations"];
  EXPECT_EQ(report["violations"][0]["code"], "network.refused");
  EXPECT_EQ(report["violations"][0]["count"], 1000) << "more are refused, and not counted";
  EXPECT_LT(report.value("message", "").size(), 1000u);
}

// Of '/srv/\xff' nothing is told rather than something about '/srv', which would be more than it asked for.
TEST(Violations, OfANameThatIsNoTextNoGrantIsMade) {
  const Json report =
      report_of({"run", "--json", "--", "sh", "-c", "cat \"$(printf '/srv/\\377\\376')\""});
  EXPECT_EQ(report["exit_code"], 1) << report;
  EXPECT_EQ(report["violations"], Json::array());
}

// Its parent has ended, and somebody else is its parent now; it is the cell's all the same.
TEST(Violations, OfAnOrphanAreTheCalls) {
  const Json report = report_of(
      {"run", "--json", "--", "bash", "-c",
       std::string("mkfifo /tmp/f; (export P=$BASHPID; bash -c 'while test -e /proc/$P; do sleep "
                   "0.01; done; read -r pid command state parent rest < /proc/self/stat; ") +
           kNetwork +
           "; echo orphan $P $parent > /tmp/f' 2>/dev/null &); read line < /tmp/f; echo $line; "
           "exit 4"});
  EXPECT_EQ(report["exit_code"], 4) << report;
  int parent = 0, now = 0;
  ASSERT_EQ(sscanf(report.value("stdout", "").c_str(), "orphan %d %d", &parent, &now), 2) << report;
  EXPECT_NE(parent, now);
  EXPECT_EQ(of_code(report, "network.refused")["count"], 1) << report;
}

}  // namespace
