// Audit: lines of JSON for every call and every refusal, appended to a file. What is written is never changed or read again.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "base/fd.h"

namespace brig::serve {

class Audit {
 public:
  // "none": nothing is kept. "-": stderr. Else a file, made with mode 0600 if it is not there. Throws Error.
  explicit Audit(const std::string& where);
  // Tries once more to write what could not be written; what still can't be goes to stderr.
  ~Audit();
  Audit(const Audit&) = delete;
  Audit& operator=(const Audit&) = delete;

  // Without its newline. False: it can't be written now, and is kept for later (up to a bound); stderr is told once.
  bool write(std::string line);
  // False while lines could not be written (a full disk): calls that would leave no trace are not to be taken. Tries again.
  bool works();
  // After a log rotation: the file of that name anew. False: stays with the old one, errno is set.
  bool reopen();

  // Lines that could not be written when they should have been; of those, how many wait, and how many are lost for good.
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
