// MCP over HTTP: /mcp.
#pragma once

#include <map>

#include "serve/http.h"
#include "serve/mcp.h"

namespace brig::serve {

class McpHttp {
 public:
  explicit McpHttp(Mcp& mcp);

  void handle(const ExchangePtr& exchange, const CallerPtr& caller);
  std::size_t sessions() const { return sessions_.size(); }

 private:
  void post(const ExchangePtr& exchange, const CallerPtr& caller);
  void modern(const ExchangePtr& exchange, const CallerPtr& caller, Json message);
  void legacy(const ExchangePtr& exchange, const CallerPtr& caller, Json message);
  void listen(const ExchangePtr& exchange, const CallerPtr& caller);
  void remove(const ExchangePtr& exchange, const CallerPtr& caller);
  // Null: answered.
  McpSessionPtr session_of(Exchange& exchange, const CallerPtr& caller, const Json& id);
  McpSessionPtr make_session(const CallerPtr& caller);
  void expire();
  using Sessions = std::map<std::string, McpSessionPtr>;
  Sessions::iterator forget(Sessions::iterator session);

  Mcp& mcp_;
  Sessions sessions_;
  Loop::Timer timer_;
};

}  // namespace brig::serve
