// Results of run_command and run_python as content of MCP: text alone, images, links. A copy of the text as structured content would be all
// that some clients show, and for others the same thing twice.
#pragma once

#include <brig/sandbox.h>

#include <vector>

#include "mcp/mcp_content.h"

namespace brig::serve {

// What was written, with what was displayed where it was displayed; then the value, images and files. Of a call that failed the reason
// comes first.
void add_builtin(ResultContent& content, ToolResult& result);

// Of a call that failed: the outcome and the error, and where it was thrown.
std::vector<ResultContent::Part> failure_parts(ToolResult& result);
// stdout, with a label if it needs one, and stderr. Refers to the report.
void add_stream_parts(std::vector<ResultContent::Part>& parts, const Report& report,
                      bool name_stdout);

// The pieces of a stream between these places, which do not fall: one more than there are places, and empty ones too. What brig has
// not kept of it is a gap in one of them, and a place in the gap is behind it. They are cut between characters.
std::vector<Output> pieces_of(const Output& stream, const std::vector<std::uint64_t>& places);

}  // namespace brig::serve
