// MCP over HTTP: /mcp. A session of the eras that have them holds nothing but what runs in it, so an id that is not known (the
// server was started again, or the session was idle for long) is taken as a new session of that name: clients that are told 404
// rarely initialize anew. Sessions are found by caller and id: what one caller sends as an id never reaches another's.
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
  // Null: answered.
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
  std::deque<Key> ended_;  // by DELETE, the last of them: these ids are not taken again
  // The version of the list of tools, as the id of an event: who comes back with another has missed a change.
  const std::string list_;
  std::uint64_t changes_ = 0;
  std::string list_id() const { return list_ + "-" + std::to_string(changes_); }
  std::set<McpReplyPtr> listeners_;
  std::shared_ptr<void> watch_;
  Loop::Timer timer_;
};

}  // namespace brig::serve
