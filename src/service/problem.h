// Problems: errors of the HTTP API, in the form of RFC 9457.
#pragma once

#include <brig/json.h>

#include <string>

#include "http/http.h"
#include "service/service.h"

namespace brig::serve {

// `name`: that of its type, such as "rate-limited"; empty if the status says enough.
Response problem(unsigned status, std::string_view name, const std::string& detail);
Response problem(const Refusal& refusal);
Response json_response(const Json& body, unsigned status = 200);

// The JSON object of a request's body. If there is none, it answers with a problem and returns
// nothing.
std::optional<Json> body_of(Exchange& exchange);

}  // namespace brig::serve
