#include "cli/watch_printer.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/cli.h"

namespace brig::cli {

namespace {

// A longer one is shown in parts.
constexpr std::size_t kMaxLine = 4096;
constexpr const char* kNames[] = {"stdout", "stderr"};

}  // namespace

void WatchPrinter::print(const Event& event) {
  if (mute_) return;
  if (!begin_) begin_ = event.at;
  tell(event);
  mute_ = !passer_.pass(2, lines_);
  lines_.clear();
}

void WatchPrinter::tell(const Event& event) {
  if (event.dropped) line(event, "lost", fmt::format("{} events", event.dropped));
  switch (event.kind) {
    case Event::Kind::output: return output(event);
    case Event::Kind::progress:
      return line(event, to_string(event.kind),
                  fmt::format("{:.0f} %{}{}", event.fraction * 100, event.text.empty() ? "" : "  ",
                              event.text));
    case Event::Kind::finished:
      for (const int i : {0, 1})
        if (!rest_[i].empty()) line(event, kNames[i], std::exchange(rest_[i], ""));
      return line(event, to_string(event.kind),
                  fmt::format("{}: {}", to_string(event.outcome), event.text));
    case Event::Kind::lost: return;
    default: return line(event, to_string(event.kind), event.text);
  }
}

void WatchPrinter::output(const Event& event) {
  const int i = event.stream == Stream::out ? 0 : 1;
  std::string& rest = rest_[i];
  for (const char c : event.text) {
    if (c != '\n') rest += c;
    if (c == '\n' || rest.size() >= kMaxLine) {
      line(event, kNames[i], rest);
      rest.clear();
    }
  }
}

void WatchPrinter::line(const Event& event, std::string_view what, std::string_view text) {
  const double seconds = std::chrono::duration<double>(event.at - *begin_).count();
  const std::string begin = fmt::format("{:8.3f}  {:<{}}", seconds, what, text.empty() ? 0 : 10);
  lines_ += styled(begin, Style::dim, 2) + printable(text) + "\n";
}

}  // namespace brig::cli
