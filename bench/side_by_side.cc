// One interleaved run of brig beside the bare system call and its peers: in every round each
// contender runs /bin/true once, in random order, so that whatever the machine is doing hits all
// alike; and what one leaves to be done (cells to make, namespaces to take down) is waited for, so
// that none pays for another.
// Prints one table; exit 0 always: bars are for the reader, not for a test to flake on.
#include <brig/capabilities.h>
#include <brig/command.h>
#include <brig/error.h>
#include <brig/policy.h>
#include <brig/report.h>
#include <brig/runner.h>
#include <brig/seed.h>
#include <brig/version.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "race.h"

namespace {

using namespace bench;
using namespace brig::literals;

bool spawn(const std::vector<std::string>& argv) {
  std::vector<char*> raw;
  for (const std::string& each : argv) raw.push_back(const_cast<char*>(each.c_str()));
  raw.push_back(nullptr);
  pid_t pid;
  if (posix_spawn(&pid, raw[0], nullptr, nullptr, raw.data(), environ) != 0) return false;
  int status;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void wait_ready(const brig::Runner& runner, unsigned count = 1) {
  for (int i = 0; runner.ready() < count && i < 100000; ++i)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

bool installed(const char* path) { return access(path, X_OK) == 0; }

std::string first_line(const char* path, const char* prefix) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.rfind(prefix, 0) == 0) return line.substr(line.find(':') + 1);
  return " ?";
}

// What OCI runtimes start from: the host's root, read-only, and the namespaces of bubblewrap's run.
class Bundle {
 public:
  Bundle() {
    char name[] = "/tmp/brig-bench-XXXXXX";
    if (!mkdtemp(name)) throw std::runtime_error("mkdtemp in /tmp failed");
    path_ = name;
    std::ofstream(path_ + "/config.json") << R"({"ociVersion": "1.0.2", "hostname": "bench",
  "process": {"terminal": false, "user": {"uid": 0, "gid": 0}, "args": ["/bin/true"], "cwd": "/",
              "env": ["PATH=/usr/bin:/bin"], "noNewPrivileges": true},
  "root": {"path": "/", "readonly": true},
  "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
             {"destination": "/dev", "type": "tmpfs", "source": "tmpfs",
              "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]}],
  "linux": {"namespaces": [{"type": "pid"}, {"type": "network"}, {"type": "ipc"}, {"type": "uts"},
                           {"type": "mount"}]}})";
  }
  ~Bundle() {
    unlink((path_ + "/config.json").c_str());
    rmdir(path_.c_str());
  }
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  bool run(const std::string& runtime, const std::vector<std::string>& options) const {
    static unsigned count = 0;
    std::vector<std::string> argv{runtime};
    argv.insert(argv.end(), options.begin(), options.end());
    argv.insert(argv.end(),
                {"run", "--bundle", path_, fmt::format("brig-bench-{}-{}", getpid(), count++)});
    return spawn(argv);
  }

 private:
  std::string path_;
};

void machine() {
  utsname name{};
  uname(&name);
  fmt::print("machine: {} cores,{}, Linux {}, brig {}, as uid {}\n\n",
             std::thread::hardware_concurrency(), first_line("/proc/cpuinfo", "model name"),
             name.release, BRIG_VERSION, geteuid());
}

