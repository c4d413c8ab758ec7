// The lines of a request's head, looked at byte by byte: what a lenient server could read in
// another way than Beast's parser does is refused here, before that sees it. Part of http_head.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace brig::egress {

struct HeadLines {
  std::size_t begin = 0;  // Behind the empty lines in front.
  std::size_t end = 0;    // Behind the empty line at the end. 0: that has not come yet.
  std::string fault;      // A bare CR or LF, or a control byte, comes before.
};
HeadLines find_head(std::string_view bytes);

struct LineFault {
  unsigned status = 0;  // 0: none.
  std::string why;
};
// `head` ends with an empty line, and has only whole line ends and no control bytes.
LineFault check_lines(std::string_view head);

// The items of a list with commas, without the spaces around them, and without empty ones.
std::vector<std::string_view> list_items(std::string_view text);

}  // namespace brig::egress
