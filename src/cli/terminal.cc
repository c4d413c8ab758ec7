#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "cli/cli.h"

namespace brig::cli {

std::string styled(std::string_view text, Style style, int fd) {
  const char* term = std::getenv("TERM");
  const char* no_color = std::getenv("NO_COLOR");
  const bool colour =
      isatty(fd) && !(no_color && *no_color) && !(term && std::string_view(term) == "dumb");
  if (!colour || style == Style::plain) return std::string(text);
  const char* code = style == Style::good  ? "32"
                     : style == Style::bad ? "31"
                     : style == Style::dim ? "2"
                                           : "1";
  return fmt::format("\033[{}m{}\033[0m", code, text);
}

void complain(std::string_view message) {
  fmt::print(stderr, "{} {}\n", styled("brig:", Style::bad, 2), printable(message));
}

void complain_lines(std::string_view message) {
  while (message.ends_with('\n')) message.remove_suffix(1);
  for (bool first = true; first || !message.empty(); first = false) {
    const std::string_view line = message.substr(0, message.find('\n'));
    message.remove_prefix(std::min(message.size(), line.size() + 1));
    if (first)
      complain(line);
    else
      fmt::print(stderr, "      {}\n", printable(line));
  }
}

}  // namespace brig::cli
