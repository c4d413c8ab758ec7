// Audit: appends lines of JSON to a file, for every call and every refusal. It never changes or
// reads what it has written.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "base/fd.h"

namespace brig::serve {

class Audit {
 public:
  // `where`: "none" keeps no log, "-" is stderr, anything else is a file, made with mode 0600 if it
  // does not exist. Throws Error.
  explicit Audit(const std::string& where);
  // Tries once more to write the waiting lines; those that still can't be written go to stderr.
  ~Audit();
  Audit(const Audit&) = delete;
  Audit& operator=(const Audit&) = delete;

  // Writes a line, given without its newline. False: it can't be written now, and is kept for later
  // (up to a bound); one message on stderr says so.
  bool write(std::string line);
  // Tries again to write waiting lines. False while that fails (a full disk): then no call may be
  // made, since it would leave no trace.
  bool works();
  // Opens the file of that name anew, after a log rotation. False: it stays with the old one, and
  // errno is set.
  bool reopen();

  // How many lines could not be written at the first attempt; how many of them wait, and how many
  // are lost.
  std::uint64_t failures() const { return failures_; }
  std::size_t unwritten() const { return unwritten_.size(); }
  std::uint64_t lost() const { return lost_; }

 private:
  bool flush();
  bool try_flush();

  std::string path_;
  UniqueFd own_;
  int fd_ = -1;
  std::deque<std::string> unwritten_;
  std::size_t part_ = 0;   // of the first of them that is written
  std::size_t bytes_ = 0;  // of them
  std::uint64_t failures_ = 0, lost_ = 0, lost_told_ = 0;
  bool failing_ = false;
};

}  // namespace brig::serve
