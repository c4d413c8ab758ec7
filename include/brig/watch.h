// Watch: a bounded view of what a Sandbox does. A watcher that is too slow loses events; it never
// slows a call down.
#pragma once

#include <brig/report.h>
#include <brig/runner.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace brig {

struct Event {
  enum class Kind {
    tool_added,
    tool_removed,
    tool_updated,
    // A call was accepted.
    queued,
    // The call has a cell.
    started,
    // The tool wrote `text` to `stream`.
    output,
    // The tool reported `fraction`, and perhaps `text`.
    progress,
    // The call ended with `outcome`. `text` is the report's message.
    finished,
    // This watcher was too slow and lost `dropped` events, and no other event is waiting.
    lost,
  } kind = Kind::queued;
  std::string tool;
  // Empty for events that are not about a call.
  std::string call_id;
  std::string text;
  Stream stream = Stream::out;
  double fraction = 0;
  Outcome outcome = Outcome::internal;
  std::chrono::system_clock::time_point at;
  // How many events this watcher lost just before this one.
  std::uint64_t dropped = 0;
};

// The name as JSON has it: "tool_added", "finished", ...
[[nodiscard]] const char* to_string(Event::Kind kind);

// Belongs to the caller and may outlive its Sandbox. One thread at a time may use it.
class Watch {
 public:
  virtual ~Watch() = default;
  // Waits for the next event. Nothing if no event came in time, or if the Sandbox is gone; ended()
  // tells the two apart.
  [[nodiscard]] virtual std::optional<Event> next(
      std::chrono::milliseconds patience = std::chrono::hours(24)) = 0;
  // A descriptor for poll(2): it is readable while next() would not wait. The Watch owns it; do not
  // read from it and do not close it. Throws Error if the process can have no more descriptors.
  [[nodiscard]] virtual int descriptor() = 0;
  // True when the Sandbox is gone and next() has returned every event.
  [[nodiscard]] virtual bool ended() const = 0;
};

}  // namespace brig
