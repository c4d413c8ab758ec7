#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "base/error.h"
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

namespace {

int g_error = 0;  // of the first write that failed
constexpr int kUnknown = -1;

// Without an exception: a full disk may be what there is to complain of.
void to_stderr(const std::string& text) { (void)!std::fwrite(text.data(), 1, text.size(), stderr); }

}  // namespace

void put(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() && !g_error) g_error = errno;
}

int finished(int code) {
  errno = 0;
  std::cout.flush();  // what CLI11 prints
  if ((std::fflush(stdout) != 0 || std::ferror(stdout) || !std::cout) && !g_error)
    g_error = errno ? errno : kUnknown;
  if (!g_error) return code;
  if (g_error == EPIPE) return code ? code : kSignalBase + SIGPIPE;
  complain(fmt::format("standard output: {}; the output is incomplete",
                       g_error == kUnknown ? "it could not be written" : errno_text(g_error)));
  return code ? code : kOwnFailure;
}

void complain(std::string_view message) {
  to_stderr(fmt::format("{} {}\n", styled("brig:", Style::bad, 2), printable(message)));
}

void complain_lines(std::string_view message) {
  while (message.ends_with('\n')) message.remove_suffix(1);
  for (bool first = true; first || !message.empty(); first = false) {
    const std::string_view line = message.substr(0, message.find('\n'));
    message.remove_prefix(std::min(message.size(), line.size() + 1));
    if (first)
      complain(line);
    else
      to_stderr(fmt::format("      {}\n", printable(line)));
  }
}

}  // namespace brig::cli
