#include "serve/audit.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/text.h"

namespace brig::serve {
namespace {

constexpr std::size_t kMostUnwritten = 10'000;

UniqueFd open_log(const std::string& path) {
  return UniqueFd(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600));
}

}  // namespace

Audit::Audit(const std::string& where) {
  if (where == "none") return;
  if (where == "-") {
    fd_ = STDERR_FILENO;
    return;
  }
  path_ = where;
  own_ = open_log(path_);
  if (!own_)
    throw_sys("audit log {}: open (another place: --audit FILE; none: --audit none)",
              in_quotes(path_));
  fd_ = own_.get();
}

void Audit::write(std::string line) {
  if (fd_ < 0) return;
  if (path_.empty()) line = printable_json(line);  // stderr may be a terminal
  line.push_back('\n');
  // When nothing can be written, calls that are already running still end: those are kept for later.
  if (unwritten_.size() < kMostUnwritten) unwritten_.push_back(std::move(line));
  flush();
}

bool Audit::works() { return flush(); }

bool Audit::flush() {
  while (!unwritten_.empty()) {
    const std::string& line = unwritten_.front();
    const ssize_t size = ::write(fd_, line.data() + part_, line.size() - part_);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    part_ += static_cast<std::size_t>(size);
    if (part_ < line.size()) continue;
    unwritten_.pop_front();
    part_ = 0;
  }
  return true;
}

bool Audit::reopen() {
  if (path_.empty()) return true;
  UniqueFd next = open_log(path_);
  if (!next) return false;
  own_ = std::move(next);
  fd_ = own_.get();
  return true;
}

}  // namespace brig::serve
