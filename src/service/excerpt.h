// Texts that fit a model: the beginning and the end of a long text, with a mark of the gap between
// them.
#pragma once

#include <brig/report.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace brig::serve {

// About as much as is useful to a model from one call; clients warn or cut at 25,000 tokens or
// less.
inline constexpr std::size_t kUsualText = std::size_t{25} << 10;

// "[... 1.2 MiB left out ...]"
std::string gap_mark(std::uint64_t bytes);

struct Excerpt {
  std::string text;       // UTF-8, never empty unless there was nothing
  bool shows_all = true;  // everything that is kept: there is nothing more to read
};
// At most `most` bytes, not counting the mark.
Excerpt excerpt_of(std::string_view text, std::size_t most);
// An excerpt of a stream, of which brig may have kept only the beginning and the end. For bytes
// that are not UTF-8, a note gives their size.
Excerpt excerpt_of(const Output& output, std::size_t most);
// Everything that is kept of a stream, with a mark at the gap if it is text.
std::string kept_of(const Output& output);

// How many of `total` bytes each of several texts may have: short ones get all they need, the
// others share what is left.
std::vector<std::size_t> shares_of(const std::vector<std::size_t>& sizes, std::size_t total);

// What the policy refused in the call, one line each, for a model to read; at most eleven lines. If
// the whole message of the report is shown, the violations that it mentions (Violation::mentioned)
// are left out.
std::vector<std::string> violation_lines(const Report& report, bool message_is_shown);

}  // namespace brig::serve
