// Calls of C++ functions: arguments, results, and every way to end.
#include <brig/error.h>
#include <brig/progress.h>
#include <brig/sandbox.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "sandbox_support.h"

// A tool that calls exit() in a sanitized test must not look for leaks of the host's.
static const pid_t g_host = getpid();
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return getpid() != g_host; }

namespace brig {
namespace {

using namespace e2e;

// Sanitized, reading JSON is a hundred times slower.
constexpr std::size_t kLarge = kSanitized ? 4 << 20 : 64 << 20;

template <typename Callable>
ToolResult call_once(Callable callable, const Policy& policy = quick()) {
  Toolbox tools;
  tools.add("tool", "A tool.", {}, std::move(callable));
  Sandbox box(std::move(tools), policy);
  ToolResult first = box.call("tool", {});
  // Whatever it did, the zygote is unharmed.
  const ToolResult second = box.call("tool", {});
  EXPECT_EQ(second.report.outcome, first.report.outcome) << second.error;
  return first;
}

TEST(SandboxCall, ReadsAsInTheReadme) {
  Toolbox tools;
  tools.add("add", "Adds two integers.", {"a", "b"},
            [](std::int64_t a, std::int64_t b) { return a + b; });
  Sandbox box(std::move(tools), Policy{.limits = {.timeout = 5s, .memory = 64_MiB}});
  const ToolResult r = box.call("add", {{"a", 2}, {"b", 3}});
  EXPECT_TRUE(r.ok()) << r.error;
  EXPECT_EQ(r.output, 5);
  EXPECT_EQ(r.report.outcome, Outcome::ok);
  EXPECT_FALSE(r.report.enforced.empty());
  EXPECT_GT(r.duration.count(), 0);
}

TEST(SandboxCall, MembersKeepTheirOrder) {
  Toolbox tools;
  tools.add("same", "Gives what it was given, and its text.", {"value"}, [](const Json& value) {
    return Json{{"value", value}, {"text", value.dump()}};
  });
  Sandbox box(std::move(tools), quick());
  const Json value = Json::parse(R"({"z":1,"a":{"y":[{"q":1,"b":2}],"c":3},"m":2})");
  const ToolResult result = box.call("same", {{"value", value}});
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.output["text"], value.dump());
  EXPECT_EQ(result.output["value"].dump(), value.dump());
}

TEST(SandboxCall, EndsWhenItsCallerNoLongerWantsItThoughNoSignalEndedTheWait) {
  Toolbox tools;
  tools.add("sleeps", "Sleeps.", {}, [] { sleep(60); });
  Sandbox box(std::move(tools), Policy{.limits = {.timeout = 60s}});
  int asked = 0;
  const ToolResult r = box.call("sleeps", {}, {.interrupted = [&] { return ++asked == 3; }});
  EXPECT_EQ(r.report.outcome, Outcome::cancelled) << r.error;
  EXPECT_EQ(asked, 3);
}

TEST(SandboxCall, AClosureSeesWhatItHeldWhenTheSandboxWasMade) {
  std::string held = "held";
  int calls = 0;
  Toolbox tools;
  tools.add("tell", "Tells.", {}, [&] { return held + std::to_string(++calls); });
  Sandbox box(std::move(tools), quick());
  held = "changed";
  EXPECT_EQ(box.call("tell", {}).output, "held1");
  EXPECT_EQ(box.call("tell", {}).output, "held1") << "each call has a cell of its own";
  EXPECT_EQ(calls, 0);
}

TEST(SandboxCall, WhatAToolThrowsComesBackAsTypeAndMessage) {
  const ToolResult r = call_once([]() -> int { throw std::out_of_range("no such row"); });
  EXPECT_EQ(r.report.outcome, Outcome::tool_error);
  EXPECT_EQ(r.error, "std::out_of_range: no such row");
  EXPECT_FALSE(r.ok());
  EXPECT_EQ(call_once([]() -> int { throw 7; }).error, "int");
}

TEST(SandboxCall, ACrashIsItsSignal) {
  const ToolResult r = call_once([]() -> int {
    raise(SIGSEGV);
    return 1;
  });
  EXPECT_EQ(r.report.outcome, Outcome::signal);
  EXPECT_EQ(r.report.signal, SIGSEGV);
  EXPECT_EQ(call_once([]() -> int { abort(); }).report.signal, SIGABRT);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
volatile char* g_end = nullptr;
__attribute__((noinline)) int recurse(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  g_end = frame;
  return depth < 1 << 30 ? recurse(depth + 1) + frame[0] : 0;
}
TEST(SandboxCall, AStackOverflowIsASegmentationFault) {
  const ToolResult r = call_once([] { return recurse(0); });
  EXPECT_EQ(r.report.outcome, Outcome::signal);
  EXPECT_EQ(r.report.signal, SIGSEGV);
}
#endif

TEST(SandboxCall, AnExitWithoutAResultIsJustThat) {
  const ToolResult zero = call_once([]() -> int { exit(0); });
  EXPECT_EQ(zero.report.outcome, Outcome::exit);
  EXPECT_EQ(zero.report.exit_code, 0);
  EXPECT_EQ(zero.error, "the tool exited with code 0 without giving a result");
  const ToolResult three = call_once([]() -> int { _exit(3); });
  EXPECT_EQ(three.report.outcome, Outcome::exit);
  EXPECT_EQ(three.report.exit_code, 3);
}

TEST(SandboxCall, AThreadThatIsLeftRunningDoesNotDelayTheResult) {
  const ToolResult r = call_once([] {
    std::thread([] { sleep(100); }).detach();
    return 1;
  });
  EXPECT_TRUE(r.ok()) << r.error;
  EXPECT_LT(r.duration, kSoon);
}

TEST(SandboxCall, AThreadThatEndsItselfLeavesNoResult) {
  const ToolResult r = call_once([]() -> int { pthread_exit(nullptr); });
  EXPECT_EQ(r.report.outcome, Outcome::exit) << r.error;
}

TEST(SandboxCall, AtexitHandlersRunOnlyIfTheToolExits) {
  static bool here = true;
  atexit([] {
    if (here) puts("handler");
  });
  EXPECT_EQ(call_once([] { return 1; }).report.out.bytes, "");
  EXPECT_EQ(call_once([]() -> int { exit(4); }).report.out.bytes, "handler\n");
  here = false;
}

jmp_buf g_jump;
TEST(SandboxCall, AJumpOutOfTheToolEndsInItsCell) {
  const pid_t host = getpid();
  Toolbox tools;
  tools.add("jump", "Jumps.", {}, []() -> int { longjmp(g_jump, 1); });
  if (setjmp(g_jump) != 0) {
    // The tool is here, in its cell: the host never is.
    if (getpid() == host) abort();
    _exit(9);
  }
  Sandbox box(std::move(tools), quick());
  const ToolResult r = box.call("jump", {});
  EXPECT_EQ(r.report.outcome, Outcome::exit) << r.error;
  EXPECT_EQ(r.report.exit_code, 9);
}

TEST(SandboxCall, AToolThatTakesTooLongIsEnded) {
  const ToolResult r = call_once(
      [] {
        sleep(100);
        return 1;
      },
      quick(300ms));
  EXPECT_EQ(r.report.outcome, Outcome::timeout);
  EXPECT_LT(r.duration, kSoon);
}

TEST(SandboxCall, AToolThatIgnoresSigtermIsKilled) {
  const ToolResult r = call_once(
      [] {
        signal(SIGTERM, SIG_IGN);
        for (;;) pause();
        return 1;
      },
      quick(300ms));
  EXPECT_EQ(r.report.outcome, Outcome::timeout);
  EXPECT_LT(r.duration, kSoon);
}

TEST(SandboxCall, PrintsNeverTouchTheResult) {
  const ToolResult r = call_once([] {
    std::cout << "{\"result\": 7}\n" << std::string(100'000, 'x');
    printf("C\n");
    std::cerr << "err\n";
    return 1;
  });
  EXPECT_TRUE(r.ok()) << r.error;
  EXPECT_EQ(r.output, 1);
  EXPECT_EQ(r.report.out.total, 14u + 100'000u + 2u);
  EXPECT_EQ(r.report.err.bytes, "err\n");
}

TEST(SandboxCall, NothingOfTheHostsBuffersIsPrintedByATool) {
  printf("not yet flushed");
  const ToolResult r = call_once([]() -> int { exit(0); });
  EXPECT_EQ(r.report.out.bytes, "");
}

TEST(SandboxCall, ResultsOfAnySizeComeBack) {
  Toolbox tools;
  tools.add("make", "Makes text.", {"size"},
            [](std::uint32_t size) { return std::string(size, 'x'); });
  Policy policy = quick(60s);
  policy.limits.memory = 1_GiB;
  policy.limits.result = kLarge + 1_MiB;
  Sandbox box(std::move(tools), policy);
  for (const std::size_t size :
       {0ul, 1ul, 4096ul, 65'507ul, 65'508ul, 65'536ul, 1ul << 20, kLarge}) {
    const ToolResult r = box.call("make", {{"size", size}});
    ASSERT_TRUE(r.ok()) << size << ": " << r.error;
    EXPECT_EQ(r.output.get_ref<const std::string&>().size(), size);
  }
  const ToolResult r = box.call("make", {{"size", kLarge + 2_MiB}});
  EXPECT_EQ(r.report.outcome, Outcome::output_limit) << r.error;
  EXPECT_NE(r.error.find("limits.result"), std::string::npos) << r.error;
}

TEST(SandboxCall, ArgumentsOfAnySizeArrive) {
  Toolbox tools;
  tools.add("size", "Tells the size.", {"text"},
            [](const std::string& text) { return text.size(); });
  Policy policy = quick(60s);
  policy.limits.memory = 1_GiB;
  Sandbox box(std::move(tools), policy);
  for (const std::size_t size :
       {0ul, 1ul, 16'000ul, 17'000ul, 65'000ul, 66'000ul, 1ul << 20, 100 * (kLarge >> 6)}) {
    const ToolResult r = box.call("size", {{"text", std::string(size, 'x')}});
    ASSERT_TRUE(r.ok()) << size << ": " << r.error;
    EXPECT_EQ(r.output, size);
  }
}

TEST(SandboxCall, AResultThatJsonCanNotHoldIsToldAsThat) {
  EXPECT_EQ(call_once([] { return std::string("\xff\xfe"); }).report.outcome, Outcome::tool_error);
  const ToolResult nan = call_once([] { return std::nan(""); });
  EXPECT_EQ(nan.report.outcome, Outcome::tool_error);
  EXPECT_NE(nan.error.find("NaN"), std::string::npos) << nan.error;
}

TEST(SandboxCall, TheMemoryLimitIsTold) {
  Policy policy = quick();
  policy.limits.memory = 64_MiB;
  const ToolResult r = call_once(touch_memory, policy);
  // Without a cgroup the limit is each process' own, and the allocation fails in the tool.
  EXPECT_TRUE(r.report.outcome == Outcome::memory_limit || r.error.starts_with("std::bad_alloc"))
      << r.error;
}

// Where the limit is of address space, a copy of the host's must not use it up.
TEST(SandboxCall, TheMemoryOfTheHostIsNotCountedAsTheTools) {
  constexpr size_t kSize = 2ul << 30;
  void* const large = mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(large, MAP_FAILED);
  Policy policy = quick();
  policy.limits.memory = 64_MiB;
  const ToolResult r = call_once([] { return std::string(1 << 20, 'x').size(); }, policy);
  munmap(large, kSize);
  EXPECT_EQ(r.output, 1 << 20) << r.error;
}

TEST(SandboxCall, BadArgumentsAreToldAllAtOnceAndUseNoCell) {
  Toolbox tools;
  tools.add("add", "", {"a", "b"}, [](int a, int b) { return a + b; });
  Sandbox box(std::move(tools), quick());
  const ToolResult r = box.call("add", {{"a", "x"}, {"b", 1.5}, {"c", 1}});
  EXPECT_EQ(r.report.outcome, Outcome::invalid_arguments);
  for (const char* part : {"/a: expected", "/b: expected", "/c: expected"})
    EXPECT_NE(r.error.find(part), std::string::npos) << r.error;
  EXPECT_EQ(r.report.enforced.size(), 0u) << "no cell was used";
  EXPECT_EQ(box.call("add", {{"a", "8"}, {"b", "-3"}}).output, 5) << "coerced";
  EXPECT_EQ(box.call("nope", {}).report.outcome, Outcome::unknown_tool);
  EXPECT_EQ(box.call("add", Json::array()).report.outcome, Outcome::invalid_arguments);
  EXPECT_EQ(box.call("add", {{"a", "\xff"}, {"b", 1}}).report.outcome, Outcome::invalid_arguments);
}

TEST(SandboxCall, TheIdIsCopiedIntoTheResult) {
  Toolbox tools;
  tools.add("one", "", {}, [] { return 1; });
  Sandbox box(std::move(tools), quick());
  EXPECT_EQ(box.call("one", {}, "abc").call_id, "abc");
  EXPECT_EQ(box.call("none", {}, "def").call_id, "def");
  EXPECT_NE(box.call("one", {}).call_id, box.call("one", {}).call_id);
}

// A long string goes another way than many short ones.
TEST(SandboxCall, ArgumentsOfAnyShapeAndSizeComeThere) {
  Toolbox tools;
  tools.add("same", "", {"value"}, [](const Json& value) { return value; });
  Sandbox box(std::move(tools), quick(60s));
  const std::string run(20'000, 'x'), mebibyte(1 << 20, 'y');
  Json many = Json::array();
  for (int i = 0; i < 40'000; ++i) many.push_back(i);
  Json runs = Json::array();
  for (int i = 0; i < 100; ++i) runs.push_back(run + std::to_string(i) + "\n\"" + run);
  Json keys = Json::object();
  for (int i = 0; i < 3000; ++i)
    keys[std::to_string(i) + run.substr(0, 10)] = i % 100 ? Json(i) : Json(run);
  for (const Json& value :
       {Json(run), Json(mebibyte), Json(mebibyte + mebibyte),
        Json("\x01"
             "5\x01" +
             run),
        many, runs, keys, Json{{"a", mebibyte}, {run, {mebibyte, "ü" + run + "ü", 1.5, nullptr}}},
        Json(std::string(16 * 1024 - 12, 'x')), Json(std::string(16 * 1024, 'x')),
        Json(std::string(8 << 20, 'z'))}) {
    const ToolResult r = box.call("same", {{"value", value}});
    EXPECT_TRUE(r.ok()) << r.error;
    EXPECT_TRUE(r.output == value) << value.dump().substr(0, 60);
  }
}

TEST(SandboxCall, ArgumentsThatDoNotFitIntoItsMemoryAreToldAsThat) {
  Toolbox tools;
  tools.add("size", "", {"value"}, [](const Json& value) { return value.size(); });
  Policy policy = quick(60s);
  policy.limits.memory = 32_MiB;
  Sandbox box(std::move(tools), policy);
  Json many = Json::array();
  for (int i = 0; i < 4000; ++i) many.push_back(std::string(15'000, 'x'));
  for (const Json& value : {Json(std::string(100 << 20, 'x')), many}) {
    const ToolResult r = box.call("size", {{"value", value}});
    // Where the limit is per process, a sanitizer's malloc ends the program.
    if (kSanitized && !has_cgroups() && r.report.outcome == Outcome::exit) continue;
    EXPECT_TRUE(r.report.outcome == Outcome::memory_limit ||
                r.report.outcome == Outcome::tool_error)
        << r.error;
    EXPECT_TRUE(contains(r.error, "limits.memory")) << r.error;
  }
  EXPECT_EQ(box.call("size", {{"value", {1, 2}}}).output, 2);
}

TEST(SandboxCall, StepsAddUpToTheWall) {
  Toolbox tools;
  tools.add("nap", "", {}, [] {
    usleep(50'000);
    return 1;
  });
  Sandbox box(std::move(tools), quick());
  const ToolResult r = box.call("nap", {});
  const Steps& steps = r.report.steps;
  const auto sum = steps.queue + steps.dispatch + steps.run + steps.teardown;
  EXPECT_LT(std::abs((sum - r.report.usage.wall).count()), 10);
  // A busy host may see it begin a moment after it did.
  EXPECT_GE(steps.dispatch + steps.run, 50ms);
}

TEST(SandboxMaking, RefusesAProcessWithThreads) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) usleep(1000);
  });
  Toolbox tools;
  tools.add("one", "", {}, [] { return 1; });
  try {
    Sandbox box(std::move(tools), quick());
    ADD_FAILURE() << "made beside a thread";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_NE(std::string(error.what()).find("before starting threads"), std::string::npos)
        << error.what();
  }
  // Commands need no copy of this process.
  Toolbox commands;
  Tool echo;
  echo.name = "echo";
  echo.input_schema = Json::parse(R"({"type": "object", "properties": {"x": {"type": "string"}}})");
  echo.argv = {"echo", "{x}"};
  commands.add(std::move(echo));
  Sandbox box(std::move(commands), quick());
  EXPECT_EQ(box.call("echo", {{"x", "hello; $(id)"}}).output, "hello; $(id)");
  stop = true;
  other.join();
}

TEST(SandboxMaking, BadOptionsThrow) {
  const auto refused = [](Policy policy, SandboxOptions options) {
    Toolbox tools;
    tools.add("one", "", {}, [] { return 1; });
    EXPECT_THROW(Sandbox(std::move(tools), std::move(policy), options), Error);
  };
  refused(quick(0ms), {});
  refused(quick(-1s), {});
  refused(quick(), {.ready_min = 5, .ready_max = 2});
}

}  // namespace
// Each caller's room stays ready for it alone. A new caller must not wait for one of those.
TEST(SandboxRooms, OfManyCallersKeepNobodyWaiting) {
  brig::Policy policy = quick();
  policy.limits.timeout = std::chrono::milliseconds(20'000);
  brig::Toolbox tools;
  tools.add("one", "One.", {}, [] { return 1; });
  Sandbox box(std::move(tools), policy,
              SandboxOptions{.concurrency = 1, .ready_min = 1, .ready_max = 1});
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 12; ++i) {
      brig::CallOptions options;
      options.caller = "caller " + std::to_string(i % 6);
      options.session = "session " + std::to_string(i);
      const brig::ToolResult result = box.call("one", {}, options);
      EXPECT_TRUE(result.ok()) << round << ", " << i << ": " << result.report.message;
    }
}

}  // namespace brig
