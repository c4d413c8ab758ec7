// What a function tool sends to the host: frames over a pipe of its own, so that its printing can't
// touch them. A frame is {kind, size} and `size` bytes. There are any number of progress frames and
// then one result or error; the reader ignores what follows. The bytes come from inside a cell, so
// the reader bounds them and trusts nothing.
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

// A double and a message. Together with its header, that is one atomic write to a pipe.
inline constexpr uint32_t kMaxProgress = 4096 - sizeof(FrameHeader);
inline constexpr uint32_t kMaxErrorFrame = 64 * 1024;

// Including the header.
inline constexpr uint32_t kMaxCatalog = 16 * 1024 * 1024;

struct Answer {
  enum class Kind {
    none,      // Nothing came, or not all of it.
    result,    // `bytes` is the result: JSON, if the tool was honest.
    error,     // `bytes` is {"type", "message"}, if the tool was honest.
    too_large  // The result is above the limit. `size` says how large it would have been.
  } kind = Kind::none;
  std::string bytes;
  std::uint64_t size = 0;
};

using ProgressCallback = std::function<void(double fraction, std::string_view message)>;

class AnswerReader {
 public:
  explicit AnswerReader(std::uint64_t limit) : limit_(limit) {}

  // Takes the next bytes. False when nothing more needs to be read.
  bool feed(std::string_view bytes, const ProgressCallback& on_progress);
  bool complete() const { return answer_.kind != Answer::Kind::none; }
  const Answer& answer() const { return answer_; }
  // Whether the tool sent something and then stopped in the middle.
  bool cut_off() const { return !complete() && (have_ > 0 || broken_); }
  // Whether something other than frames came.
  bool broken() const { return broken_; }
  Answer take() { return std::move(answer_); }

 private:
  bool begin_frame();

  const std::uint64_t limit_;
  FrameHeader header_{};
  // Bytes of the header, then of the payload too.
  std::size_t have_ = 0;
  std::string payload_;
  bool broken_ = false;
  Answer answer_;
};

}  // namespace brig
