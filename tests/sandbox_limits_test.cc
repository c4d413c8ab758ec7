// Limits of one call, narrower than the policy's.
#include <brig/sandbox.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cell/call_limits.h"
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

// The policy's limit, whether or not it may be left open.
template <typename Value>
Value most_of(const Value& policys) {
  return policys;
}
template <typename Value>
Value most_of(const std::optional<Value>& policys) {
  return *policys;
}

TEST(SandboxLimits, TimeEndsTheCall) {
  const auto box = box_of_one();
  const ToolResult r = call(*box, "sleep", {.timeout = 300ms});
  EXPECT_EQ(r.report.outcome, Outcome::timeout);
  EXPECT_NE(r.error.find("300 ms"), std::string::npos) << r.error;
}

TEST(SandboxLimits, MemoryHoldsForThatCallAlone) {
  Policy policy = quick(60s);
  policy.limits.memory = 2_GiB;  // a thread sanitizer takes three bytes more for each
  const auto box = box_of_one(policy);
  const ToolResult before = box->call("touch", Json::object());
  ASSERT_TRUE(before.ok()) << before.error;
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
    EXPECT_TRUE(after.ok()) << "the limit of another call: " << after.error;
  }
}

// After a call that had processes its slot has a new cgroup for them, and where that is version 1 the old one for memory.
TEST(SandboxLimits, MemoryOfACallWithProcessesHoldsForItAlone) {
  Policy policy = quick(60s);
  policy.limits.memory = 2_GiB;
  const auto box = box_of_one(policy);
  const ToolResult narrow = call(*box, "fork", {.memory = 128_MiB});
  if (narrow.report.outcome == Outcome::denied) GTEST_SKIP() << narrow.error;
  ASSERT_TRUE(narrow.ok()) << narrow.error;
  for (int i = 0; i < 3; ++i) {
    const ToolResult after = box->call("touch", Json::object());
    EXPECT_TRUE(after.ok()) << "the limit of another call: " << after.error;
  }
}

// Version 1 has a limit of its own for buffers of sockets: without it a call with 64 MiB took 2 GiB of them.
TEST(SandboxLimits, BuffersOfSocketsAreBoundedByTheCallsOwnMemory) {
  Policy policy = quick(60s);
  policy.files.read = {guests()};
  policy.network = brig::Network::loopback;
  policy.limits.memory = 1_GiB;
  policy.limits.open_files = 1024;
  Toolbox tools;
  tools.add(command_tool("sockets", {guests() + "/counters", "sockets", "500"}));
  Sandbox box(std::move(tools), policy, SandboxOptions{.concurrency = 1, .ready_max = 1});
  const auto held = [](const ToolResult& r) {
    const std::string text = r.output.is_string() ? r.output.get<std::string>() : "";
    EXPECT_TRUE(text.starts_with("MiB ")) << r.error;
    return text.starts_with("MiB ") ? atol(text.c_str() + 4) : -1;
  };
  const ToolResult before = call(box, "sockets", {});
  EXPECT_GE(held(before), 100) << "there is nothing to bound";
  if (!has_memory_cgroup(before.report)) GTEST_SKIP() << "without a cgroup nothing bounds them";
  for (int i = 0; i < 2; ++i) {
    const ToolResult narrow = call(box, "sockets", {.memory = 64_MiB});
    if (narrow.report.outcome != Outcome::memory_limit) {  // charged with the rest: version 2
      EXPECT_LE(held(narrow), 72);
    }
    EXPECT_GE(held(call(box, "sockets", {})), 100) << "the limit of another call";
  }
}

