// Audit: a line of JSON for every call, appended to a file. What is written is never changed or read again.
#pragma once

#include <deque>
#include <string>

#include "base/fd.h"

namespace brig::serve {

class Audit {
 public:
  // "none": nothing is kept. "-": stderr. Else a file, made with mode 0600 if it is not there. Throws Error.
  explicit Audit(const std::string& where);

  // Without its newline.
  void write(std::string line);
  // False while lines could not be written (a full disk): calls that would leave no trace are not to be taken. Tries again.
  bool works();
  // After a log rotation: the file of that name anew. False: stays with the old one, errno is set.
  bool reopen();

 private:
  bool flush();

  std::string path_;
  UniqueFd own_;
  int fd_ = -1;
  std::deque<std::string> unwritten_;
  std::size_t part_ = 0;  // of the first of them that is written
};

}  // namespace brig::serve
