// MCP over HTTP: /mcp. A session, in the era that has them, holds nothing but what runs in it. So
// an unknown id (the server was restarted, or the session was idle for long) becomes a new session
// of that name: clients that receive a 404 rarely initialize again. Sessions are found by caller
// and id: an id that one caller sends never reaches another's session.
#pragma once

#include <deque>
#include <map>
#include <set>

#include "http/http.h"
#include "mcp/mcp.h"
#include "mcp/mcp_streams.h"

namespace brig::serve {

class McpHttp {
 public:
  explicit McpHttp(Mcp& mcp);

  void handle(const ExchangePtr& exchange, const CallerPtr& caller);
  std::size_t sessions() const { return sessions_.size(); }

 private:
  using Key = std::pair<const Caller*, std::string>;
  using Sessions = std::map<Key, McpSessionPtr>;

  void post(const ExchangePtr& exchange, const CallerPtr& caller);
  void modern(const ExchangePtr& exchange, const CallerPtr& caller, Json message);
  void legacy(const ExchangePtr& exchange, const CallerPtr& caller, Json message);
  void batch(const ExchangePtr& exchange, const CallerPtr& caller, Json messages);
  void get(const ExchangePtr& exchange, const CallerPtr& caller);
  void listen(const ExchangePtr& exchange, const McpSessionPtr& session);
  void remove(const ExchangePtr& exchange, const CallerPtr& caller);
  // Null: it has answered with an error.
  McpSessionPtr session_of(Exchange& exchange, const CallerPtr& caller, const Json& id);
  McpSessionPtr make_session(const CallerPtr& caller, std::string id);
  McpReplyPtr reply_to(const ExchangePtr& exchange, const McpSessionPtr& session,
                       std::vector<Header> headers = {});
  void tools_changed();
  void expire();
  Sessions::iterator forget(Sessions::iterator session);

  Mcp& mcp_;
  McpStreams streams_;
  Sessions sessions_;
  // The last ids that DELETE has ended: they are not accepted again.
  std::deque<Key> ended_;
  // The version of the list of tools, as the id of an event: a client that comes back with another
  // id has missed a change.
  const std::string list_;
  std::uint64_t changes_ = 0;
  std::string list_id() const { return list_ + "-" + std::to_string(changes_); }
  std::set<McpReplyPtr> listeners_;
  std::shared_ptr<void> watch_;
  Loop::Timer timer_;
};

}  // namespace brig::serve
