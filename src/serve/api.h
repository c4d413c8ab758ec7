// Api: the plain HTTP API, /v1. docs/serve.md and openapi.json have its contract.
#pragma once

#include "http/caller.h"
#include "http/http.h"
#include "http/loop.h"
#include "service/jobs.h"
#include "service/service.h"

namespace brig::serve {

class Api {
 public:
  Api(Loop& loop, Service& service, Jobs& jobs, std::function<Json(const Caller&)> status)
      : loop_(loop), service_(service), jobs_(jobs), status_(std::move(status)) {}

  // Answers a request for a path below /v1.
  void handle(const ExchangePtr& exchange, const CallerPtr& caller);

 private:
  void show_capabilities(const ExchangePtr& exchange);
  void list_tools(const ExchangePtr& exchange, const CallerPtr& caller);
  void call_tool(const ExchangePtr& exchange, const CallerPtr& caller, const std::string& tool);
  void run(const ExchangePtr& exchange, const CallerPtr& caller);
  void start(const ExchangePtr& exchange, CallRequest request);
  void stream(const ExchangePtr& exchange, CallRequest request);
  void list_calls(const ExchangePtr& exchange, const CallerPtr& caller);
  void cancel_call(const ExchangePtr& exchange, const CallerPtr& caller, const std::string& id);
  void submit_job(const ExchangePtr& exchange, const CallerPtr& caller);
  void show_job(const ExchangePtr& exchange, const CallerPtr& caller, const std::string& id);
  void remove_job(const ExchangePtr& exchange, const CallerPtr& caller, const std::string& id);

  Loop& loop_;
  Service& service_;
  Jobs& jobs_;
  std::function<Json(const Caller&)> status_;
  // JSON, once they are known.
  std::string capabilities_;
  Worker worker_;
};

// The problem document for a result of a request that never became a call; nothing if there was a
// call.
std::optional<Response> problem_of(const ToolResult& result);

}  // namespace brig::serve
