// MCP over stdin and stdout: a message per line, and nothing else.
#pragma once

#include <functional>
#include <string>

#include "base/fd.h"
#include "mcp/mcp.h"

namespace brig::serve {

class McpStdio {
 public:
  // Makes both descriptors non-blocking, if they can be. `on_end` is called once, when there is
  // nothing more to read, or the client does not read any more.
  McpStdio(Mcp& mcp, CallerPtr caller, int in, int out, std::function<void()> on_end);
  ~McpStdio();
  McpStdio(const McpStdio&) = delete;
  McpStdio& operator=(const McpStdio&) = delete;

 private:
  class Reply;
  void read();
  void take(std::string line);
  void write(const Json& message);
  void write_line(const std::string& line);
  void flush();
  void end();

  Mcp& mcp_;
  const int in_, out_;
  const int in_flags_, out_flags_;
  std::function<void()> on_end_;
  McpOrigin origin_;
  std::string line_;
  bool too_long_ = false;
  std::string unsent_;
  std::shared_ptr<void> readable_, tools_;
  Loop::Timer retry_;
};

}  // namespace brig::serve
