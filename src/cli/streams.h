// Output that never blocks forever, and signals that cancel a call. `brig run` and `brig call`
// share them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace brig::cli {

// Passes output on. A reader that does not read must not keep the cell past its time, so this never
// blocks: PIPE_BUF bytes fit once poll says so. After `until`, or once `cancel` is readable, it
// drops what does not fit.
class Passer {
 public:
  using Clock = std::chrono::steady_clock;

  // `cancel` is borrowed.
  Passer(Clock::time_point until, int cancel) : until_(until), cancel_(cancel) {}

  // False if some of it was dropped.
  bool pass(int fd, std::string_view bytes);
  // The reason of the last loss: "standard output: No space left on device".
  const std::string& why() const { return why_; }

 private:
  bool drop(int fd, std::string_view reason);

  Clock::time_point until_;
  int cancel_;
  std::string why_;
};

// The cancelling signals that were ignored when the program started: by nohup, or by a shell's
// `trap ''` or `&`.
std::vector<int> ignored_signals();

// Whether two descriptors lead to the same file, pipe or terminal.
bool is_one_file(int one, int other);

// A descriptor to read the signals that cancel a call: Ctrl-C and the like, unless they are
// ignored, and a broken pipe. Blocks them, so call it before any thread is made: threads must
// inherit that.
UniqueFd signals_as_descriptor();
// The number of a signal that has come; SIGINT if there is none.
int signal_from(int descriptor);

}  // namespace brig::cli
