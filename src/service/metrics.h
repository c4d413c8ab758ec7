// Metrics: counts and times for Prometheus. Use it on the loop's thread only.
#pragma once

#include <brig/sandbox.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace brig::serve {

// Values that are read when /metrics is asked for.
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

  // `tool`: an existing tool, or "", so that clients can't invent names.
  void called(const std::string& tool, const ToolResult& result);
  // A refusal before there was a call: "rate-limited", "not-allowed", ...
  void refused(const char* why);
  // An HTTP response. Unknown methods and paths are counted together, so clients can't add labels.
  void answered(std::string_view method, std::string_view path, unsigned status);
  // The manifest was reloaded, or the reload failed.
  void reloaded(bool well);
  // The metrics in Prometheus's text format, without the counts of tools for which `shows` returns
  // false; null: all tools.
  std::string text(const Gauges& gauges,
                   const std::function<bool(const std::string& tool)>& shows = {}) const;
  std::uint64_t calls() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The route of a path, such as "/v1/tools/{name}/call"; "other" for an unknown path.
std::string_view route_of(std::string_view path);

}  // namespace brig::serve
