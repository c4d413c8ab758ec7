// Makes the system calls of a server fail, one per run, and checks that what it then says is true.
//
//   serve_sweep [-a] [-e ERRNO] [-n NAME] [-p PART/PARTS] [-v] DIRECTORY PROGRAM FINGERPRINT
//
// PROGRAM is brig-server. It is started on a Unix socket below DIRECTORY, with a token, an audit log, a manifest and the
// built-in tools. In each run one call of one of its threads fails, with an errno that is typical for it and without
// being done. By default every place in the program that makes a call has its turn once for the start, once for
// serving and once for the end; with -a every call of a run without faults has. -p 0/3: the first third of them.
//
// A client asks without the token; calls run_command by HTTP, then by MCP, then by HTTP again; and ends the server.
// Whatever happens:
//   - a server that does not start says why and ends with 125;
//   - nobody is served without the token;
//   - an answer that says a call went well is right, to the byte, and the tool was locked as in a run without faults;
//     any other says that the server failed: an error of status 5xx, or the outcome "internal";
//   - there is no answer only if the call that failed was about the connection itself;
//   - a tool that ran is in the audit log, once, with the outcome that the client was told;
//   - the call after the fault goes well, or the server has ended with a sentence;
//   - nothing is left: no process, no socket, no cgroup, no temporary file.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "judge.h"
#include "serve_trace.h"

namespace {

using namespace faults;
using Json = nlohmann::json;

constexpr const char* kToken = "a-token-of-this-sweep";
// Seconds. A connection whose own call failed has no answer, and is waited for in vain; a server that neither starts nor
// ends is wrong, so there is no hurry to say so (a machine with much to do, and a cell that does not come for five seconds).
constexpr int kPatience = 20, kForever = 90;

struct Answer {
  int status = 0;  // 0: none, or not all of it
  std::string head, body;
  Json json() const {
    Json value = Json::parse(body, nullptr, false);
    return value.is_object() ? value : Json::object();
  }
};

// -1 if there is no server (any more).
int connect_to(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof name.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{kPatience, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0) return fd;
  close(fd);
  return -1;
}

Answer ask(int fd, const std::string& request) {
  Answer answer;
  if (fd < 0) return answer;
  std::string text;
  if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) ==
      static_cast<ssize_t>(request.size())) {
    char buffer[16384];
    for (ssize_t size; (size = recv(fd, buffer, sizeof buffer, 0)) > 0;)
      text.append(buffer, static_cast<std::size_t>(size));
  }
  close(fd);
  const std::size_t end = text.find("\r\n\r\n"), length = text.find("Content-Length: ");
  if (end == std::string::npos || length > end) return answer;
  answer.head = text.substr(0, end);
  answer.body = text.substr(end + 4);
  if (answer.body.size() == strtoull(text.c_str() + length + 16, nullptr, 10))
    answer.status = atoi(text.c_str() + 9);
  return answer;
}

std::string post(const std::string& path, const Json& body, const std::string& headers) {
  const std::string text = body.dump();
  return "POST " + path +
         " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer " + kToken +
         "\r\nContent-Type: application/json\r\n" + headers +
         "Content-Length: " + std::to_string(text.size()) + "\r\n\r\n" + text;
}

struct Call {
  std::string name;  // also of its mark, and of its call if it has one
  bool mcp = false;
  bool after_fault = false;
  Answer answer;
  // What the answer says.
  std::string outcome = {};
};

struct Paths {
  std::string directory;
  std::string operator/(const std::string& name) const { return directory + "/" + name; }
};

class Client {
 public:
  Client(const Paths& paths, std::string print) : paths_(paths), print_(std::move(print)) {}

  void operator()(Served& served) {
    const auto begin = Clock::now();
    int first = -1;
    while ((first = connect_to(paths_ / "socket")) < 0 && !served.ends_within(2))
      if (since(begin) > kForever) return end(served);
    connected = first >= 0;
    if (!connected) return;
    served.phase = Phase::serving;
    stranger = ask(first, "GET /v1/tools HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    for (Call& call : calls) {
      call.after_fault = served.faulted;
      call.answer = ask(connect_to(paths_ / "socket"), request_of(call));
    }
    end(served);
  }

  bool connected = false, killed = false;
  Answer stranger;
  std::vector<Call> calls{
      {"plain", false, false, {}}, {"mcp", true, false, {}}, {"again", false, false, {}}};

