// A terminal for a cell: a fresh pty whose other side is relayed to the user's own terminal.
#pragma once

#include <termios.h>

#include <thread>

#include "base/fd.h"

namespace brig::cli {

// While it lives, the user's terminal (if stdin is one) is in raw mode and a thread relays both
// ways. The destructor waits for the last output, ends the thread and restores the terminal.
class Tty {
 public:
  // With a pty of the host's.
  Tty();
  // With one whose inside is elsewhere; `outside` is borrowed.
  explicit Tty(int outside);
  ~Tty();
  Tty(const Tty&) = delete;
  Tty& operator=(const Tty&) = delete;

  int inside() const { return inside_.get(); }

 private:
  void begin();
  void relay();

  UniqueFd outside_, inside_, stop_;
  bool raw_ = false;
  termios before_{};
  std::thread thread_;
};

}  // namespace brig::cli
