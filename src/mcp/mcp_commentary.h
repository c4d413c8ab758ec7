// McpCommentary: the notifications about a call before its answer: progress, if the client asked
// for it, and what the tool logs. Use it on the loop's thread only.
#pragma once

#include <chrono>
#include <string>

#include "http/loop.h"
#include "mcp/mcp.h"

namespace brig::serve {

class McpCommentary {
 public:
  McpCommentary(McpReplyPtr reply, std::string tool)
      : reply_(std::move(reply)), tool_(std::move(tool)) {}

  // Sends progress under that token, and a heartbeat while the tool reports none.
  void want_progress(Json token, Loop& loop);
  // Sends each line that the tool writes to stderr.
  void want_log() { log_ = true; }

  void receive(const Event& event);
  // Sends nothing more after this; sends a line that has not ended yet.
  void finish();

 private:
  void progress(double fraction, const std::string& text);
  void beat();
  void take_log(const std::string& text);
  void send_line();

  const McpReplyPtr reply_;
  const std::string tool_;
  Json token_;
  double last_ = -1;
  std::chrono::steady_clock::time_point began_;
  Loop::Timer heartbeat_;
  bool log_ = false;
  std::string line_;
};

}  // namespace brig::serve
