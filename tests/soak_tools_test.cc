// Thousands of calls of good and evil tools from eight threads: every result is the right one, nothing is left
// behind, and the zygote does not grow. BRIG_SOAK_CALLS says how many; 2000 unless set.
#include <brig/sandbox.h>
#include <sys/mman.h>

#include <atomic>
#include <thread>

#include "soak_count.h"

namespace {

using namespace soak;
using namespace std::chrono_literals;
using namespace brig;

Toolbox mixed_tools() {
  Toolbox tools;
  tools.add("add", "", {"a", "b"}, [](std::int64_t a, std::int64_t b) { return a + b; });
  tools.add("echo", "", {"text"}, [](std::string text) { return text; });
  tools.add("throw", "", {}, []() -> int { throw std::runtime_error("thrown"); });
  tools.add("crash", "", {}, []() -> int {
    raise(SIGSEGV);
    return 0;
  });
  tools.add("exit", "", {"code"}, [](int code) -> int { _exit(code); });
  tools.add("print", "", {}, [] {
    for (int i = 0; i < 2000; ++i) puts("{\"result\": 1} looks like a result");
    return 7;
  });
  tools.add("children", "", {}, [] {
    for (int i = 0; i < 4; ++i)
      if (fork() == 0) {
        setsid();
        signal(SIGTERM, SIG_IGN);
        for (;;) pause();
      }
    return 8;
  });
  tools.add("thread", "", {}, [] {
    std::thread([] {
      for (;;) pause();
    }).detach();
    return 9;
  });
  tools.add("litter", "", {}, [] {
    const bool clean = access("/tmp/litter", F_OK) != 0 && access("/dev/shm/litter", F_OK) != 0;
    for (const char* path : {"/tmp/litter", "/dev/shm/litter"})
      if (FILE* file = fopen(path, "w")) fclose(file);
    setenv("LITTER", "1", 1);
    return clean;
  });
  Policy short_lived;
  short_lived.limits.timeout = 150ms;
  short_lived.limits.grace = 20ms;
  tools.add("hang", "", {},
            []() -> int {
              signal(SIGTERM, SIG_IGN);
              for (;;) pause();
            },
            {.policy = short_lived});
  return tools;
}

struct Question {
  const char* tool;
  Json arguments;
  Outcome outcome;
  Json output;
};

Question question(int i) {
  switch (i % 24) {
    case 0: return {"throw", {}, Outcome::tool_error, {}};
    case 1: return {"crash", {}, Outcome::signal, {}};
    case 2: return {"exit", {{"code", 0}}, Outcome::exit, {}};
    case 3: return {"exit", {{"code", 5}}, Outcome::exit, {}};
    case 4: return {"print", {}, Outcome::ok, 7};
    case 5: return {"children", {}, Outcome::ok, 8};
    case 6: return {"thread", {}, Outcome::ok, 9};
    case 7: return {"litter", {}, Outcome::ok, true};
    case 8: return {"nothing", {}, Outcome::unknown_tool, {}};
    case 9: return {"add", {{"a", "x"}}, Outcome::invalid_arguments, {}};
    case 10: {
      const std::string text(static_cast<std::size_t>(i % 997) * 100, 'x');
      return {"echo", {{"text", text}}, Outcome::ok, text};
    }
    case 11:
      if (i % 240 == 11) return {"hang", {}, Outcome::timeout, {}};
      [[fallthrough]];
    default: return {"add", {{"a", i}, {"b", 1}}, Outcome::ok, i + 1};
  }
}

std::uint64_t zygote_memory() {
  std::uint64_t sum = 0;
  for (const Process& each : descendants(getpid()))
    if (each.name == "brig-zygote" || each.name == "brig-host-copy") {
      const std::string status = read_file("/proc/" + std::to_string(each.pid) + "/status");
      const std::size_t at = status.find("VmRSS:");
      if (at != std::string::npos) sum += strtoull(status.c_str() + at + 6, nullptr, 10) * 1024;
    }
  return sum;
}

void soak_tools() {
  const char* wanted = getenv("BRIG_SOAK_CALLS");
  const int calls = wanted ? atoi(wanted) : 2000;
  const Count before = count();
  {
    Policy policy;
    policy.limits.memory =
        1_GiB;  // without a cgroup it is address space, and a copy of this has much
    policy.limits.processes = 20;
    policy.limits.timeout = 20s;
    Sandbox box(mixed_tools(), policy, {.concurrency = 8, .ready_min = 3});
    std::atomic<int> next{0}, wrong{0};
    const auto work = [&](int until) {
      std::vector<std::thread> threads;
      for (int thread = 0; thread < 8; ++thread)
        threads.emplace_back([&, until] {
          for (int i; (i = next++) < until;) {
            const Question asked = question(i);
            const std::string id = "soak-" + std::to_string(i);
            ToolResult result;
            if (i % 5 == 0) {
              auto pending = box.call_async(asked.tool, asked.arguments, {.call_id = id});
              if (i % 35 == 0) {
                box.cancel(id);
                (void)pending.get();
                continue;
              }
              result = pending.get();
            } else {
              result = box.call(asked.tool, asked.arguments, id);
            }
            if ((result.report.outcome != asked.outcome || result.output != asked.output ||
                 result.call_id != id) &&
                ++wrong < 5)
              ADD_FAILURE() << i << " " << asked.tool << ": expected " << to_string(asked.outcome)
                            << ", is " << to_string(result.report.outcome) << ": " << result.error;
          }
        });
      for (std::thread& thread : threads) thread.join();
      next = until;
    };
    work(calls / 10);
    const Count early = settled();
    const std::uint64_t memory = own_memory("VmRSS"), zygotes = zygote_memory();
    work(calls);
    EXPECT_EQ(wrong, 0);
    const Count late = settled(early.processes + 12);
    const std::uint64_t now = own_memory("VmRSS"), grown = now > memory ? now - memory : 0;
    const std::uint64_t zygotes_now = zygote_memory();
    printf(
        "after %d calls: %s\nafter %d calls: %s, %.1f MiB more memory; zygotes %.1f MiB, now "
        "%.1f\n",
        calls / 10, (std::ostringstream() << early).str().c_str(), calls,
        (std::ostringstream() << late).str().c_str(), static_cast<double>(grown) / (1 << 20),
        static_cast<double>(zygotes) / (1 << 20), static_cast<double>(zygotes_now) / (1 << 20));
    EXPECT_LE(late.processes, early.processes + 12) << early << "\n" << late;
    EXPECT_LE(late.descriptors, early.descriptors + 80) << early << "\n" << late;
    EXPECT_EQ(late.mounts, early.mounts);
    EXPECT_LE(late.cgroups, early.cgroups + 30) << early << "\n" << late;
    EXPECT_LE(late.namespaces, early.namespaces + 40) << early << "\n" << late;
    EXPECT_LT(grown, kSanitized ? 300_MiB : 8_MiB);
    EXPECT_LT(zygotes_now, zygotes + 1_MiB);
  }
  expect_same(before);
}

TEST(Soak, MixedToolsLeaveNothing) { with_own_mounts(soak_tools); }

}  // namespace
