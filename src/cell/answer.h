// What a function tool says to the host: frames over a pipe of its own, so that printing can't touch
// them. A frame is {kind, size} and `size` bytes. Any number of progress frames, then one result or
// error; what follows that is not looked at. The bytes come from inside a cell: the reader bounds them
// and trusts nothing.
#pragma once

#include <stdint.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace brig {

enum class FrameKind : uint32_t { progress = 1, result, error };

struct FrameHeader {
  FrameKind kind;
  uint32_t size;
};

// A double and a message. With its header it is one atomic write to a pipe.
inline constexpr uint32_t kMaxProgress = 4096 - sizeof(FrameHeader);
inline constexpr uint32_t kMaxErrorFrame = 64 * 1024;

inline constexpr uint32_t kMaxCatalog = 16 * 1024 * 1024;  // header included

struct Answer {
  enum class Kind {
    none,      // nothing came, or not all of it
    result,    // `bytes` is the result, JSON if the tool was honest
    error,     // `bytes` is {"type", "message"}, likewise
    too_large  // a result above the limit: `size` says how large it would have been
  } kind = Kind::none;
  std::string bytes;
  std::uint64_t size = 0;
};

using ProgressCallback = std::function<void(double fraction, std::string_view message)>;

class AnswerReader {
 public:
  explicit AnswerReader(std::uint64_t limit) : limit_(limit) {}

  // False once nothing more needs to be read.
  bool feed(std::string_view bytes, const ProgressCallback& on_progress);
  bool complete() const { return answer_.kind != Answer::Kind::none; }
  const Answer& answer() const { return answer_; }
  // Nothing was said, or it broke off in the middle.
  bool cut_off() const { return !complete() && (have_ > 0 || broken_); }
  // Something other than frames came.
  bool broken() const { return broken_; }
  Answer take() { return std::move(answer_); }

 private:
  bool begin_frame();

  const std::uint64_t limit_;
  FrameHeader header_{};
  std::size_t have_ = 0;  // bytes of the header, then of the payload too
  std::string payload_;
  bool broken_ = false;
  Answer answer_;
};

}  // namespace brig
