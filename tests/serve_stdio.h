// `brig mcp` at the other end of two pipes.
#pragma once

#include <poll.h>

#include "serve_mcp.h"

namespace e2e {

// The program, and a message per line each way. All that it writes to stdout must be such a line.
class Stdio {
 public:
  explicit Stdio(const std::string& manifest = "", bool library = false) {
    write_file(path(), manifest.empty() ? tools_manifest(host, library) : manifest);
    start({"mcp", "--manifest", path(), "--audit", host / "audit.jsonl"});
  }
  // With the built-in tools, and those options.
  struct BuiltIns {
    std::vector<std::string> options = {};
  };
  explicit Stdio(const BuiltIns& builtins) {
    std::vector<std::string> arguments = {"mcp", "--audit", "none"};
    arguments.insert(arguments.end(), builtins.options.begin(), builtins.options.end());
    start(std::move(arguments));
  }
  ~Stdio() {
    const pid_t pid = program_->pid();
    EXPECT_EQ(end(), 0) << program_->said();
    EXPECT_TRUE(comes_true([&] { return cgroups_of(pid).empty(); }));
    EXPECT_TRUE(comes_true([] { return descendants(getpid()).empty(); }))
        << names(descendants(getpid()));
  }

  void send_line(const std::string& text) {
    const std::string line = text + "\n";
    EXPECT_EQ(write(in_.ends[1], line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  void send(const Json& message) { send_line(message.dump()); }

  // The next message; null if there is none (any more).
  Json next() {
    Json message = next_of_any_kind();
    if (message.is_null()) return message;
    EXPECT_TRUE(message.is_object()) << message;
    EXPECT_EQ(message.value("jsonrpc", ""), "2.0") << message;
    return message;
  }
  // The same, or a batch.
  Json next_of_any_kind() {
    std::size_t end;
    while ((end = text_.find('\n')) == text_.npos) {
      pollfd wait{out_.ends[0], POLLIN, 0};
      char buffer[65536];
      if (poll(&wait, 1, static_cast<int>(milliseconds(kSoon).count())) <= 0) return {};
      const ssize_t size = read(out_.ends[0], buffer, sizeof buffer);
      if (size <= 0) {
        EXPECT_EQ(text_, "") << "a line that does not end";
        return {};
      }
      text_.append(buffer, static_cast<std::size_t>(size));
    }
    const Json message = Json::parse(text_.substr(0, end), nullptr, false);
    EXPECT_TRUE(message.is_structured()) << text_.substr(0, end);
    text_.erase(0, end + 1);
    return message;
  }
  // The answer to that request; what comes before it is kept.
  Json answer(const Json& id) {
    for (;;) {
      Json message = next();
      if (message.is_null() || (message.contains("id") && message["id"] == id)) return message;
      before.push_back(std::move(message));
    }
  }
  Json ask(const Json& message) {
    send(message);
    return answer(message["id"]);
  }
  Json notification(const std::string& method) {
    for (;;) {
      Json message = next();
      if (message.is_null() || message.value("method", "") == method) return message;
      before.push_back(std::move(message));
    }
  }
  void open() {
    ask(initialize(0));
    send(notice("notifications/initialized"));
  }
  // A call that is under way.
  void begin(const Json& id, const std::string& marker, bool of_modern = false) {
    const Json call =
        call_of("shell", {{"line", "echo begun >&2; while :; do sleep 1; done; : " + marker}});
    send(of_modern ? modern(id, "tools/call", call) : message(id, "tools/call", call));
    EXPECT_TRUE(comes_true([&] { return !processes_with(marker).empty(); }));
  }
  // EOF, and its exit code.
  int end(std::chrono::seconds limit = kSoon) {
    in_.close_write();
    return program_->wait(limit);
  }
  Program& program() { return *program_; }
  std::string path() const { return host / "brig.toml"; }

  const HostDirectory host;
  std::vector<Json> before;

 private:
  void start(std::vector<std::string> arguments) {
    Brig::Options options;
    options.arguments = std::move(arguments);
    options.in = in_.ends[0];
    options.out = out_.ends[1];
    program_ = std::make_unique<Program>(options);
    in_.close_read();
    out_.close_write();
  }

  Pipe in_, out_;
  std::string text_;
  std::unique_ptr<Program> program_;
};

}  // namespace e2e