void commands(const std::string& program, unsigned rounds) {
  brig::Runner runner(brig::Policy{}, {.ready = 3});
  const brig::Command command{.argv = {"/bin/true"}};
  std::vector<Contender> contenders;
  contenders.push_back({"posix_spawn + waitpid", [] { return spawn({"/bin/true"}); }});
  contenders.push_back(
      {"brig: a ready cell (Runner::run)", [&] { return runner.run(command).ok(); }});
  contenders.push_back({"brig run -- /bin/true (cold program)", [&] {
                          return spawn({program, "run", "--", "/bin/true"});
                        }});
  if (installed("/usr/bin/bwrap"))
    contenders.push_back({"bwrap --unshare-all ...", [] {
                            return spawn({"/usr/bin/bwrap", "--unshare-all", "--ro-bind", "/", "/",
                                          "--proc", "/proc", "--dev", "/dev", "/bin/true"});
                          }});
  if (installed("/usr/bin/firejail"))
    contenders.push_back(
        {"firejail --quiet --noprofile",
         [] {
           return spawn({"/usr/bin/firejail", "--quiet", "--noprofile", "--net=none", "/bin/true"});
         },
         20});
  const Bundle bundle;
  for (const auto& [path, options] :
       {std::pair<std::string, std::vector<std::string>>{"/usr/bin/crun",
                                                         {"--cgroup-manager=disabled"}},
        {"/usr/bin/runsc", {"--network=none", "--ignore-cgroups"}},
        {"/usr/local/bin/runsc", {"--network=none", "--ignore-cgroups"}}})
    if (installed(path.c_str())) {
      const std::string name = path.substr(path.rfind('/') + 1);
      const auto run = [&bundle, path = path, options = options] {
        return bundle.run(path, options);
      };
      if (run())
        contenders.push_back({name + " run", run, 20});
      else
        fmt::print("{} is installed, but does not run here\n", name);
    }
  fmt::print("-- /bin/true, one after the other\n");
  race(contenders, rounds, [&] {
    wait_ready(runner, 3);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  });
  table(contenders);
  const auto ratio = [&](const char* name, const char* other, double quantile) {
    const auto find = [&](const char* wanted) {
      return std::find_if(contenders.begin(), contenders.end(),
                          [&](const auto& each) { return each.name.rfind(wanted, 0) == 0; });
    };
    return find(name) == contenders.end() || find(other) == contenders.end()
               ? 0
               : find(name)->samples.at(quantile) / find(other)->samples.at(quantile);
  };
  fmt::print("\nready cell / posix_spawn: median {:.2f} (bar 1.20), p99 {:.2f} (bar 2.00)\n",
             ratio("brig: a", "posix", 0.5), ratio("brig: a", "posix", 0.99));
  if (installed("/usr/bin/bwrap"))
    fmt::print("cold brig run / bwrap: median {:.2f} (bar 0.70)\n",
               ratio("brig run", "bwrap", 0.5));
}

void throughput() {
  brig::Runner runner(brig::Policy{}, {.ready = 8});
  const brig::Command command{.argv = {"/bin/true"}};
  const auto rate = [](unsigned threads, unsigned each, const std::function<bool()>& run) {
    std::atomic<unsigned> good{0};
    const auto start = Clock::now();
    std::vector<std::thread> pool;
    for (unsigned t = 0; t < threads; ++t)
      pool.emplace_back([&] {
        for (unsigned i = 0; i < each; ++i) good += run();
      });
    for (std::thread& thread : pool) thread.join();
    return static_cast<double>(good) / (micros(Clock::now() - start) / 1e6);
  };
  fmt::print("\n-- /bin/true back to back, calls/s\n");
  for (const unsigned threads : {1u, 4u}) {
    const double bare = rate(threads, 1000 / threads, [] { return spawn({"/bin/true"}); });
    const double cells = rate(threads, 1000 / threads, [&] { return runner.run(command).ok(); });
    fmt::print("{} thread(s): posix_spawn {:.0f}, brig {:.0f} ({:.2f}x)\n", threads, bare, cells,
               cells / bare);
  }
}

