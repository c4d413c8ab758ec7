// Command: what to run in a cell. A value type; it holds no resources of its own.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace brig {

// Where two members speak of the same stream, the order is: on_terminal, tty_fd, stdin_fd,
// stdin_bytes. The first one that is set wins. The others are checked, but not used.
//
// Descriptors are the host's. They are borrowed until the call ends, and brig never closes them.
struct Command {
  // The program and its arguments. The program is looked up in the cell's PATH, inside the cell.
  std::vector<std::string> argv;

  // Bytes for the command's stdin. Unset: the command reads end-of-file at once. It never reads the
  // host's stdin.
  std::optional<std::string> stdin_bytes;

  // A descriptor that becomes the command's stdin. -1: none.
  // - A regular file can only be read. brig::run() in a jail gives the command the file itself,
  //   read-only; otherwise its content comes through a pipe. After the call the descriptor's offset
  //   is where the command stopped reading.
  // - Of a pipe the command gets the reading end only.
  // - A socket or a terminal is the command's to use.
  // Directories, other devices, O_PATH descriptors and all others are refused
  // (Outcome::invalid_arguments): they would lead out of the cell.
  int stdin_fd = -1;

  // A terminal (pty slave) that becomes stdin, stdout, stderr and the controlling terminal of the
  // cell's session. Nothing is captured then: Report::out and Report::err stay empty. -1: none.
  int tty_fd = -1;

  // Asks for a terminal of the cell's own, which has a name inside the cell. brig calls this
  // function once, on the caller's thread, before the command runs, with the host's side of that
  // terminal (the pty master), which is borrowed until the call ends. Only brig::run() in a jail
  // offers this; every other way to run a command refuses it. run() passes on what the function
  // throws.
  std::function<void(int)> on_terminal;

  // Sends stderr to where stdout goes, so that all output keeps its order. Report::err stays empty.
  bool join_output = false;

  // Signals that the command finds ignored, as a shell's `trap ''` or nohup leaves them. All other
  // signals have their default action, whatever the host does.
  std::vector<int> ignored_signals;

  // A descriptor (eventfd, signalfd, pipe) that cancels the call as soon as it is readable, also
  // while the call waits in the queue. brig does not read from it. -1: none.
  int cancel_fd = -1;

  // Only for brig::run() and Runner::run(). Called on the caller's thread when a signal has
  // interrupted the wait, and every 100 ms. When it returns true, the call ends at once.
  std::function<bool()> interrupted;

  // A line for `/bin/sh -c`, run inside the cell.
  [[nodiscard]] static Command shell(std::string line) {
    Command command;
    command.argv = {"/bin/sh", "-c", std::move(line)};
    return command;
  }
};

}  // namespace brig
