#include "mcp/mcp_commentary.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace brig::serve {
namespace {

// Clients give up on a request after a minute without a message about it.
constexpr std::chrono::seconds kHeartbeat{10};
constexpr std::size_t kLongestLogLine = 8 * 1024;

}  // namespace

void McpCommentary::want_progress(Json token, Loop& loop) {
  token_ = std::move(token);
  began_ = std::chrono::steady_clock::now();
  heartbeat_ = loop.every(kHeartbeat, [this] { beat(); });
}

void McpCommentary::receive(const Event& event) {
  if (event.kind == Event::Kind::progress)
    progress(event.fraction, event.text);
  else if (event.kind == Event::Kind::output && event.stream == Stream::err && log_)
    take_log(event.text);
}

void McpCommentary::finish() {
  heartbeat_.reset();
  if (log_ && !line_.empty()) send_line();
}

// Progress must grow: a value that a tool repeats or takes back is not passed on.
void McpCommentary::progress(double fraction, const std::string& text) {
  if (token_.is_null() || !(fraction > last_)) return;
  last_ = fraction;
  Json params{{"progressToken", token_}, {"progress", fraction}};
  // A heartbeat after the last word goes beyond.
  if (fraction <= 1) params["total"] = 1;
  if (!text.empty() && is_valid_utf8(text)) params["message"] = text;
  reply_->notify(rpc::notification("notifications/progress", std::move(params)));
}

void McpCommentary::beat() {
  const auto age =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began_);
  progress(std::max(last_, 0.0) + 1e-9, fmt::format("running for {} s", age.count()));
}

void McpCommentary::take_log(const std::string& text) {
  for (const char c : text) {
    if (c == '\n') {
      send_line();
    } else {
      line_.push_back(c);
      if (line_.size() >= kLongestLogLine) send_line();
    }
  }
}

void McpCommentary::send_line() {
  std::string line = std::exchange(line_, "");
  if (!is_valid_utf8(line)) line = in_quotes(line);
  reply_->notify(rpc::notification("notifications/message",
                                   {{"level", "info"}, {"logger", tool_}, {"data", line}}));
}

}  // namespace brig::serve
