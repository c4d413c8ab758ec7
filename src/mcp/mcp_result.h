// Results of calls as MCP has them, made to fit a model and a client: see docs/decisions/033-what-a-model-reads-of-a-result.md.
#pragma once

#include <brig/json.h>
#include <brig/sandbox.h>

#include <functional>
#include <string>
#include <string_view>

#include "service/excerpt.h"

namespace brig::serve {

// How a client is to have a result.
struct McpView {
  bool modern = true;
  bool has_links =
      true;  // its version has resource_link and structuredContent: 2025-06-18 and later
  bool has_audio = true;  // 2025-03-26 and later
  std::size_t text = kUsualText;
  // Keeps bytes for resources/read; what resources/list says of them, or null, if there is no room.
  std::function<Json(const std::string& name, std::string mime_type, std::string bytes)> keep =
      [](const std::string&, const std::string&, const std::string&) { return Json(); };

  static McpView of_version(std::string_view version);
};

// Beside its text, of one result: structured content, images, all. Clients on stdio end the connection at a line of 5 MiB or more.
inline constexpr std::size_t kMostBesideText = std::size_t{3} << 20;

// Of tools/call. `tool` may be gone by now: null. `builtin`: it was run_command or run_python.
Json mcp_result(ToolResult result, const Tool* tool, bool builtin, const McpView& view);

}  // namespace brig::serve
