// `brig serve` and `brig mcp`, running: for tests of the server.
#pragma once

#include <mutex>

#include "base/time_text.h"
#include "e2e_program.h"
#include "serve_client.h"

namespace e2e {

// As the server tells a time. Such texts are in the order of their times.
inline std::string now_text() { return brig::time_text(std::chrono::system_clock::now()); }
inline bool is_between(const Json& time, const std::string& begin, const std::string& end) {
  return time.is_string() && time.get<std::string>() >= begin && time.get<std::string>() <= end;
}

// Tools for a server: greet {who}, shell {line}, nap (says "napping", sleeps for a minute), gate (says "waiting", ends
// when the test opens it), and those of libgeo.so if that is asked for.
std::string tools_manifest(const HostDirectory& host, bool library = false);
// Lets gate's calls end.
inline void open_gate(const HostDirectory& host) { write_file(host / "gate/open", ""); }

// The program, and what it says on stderr while it runs.
class Program {
 public:
  explicit Program(Brig::Options options);
  ~Program();

  pid_t pid() const { return brig_->pid(); }
  void signal(int number) const { brig_->signal(number); }
  std::string said() const;
  // Waits for it.
  [[nodiscard]] bool says(const std::string& text) const;
  // Its exit code.
  int wait(std::chrono::seconds limit = 2 * kSoon);
  bool running() const;

 private:
  void collect();

  Pipe err_;
  mutable std::mutex mutex_;
  std::string text_;
  std::atomic<bool> stop_{false};
  std::thread reader_;
  std::unique_ptr<Brig> brig_;
};

struct ServeOptions {
  std::vector<std::string> arguments;
  bool tools = false;         // those of tools_manifest; else the built-in ones
  bool library = false;       // with libgeo.so
  std::string manifest = {};  // that text, in place of those
  std::string listen = "127.0.0.1:0";
  std::string audit;  // empty: a file of its own
  std::string token;  // a file of that text
  std::vector<std::string> variables = {};
};

// A server of one test. At its end it must end in order, and leave nothing behind.
class Serve {
 public:
  explicit Serve(ServeOptions options = {});
  ~Serve();

  // Where it listens.
  Where where;
  const HostDirectory host;
  std::string manifest() const { return host / "brig.toml"; }
  std::string audit_path() const { return host / "audit.jsonl"; }
  // The lines of the audit log; audit() has those of calls that ended.
  std::vector<Json> audit_lines() const;
  std::vector<Json> audit() const;

  Client client(std::string token = "") const { return Client(where, std::move(token)); }
  // Each on a connection of its own.
  Answer get(const std::string& path, std::string token = "") const {
    return client(std::move(token)).get(path);
  }
  Answer post(const std::string& path, const Json& body, std::string token = "") const {
    return client(std::move(token)).post(path, body);
  }
  // /v1/calls, /v1/tools' names, one of /v1/status.
  Json calls(const std::string& token = "") const;
  std::vector<std::string> tools() const;
  [[nodiscard]] bool runs(std::size_t count) const;

  Program& program() { return *program_; }
  int expected_code = 0;
  // SIGTERM, and its exit code.
  int stop();

 private:
  std::unique_ptr<Program> program_;
  std::optional<int> code_;
};

// The answer to a call that sleeps, under way on a connection of its own.
Client begin_call(const Serve& serve, const std::string& tool, const std::string& token = "");

}  // namespace e2e
