// History: the last calls that ended. It is bounded in number and bytes, and shared by the callers:
// the oldest calls of the caller with the most go first. Use it on the loop's thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "http/caller.h"

namespace brig::serve {

struct HistoryLimits {
  std::size_t count = 1000, bytes = std::size_t{8} << 20;
};

class History {
 public:
  explicit History(HistoryLimits limits = {}) : limits_(limits) {}

  // `text`: JSON.
  void add(const CallerPtr& caller, std::string text);
  // A list as JSON text, the newest first: the caller's own calls; for an admin, all calls.
  std::string list(const CallerPtr& caller, std::size_t most) const;
  void forget(const Caller& caller);
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::uint64_t number;
    std::string text;
  };
  struct Own {
    // Oldest first; never empty.
    std::deque<Entry> entries;
    std::size_t bytes = 0;
  };
  void forget_one();

  const HistoryLimits limits_;
  std::map<CallerPtr, Own> of_;
  std::uint64_t next_ = 1;
  std::size_t count_ = 0, bytes_ = 0;
};

}  // namespace brig::serve
