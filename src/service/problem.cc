#include "service/problem.h"

#include <fmt/format.h>

#include "json/json_line.h"
#include "json/json_text.h"

namespace brig::serve {

Response problem(unsigned status, std::string_view name, const std::string& detail) {
  const Json body{{"type", name.empty() ? "about:blank" : fmt::format("urn:brig:problem:{}", name)},
                  {"title", name.empty() ? std::string(reason_of(status)) : std::string(name)},
                  {"status", status},
                  {"detail", detail}};
  return {status, "application/problem+json", json_line(body), {}, std::string(name)};
}

Response problem(const Refusal& refusal) {
  Response response = problem(refusal.status, refusal.name, refusal.detail);
  response.noted = refusal.noted;
  if (refusal.retry_after)
    response.headers.push_back(
        {"Retry-After", std::to_string((refusal.retry_after->count() + 999) / 1000)});
  return response;
}

Response json_response(const Json& body, unsigned status) {
  return {status, "application/json", json_line(body), {}};
}

std::optional<Json> body_of(Exchange& exchange) {
  Request& request = exchange.request;
  if (!request.body.empty() && !request.is_json()) {
    exchange.respond(problem(415, "", "Content-Type must be application/json"));
    return {};
  }
  std::string fault;
  auto body =
      request.body.empty() ? Json::object() : json_taken_from(std::move(request.body), fault);
  if (!body || !body->is_object()) {
    exchange.respond(problem(400, "malformed",
                             !body ? json_refusal("the body is not JSON: ", fault)
                                   : std::string("the body must be a JSON object")));
    return {};
  }
  return body;
}

}  // namespace brig::serve
