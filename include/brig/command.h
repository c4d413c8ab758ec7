// Command: what to run in a cell.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace brig {

struct Command {
  // The program and its arguments. The program is looked up in the cell's PATH, inside the cell.
  std::vector<std::string> argv;
  // Bytes for the tool's stdin. Unset: it reads end-of-file at once, never the host's stdin.
  std::optional<std::string> stdin_bytes;
  // A descriptor of the host to be the tool's stdin; borrowed until the call ends. -1: none.
  // Directories, block devices and O_PATH descriptors are refused: they would lead out of the cell.
  int stdin_fd = -1;
  // A terminal (pty slave) to be stdin, stdout and stderr, and the controlling terminal of the
  // cell's session; borrowed until the call ends. Nothing is captured then. -1: none.
  int tty_fd = -1;
  // A descriptor of the host (eventfd, signalfd, pipe) that cancels the call when it becomes readable.
  // It is not read, and not looked at while the call waits in a queue. Borrowed until the call ends.
  // -1: none.
  int cancel_fd = -1;

  // A line for `/bin/sh -c`, run inside the cell.
  static Command shell(std::string line) {
    Command command;
    command.argv = {"/bin/sh", "-c", std::move(line)};
    return command;
  }
};

}  // namespace brig
