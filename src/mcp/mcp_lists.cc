// What a client of MCP can list and read: tools and resources.
#include <algorithm>

#include "base/text.h"
#include "json/json_line.h"
#include "mcp/mcp_request.h"
#include "mcp/mcp_tool.h"

namespace brig::serve {
namespace {

// A page of tools: clients accept lines of a few MiB, and a tool has as much text as its author
// gave it.
constexpr std::size_t kPage = 100, kPageBytes = std::size_t{1} << 20;

}  // namespace

void Mcp::list_tools(Request& request) {
  const auto tools = service_.tools(request.caller());
  // The cursor is the name of the last tool that was given: it stays valid when tools come and go.
  const auto after = request.cursor();
  if (!after) return;
  const auto first =
      static_cast<std::size_t>(std::find_if(tools.begin(), tools.end(),
                                            [&](const auto& tool) { return tool->name > *after; }) -
                               tools.begin());
  std::size_t end = std::min(first + kPage, tools.size()), bytes = 0;
  Json list = Json::array();
  for (std::size_t i = first; i < end; ++i) {
    const Tool& tool = *tools[i];
    list.push_back(
        mcp_tool(tool, service_.policy_of(tool), request.modern, service_.is_own(tool.name)));
    // Before 2025-06-18 there were neither output schemas nor structured results.
    if (!request.modern && request.origin.session->version < "2025-06-18")
      list.back().erase("outputSchema");
    if (!request.modern && request.has_tasks())
      list.back()["execution"] = {{"taskSupport", "optional"}};
    bytes += json_line(list.back()).size();
    if (bytes > kPageBytes && i > first) {
      list.erase(list.size() - 1);
      end = i;
    }
  }
  Json result{{"tools", std::move(list)}};
  if (end < tools.size()) result["nextCursor"] = base64(tools[end - 1]->name);
  request.answer_list(std::move(result));
}

void Mcp::list_resources(Request& request) {
  const auto after = request.cursor();
  if (!after) return;
  bool more = false;
  auto list = resources_.list(request.origin.caller, *after, more);
  if (!list)
    return request.fail(rpc::kInvalidParams,
                        "cursor: its resource is not kept any more; begin again without a cursor");
  Json result{{"resources", std::move(*list)}};
  if (more) result["nextCursor"] = base64(result["resources"].back()["uri"].get<std::string>());
  request.answer_list(std::move(result));
}

void Mcp::list_templates(Request& request) {
  request.answer_list({{"resourceTemplates", Json::array()}});
}

void Mcp::read_resource(Request& request) {
  const auto uri = request.params.find("uri");
  if (uri == request.params.end() || !uri->is_string())
    return request.fail(rpc::kInvalidParams, "uri must be a string");
  std::string fault;
  auto result = is_short_text(*uri) ? resources_.read(request.origin.caller,
                                                      uri->get_ref<const std::string&>(), fault)
                                    : std::nullopt;
  if (!result) {
    if (fault.empty()) fault = "There is no such resource: the uri is too long.";
    return request.fail(request.modern ? rpc::kInvalidParams : rpc::kNoResource, fault, 200,
                        {{"uri", is_short_text(*uri) ? *uri : Json()}});
  }
  request.answer_list(std::move(*result));
}

}  // namespace brig::serve
