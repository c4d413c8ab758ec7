// Limits of one call, narrower than the policy's.
#include <brig/sandbox.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox_support.h"

namespace brig {
namespace {

using namespace e2e;

std::unique_ptr<Sandbox> box_of_one(const Policy& policy = quick(60s)) {
  Toolbox tools;
  tools.add("sleep", "Sleeps for a long time.", {}, [] { return sleep(1000); });
  tools.add("touch", "Uses 200 MiB.", {}, touch_memory);
  tools.add("fork", "Has a child.", {}, [] {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    return waitpid(child, nullptr, 0) == child;
  });
  tools.add("print", "Prints so many bytes.", {"count"}, [](int count) {
    const std::string text(static_cast<std::size_t>(count), 'x');
    return write(1, text.data(), text.size());
  });
  // One slot, so that the next call has the cgroup of the last.
  return std::make_unique<Sandbox>(std::move(tools), policy,
                                   SandboxOptions{.concurrency = 1, .ready_max = 1});
}

ToolResult call(Sandbox& box, const std::string& tool, const CallLimits& limits,
                const Json& arguments = Json::object()) {
  CallOptions options;
  options.limits = limits;
  return box.call(tool, arguments, options);
}

bool has_memory_cgroup(const Report& report) {
  for (const std::string& layer : report.enforced)
    if (layer.starts_with("memory:cgroup")) return true;
  return false;
}

TEST(SandboxLimits, TimeEndsTheCall) {
  const auto box = box_of_one();
  const ToolResult r = call(*box, "sleep", {.wall_time = 300ms});
  EXPECT_EQ(r.report.outcome, Outcome::timeout);
  EXPECT_NE(r.error.find("300 ms"), std::string::npos) << r.error;
}

TEST(SandboxLimits, MemoryHoldsForThatCallAlone) {
  Policy policy = quick(60s);
  policy.limits.memory = 2_GiB;  // a thread sanitizer takes three bytes more for each
  const auto box = box_of_one(policy);
  const ToolResult before = box->call("touch", Json::object());
  ASSERT_TRUE(before.ok) << before.error;
  const ToolResult narrow = call(*box, "touch", {.memory = 64_MiB});
  if (has_memory_cgroup(before.report)) {
    EXPECT_EQ(narrow.report.outcome, Outcome::memory_limit) << narrow.error;
    EXPECT_NE(narrow.error.find("64 MiB"), std::string::npos) << narrow.error;
  } else {
    EXPECT_EQ(narrow.report.outcome, Outcome::denied) << narrow.error;
    EXPECT_NE(narrow.error.find("brig doctor"), std::string::npos) << narrow.error;
  }
  for (int i = 0; i < 3; ++i) {
    const ToolResult after = box->call("touch", Json::object());
    EXPECT_TRUE(after.ok) << "the limit of another call: " << after.error;
  }
}

// After a call that had processes its slot has a new cgroup for them, and where that is version 1 the old one for memory.
TEST(SandboxLimits, MemoryOfACallWithProcessesHoldsForItAlone) {
  Policy policy = quick(60s);
  policy.limits.memory = 2_GiB;
  const auto box = box_of_one(policy);
  const ToolResult narrow = call(*box, "fork", {.memory = 128_MiB});
  if (narrow.report.outcome == Outcome::denied) GTEST_SKIP() << narrow.error;
  ASSERT_TRUE(narrow.ok) << narrow.error;
  for (int i = 0; i < 3; ++i) {
    const ToolResult after = box->call("touch", Json::object());
    EXPECT_TRUE(after.ok) << "the limit of another call: " << after.error;
  }
}

TEST(SandboxLimits, OutputIsKeptAndCountedByTheCallsOwn) {
  const auto box = box_of_one();
  const ToolResult kept = call(*box, "print", {.output = 100}, {{"count", 10000}});
  EXPECT_TRUE(kept.ok) << kept.error;
  EXPECT_EQ(kept.report.out.bytes.size(), 100u);
  EXPECT_EQ(kept.report.out.total, 10000u);
  const ToolResult stopped = call(*box, "print", {.output_total = 1000}, {{"count", 10000}});
  EXPECT_EQ(stopped.report.outcome, Outcome::output_limit) << stopped.error;
}

TEST(SandboxLimits, WiderOnesAreRefusedBeforeThereIsACell) {
  const auto box = box_of_one();
  for (const auto& [limits, name] :
       {std::pair(CallLimits{.wall_time = 61s}, "limits.timeout: 61 s"),
        std::pair(CallLimits{.memory = 1_GiB}, "limits.memory: 1 GiB"),
        std::pair(CallLimits{.processes = 65}, "limits.processes: 65"),
        std::pair(CallLimits{.output = 1_MiB}, "limits.output: 1 MiB"),
        std::pair(CallLimits{.wall_time = 0ms}, "limits.timeout: must"),
        std::pair(CallLimits{.memory = 1_MiB}, "limits.memory: must")}) {
    const ToolResult r = call(*box, "sleep", limits);
    EXPECT_EQ(r.report.outcome, Outcome::invalid_arguments);
    EXPECT_TRUE(r.error.starts_with(name)) << r.error;
    EXPECT_TRUE(r.report.enforced.empty()) << "a cell was used";
  }
}

}  // namespace
}  // namespace brig
