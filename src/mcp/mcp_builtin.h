// Results of run_command and run_python as content of MCP: text, images, links, and no structured
// content. Some clients would show only that, and others would show the same text twice.
#pragma once

#include <brig/sandbox.h>

#include <vector>

#include "mcp/mcp_content.h"

namespace brig::serve {

// Adds what was written, with displays at their places in it; then the value, images and files. If
// the call failed, the reason comes first.
void add_builtin(ResultContent& content, ToolResult& result);

// For a call that failed: the outcome, the error, and the traceback.
std::vector<ResultContent::Part> failure_parts(ToolResult& result);
// stdout, with a label if it needs one, and stderr. Refers to the report.
void add_stream_parts(std::vector<ResultContent::Part>& parts, const Report& report,
                      bool name_stdout);

// The pieces of a stream between these places, which must be in ascending order: one piece more
// than there are places; pieces may be empty. The part that brig has not kept is a gap in one of
// them; a place in the gap counts as after it. Pieces are cut between characters.
std::vector<Output> pieces_of(const Output& stream, const std::vector<std::uint64_t>& places);

}  // namespace brig::serve
