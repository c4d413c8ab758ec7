#include "service/audit.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace brig::serve {
namespace {

constexpr std::size_t kMostUnwritten = 10'000, kMostBytes = std::size_t{16} << 20;

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
    throw_sys(
        "audit log {}: open (choose another place with --audit FILE, or no log with --audit none)",
        in_quotes(path_));
  fd_ = own_.get();
}

Audit::~Audit() {
  if (flush()) return;
  std::fprintf(stderr,
               "brig: the audit log can't be written (%s); these lines are missing from it:\n",
               errno_text(errno).c_str());
  for (const std::string& line : unwritten_)
    std::fputs((printable_json(line.substr(0, line.size() - 1)) + "\n").c_str(), stderr);
}

bool Audit::write(std::string line) {
  if (fd_ < 0) return true;
  // stderr may be a terminal.
  if (path_.empty()) line = printable_json(line);
  line.push_back('\n');
  // While nothing can be written, running calls still end: their lines are kept for later.
  const bool kept = unwritten_.size() < kMostUnwritten && bytes_ + line.size() <= kMostBytes;
  if (kept) {
    bytes_ += line.size();
    unwritten_.push_back(std::move(line));
  } else {
    ++lost_;
  }
  if (flush() && kept) return true;
  ++failures_;
  return false;
}

bool Audit::works() { return flush(); }

bool Audit::flush() {
  const bool works = try_flush();
  const int reason = errno;
  // A failing stderr can't be reported.
  if (path_.empty() || works == !failing_) return works;
  failing_ = !works;
  if (failing_)
    std::fprintf(stderr,
                 "brig: the audit log %s can't be written (%s); calls are refused until it can\n",
                 in_quotes(path_).c_str(), errno_text(reason).c_str());
  else
    std::fprintf(stderr,
                 "brig: the audit log can be written again; %llu lines are missing from it\n",
                 static_cast<unsigned long long>(lost_ - std::exchange(lost_told_, lost_)));
  errno = reason;
  return works;
}

bool Audit::try_flush() {
  while (!unwritten_.empty()) {
    const std::string& line = unwritten_.front();
    const ssize_t size = ::write(fd_, line.data() + part_, line.size() - part_);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    part_ += static_cast<std::size_t>(size);
    if (part_ < line.size()) continue;
    bytes_ -= line.size();
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
