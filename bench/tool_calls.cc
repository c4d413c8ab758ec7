// Calls of tools beside a bare fork. Prints one table; exit 0 always: bars are for the reader.
//   tool_calls BARE_FORK ROUNDS [warm|large|throughput|crowd]...
#include <brig/progress.h>
#include <brig/sandbox.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "race.h"

namespace {

using namespace bench;
using namespace brig::literals;
using namespace std::chrono_literals;

// The program bare_fork, running.
class BareFork {
 public:
  explicit BareFork(const char* path) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      execl(path, path, nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    ask_ = in[1];
    answer_ = fdopen(out[0], "r");
  }
  ~BareFork() {
    close(ask_);
    fclose(answer_);
    waitpid(pid_, nullptr, 0);
  }
  // Microseconds.
  double once() {
    char line[32];
    if (write(ask_, "x", 1) != 1 || !fgets(line, sizeof line, answer_)) return 0;
    return strtod(line, nullptr) / 1000;
  }

 private:
  pid_t pid_;
  int ask_;
  FILE* answer_;
};

brig::Toolbox tools() {
  brig::Toolbox tools;
  tools.add("empty", "Does nothing.", {}, [] {});
  tools.add("echo", "Gives back.", {"text"}, [](std::string text) { return text; });
  tools.add("sleep", "Sleeps.", {"ms"}, [](unsigned ms) {
    usleep(ms * 1000);
    return 1;
  });
  return tools;
}

brig::Policy policy() {
  brig::Policy policy;
  policy.limits.timeout = 60s;
  return policy;
}

void settle() { std::this_thread::sleep_for(3ms); }

void warm(BareFork& bare, unsigned rounds) {
  brig::Sandbox box(tools(), policy(), {.ready_min = 2});
  brig::Steps last{};
  std::vector<double> steps[4];
  const auto measured = std::make_shared<double>(0);
  std::vector<Contender> contenders(2);
  contenders[0].name = "bare fork, _exit, waitpid (1 MiB)";
  contenders[0].measured = measured;
  contenders[0].run = [&] { return (*measured = bare.once()) > 0; };
  contenders[1].name = "call of an empty tool";
  contenders[1].run = [&] {
    const brig::ToolResult result = box.call("empty", {});
    last = result.report.steps;
    unsigned i = 0;
    for (const auto step : {last.queue, last.dispatch, last.run, last.teardown})
      steps[i++].push_back(static_cast<double>(step.count()));
    return result.ok();
  };
  race(contenders, rounds, settle);
  table(contenders);
  const char* names[] = {"queue", "dispatch", "run", "teardown"};
  for (unsigned i = 0; i < 4; ++i) {
    Samples samples{steps[i]};
    fmt::print("  {:<42} {:>7} {:>10.0f} {:>10.0f}\n", names[i], samples.values.size(),
               samples.at(0.5), samples.at(0.99));
  }
}

void large(unsigned rounds) {
  brig::Sandbox box(tools(), policy(), {.ready_min = 2});
  std::vector<Contender> contenders(2);
  contenders[0].name = "echo of 1 byte";
  contenders[1].name = "echo of 1 MiB (there and back)";
  for (std::size_t i = 0; i < 2; ++i) {
    // The call alone: its arguments are there before, and its result is let go after.
    const auto measured = contenders[i].measured = std::make_shared<double>(0);
    contenders[i].run = [&box, measured, size = i ? 1u << 20 : 1u] {
      brig::Json arguments{{"text", std::string(size, 'x')}};
      const auto begin = Clock::now();
      const brig::ToolResult result = box.call("echo", std::move(arguments));
      *measured = micros(Clock::now() - begin);
      return result.ok() && result.output.get_ref<const std::string&>().size() == size;
    };
  }
  race(contenders, rounds, settle);
  table(contenders);
}

void throughput(const char* bare_path) {
  constexpr unsigned kThreads = 4;
  const auto rate = [](const std::function<void(unsigned)>& work) {
    std::atomic<bool> stop{false};
    std::atomic<unsigned> done{0};
    std::vector<std::thread> threads;
    const auto begin = Clock::now();
    for (unsigned i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] {
        while (!stop) {
          work(i);
          ++done;
        }
      });
    std::this_thread::sleep_for(3s);
    stop = true;
    for (std::thread& thread : threads) thread.join();
    return done / (micros(Clock::now() - begin) / 1e6);
  };
  std::vector<std::unique_ptr<BareFork>> forks;
  for (unsigned i = 0; i < kThreads; ++i) forks.push_back(std::make_unique<BareFork>(bare_path));
  brig::Sandbox box(tools(), policy(), {.concurrency = 8, .ready_min = 8});
  std::atomic<unsigned> failed{0};
  for (int round = 0; round < 3; ++round) {
    const double bare = rate([&](unsigned i) { forks[i]->once(); });
    const double calls = rate([&](unsigned) { failed += !box.call("empty", {}).ok(); });
    fmt::print("{} threads: bare fork {:.0f}/s, calls {:.0f}/s ({:.2f}x), {} failed\n", kThreads,
               bare, calls, calls / bare, failed.load());
  }
}

double memory_used_mib() {
  std::ifstream file("/proc/meminfo");
  double total = 0, available = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("MemTotal:")) total = strtod(line.c_str() + 9, nullptr);
    if (line.starts_with("MemAvailable:")) available = strtod(line.c_str() + 13, nullptr);
  }
  return (total - available) / 1024;
}

void crowd(unsigned rounds) {
  constexpr unsigned kCalls = 1000;
  brig::Sandbox box(tools(), policy(), {.concurrency = kCalls + 8, .ready_min = 2});
  const auto median_of = [&] {
    Samples samples;
    for (unsigned i = 0; i < rounds; ++i) {
      settle();
      const auto begin = Clock::now();
      if (box.call("empty", {}).ok()) samples.values.push_back(micros(Clock::now() - begin));
    }
    return samples.at(0.5);
  };
  const double alone = median_of();
  const double before = memory_used_mib();
  std::vector<std::future<brig::ToolResult>> calls;
  for (unsigned i = 0; i < kCalls; ++i) calls.push_back(box.call_async("sleep", {{"ms", 15'000}}));
  std::this_thread::sleep_for(8s);
  const double used = memory_used_mib() - before;
  const double beside = median_of();
  unsigned ok = 0;
  for (auto& call : calls) ok += call.get().ok();
  fmt::print(
      "{} sleeping calls ({} ok): {:.2f} MiB each; a call beside them {:.0f} us, alone {:.0f} us "
      "({:.2f}x)\n",
      kCalls, ok, used / kCalls, beside, alone, beside / alone);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const unsigned rounds = static_cast<unsigned>(atoi(argv[2]));
  std::set<std::string> parts(argv + 3, argv + argc);
  const auto wants = [&](const char* part) { return parts.empty() || parts.contains(part); };
  setvbuf(stdout, nullptr, _IOLBF, 0);
  if (wants("warm")) {
    BareFork bare(argv[1]);
    warm(bare, rounds);
  }
  if (wants("large")) large(rounds / 4);
  if (wants("throughput")) throughput(argv[1]);
  if (wants("crowd")) crowd(200);
}
