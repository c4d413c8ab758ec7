#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

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
  std::string line;
  for (const char c : message) {
    // A message can hold a name that a tool or a file chose.
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      line += c;
  }
  fmt::print(stderr, "{} {}\n", styled("brig:", Style::bad, 2), line);
}

}  // namespace brig::cli
