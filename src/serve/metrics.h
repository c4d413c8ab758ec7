// Metrics: counts and times for Prometheus. Only on the loop's thread.
#pragma once

#include <brig/sandbox.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace brig::serve {

// What is looked up when it is asked for.
struct Gauges {
  unsigned ready = 0, running = 0, waiting = 0, connections = 0, streams = 0, jobs = 0;
  std::uint64_t http_requests = 0, http_refused = 0, http_bytes_in = 0, http_bytes_out = 0;
};

class Metrics {
 public:
  Metrics();
  ~Metrics();

  // `tool`: one that is there, or "", so that nobody can make up names.
  void called(const std::string& tool, const ToolResult& result);
  // Before it was a call: "rate-limited", "not-allowed", ...
  void refused(const char* why);
  // Prometheus's text format. Counts of a tool that `shows` is false of are left out; null: of none.
  std::string text(const Gauges& gauges,
                   const std::function<bool(const std::string& tool)>& shows = {}) const;
  std::uint64_t calls() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace brig::serve
