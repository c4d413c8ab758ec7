// Results of calls in MCP's form, made to fit a model and a client:
// see docs/decisions/033-what-a-model-reads-of-a-result.md.
#pragma once

#include <brig/json.h>
#include <brig/sandbox.h>

#include <functional>
#include <string>
#include <string_view>

#include "service/excerpt.h"

namespace brig::serve {

// The form in which a client gets a result.
struct McpView {
  bool modern = true;
  bool has_links =
      true;  // its version has resource_link and structuredContent: 2025-06-18 and later
  bool has_audio = true;  // 2025-03-26 and later
  std::size_t text = kUsualText;
  // Keeps bytes for resources/read. Returns the entry of resources/list, or null if there is no
  // room.
  std::function<Json(const std::string& name, std::string mime_type, std::string bytes)> keep =
      [](const std::string&, const std::string&, const std::string&) { return Json(); };

  static McpView of_version(std::string_view version);
};

// The limit of one result beside its text: structured content, images, everything. Clients on stdio
// end the connection at a line of 5 MiB or more.
inline constexpr std::size_t kMostBesideText = std::size_t{3} << 20;

// The result of tools/call. `tool` is null if it is gone by now. `builtin`: it was run_command or
// run_python.
Json mcp_result(ToolResult result, const Tool* tool, bool builtin, const McpView& view);

}  // namespace brig::serve
