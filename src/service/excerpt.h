// Texts that fit a model: the beginning and the end of what is long, with a mark of what is left out between them.
#pragma once

#include <brig/report.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace brig::serve {

// About what a model reads with profit from one call; clients warn or cut at 25,000 tokens or less.
inline constexpr std::size_t kUsualText = std::size_t{25} << 10;

// "[... 1.2 MiB left out ...]"
std::string gap_mark(std::uint64_t bytes);

struct Excerpt {
  std::string text;       // UTF-8, never empty unless there was nothing
  bool shows_all = true;  // of what is kept: there is nothing more to read
};
// At most `most` bytes, the mark apart.
Excerpt excerpt_of(std::string_view text, std::size_t most);
// Of a stream, of which brig itself may have kept only the beginning and the end. What is not UTF-8 is told with its size.
Excerpt excerpt_of(const Output& output, std::size_t most);
// All that is kept of a stream, the gap marked if it is text.
std::string kept_of(const Output& output);

// How many of `total` bytes each of several texts may have: short ones have all they need, the others share what is left.
std::vector<std::size_t> shares_of(const std::vector<std::size_t>& sizes, std::size_t total);

// What the policy refused the call, one line each, for a model to read; at most eleven lines. Without what the report's
// message says already (Violation::told), if all of that is shown.
std::vector<std::string> violation_lines(const Report& report, bool message_is_shown);

}  // namespace brig::serve
