// The server under load: an empty tool through HTTP keep-alive beside the same tool in-process; a thousand watchers; and a
// soak in which a client is killed every second.
// Usage: serve_load BRIG LIBRARY [load SECONDS | soak SECONDS]
#include <brig/sandbox.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "base/fd.h"
#include "race.h"

namespace {

using bench::Clock;
using namespace std::chrono_literals;

constexpr unsigned kConnections = 8;

// `brig serve`, on a port of its own choice.
class ServerProcess {
 public:
  ServerProcess(const std::string& brig, const std::string& library) {
    char name[] = "/tmp/brig-serve-load-XXXXXX";
    directory_ = mkdtemp(name);
    std::ofstream(directory_ + "/brig.toml") << "[[library]]\npath = \"" << library << "\"\n";
    int log[2];
    if (pipe2(log, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    pid = fork();
    if (pid == 0) {
      dup2(log[1], STDERR_FILENO);
      const std::string manifest = directory_ + "/brig.toml", audit = directory_ + "/audit.jsonl";
      execl(brig.c_str(), "brig", "serve", "--manifest", manifest.c_str(), "--listen",
            "127.0.0.1:0", "--audit", audit.c_str(), nullptr);
      _exit(127);
    }
    close(log[1]);
    log_.reset(log[0]);
    std::string text;
    char c;
    while (text.find("listening on http://127.0.0.1:") == text.npos || text.back() != '\n') {
      if (read(log_.get(), &c, 1) != 1)
        throw std::runtime_error("the server did not start: " + text);
      text.push_back(c);
    }
    port = static_cast<std::uint16_t>(std::stoi(text.substr(text.rfind(':') + 1)));
    fcntl(log_.get(), F_SETFL, O_NONBLOCK);
  }
  ~ServerProcess() {
    if (pid > 0) stop();
    std::filesystem::remove_all(directory_);
  }
  // Its wait status.
  int stop() {
    int status = -1;
    kill(pid, SIGTERM);
    waitpid(pid, &status, 0);
    pid = -1;
    return status;
  }

  pid_t pid = -1;
  std::uint16_t port = 0;

 private:
  std::string directory_;
  brig::UniqueFd log_;
};

class Client {
 public:
  explicit Client(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
      throw std::runtime_error("connect");
    const int on = 1;
    setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  void send_call(const std::string& tool, const std::string& arguments) {
    const std::string body = "{\"arguments\":" + arguments + "}";
    send_text("POST /v1/tools/" + tool +
              "/call HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
              "Content-Length: " +
              std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  void send_text(const std::string& text) {
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t size = ::send(fd_.get(), text.data() + done, text.size() - done, MSG_NOSIGNAL);
      if (size <= 0) throw std::runtime_error("send");
      done += static_cast<std::size_t>(size);
    }
  }
  // The body of the next answer.
  std::string receive() {
    std::size_t head;
    while ((head = in_.find("\r\n\r\n")) == in_.npos) more();
    const std::size_t at = in_.find("Content-Length: ");
    if (at == in_.npos || at > head) throw std::runtime_error("no length: " + in_.substr(0, head));
    const std::size_t length = std::stoul(in_.substr(at + 16));
    while (in_.size() < head + 4 + length) more();
    std::string body = in_.substr(head + 4, length);
    in_.erase(0, head + 4 + length);
    return body;
  }
  int fd() const { return fd_.get(); }
  // Without a goodbye.
  void kill() {
    const linger none{1, 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
    fd_.reset();
  }

 private:
  void more() {
    char chunk[16384];
    const ssize_t size = recv(fd_.get(), chunk, sizeof chunk, 0);
    if (size <= 0) throw std::runtime_error("the server closed the connection");
    in_.append(chunk, static_cast<std::size_t>(size));
  }
  brig::UniqueFd fd_;
  std::string in_;
};

struct Load {
  bench::Samples latencies;  // microseconds
  double per_second = 0;
  unsigned wrong = 0;
};

// `call(i)`, from as many threads, for so long.
template <typename MakeCall>
Load load(std::chrono::milliseconds time, const MakeCall& make_call) {
  Load sum;
  std::mutex mutex;
  std::vector<std::thread> threads;
  const auto begin = Clock::now();
  for (unsigned i = 0; i < kConnections; ++i)
    threads.emplace_back([&] {
      auto call = make_call();
      std::vector<double> values;
      unsigned wrong = 0;
      while (Clock::now() - begin < time) {
        const auto start = Clock::now();
        if (!call()) ++wrong;
        values.push_back(bench::micros(Clock::now() - start));
      }
      const std::lock_guard lock(mutex);
      sum.latencies.values.insert(sum.latencies.values.end(), values.begin(), values.end());
      sum.wrong += wrong;
    });
  for (std::thread& each : threads) each.join();
  sum.per_second = static_cast<double>(sum.latencies.values.size()) /
                   std::chrono::duration<double>(Clock::now() - begin).count();
  return sum;
}

Load http_load(std::uint16_t port, std::chrono::milliseconds time) {
  return load(time, [port] {
    return [client = std::make_shared<Client>(port)] {
      client->send_call("nothing", "{}");
      return client->receive().find("\"ok\":true") != std::string::npos;
    };
  });
}

void show(const char* name, Load& result) {
  fmt::print("  {:<44} {:>7.0f}/s  median {:>6.2f} ms  p99 {:>6.2f} ms  wrong {}\n", name,
             result.per_second, result.latencies.at(0.5) / 1000, result.latencies.at(0.99) / 1000,
             result.wrong);
}

// Of the whole tree below `pid`, and what one process holds.
struct Held {
  std::size_t descriptors = 0, processes = 0, threads = 0;
  long rss_kib = 0;
};
Held held_by(pid_t pid) {
  Held held;
  const std::string own = "/proc/" + std::to_string(pid);
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(own + "/fd"))
    ++held.descriptors;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(own + "/task"))
    ++held.threads;
  std::ifstream status(own + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) held.rss_kib = std::stol(line.substr(6));
  std::map<long, std::vector<long>> children;
  for (const auto& each : std::filesystem::directory_iterator("/proc")) {
    const std::string name = each.path().filename();
    if (name[0] < '0' || name[0] > '9') continue;
    std::ifstream file(each.path() / "stat");
    std::string text;
    std::getline(file, text);
    const std::size_t end = text.rfind(')');
    if (end == text.npos) continue;
    char state;
    long parent = 0;
    if (std::sscanf(text.c_str() + end + 1, " %c %ld", &state, &parent) == 2)
      children[parent].push_back(std::stol(name));
  }
  std::vector<long> todo{pid};
  while (!todo.empty()) {
    const long at = todo.back();
    todo.pop_back();
    for (const long child : children[at]) {
      ++held.processes;
      todo.push_back(child);
    }
  }
  return held;
}
void show(const char* when, const Held& held) {
  fmt::print("  {:<10} descriptors {:>5}  processes {:>4}  threads {:>3}  RSS {:>7} KiB\n", when,
             held.descriptors, held.processes, held.threads, held.rss_kib);
}

void run_load(const std::string& brig, const std::string& library, int seconds) {
  ServerProcess server(brig, library);
  brig::Toolbox tools;
  tools.add_library(library);
  brig::Sandbox box(std::move(tools));
  const auto in_process = [&](std::chrono::milliseconds time) {
    return load(time, [&box] { return [&box] { return box.call("nothing", {}).ok(); }; });
  };
  Load http, library_calls;
  const auto add = [](Load& sum, Load part) {
    sum.latencies.values.insert(sum.latencies.values.end(), part.latencies.values.begin(),
                                part.latencies.values.end());
    sum.per_second += part.per_second;
    sum.wrong += part.wrong;
  };
  in_process(500ms);
  http_load(server.port, 500ms);
  const int rounds = std::max(1, seconds);
  for (int i = 0; i < rounds; ++i) {
    add(library_calls, in_process(1s));
    std::this_thread::sleep_for(100ms);
    add(http, http_load(server.port, 1s));
    std::this_thread::sleep_for(100ms);
  }
  library_calls.per_second /= rounds;
  http.per_second /= rounds;
  fmt::print("an empty C++ tool, {} at once, {} rounds of 1 s each\n", kConnections, rounds);
  show("in-process, 8 threads", library_calls);
  show("HTTP keep-alive, 8 connections", http);
  fmt::print("  ratio {:.2f} (bar 0.7), p99 {:.2f} ms (bar 10)\n",
             http.per_second / library_calls.per_second, http.latencies.at(0.99) / 1000);

  rlimit files{8192, 8192};
  setrlimit(RLIMIT_NOFILE, &files);
  std::vector<std::unique_ptr<Client>> watchers;
  for (int i = 0; i < 1000; ++i) {
    watchers.push_back(std::make_unique<Client>(server.port));
    watchers.back()->send_text("GET /events?call_id=none HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  std::this_thread::sleep_for(1s);
  Load beside = http_load(server.port, 2s);
  show("the same beside 1,000 open event streams", beside);
  unsigned open = 0;
  for (const auto& each : watchers) {
    pollfd state{each->fd(), POLLIN | POLLRDHUP, 0};
    poll(&state, 1, 0);
    if ((state.revents & POLLIN) && !(state.revents & (POLLRDHUP | POLLERR | POLLHUP))) ++open;
  }
  fmt::print("  of these streams {} had begun and were open\n", open);
}

// Full load: every answer is checked against its question, four of which are always under way on a connection. Once a
// second a client goes in mid-call.
int run_soak(const std::string& brig, const std::string& library, int seconds) {
  ServerProcess server(brig, library);
  http_load(server.port, 2s);
  std::this_thread::sleep_for(2s);
  const Held before = held_by(server.pid);
  show("before", before);
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> calls{0}, wrong{0}, killed{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kConnections; ++i)
    threads.emplace_back([&, i] {
      Client client(server.port);
      std::uint64_t sent = 0, received = 0;
      const auto text = [&](std::uint64_t n) { return fmt::format("{}-{}", i, n); };
      const auto receive = [&] {
        const std::string body = client.receive();
        if (body.find(fmt::format("\"output\":\"{}\"", text(received++))) == body.npos) ++wrong;
        ++calls;
      };
      while (!over) {
        client.send_call("echo", fmt::format("{{\"text\":\"{}\"}}", text(sent++)));
        if (sent - received == 4) receive();
      }
      while (received < sent) receive();
    });
  const auto begin = Clock::now();
  while (Clock::now() - begin < std::chrono::seconds(seconds)) {
    Client victim(server.port);
    victim.send_call("pause", "{\"ms\":5000}");
    if (killed % 2) victim.send_call("nothing", "{}");
    std::this_thread::sleep_for(1s);
    victim.kill();
    ++killed;
  }
  over = true;
  for (std::thread& each : threads) each.join();
  std::this_thread::sleep_for(3s);
  const Held after = held_by(server.pid);
  show("after", after);
  const int status = server.stop();
  fmt::print("  {} calls in {} s, {} wrong or out of order, {} clients killed, exit status {}\n",
             calls.load(), seconds, wrong.load(), killed.load(), status);
  const bool flat =
      after.descriptors <= before.descriptors + 2 && after.threads <= before.threads + 1 &&
      after.processes <= before.processes + 2 && after.rss_kib < before.rss_kib + 16 * 1024;
  fmt::print("  {}\n", flat && wrong == 0 && status == 0 ? "nothing leaked" : "FAILED");
  return flat && wrong == 0 && status == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: serve_load BRIG LIBRARY [load SECONDS | soak SECONDS]\n");
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  const std::string what = argc > 3 ? argv[3] : "load";
  const int seconds = argc > 4 ? std::atoi(argv[4]) : 5;
  try {
    if (what == "soak") return run_soak(argv[1], argv[2], seconds);
    run_load(argv[1], argv[2], seconds);
  } catch (const std::exception& error) {
    fmt::print(stderr, "serve_load: {}\n", error.what());
    return 1;
  }
  return 0;
}
