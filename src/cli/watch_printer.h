// Prints the events of a call as lines for people: when, what, and the text, made printable.
#pragma once

#include <brig/watch.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "cli/streams.h"

namespace brig::cli {

// Use it on one thread at a time. It shows output line by line, whatever pieces it came in. Once
// something could not be written in time, it writes nothing more.
class WatchPrinter {
 public:
  explicit WatchPrinter(Passer& passer) : passer_(passer) {}
  void print(const Event& event);

 private:
  void tell(const Event& event);
  void output(const Event& event);
  void line(const Event& event, std::string_view what, std::string_view text);

  Passer& passer_;
  std::optional<std::chrono::system_clock::time_point> begin_;
  // Of the event at hand: one write for all.
  std::string lines_;
  bool mute_ = false;
  // Of a line of stdout and of stderr that has not ended yet.
  std::string rest_[2];
};

}  // namespace brig::cli
