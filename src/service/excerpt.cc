#include "service/excerpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"

namespace brig::serve {
namespace {

constexpr std::size_t kMostViolations = 10;
// Where a text is cut, up to this many bytes more are left out, so that no piece of a line or of a
// number looks like a whole one.
constexpr std::size_t kNear = 200;

// Both ends of a text, the gap between them, and what belongs to neither.
struct Ends {
  std::string_view head, tail;
  std::uint64_t missing = 0;
};

std::string_view without_cut_end(std::string_view text) {
  return text.substr(0, text.size() - utf8_cut_at_end(text));
}

std::string_view without_cut_start(std::string_view text) {
  return text.substr(utf8_cut_at_start(text));
}

// Without the line that was cut, if little is lost by that.
std::string_view to_line_end(std::string_view text) {
  // 0 if there is none.
  const std::size_t end = text.rfind('\n') + 1;
  return end > 0 && text.size() - end <= std::min(kNear, text.size() / 2) ? text.substr(0, end)
                                                                          : text;
}

std::string_view from_line_start(std::string_view text) {
  const std::size_t begin = text.find('\n') + 1;
  return begin <= std::min(kNear, text.size() / 2) ? text.substr(begin) : text;
}

Ends ends_of(const Output& output) {
  const std::string_view all = output.bytes;
  if (!output.truncated) return {all, {}, 0};
  const std::size_t cut = std::min(output.cut, all.size());
  Ends ends{to_line_end(without_cut_end(all.substr(0, cut))),
            from_line_start(without_cut_start(all.substr(cut))), 0};
  ends.missing = output.total - ends.head.size() - ends.tail.size();
  return ends;
}

// No more than `most` bytes of both together.
Ends narrowed(Ends ends, std::size_t most) {
  const std::size_t all = ends.head.size() + ends.tail.size();
  if (all <= most) return ends;
  const bool is_one = ends.missing == 0;
  // It gets a gap.
  if (is_one) {
    ends.tail = ends.head.substr(ends.head.size() / 2);
    ends.head.remove_suffix(ends.tail.size());
  }
  const std::size_t half = most / 2;
  // What one end does not need the other may have.
  const std::size_t first =
      std::min(ends.head.size(), std::max(half, most - std::min(most, ends.tail.size())));
  const std::size_t begin = ends.tail.size() - std::min(ends.tail.size(), most - first);
  std::string_view head = without_cut_end(ends.head.substr(0, first)),
                   tail = without_cut_start(ends.tail.substr(begin));
  if (is_one || first < ends.head.size()) head = to_line_end(head);
  const std::string_view before = begin > 0 ? ends.tail.substr(0, begin)
                                  : is_one  ? ends.head
                                            : "\n";
  if (!before.ends_with('\n')) tail = from_line_start(tail);
  return {head, tail, ends.missing + all - head.size() - tail.size()};
}

std::string joined(const Ends& ends) {
  std::string text(ends.head);
  if (ends.missing == 0) return text.append(ends.tail);
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  text += gap_mark(ends.missing);
  text += '\n';
  return text.append(ends.tail);
}

Excerpt excerpt_of_ends(const Ends& ends, std::size_t most) {
  const Ends narrow = narrowed(ends, most);
  return {joined(narrow),
          narrow.head.size() + narrow.tail.size() == ends.head.size() + ends.tail.size()};
}

}  // namespace

std::string gap_mark(std::uint64_t bytes) {
  return fmt::format("[... {} left out ...]", format_size(bytes));
}

Excerpt excerpt_of(std::string_view text, std::size_t most) {
  return excerpt_of_ends({text, {}, 0}, most);
}

Excerpt excerpt_of(const Output& output, std::size_t most) {
  const Ends ends = ends_of(output);
  if (!is_valid_utf8(ends.head) || !is_valid_utf8(ends.tail))
    return {fmt::format("[{} of binary data, not UTF-8 text]", format_size(output.total)), false};
  return excerpt_of_ends(ends, most);
}

std::string kept_of(const Output& output) {
  const Ends ends = ends_of(output);
  if (!is_valid_utf8(ends.head) || !is_valid_utf8(ends.tail)) return output.bytes;
  return joined(ends);
}

std::vector<std::size_t> shares_of(const std::vector<std::size_t>& sizes, std::size_t total) {
  std::vector<std::size_t> order(sizes.size()), shares(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return sizes[a] < sizes[b]; });
  std::size_t left = sizes.size();
  for (const std::size_t each : order) {
    shares[each] = std::min(sizes[each], total / left--);
    total -= shares[each];
  }
  return shares;
}

std::vector<std::string> violation_lines(const Report& report, bool message_is_shown) {
  std::vector<std::string> lines;
  std::size_t more = 0;
  for (const Violation& each : report.violations) {
    if (each.mentioned && message_is_shown) continue;
    if (lines.size() < kMostViolations)
      lines.push_back(fmt::format("{}: {}", printable(each.code), printable(sentence(each))));
    else
      ++more;
  }
  if (more > 0) lines.push_back(fmt::format("and {} more", more));
  return lines;
}

}  // namespace brig::serve
