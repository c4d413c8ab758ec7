// Server: all of `brig serve` except its options: the paths, and what answers them.
#pragma once

#include <map>

#include "http/http_server.h"
#include "mcp/mcp_http.h"
#include "serve/api.h"
#include "serve/gate.h"
#include "service/jobs.h"

namespace brig::serve {

class Server {
 public:
  Server(Loop& loop, Service& service, Tokens& tokens, GateOptions gate, HttpLimits limits = {});

  HttpServer& http() { return http_; }
  // A token that is no longer valid stops working at once: its connections are closed and, if no
  // other token has its name, all its calls end.
  void replace_tokens(Tokens next);

 private:
  // Called at the end of a request's head. False: the request is answered.
  bool admit(const ExchangePtr& exchange);
  void handle(const ExchangePtr& exchange);
  // Records an answer in the audit log and the counts.
  void note(const Answered& answer);
  void show_console(Exchange& exchange) const;
  void show_events(const ExchangePtr& exchange, const CallerPtr& caller);
  void show_metrics(Exchange& exchange, const Caller& caller);
  Json status(const Caller& caller) const;
  // The state as an event, at most a second old, since many clients may watch.
  const std::string& status_event(const CallerPtr& caller);

  Loop& loop_;
  Service& service_;
  Tokens& tokens_;
  const std::chrono::steady_clock::time_point began_;
  unsigned streams_ = 0;
  std::map<CallerPtr, std::string> status_events_;
  std::chrono::steady_clock::time_point status_at_{};
  Gate gate_;
  // Of the HTTP API and of MCP.
  Jobs jobs_;
  Api api_;
  Mcp mcp_;
  McpHttp mcp_http_;
  // Last: what it serves outlives it.
  HttpServer http_;
};

}  // namespace brig::serve
