// What the tests of Sandbox share beyond e2e_support.h.
#pragma once

#include <brig/progress.h>
#include <brig/router.h>
#include <brig/sandbox.h>
#include <sys/mman.h>

#include <future>
#include <map>
#include <memory>
#include <new>

#include "e2e_support.h"

namespace e2e {

using namespace std::chrono_literals;
using brig::CallOptions;
using brig::Event;
using brig::Json;
using brig::Sandbox;
using brig::SandboxOptions;
using brig::Stream;
using brig::Tool;
using brig::Toolbox;
using brig::ToolResult;
using brig::Watch;

// A tool that uses 200 MiB. Of the kernel's own: a sanitizer's malloc does not fail, it ends the program,
// and needs some of what is left for the exception.
inline int touch_memory() {
  constexpr std::size_t kSize = 1 << 20, kCount = 200;
  std::vector<void*> blocks;
  while (blocks.size() < kCount) {
    void* const block =
        mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) {
      for (void* each : blocks) munmap(each, kSize);
      throw std::bad_alloc();
    }
    blocks.push_back(memset(block, 1, kSize));
  }
  return kCount;
}

inline Policy quick(milliseconds wall = 20s, milliseconds grace = 200ms) {
  Policy policy;
  policy.limits.timeout = wall;
  policy.limits.grace = grace;
  policy.user = inside();
  add_words(policy);
  return policy;
}

// A command whose parameters are all text.
inline Tool command_tool(std::string name, std::vector<std::string> words,
                         const std::vector<std::string>& parameters = {}) {
  Tool tool;
  tool.name = std::move(name);
  tool.description = "A command.";
  tool.input_schema = {{"type", "object"}, {"properties", Json::object()}};
  for (const std::string& each : parameters)
    tool.input_schema["properties"][each] = {{"type", "string"}};
  tool.argv = std::move(words);
  return tool;
}

// A Sandbox with one tool.
template <typename Callable>
std::unique_ptr<Sandbox> sandbox(Callable callable, const std::vector<brig::Parameter>& names = {},
                                 const Policy& policy = quick()) {
  Toolbox tools;
  tools.add("tool", "A tool.", names, std::move(callable));
  return std::make_unique<Sandbox>(std::move(tools), policy);
}

inline Json output_of(Sandbox& box, const Json& arguments = Json::object()) {
  const ToolResult r = box.call("tool", arguments);
  EXPECT_TRUE(r.ok()) << r.error;
  return r.output;
}

// A tool that says so when it runs, and then sleeps for that many milliseconds.
inline int nap(int ms) {
  (void)!write(1, "running\n", 8);
  usleep(static_cast<useconds_t>(ms) * 1000);
  return ms;
}

// Reads on until that comes of the call (of any, if no id is given); false if it doesn't.
inline bool await(Watch& watch, Event::Kind kind, const std::string& call_id = "") {
  for (const auto begin = Clock::now(); since(begin) < kSoon;)
    if (const auto event = watch.next(1000ms);
        event && event->kind == kind && (call_id.empty() || event->call_id == call_id))
      return true;
  return false;
}

inline bool nothing_is_left() {
  return descendants(getpid()).empty() && cgroups_of(getpid()).empty();
}

inline std::string left_over() {
  std::string text = names(descendants(getpid()));
  for (const std::string& each : cgroups_of(getpid())) text += each + " ";
  return text;
}

}  // namespace e2e
