// RefusalLog: what was refused, as lines of the audit log. However many come, there are few lines: of each caller, and of each address
// of a stranger, so many in a second, and then one that counts the rest. Only on the loop's thread.
#pragma once

#include <brig/json.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "http/loop.h"

namespace brig::serve {

class RefusalLog {
 public:
  using Write = std::function<void(const Json& line)>;
  RefusalLog(Loop& loop, Write write);
  // Writes what is still to be counted.
  ~RefusalLog();
  RefusalLog(const RefusalLog&) = delete;
  RefusalLog& operator=(const RefusalLog&) = delete;

  // `caller`: its name; empty: nobody is known by that request, and `peer` ("127.0.0.1:4711") is who counts.
  void note(const std::string& caller, const std::string& peer, const Json& line);
  // The second is over.
  void flush();

  static constexpr unsigned kOfOne = 5;          // lines in a second, of one caller or address
  static constexpr unsigned kOfStrangers = 50;   // of all strangers together
  static constexpr std::size_t kAddresses = 50;  // that are told apart

 private:
  struct Count {
    unsigned lines = 0;
    std::uint64_t more = 0;
  };
  void write_rest(const char* key, const std::string& who, const Count& count);

  const Write write_;
  std::map<std::string, Count> callers_, strangers_;
  unsigned strangers_lines_ = 0;
  Loop::Timer timer_;
};

}  // namespace brig::serve
