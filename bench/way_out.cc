// What a way out through brig's proxy costs: a call that has one and does not use it, a connection,
// a large transfer, and many at once. Each beside the same without it, in one interleaved run.
// Prints one table; exit 0 always: bars are for the reader.
//   way_out ROUNDS
// It also runs itself in cells, as a client:
//   way_out connect PORT COUNT     the median of COUNT connections with one byte there and back
//   way_out fetch PORT BYTES       the microseconds for BYTES
#include <arpa/inet.h>
#include <brig/command.h>
#include <brig/policy.h>
#include <brig/report.h>
#include <brig/runner.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "race.h"

namespace {

using namespace bench;
using namespace brig::literals;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(port);
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return place;
}

// For each connection: one byte says how much is wanted. 1: that byte back; 2: as many bytes as
// the text after it says.
class Host {
 public:
  Host() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in place = loopback(0);
    socklen_t size = sizeof place;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&place), size) != 0 ||
        listen(listener_, 512) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&place), &size) != 0)
      throw std::runtime_error("a listener on 127.0.0.1 could not be made");
    port_ = ntohs(place.sin_port);
    std::thread([listener = listener_] { accept_all(listener); }).detach();
  }
  std::uint16_t port() const { return port_; }

 private:
  static void accept_all(int listener) {
    for (int socket; (socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;)
      std::thread(serve, socket).detach();
  }

  static void serve(int socket) {
    char request[32] = {};
    const ssize_t size = read(socket, request, sizeof request - 1);
    if (size > 0 && request[0] == '\x01') (void)!write(socket, request, 1);
    if (size > 0 && request[0] == '\x02') {
      static const std::vector<char> bytes(256 * 1024, 'x');
      std::uint64_t left = std::strtoull(request + 1, nullptr, 10);
      while (left > 0) {
        const ssize_t sent =
            send(socket, bytes.data(), std::min<std::uint64_t>(left, bytes.size()), MSG_NOSIGNAL);
        if (sent <= 0) break;
        left -= static_cast<std::uint64_t>(sent);
      }
    }
    close(socket);
  }

  int listener_;
  std::uint16_t port_ = 0;
};

int connected(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in place = loopback(port);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0) return fd;
  close(fd);
  return -1;
}

int client_connects(std::uint16_t port, int count) {
  Samples samples;
  for (int i = 0; i < count; ++i) {
    const auto start = Clock::now();
    const int fd = connected(port);
    char byte = '\x01';
    if (fd < 0 || write(fd, &byte, 1) != 1 || read(fd, &byte, 1) != 1) return 1;
    samples.values.push_back(micros(Clock::now() - start));
    close(fd);
  }
  std::printf("%.1f %.1f\n", samples.at(0.5), samples.at(0.99));
  return 0;
}

int client_fetches(std::uint16_t port, const char* bytes) {
  const auto start = Clock::now();
  const int fd = connected(port);
  const std::string request = std::string("\x02") + bytes;
  if (fd < 0 || write(fd, request.data(), request.size()) < 0) return 1;
  std::vector<char> place(256 * 1024);
  std::uint64_t got = 0;
  for (ssize_t size; (size = read(fd, place.data(), place.size())) > 0;)
    got += static_cast<std::uint64_t>(size);
  std::printf("%.1f\n", micros(Clock::now() - start));
  return got == std::strtoull(bytes, nullptr, 10) ? 0 : 1;
}

std::string own_path() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
  return {path, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

brig::Policy policy_for(const brig::Network& network) {
  brig::Policy policy;
  policy.network = network;
  const std::string path = own_path();
  policy.files.read = {path.substr(0, path.rfind('/')),
                       path.substr(0, path.rfind("/bin/")) + "/lib"};
  return policy;
}

void wait_ready(brig::Runner& runner) {
  for (int i = 0; runner.ready() < 1 && i < 100000; ++i)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

std::vector<double> numbers_of(const brig::Report& report) {
  if (!report.ok()) throw std::runtime_error("a client failed: " + report.message);
  std::vector<double> numbers;
  const char* at = report.out.bytes.c_str();
  for (char* end; *at; at = end) {
    numbers.push_back(std::strtod(at, &end));
    while (*end == ' ' || *end == '\n') ++end;
    if (end == at) break;
  }
  return numbers;
}

brig::Report in_cell(brig::Runner& runner, std::vector<std::string> words) {
  words.insert(words.begin(), own_path());
  return runner.run(brig::Command{words});
}

void unused(unsigned rounds, const brig::Network& proxy) {
  brig::Runner none(policy_for(brig::Network::none)), way_out(policy_for(proxy));
  brig::Policy fresh = policy_for(brig::Network::none);
  fresh.room = brig::Room::fresh;
  brig::Runner renewed(fresh);
  const auto true_in = [](brig::Runner& runner) {
    return [&runner] { return runner.run(brig::Command{{"/bin/true"}}).ok(); };
  };
  std::vector<Contender> contenders;
  contenders.push_back({.name = "network none", .run = true_in(none)});
  contenders.push_back({.name = "network none, fresh rooms", .run = true_in(renewed)});
  contenders.push_back({.name = "a way out, unused", .run = true_in(way_out)});
  race(contenders, rounds, [&] {
    for (brig::Runner* each : {&none, &renewed, &way_out}) wait_ready(*each);
  });
  const double base = contenders[0].samples.at(0.5);
  fmt::print("/bin/true at a low rate            median      p99   of none\n");
  for (Contender& each : contenders)
    fmt::print("  {:<30} {:7.0f} {:8.0f} {:9.2f}\n", each.name, each.samples.at(0.5),
               each.samples.at(0.99), each.samples.at(0.5) / base);
  for (const auto& [name, runner] :
       {std::pair{"network none", &none}, std::pair{"network none, fresh rooms", &renewed},
        std::pair{"a way out, unused", &way_out}}) {
    std::atomic<unsigned> calls{0};
    const auto until = Clock::now() + std::chrono::seconds(4);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&, runner = runner] {
        while (Clock::now() < until) calls += runner->run(brig::Command{{"/bin/true"}}).ok();
      });
    for (std::thread& each : threads) each.join();
    fmt::print("  {:<30} {:7.0f} calls/s from 4 threads\n", name, calls / 4.0);
  }
}

