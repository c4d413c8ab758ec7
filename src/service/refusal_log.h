// RefusalLog: writes refusals to the audit log. Many refusals make few lines: a limited number per
// second for each caller, and for each address of a client without a known token, and then one line
// that counts the rest. Use it on the loop's thread only.
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
  // Writes the counts that are still open.
  ~RefusalLog();
  RefusalLog(const RefusalLog&) = delete;
  RefusalLog& operator=(const RefusalLog&) = delete;

  // `caller`: its name. If it is empty, the request had no known token, and the address in `peer`
  // ("127.0.0.1:4711") counts.
  void note(const std::string& caller, const std::string& peer, const Json& line);
  // Called at the end of each second.
  void flush();

  static constexpr unsigned kOfOne = 5;          // lines in a second, of one caller or address
  static constexpr unsigned kOfStrangers = 50;   // of all strangers together
  static constexpr std::size_t kAddresses = 50;  // that are counted apart

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
