// Metrics: counts and times for Prometheus. Only on the loop's thread.
#pragma once

#include <brig/sandbox.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace brig::serve {

// What is looked up when it is asked for.
struct Gauges {
  unsigned ready = 0, running = 0, waiting = 0, connections = 0, streams = 0, jobs = 0;
  std::uint64_t http_refused = 0, http_bytes_in = 0, http_bytes_out = 0;
  std::uint64_t audit_failures = 0, audit_lost = 0;
  std::size_t audit_unwritten = 0;
};

class Metrics {
 public:
  Metrics();
  ~Metrics();

  // `tool`: one that is there, or "", so that nobody can make up names.
  void called(const std::string& tool, const ToolResult& result);
  // Before it was a call: "rate-limited", "not-allowed", ...
  void refused(const char* why);
  // An answer of HTTP. Whatever a client sends as a method or a path, there are few of each here.
  void answered(std::string_view method, std::string_view path, unsigned status);
  // The manifest was read again, or could not be.
  void reloaded(bool well);
  // Prometheus's text format. Counts of a tool that `shows` is false of are left out; null: of none.
  std::string text(const Gauges& gauges,
                   const std::function<bool(const std::string& tool)>& shows = {}) const;
  std::uint64_t calls() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// "/v1/tools/{name}/call" of a path; "other" of one that is nobody's.
std::string_view route_of(std::string_view path);

}  // namespace brig::serve
