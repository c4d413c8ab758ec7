// Output that never blocks for good, and signals that cancel: what `brig run` and `brig call` share.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace brig::cli {

// Writes output on. A reader that does not read must not keep the cell past its time, so this never
// blocks: PIPE_BUF bytes fit once poll says so. After `until`, or once `cancel` is readable, what does not fit is dropped.
class Passer {
 public:
  using Clock = std::chrono::steady_clock;

  // `cancel` is borrowed.
  Passer(Clock::time_point until, int cancel) : until_(until), cancel_(cancel) {}

  // False if some of it was dropped.
  bool pass(int fd, std::string_view bytes);
  // Why, the last time: "standard output: No space left on device".
  const std::string& why() const { return why_; }

 private:
  bool drop(int fd, std::string_view reason);

  Clock::time_point until_;
  int cancel_;
  std::string why_;
};

// Those of Ctrl-C and its like that the program was started with ignored: by nohup, or by a shell's `trap ''` or `&`.
std::vector<int> ignored_signals();

// Whether two descriptors lead to the same file, pipe or terminal.
bool is_one_file(int one, int other);

// Ctrl-C and its like, unless they are ignored, and a broken pipe, cancel: they are read from a descriptor, not
// handled. Before any thread is made, which must inherit that they are blocked.
UniqueFd signals_as_descriptor();
// The number of one that has come; SIGINT if there is none.
int signal_from(int descriptor);

}  // namespace brig::cli
