#include "cell/output_buffer.h"

#include "base/text.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace brig {

// The room doubles while it is small; past a sixteenth of the limit it grows to the limit at once.
// Old and new exist together during the move, so doubling to the end could need twice the limit. A
// large allocation costs no memory where nothing has been written yet.
void OutputBuffer::grow(std::size_t size) {
  if (size <= kept_.capacity()) return;
  const std::size_t wanted = std::max<std::size_t>(size, 2 * kept_.capacity());
  kept_.reserve(wanted > limit_ / 16 ? limit_ : wanted);
}

void OutputBuffer::append(std::string_view bytes) {
  const std::size_t room = std::min(bytes.size(), limit_ - kept_.size());
  if (room > 0) {
    grow(kept_.size() + room);
    kept_.append(bytes.substr(0, room));
  }
  total_ += bytes.size();
  bytes.remove_prefix(room);
  if (bytes.empty() || limit_ == 0) return;

  char* ring = kept_.data() + head();
  if (bytes.size() >= tail()) {
    std::memcpy(ring, bytes.data() + (bytes.size() - tail()), tail());
    oldest_ = 0;
    return;
  }
  const std::size_t first = std::min(bytes.size(), tail() - oldest_);
  std::memcpy(ring + oldest_, bytes.data(), first);
  std::memcpy(ring, bytes.data() + first, bytes.size() - first);
  oldest_ = (oldest_ + bytes.size()) % tail();
}

Output OutputBuffer::take() {
  Output output;
  output.total = std::exchange(total_, 0);
  output.truncated = output.total > kept_.size();
  if (output.truncated && limit_ > 0) {
    const auto ring = kept_.begin() + static_cast<std::ptrdiff_t>(head());
    std::rotate(ring, ring + static_cast<std::ptrdiff_t>(oldest_), kept_.end());
    const std::string_view all = kept_;
    const std::size_t before = utf8_cut_at_end(all.substr(0, head()));
    const std::size_t after = utf8_cut_at_start(all.substr(head()));
    output.cut = head() - before;
    kept_.erase(output.cut, before + after);
  }
  // A report may be kept for long, so it should not hold the room that its output did not need.
  if (kept_.size() < kept_.capacity() / 2) kept_.shrink_to_fit();
  output.bytes = std::exchange(kept_, {});
  oldest_ = 0;
  return output;
}

}  // namespace brig
