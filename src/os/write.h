// Writing data that lies in several places.
#pragma once

#include <limits.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string_view>

namespace brig {

// Writes the pieces one after the other. False on failure; errno is set, and some of the data may
// have been written.
inline bool write_all(int file, std::span<const std::string_view> pieces) {
  // Bytes of the first piece that are already written.
  std::size_t written = 0;
  while (!pieces.empty()) {
    constexpr std::size_t kMost = 64;
    static_assert(kMost <= IOV_MAX);
    iovec parts[kMost];
    int count = 0;
    for (const std::string_view piece : pieces.first(std::min(pieces.size(), kMost)))
      parts[count++] = {const_cast<char*>(piece.data()), piece.size()};
    parts[0].iov_base = static_cast<char*>(parts[0].iov_base) + written;
    parts[0].iov_len -= written;
    const ssize_t size = writev(file, parts, count);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    written += static_cast<std::size_t>(size);
    while (!pieces.empty() && written >= pieces[0].size()) {
      written -= pieces[0].size();
      pieces = pieces.subspan(1);
    }
  }
  return true;
}

}  // namespace brig
