// OutputBuffer: keeps the first and the last part of a stream of any length, and counts all of it.
#pragma once

#include <brig/report.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace brig {

// A value for one thread at a time. It holds no memory before the first append, never more than
// `limit` bytes of the stream, and at most a sixteenth more in all while it grows. Once it is full,
// an append copies at most the bytes that stay, so a flood costs only its read(2).
class OutputBuffer {
 public:
  // Keeps the first limit/2 bytes and the last limit - limit/2 bytes. 0 keeps nothing and still
  // counts.
  explicit OutputBuffer(std::size_t limit) : limit_(limit) {}

  // May throw std::bad_alloc while the kept part still grows, and never after `limit` bytes have
  // come.
  void append(std::string_view bytes);

  // The number of all bytes that were appended.
  std::uint64_t total() const { return total_; }

  // Returns the kept bytes in order; the buffer is empty afterwards. If nothing was dropped, they
  // are the stream, byte for byte. Otherwise the pieces of a code point that the cut has split are
  // dropped too (at most 3 bytes on each side), so that UTF-8 stays UTF-8.
  Output take();

 private:
  std::size_t head() const { return limit_ / 2; }
  std::size_t tail() const { return limit_ - limit_ / 2; }
  void grow(std::size_t size);

  std::size_t limit_;
  std::uint64_t total_ = 0;
  // The stream itself until it has `limit_` bytes. Then the head, and behind it a ring with the
  // tail, whose oldest byte is at head() + oldest_. It is one string, so that take() needs no
  // second one.
  std::string kept_;
  std::size_t oldest_ = 0;
};

}  // namespace brig
