// `brig serve` as a child, and raw connections to it: for what no HTTP client would send.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../e2e_program.h"

namespace bad_input {

using namespace e2e;

// On a port of its own. What it wrote to stderr is shown if it does not end well.
class Server {
 public:
  explicit Server(std::vector<std::string> options = {});
  ~Server();

  int port() const { return port_; }
  pid_t pid() const { return brig_->pid(); }
  std::size_t descriptors() const;
  std::size_t resident() const;  // bytes
  // Asks it to stop. Its exit code.
  int stop();

 private:
  void read_log(bool to_the_end);

  Pipe log_;
  std::unique_ptr<Brig> brig_;
  std::string text_;
  int port_ = 0;
};

class Wire {
 public:
  explicit Wire(const Server& server);
  ~Wire();
  Wire(Wire&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

  // Reads what comes meanwhile, if `answers` is given. False: the other side has closed, or takes nothing for long.
  bool send(std::string_view bytes, std::string* answers = nullptr);
  // What is there. False: the connection is at its end.
  bool receive(std::string& answers);
  // All up to the end of the connection; false if that does not come.
  bool read_to_end(std::string& answers);
  // True if something is there.
  bool readable(int milliseconds) const;

 private:
  int fd_ = -1;
};

// The statuses of answers, one behind the other: -1 for what is none.
std::vector<int> statuses_of(std::string_view answers);

std::string get(std::string_view path, std::string_view headers = "");
std::string post(std::string_view path, std::string_view body);
// One request on a connection of its own: its status, -1 if there is no answer.
int ask(const Server& server, const std::string& request);

// Of a file as README.md has it.
struct Case {
  std::string name, bytes;
  std::vector<std::string> expected;
  bool closed = false;
};
std::vector<Case> cases_in(const std::string& file);
bool fits(int status, std::string_view pattern);

}  // namespace bad_input
