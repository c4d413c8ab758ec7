#include "cell/answer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace brig {

// The header is complete. Decides whether the payload may be as large as it says.
bool AnswerReader::begin_frame() {
  std::uint64_t most = 0;
  switch (header_.kind) {
    case FrameKind::progress: most = kMaxProgress; break;
    case FrameKind::result: most = limit_; break;
    case FrameKind::error: most = kMaxErrorFrame; break;
  }
  if (header_.size <= most && most > 0) {
    payload_.clear();
    // This reserves address space, and memory only when it comes. Growing later would copy the
    // payload.
    payload_.reserve(std::min<std::size_t>(header_.size, 16 << 20));
    return true;
  }
  if (header_.kind == FrameKind::result) {
    answer_.kind = Answer::Kind::too_large;
    answer_.size = header_.size;
  } else {
    broken_ = true;
  }
  return false;
}

bool AnswerReader::feed(std::string_view bytes, const ProgressCallback& on_progress) {
  while (!complete() && !broken_) {
    if (have_ < sizeof header_) {
      if (bytes.empty()) return true;
      const std::size_t size = std::min(bytes.size(), sizeof header_ - have_);
      std::memcpy(reinterpret_cast<char*>(&header_) + have_, bytes.data(), size);
      bytes.remove_prefix(size);
      have_ += size;
      if (have_ < sizeof header_ || !begin_frame()) continue;
    }
    const std::size_t size = std::min<std::size_t>(bytes.size(), header_.size - payload_.size());
    payload_.append(bytes.substr(0, size));
    bytes.remove_prefix(size);
    have_ += size;
    if (payload_.size() < header_.size) return true;
    have_ = 0;
    if (header_.kind == FrameKind::progress) {
      double fraction = 0;
      if (payload_.size() < sizeof fraction) {
        broken_ = true;
      } else {
        std::memcpy(&fraction, payload_.data(), sizeof fraction);
        fraction = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
        if (on_progress) on_progress(fraction, std::string_view(payload_).substr(sizeof fraction));
      }
    } else {
      answer_.kind = header_.kind == FrameKind::result ? Answer::Kind::result : Answer::Kind::error;
      answer_.size = payload_.size();
      answer_.bytes = std::move(payload_);
    }
  }
  return false;
}

}  // namespace brig