// The same Runner call from a small host and from one of 1 GiB.
void host_size() {
  brig::Runner runner(brig::Policy{}, {.ready = 3});
  const brig::Command command{.argv = {"/bin/true"}};
  const auto measure = [&] {
    Samples samples;
    for (int i = 0; i < 400; ++i) {
      wait_ready(runner);
      const auto start = Clock::now();
      (void)runner.run(command);
      samples.values.push_back(micros(Clock::now() - start));
    }
    return samples.at(0.5);
  };
  const double small = measure();
  const std::size_t size = 1_GiB;
  void* ballast = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(ballast, size, MADV_NOHUGEPAGE);
  std::memset(ballast, 1, size);
  const double large = measure();
  const auto start = Clock::now();
  { brig::Runner second(brig::Policy{}, {.ready = 1}); }
  const double made = micros(Clock::now() - start);
  munmap(ballast, size);
  fmt::print(
      "\n-- the host's size: median {:.0f} us small, {:.0f} us with 1 GiB resident: {:.2f} (bar "
      "1.10); a new Runner there {:.1f} ms\n",
      small, large, large / small, made / 1000);
}

std::uint64_t memory_in_use() {
  std::ifstream file("/proc/meminfo");
  std::uint64_t total = 0, available = 0;
  for (std::string key; file >> key;) {
    std::uint64_t value;
    file >> value;
    if (key == "MemTotal:") total = value;
    if (key == "MemAvailable:") available = value;
    file.ignore(64, '\n');
  }
  return (total - available) * 1024;
}

void crowd(unsigned count) {
  brig::Policy policy;
  policy.limits.timeout = std::chrono::minutes(5);
  brig::Runner runner(policy, {.ready = 4, .max_cells = count + 64});
  const brig::Command quick{.argv = {"/bin/true"}};
  const auto measure = [&] {
    Samples samples;
    for (int i = 0; i < 200; ++i) {
      wait_ready(runner, 2);
      const auto start = Clock::now();
      (void)runner.run(quick);
      samples.values.push_back(micros(Clock::now() - start));
    }
    return samples.at(0.5);
  };
  const double alone = measure();
  const std::uint64_t before = memory_in_use();
  std::vector<brig::Runner::Pending> sleeping;
  const auto start = Clock::now();
  for (unsigned i = 0; i < count; ++i)
    sleeping.push_back(runner.run_async({.argv = {"/bin/sleep", "200"}}));
  wait_ready(runner, 2);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  wait_ready(runner, 2);
  const double ramp = micros(Clock::now() - start) / 1e6;
  const double each = static_cast<double>(memory_in_use() - before) / count / (1 << 20);
  const double beside = measure();
  for (const auto& pending : sleeping) runner.cancel(pending.id);
  unsigned cancelled = 0;
  for (auto& pending : sleeping)
    cancelled += pending.report.get().outcome == brig::Outcome::cancelled;
  fmt::print(
      "\n-- {} commands asleep at once ({} were cancelled at the end): all started in {:.2f} s, "
      "{:.2f} MiB each (bar 1.50);\n   a call beside them {:.0f} us, alone {:.0f} us: {:.2f} (bar "
      "2.00)\n",
      count, cancelled, ramp, each, beside, alone, beside / alone);
}

void flood() {
  brig::Policy policy;
  policy.limits.timeout = std::chrono::minutes(2);
  brig::Runner runner(policy, {.ready = 1});
  for (const char* line : {"head -c 4294967296 /dev/zero", "yes | head -c 4294967296"}) {
    const auto start = Clock::now();
    const brig::Report report = runner.run(brig::Command::shell(line));
    const double seconds = micros(Clock::now() - start) / 1e6;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    fmt::print(
        "{}-- output of `{}`: {} bytes counted, {} kept, {:.2f} GiB/s (bar 1.00); host's peak {} "
        "MiB\n",
        line[0] == 'h' ? "\n" : "", line, report.out.total, report.out.bytes.size(),
        static_cast<double>(report.out.total) / seconds / (1 << 30), usage.ru_maxrss / 1024);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string program = argc > 1 ? argv[1] : "build/release/bin/brig";
  const unsigned rounds = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1000;
  const std::string only = argc > 3 ? argv[3] : "";
  const auto want = [&](const char* part) { return only.empty() || only == part; };
  machine();
  if (want("commands")) commands(program, rounds);
  if (want("flood")) flood();
  if (want("throughput")) throughput();
  if (want("crowd")) crowd(500);
  if (want("host_size")) host_size();
}