 private:
  std::string request_of(const Call& call) const {
    const Json arguments{{"command", "echo " + call.name + "; exec " + print_ + " " +
                                         (paths_ / "marks/") + call.name}};
    if (!call.mcp)
      return post("/v1/tools/run_command/call", {{"arguments", arguments}, {"call_id", call.name}},
                  "");
    const Json meta{{"io.modelcontextprotocol/protocolVersion", "2026-07-28"},
                    {"io.modelcontextprotocol/clientCapabilities", Json::object()}};
    const Json params{{"name", "run_command"}, {"arguments", arguments}, {"_meta", meta}};
    return post(
        "/mcp", {{"jsonrpc", "2.0"}, {"id", 1}, {"method", "tools/call"}, {"params", params}},
        "Accept: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
        "Mcp-Name: run_command\r\n");
  }

  void end(Served& served) {
    served.phase = Phase::end;
    // One that does not answer may be on its way out, by itself: a signal would end it before it has said why.
    const bool silent = std::any_of(calls.begin(), calls.end(),
                                    [](const Call& call) { return call.answer.status == 0; });
    if (silent && served.ends_within(10'000)) return;
    served.signal(SIGTERM);
    if (served.ends_within(kForever * 1000)) return;
    killed = true;
    served.signal(SIGKILL);
  }

  const Paths& paths_;
  const std::string print_;
};

// Calls without which there can be no answer on a connection, or none in time.
bool is_of_connection(const ServeCall& call) {
  static const std::set<std::string> kCalls{"accept4", "epoll_ctl", "mmap",  "recvfrom",
                                            "recvmsg", "sendmsg",   "sendto"};
  return call.name && call.main && kCalls.contains(call.name);
}

// What `call` is told, as its outcome; what is wrong with the answer otherwise.
std::string judge_answer(Call& call) {
  const Answer& answer = call.answer;
  const Json json = answer.json();
  if (answer.status >= 500) {
    if (answer.head.find("application/problem+json") == std::string::npos && !call.mcp)
      return "is no problem document";
    call.outcome = std::to_string(answer.status);
    return "";
  }
  if (answer.status != 200) return "blames the client";
  Json output;
  bool ok = false;
  std::string sentence;
  if (call.mcp && json.contains("error")) {
    call.outcome = "error";
    return json["error"].value("message", "").empty() ? "has no sentence" : "";
  }
  if (call.mcp) {
    const Json result = json.value("result", Json::object());
    ok = !result.value("isError", false);
    // One text, of what it printed, and nothing else.
    if (result.value("content", Json::array()).size() == 1)
      output = {{"exit_code", result.value("/_meta/brig~1exit_code"_json_pointer, -1)},
                {"stdout", result.value("/content/0/text"_json_pointer, std::string())},
                {"stderr", ""}};
    call.outcome = result.value("/_meta/brig~1outcome"_json_pointer, std::string());
    sentence = result.value("/content/0/text"_json_pointer, std::string());
  } else {
    ok = json.value("ok", false);
    output = json.value("output", Json::object());
    call.outcome = json.value("/report/outcome"_json_pointer, std::string());
    sentence = json.value("error", Json()).is_string() ? json["error"].get<std::string>() : "";
  }
  if (ok != (call.outcome == "ok")) return "contradicts itself";
  if (!ok) return sentence.empty() ? "has no sentence" : "";
  if (!output.is_object() || output.value("exit_code", -1) != 0 ||
      output.value("stdout", "") != call.name + "\n" || output.value("stderr", "-") != "")
    return "says that it went well, with a WRONG RESULT";
  return "";
}

struct Logged {
  std::map<std::string, std::vector<std::string>> outcomes;  // by the name of the call
  std::set<std::string> started;
  bool torn = false;
};

Logged audit_of(const std::string& path) {
  Logged logged;
  std::istringstream text(read_file(path));
  for (std::string line; std::getline(text, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) {
      logged.torn = true;
      continue;
    }
    const bool mcp = json.value("via", "") == "mcp";
    const std::string name = mcp ? "mcp" : json.value("call_id", "");
    if (json.value("event", "") == "start") logged.started.insert(name);
    if (json.value("event", "") == "end")
      logged.outcomes[name].push_back(json.value("outcome", ""));
  }
  return logged;
}

class Sweep {
 public:
  Sweep(std::string directory, const char* program, std::string print)
      : paths_{std::move(directory)}, print_(std::move(print)) {
    mkdir((paths_ / "marks").c_str(), 0755);
    std::ofstream(paths_ / "brig.toml")
        << "[policy]\ntimeout = '5s'\nfiles = { read = ['" << print_.substr(0, print_.rfind('/'))
        << "'], write = ['" << paths_ / "marks"
        << "'] }\n[[command]]\nname = 'nothing'\nargv = ['true']\n";
    std::ofstream(paths_ / "token") << kToken;
    chmod((paths_ / "token").c_str(), 0600);
    words_ = {program,
              "serve",
              "--builtins",
              "--manifest",
              paths_ / "brig.toml",
              "--listen",
              "unix:" + (paths_ / "socket"),
              "--token-file",
              paths_ / "token",
              "--audit",
              paths_ / "audit",
              "--concurrency",
              "1"};
    for (std::string& word : words_) argv_.push_back(word.data());
    argv_.push_back(nullptr);
    const char* tmp = getenv("TMPDIR");
    temporary_ = tmp ? tmp : "/tmp";
  }

  // False: there is no point in going on.
  bool baseline() {
    for (int i = 0; i < 2; ++i) {  // what only the first run does is of no interest
      const std::string wrong = run_once({});
      expected_ = read_file(paths_ / "marks/plain");
      if (!wrong.empty() || run_.code != 0 || expected_.empty()) {
        printf("without a fault: exit code %d: %s\n%s", run_.code, run_.err.c_str(), wrong.c_str());
        return false;
      }
    }
    return true;
  }

  // What is wrong.
  std::string run_once(const Fault& fault) {
    clean();
    const auto before = entries_of(temporary_);
    Client client(paths_, print_);
    run_ = run_server(argv_.data(), fault, [&](Served& served) { client(served); });
    std::string wrong = judge(client);
    if (access((paths_ / "socket").c_str(), F_OK) == 0) wrong += "  left: the socket\n";
    wrong += left_behind(run_.pid, temporary_, before);
    return wrong;
  }

  const ServeRun& last() const { return run_; }
  const std::string& told() const { return told_; }

 private:
  void clean() {
    for (const char* each : {"audit", "socket", "marks/plain", "marks/mcp", "marks/again"})
      unlink((paths_ / each).c_str());
  }

  std::string judge(Client& client) {
    const ServeCall& failed = run_.failed;
    const std::string name = failed.name ? failed.name : "";
    std::string wrong;
    told_.clear();
    if (client.killed) wrong += "  did not end\n";
    const bool loading = run_.err.find("error while loading shared libraries") != std::string::npos;
    if (run_.code != 0 && run_.code != 125 && !client.killed && !loading)
      wrong += "  exit code " + std::to_string(run_.code) + "\n";
    if (run_.code != 0 && run_.err.empty()) wrong += "  no sentence\n";
    if (!client.connected) {
      told_ = "did not start";
      if (run_.code == 0) wrong += "  did not start, and ended with 0\n";
    }
    if (client.stranger.status != 0 && client.stranger.status != 401 &&
        client.stranger.status < 500)
      wrong += "  ANSWERED WITHOUT THE TOKEN: " + client.stranger.body.substr(0, 200) + "\n";
    const Logged logged = audit_of(paths_ / "audit");
    if (logged.torn) wrong += "  a torn line in the audit log\n";
    for (Call& call : client.calls) {
      std::string fault = judge_call(call, logged, client.connected && run_.code == 0);
      told_ += " " + call.name + ": " + (call.outcome.empty() ? "no answer" : call.outcome);
      if (!fault.empty())
        wrong += "  " + call.name + " " + fault + ": " + std::to_string(call.answer.status) + " " +
                 call.answer.body.substr(0, 250) + "\n";
    }
    return wrong;
  }

  std::string judge_call(Call& call, const Logged& logged, bool served) const {
    const std::string mark = read_file(paths_ / ("marks/" + call.name));
    const auto lines = logged.outcomes.find(call.name);
    const std::size_t count = lines == logged.outcomes.end() ? 0 : lines->second.size();
    if (count > 1) return "is in the audit log more than once";
    if (!mark.empty() && (count == 0 || !logged.started.contains(call.name)))
      return "RAN, AND IS NOT IN THE AUDIT LOG";
    if (!mark.empty() && !expected_.empty()) {
      const char* name = run_.failed.name;
      const std::string differs =
          difference(expected_, mark, name ? harmless("host", name) : nullptr);
      if (!differs.empty()) return "RAN LOCKED OTHERWISE:\n" + differs;
    }
    if (call.answer.status == 0) {
      if (!served) return "";
      return is_of_connection(run_.failed) && !call.after_fault ? "" : "had no answer";
    }
    std::string fault = judge_answer(call);
    if (!fault.empty()) return fault;
    if (call.outcome == "ok" && mark.empty()) return "is said to have run, and did not";
    if (count == 1 && lines->second[0] != call.outcome)
      return "is in the audit log as " + lines->second[0];
    const Harmless* entry = run_.failed.name ? harmless("host", run_.failed.name) : nullptr;
    if (call.outcome == "timeout" && may_differ(entry, "@late")) return "";
    if (call.outcome != "ok" && call.outcome != "internal" && call.outcome[0] != '5' &&
        call.outcome != "error")
      return "ended as something that was not so";
    if (call.outcome != "ok" && call.after_fault) return "came after the fault, and failed";
    return "";
  }

  const Paths paths_;
  const std::string print_;
  std::vector<std::string> words_;
  std::vector<char*> argv_;
  std::string temporary_, expected_, told_;
  ServeRun run_;
};

}  // namespace

// Long, because it is the whole sweep: its words, a run without a fault, and a run with each fault.
int main(int argc, char** argv) {
  bool all = false, verbose = false;
  const char* only = nullptr;
  int error = 0, at = 1;
  unsigned part = 0, parts = 1;
  for (; at < argc && argv[at][0] == '-'; ++at) {
    if (!strcmp(argv[at], "-a")) all = true;
    if (!strcmp(argv[at], "-v")) verbose = true;
    if (!strcmp(argv[at], "-n") && at + 1 < argc) only = argv[++at];
    if (!strcmp(argv[at], "-e") && at + 1 < argc) error = atoi(argv[++at]);
    if (!strcmp(argv[at], "-p") && at + 1 < argc) {
      const char* const slash = strchr(argv[++at], '/');
      part = static_cast<unsigned>(atoi(argv[at]));
      parts = slash ? static_cast<unsigned>(atoi(slash + 1)) : 0;
    }
  }
  if (argc != at + 3 || part >= parts) return 2;
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  Sweep sweep(argv[at], argv[at + 1], argv[at + 2]);
  if (!sweep.baseline()) return 1;

  std::vector<Fault> faults;
  std::set<std::uint64_t> sites;
  std::map<std::uint64_t, int> of_site;
  const std::vector<ServeCall> calls = sweep.last().calls;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (only && strcmp(only, calls[i].name) != 0) continue;
    ++of_site[calls[i].site];
    if (all)
      faults.push_back({static_cast<int>(i) + 1, 0, error});
    else if (sites.insert(calls[i].site).second)
      faults.push_back({1, calls[i].site, error});
  }
  // After the last of these no other comes that could make up for it.
  if (!all)
    for (const ServeCall& call : calls)
      if (!strcmp(call.name, "write") && call.phase == Phase::serving && of_site[call.site] > 1)
        faults.push_back({std::exchange(of_site[call.site], 0), call.site, error});
  // By the place, which is the same in every run of the program.
  std::erase_if(faults, [&](const Fault& fault) {
    const std::uint64_t name = fault.site ? fault.site : static_cast<std::uint64_t>(fault.number);
    return (name * 0x9E37'79B9'7F4A'7C15 >> 40) % parts != part;  // its last bits are the phase
  });
  int runs = 0, refused = 0, bad = 0;
  for (const Fault& fault : faults) {
    const std::string wrong = sweep.run_once(fault);
    const ServeRun& run = sweep.last();
    if (!run.failed.name) continue;  // threads: another run makes other calls
    ++runs;
    if (run.code != 0) ++refused;
    if (!wrong.empty()) ++bad;
    if (!verbose && wrong.empty()) continue;
    printf("%s(%#llx, %#llx) of %s while %s fails with %s: exit code %d:%s\n%s%s%s",
           run.failed.name, static_cast<unsigned long long>(run.failed.detail[0]),
           static_cast<unsigned long long>(run.failed.detail[1]), run.failed.thread.c_str(),
           run.failed.phase == Phase::start     ? "starting"
           : run.failed.phase == Phase::serving ? "serving"
                                                : "ending",
           run.failed.error, run.code, sweep.told().c_str(), run.err.substr(0, 600).c_str(),
           run.err.empty() || run.err.back() == '\n' ? "" : "\n", wrong.c_str());
    fflush(stdout);
  }
  printf("%zu calls, %d faults: %d ended the server, %d wrong\n", calls.size(), runs, refused, bad);
  return bad || runs < static_cast<int>(faults.size()) / 2 ? 1 : 0;
}
