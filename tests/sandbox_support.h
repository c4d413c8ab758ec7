// What the tests of Sandbox share beyond e2e_support.h.
#pragma once

#include <brig/progress.h>
#include <brig/router.h>
#include <brig/sandbox.h>
#include <sys/mman.h>

#include <future>
#include <map>
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

// A tool that uses 200 MiB. Of the kernel's own: a sanitizer's malloc does not fail, it ends the program.
inline int touch_memory() {
  constexpr int kCount = 200;
  for (int i = 0; i < kCount; ++i) {
    void* const memory =
        mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memset(memory, i + 1, 1 << 20);
  }
  return kCount;
}

inline Policy quick(milliseconds wall = 20s, milliseconds grace = 200ms) {
  Policy policy;
  policy.limits.wall_time = wall;
  policy.limits.grace = grace;
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

// A tool that says so when it runs, and then sleeps for that many milliseconds.
inline int nap(int ms) {
  (void)!write(1, "running\n", 8);
  usleep(static_cast<useconds_t>(ms) * 1000);
  return ms;
}

// Reads on until that comes of the call (of any, if no id is given); false if it doesn't.
inline bool await(Watch& watch, Event::Kind kind, const std::string& call_id = "") {
  for (const auto begin = Clock::now(); seconds_since(begin) < 10;)
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
