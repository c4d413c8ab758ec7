// Problems: errors of the HTTP API, as RFC 9457 has them.
#pragma once

#include <brig/json.h>

#include <string>

#include "http/http.h"
#include "service/service.h"

namespace brig::serve {

// `name`: of its type, "rate-limited"; empty: the status says it all.
Response problem(unsigned status, std::string_view name, const std::string& detail);
Response problem(const Refusal& refusal);
Response json_response(const Json& body, unsigned status = 200);

// The JSON object of a request's body; else a problem is answered, and there is none.
std::optional<Json> body_of(Exchange& exchange);

}  // namespace brig::serve
