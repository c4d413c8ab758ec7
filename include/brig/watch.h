// Watch: a bounded view of what a Sandbox does. A watcher that is too slow loses events, never a call.
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
    queued,    // a call was taken
    started,   // it has a cell
    output,    // `text` came on `stream`
    progress,  // `fraction`, and perhaps `text`
    finished,  // `outcome`, and its sentence as `text`
    lost,      // nothing but `dropped`: this watcher was too slow, and nothing follows yet
  } kind = Kind::queued;
  std::string tool;
  std::string call_id;  // of calls
  std::string text;
  Stream stream = Stream::out;
  double fraction = 0;
  Outcome outcome = Outcome::internal;
  std::chrono::system_clock::time_point at;
  std::uint64_t dropped = 0;  // events that this watcher lost just before this one
};

const char* to_string(Event::Kind kind);

// One thread at a time.
class Watch {
 public:
  virtual ~Watch() = default;
  // The next event; nothing if none came in time, or the Sandbox is gone.
  virtual std::optional<Event> next(
      std::chrono::milliseconds patience = std::chrono::hours(24)) = 0;
  // Readable while next() would not wait: for poll(2). It is the Watch's, and not to be read. Throws Error.
  virtual int descriptor() = 0;
  // The Sandbox is gone, and so is everything that it had to tell.
  virtual bool ended() const = 0;
};

}  // namespace brig
