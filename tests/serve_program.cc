#include "serve_program.h"

#include <poll.h>
#include <sys/prctl.h>

namespace e2e {

std::string tools_manifest(const HostDirectory& host, bool library) {
  const std::string gate = host.make("gate");
  std::string text = R"toml(
[policy]
timeout = "100s"
grace = "200ms"
memory = "128M"
files = { read = [")toml" +
                     gate + R"toml("] }

[[command]]
name = "greet"
description = "Greets someone."
argv = ["echo", "hello {who}"]
parameters.who = { type = "string" }
output_schema = { type = "string" }
read_only = true

[[command]]
name = "shell"
description = "Runs a line."
argv = ["sh", "-c", "{line}"]
parameters.line = { type = "string" }

[[command]]
name = "nap"
description = "Sleeps."
argv = ["sh", "-c", "echo napping; exec sleep 90"]

[[command]]
name = "gate"
description = "Ends when it may."
argv = ["sh", "-c", "echo waiting; while ! test -e ')toml" +
                     gate + R"toml(/open'; do sleep 0.02; done; echo through"]
)toml";
  if (library) text += "\n[[library]]\npath = '" + guests() + "/libgeo.so'\n";
  return text;
}

Program::Program(Brig::Options options) {
  options.err = err_.ends[1];
  // What a server leaves behind is then a child of this process.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  brig_ = std::make_unique<Brig>(options);
  ::signal(SIGPIPE, SIG_IGN);  // one that has ended takes no input
  err_.close_write();
  reader_ = std::thread([this] { collect(); });
}

Program::~Program() {
  if (running()) brig_->signal(SIGKILL);
  wait();
}

void Program::collect() {
  for (;;) {
    pollfd wait{err_.ends[0], POLLIN, 0};
    if (poll(&wait, 1, 20) == 0) {
      if (stop_) return;
      continue;
    }
    char buffer[4096];
    const ssize_t size = read(err_.ends[0], buffer, sizeof buffer);
    if (size <= 0) return;
    const std::lock_guard lock(mutex_);
    text_.append(buffer, static_cast<std::size_t>(size));
  }
}

std::string Program::said() const {
  const std::lock_guard lock(mutex_);
  return text_;
}

bool Program::says(const std::string& text) const {
  return comes_true([&] { return contains(said(), text) || !running(); }, 2 * kSoon) &&
         comes_true([&] { return contains(said(), text); }, std::chrono::seconds(1));
}

bool Program::running() const {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(brig_->pid()), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

int Program::wait(std::chrono::seconds limit) {
  const int code = brig_->wait(limit);
  stop_ = true;
  if (reader_.joinable()) reader_.join();
  return code;
}

Serve::Serve(ServeOptions options) {
  std::vector<std::string> arguments{"serve"};
  const auto add = [&](const char* name, const std::string& value) {
    arguments.insert(arguments.end(), {name, value});
  };
  if (!options.listen.empty()) add("--listen", options.listen);
  add("--audit", options.audit.empty() ? audit_path() : options.audit);
  if (options.tools || options.library || !options.manifest.empty()) {
    write_file(manifest(),
               options.manifest.empty() ? tools_manifest(host, options.library) : options.manifest);
    add("--manifest", manifest());
  }
  if (!options.token.empty()) {
    write_file(host / "token", options.token);
    chmod((host / "token").c_str(), 0600);
    add("--token-file", host / "token");
  }
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  Brig::Options started;
  started.arguments = arguments;
  started.variables = options.variables;
  program_ = std::make_unique<Program>(started);
  EXPECT_TRUE(program_->says("listening on ")) << program_->said();
  const std::string text = program_->said();
  const std::size_t at = text.find("listening on ");
  if (at == text.npos) return;
  const std::string url = text.substr(at + 13, text.find('\n', at) - at - 13);
  where.tls = url.starts_with("https:");
  if (url.starts_with("unix:"))
    where.path = url.substr(5);
  else
    where.port = static_cast<std::uint16_t>(atoi(url.c_str() + url.rfind(':') + 1));
}

int Serve::stop() {
  if (!code_) {
    if (program_->running()) program_->signal(SIGTERM);
    code_ = program_->wait();
  }
  return *code_;
}

Serve::~Serve() {
  const pid_t pid = program_->pid();
  EXPECT_EQ(stop(), expected_code) << program_->said();
  EXPECT_TRUE(comes_true([&] { return cgroups_of(pid).empty(); })) << cgroups_of(pid).front();
  EXPECT_TRUE(comes_true([] { return descendants(getpid()).empty(); }))
      << names(descendants(getpid()));
}

std::vector<Json> Serve::audit() const {
  std::vector<Json> lines = audit_lines();
  std::erase_if(lines, [](const Json& line) { return line.value("event", "") != "end"; });
  return lines;
}

std::vector<Json> Serve::audit_lines() const {
  std::vector<Json> lines;
  std::istringstream text(read_file(audit_path()));
  for (std::string line; std::getline(text, line);)
    lines.push_back(Json::parse(line, nullptr, false));
  return lines;
}

Json Serve::calls(const std::string& token) const {
  const Json answer = get("/v1/calls", token).json();
  return answer.is_object() ? answer.value("calls", Json()) : Json("no answer");
}

std::vector<std::string> Serve::tools() const {
  std::vector<std::string> list;
  const Json answer = get("/v1/tools").json();
  if (!answer.is_object()) return list;
  for (const Json& each : answer.value("tools", Json::array()))
    list.push_back(each.value("name", ""));
  return list;
}

bool Serve::runs(std::size_t count) const {
  return comes_true([&] {
    const Json list = calls();
    return list.size() == count && std::all_of(list.begin(), list.end(), [](const Json& each) {
             return each.value("status", "") == "running";
           });
  });
}

Client begin_call(const Serve& serve, const std::string& tool, const std::string& token) {
  Client client = serve.client(token);
  client.request("POST", "/v1/tools/" + tool + "/call", "{}", {{"Accept", "text/event-stream"}});
  const Answer head = client.read_head();
  EXPECT_EQ(head.status, 200) << head;
  EXPECT_TRUE(client.event("output")) << "it does not run";
  return client;
}

}  // namespace e2e