void connections(unsigned rounds, const Host& host, const brig::Network& proxy) {
  brig::Runner way_out(policy_for(proxy)), direct(policy_for(brig::Network::host));
  Samples through, bare;
  double through_p99 = 0, bare_p99 = 0;
  const std::string port = std::to_string(host.port());
  const std::string count = "200";
  for (unsigned i = 0; i < std::max(3u, rounds / 100); ++i) {
    const auto a = numbers_of(in_cell(way_out, {"connect", port, count}));
    const auto b = numbers_of(in_cell(direct, {"connect", port, count}));
    through.values.push_back(a.at(0)), bare.values.push_back(b.at(0));
    through_p99 = std::max(through_p99, a.at(1)), bare_p99 = std::max(bare_p99, b.at(1));
  }
  fmt::print(
      "connect, a byte there and back: {:.0f} us through the proxy (worst p99 {:.0f}), {:.0f} "
      "without (worst p99 {:.0f}): {:+.0f} us\n",
      through.at(0.5), through_p99, bare.at(0.5), bare_p99, through.at(0.5) - bare.at(0.5));
}

void transfers(const Host& host, const brig::Network& proxy) {
  brig::Runner way_out(policy_for(proxy)), direct(policy_for(brig::Network::host));
  Samples through, bare;
  const std::string port = std::to_string(host.port()), size = std::to_string(1_GiB);
  for (int i = 0; i < 5; ++i) {
    through.values.push_back(numbers_of(in_cell(way_out, {"fetch", port, size})).at(0));
    bare.values.push_back(numbers_of(in_cell(direct, {"fetch", port, size})).at(0));
  }
  fmt::print("1 GiB: {:.2f} s through the proxy, {:.2f} s without: {:.2f} of its speed\n",
             through.at(0.5) / 1e6, bare.at(0.5) / 1e6, bare.at(0.5) / through.at(0.5));
}

std::uint64_t resident() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages >> pages;
  return pages * 4096;
}

void crowd(const Host& host, const brig::Network& proxy) {
  constexpr unsigned kCells = 200;
  brig::RunnerOptions options;
  options.max_cells = kCells;
  options.ready_max = kCells;
  brig::Runner way_out(policy_for(proxy), options);
  const std::string port = std::to_string(host.port()), size = std::to_string(16_MiB);
  const std::uint64_t before = resident();
  std::atomic<std::uint64_t> peak{before};
  std::atomic<unsigned> left{kCells}, failed{0};
  std::mutex mutex;
  Samples times;
  std::vector<brig::Runner::Pending> calls;
  for (unsigned i = 0; i < kCells; ++i)
    calls.push_back(way_out.run_async(brig::Command{{own_path(), "fetch", port, size}}));
  std::thread collector([&] {
    for (auto& call : calls) {
      const brig::Report report = call.report.get();
      const std::lock_guard lock(mutex);
      if (report.ok())
        times.values.push_back(numbers_of(report).at(0));
      else
        ++failed;
      --left;
    }
  });
  while (left > 0) {
    peak = std::max<std::uint64_t>(peak, resident());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  collector.join();
  fmt::print(
      "200 cells, 16 MiB each: slowest {:.2f} s, median {:.2f} s, fastest {:.2f} s; {} failed; "
      "this process grew by {} KiB for each\n",
      times.at(1) / 1e6, times.at(0.5) / 1e6, times.at(0) / 1e6, failed.load(),
      (peak - before) / 1024 / kCells);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && !std::strcmp(argv[1], "connect"))
    return client_connects(static_cast<std::uint16_t>(std::atoi(argv[2])), std::atoi(argv[3]));
  if (argc == 4 && !std::strcmp(argv[1], "fetch"))
    return client_fetches(static_cast<std::uint16_t>(std::atoi(argv[2])), argv[3]);
  const unsigned rounds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 500;
  const Host host;
  const brig::Network proxy = brig::Network::to({"127.0.0.1:" + std::to_string(host.port())});
  unused(rounds, proxy);
  connections(rounds, host, proxy);
  transfers(host, proxy);
  crowd(host, proxy);
}
