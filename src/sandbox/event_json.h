// Events as JSON: the one writer of them, for C, Python and the server.
#pragma once

#include <brig/sandbox.h>

namespace brig {

// The members that fit the event's kind (docs/serve.md). Text that is not UTF-8 is "text_base64".
Json json_of(const Event& event);
// What the server adds to the event "finished", and keeps of calls that have ended: how the call
// ended and what it used, under the names that a report has for it.
void add_end(Json& event, const ToolResult& result);

}  // namespace brig
