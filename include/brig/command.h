// Command: what to run in a cell.
#pragma once

#include <functional>
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
  // A file can be read and no more: by brig::run() in a jail the tool has the file itself, read-only, otherwise
  // what is in it comes through a pipe. After the call the descriptor stands where the tool left off. Of a pipe
  // the tool has the end to read from, and no more. A socket or a terminal is the tool's to use.
  // Directories, other devices, O_PATH and other descriptors are refused: they would lead out of the cell.
  int stdin_fd = -1;
  // A terminal (pty slave) to be stdin, stdout and stderr, and the controlling terminal of the
  // cell's session; borrowed until the call ends. Nothing is captured then. -1: none.
  int tty_fd = -1;
  // The same with a terminal that the cell makes, and that so has a name in it: called, before the command
  // runs, with the other side of it (the pty master), which is borrowed until the call ends. By brig::run()
  // in a jail alone. What it throws, run() throws.
  std::function<void(int)> on_terminal;
  // stderr is what stdout is, so that what is written to both keeps its order. Report::err is empty then.
  bool join_output = false;
  // Signals that the command finds ignored, as a shell's `trap ''` and nohup leave them. All others have
  // their default action, whatever the host does.
  std::vector<int> ignored_signals;
  // A descriptor of the host (eventfd, signalfd, pipe) that cancels the call when it becomes readable.
  // It is not read, and not looked at while the call waits in a queue. Borrowed until the call ends.
  // -1: none.
  int cancel_fd = -1;
  // Asked, by brig::run() and Runner::run(), when a signal has interrupted the wait, and every 100 ms: true ends
  // the call at once.
  std::function<bool()> interrupted;

  // A line for `/bin/sh -c`, run inside the cell.
  static Command shell(std::string line) {
    Command command;
    command.argv = {"/bin/sh", "-c", std::move(line)};
    return command;
  }
};

}  // namespace brig