// Its cgroup keeps the limits of the call before: nothing may run there again, and calls go on elsewhere.
TEST(SandboxLimits, ASlotWhoseLimitsCannotBeWidenedAgainIsGivenUp) {
  if (!is_root()) GTEST_SKIP() << "only root can keep brig from writing to a cgroup of its own";
  with_own_mounts([] {
    const HostDirectory host;
    write_file(host / "limit", "");
    Policy policy = quick(60s);
    policy.files.read = {host.path()};
    Toolbox tools;
    tools.add(command_tool(
        "wait", {"sh", "-c",
                 "echo running; while ! test -e '" + host / "gate" + "'; do sleep 0.02; done"}));
    tools.add(command_tool("fill", {"sh", "-c", "head -c 30000000 /dev/zero >/tmp/x"}));
    Sandbox box(std::move(tools), policy, SandboxOptions{.concurrency = 1, .ready_max = 1});
    const auto watch = box.watch();
    CallOptions options;
    options.limits.memory = 16_MiB;
    auto narrow = box.call_async("wait", Json::object(), options);
    ASSERT_TRUE(await(*watch, Event::Kind::output));
    // What it narrowed can't be written any more.
    std::vector<std::string> covered;
    for (const std::string& cgroup : cgroups_of(getpid()))
      for (const char* name : {"/memory.limit_in_bytes", "/memory.max"}) {
        const std::string file = cgroup + name;
        const std::string limit = read_file(file);
        if (strtoull(limit.c_str(), nullptr, 10) != 16_MiB) continue;
        ASSERT_EQ(mount((host / "limit").c_str(), file.c_str(), nullptr, MS_BIND, nullptr), 0);
        covered.push_back(file);
        ASSERT_EQ(mount(nullptr, file.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr),
                  0);
      }
    EXPECT_EQ(covered.size(), 1u);
    write_file(host / "gate", "");
    EXPECT_TRUE(narrow.get().ok());
    for (int i = 0; i < 3; ++i) {
      const ToolResult after = box.call("fill", Json::object());
      EXPECT_TRUE(after.ok()) << "the limit of another call: " << after.error;
    }
    for (const std::string& file : covered)
      (void)umount2(file.c_str(), MNT_DETACH);  // or it is gone
  });
  EXPECT_TRUE(comes_true(nothing_is_left)) << left_over();
}

TEST(SandboxLimits, OutputIsKeptAndCountedByTheCallsOwn) {
  const auto box = box_of_one();
  const ToolResult kept = call(*box, "print", {.output = 100}, {{"count", 10000}});
  EXPECT_TRUE(kept.ok()) << kept.error;
  EXPECT_EQ(kept.report.out.bytes.size(), 100u);
  EXPECT_EQ(kept.report.out.total, 10000u);
  const ToolResult stopped = call(*box, "print", {.output_total = 1000}, {{"count", 10000}});
  EXPECT_EQ(stopped.report.outcome, Outcome::output_limit) << stopped.error;
}

TEST(SandboxLimits, WiderOnesAreRefusedBeforeThereIsACell) {
  const auto box = box_of_one();
  for (const auto& [limits, name] :
       {std::pair(CallLimits{.timeout = 61s}, "limits.timeout: 61 s"),
        std::pair(CallLimits{.memory = 1_GiB}, "limits.memory: 1 GiB"),
        std::pair(CallLimits{.processes = 129}, "limits.processes: 129"),
        std::pair(CallLimits{.output = 1_MiB}, "limits.output: 1 MiB"),
        std::pair(CallLimits{.timeout = 0ms}, "limits.timeout must"),
        std::pair(CallLimits{.memory = 1_MiB}, "limits.memory must")}) {
    const ToolResult r = call(*box, "sleep", limits);
    EXPECT_EQ(r.report.outcome, Outcome::invalid_arguments);
    EXPECT_TRUE(r.error.starts_with(name)) << r.error;
    EXPECT_TRUE(r.report.enforced.empty()) << "a cell was used";
  }
}

// Whichever it is: the list is that of the code, and names all.
TEST(SandboxLimits, OneMoreThanThePolicysIsRefusedOfEach) {
  Policy policy = quick(60s);
  policy.limits.cpu_time = 10s;
  policy.limits.output_total = 1_MiB;
  const auto box = box_of_one(policy);
  int count = 0;
  for_each_call_limit([&](const auto& each) {
    SCOPED_TRACE(each.name);
    CallLimits limits;
    limits.*each.own = most_of(policy.limits.*each.policys);
    ++*(limits.*each.own);
    const ToolResult r = call(*box, "print", limits, {{"count", 10}});
    EXPECT_EQ(r.report.outcome, Outcome::invalid_arguments) << r.error;
    EXPECT_TRUE(r.error.starts_with(std::string("limits.") + each.name + ": ")) << r.error;
    EXPECT_TRUE(contains(r.error, "of the policy")) << r.error;
    EXPECT_EQ(r.report.out.total, 0u);
    EXPECT_TRUE(r.report.enforced.empty()) << "a cell was used";
    // The policy's own is no more than that, and so is no reason.
    --*(limits.*each.own);
    const ToolResult same = call(*box, "print", limits, {{"count", 10}});
    EXPECT_NE(same.report.outcome, Outcome::invalid_arguments) << same.error;
    ++count;
  });
  EXPECT_EQ(count, 6);
}

}  // namespace
}  // namespace brig
