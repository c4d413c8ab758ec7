#include "service.h"

#include "http/loop_impl.h"
#include "service/run_command.h"

namespace brig::fuzz {
namespace {

serve::Builtins quiet_builtins() {
  Tool command = serve::run_command_tool();
  command.maker = nullptr;
  command.argv = {"true"};
  command.input_schema["not"] = Json::object();
  Tool search;
  search.name = "search";
  search.description = "Finds things.";
  search.argv = {"true", "{query}"};
  search.input_schema = Json::parse(R"({
    "type": "object", "required": ["query"], "not": {}, "additionalProperties": false,
    "properties": {
      "query": {"type": "string", "minLength": 1, "pattern": "^[a-z ]*$", "x-mcp-header": "Query"},
      "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
      "exact": {"type": "boolean"},
      "tags": {"type": "array", "items": {"enum": ["a", "b", 1, null]}, "uniqueItems": true}}})");
  search.output_schema = Json::parse(R"({"type": "array", "items": {"type": "string"}})");
  Toolbox tools;
  tools.add(std::move(command)).add(std::move(search));
  Policy policy;
  policy.isolation = Isolation::process;  // any machine has it
  policy.network = Network::host;
  serve::Builtins builtins;
  builtins.sandbox = std::make_shared<Sandbox>(
      std::move(tools), policy, SandboxOptions{.concurrency = 1, .ready_min = 0, .ready_max = 0});
  return builtins;
}

}  // namespace

void settle(serve::Loop& loop) {
  loop.impl().context.restart();
  loop.impl().context.poll();
}

Quiet::Quiet() : service(loop, {}, quiet_builtins()), caller(std::make_shared<serve::Caller>()) {
  caller->name = "fuzz";
}

Quiet& Quiet::get() {
  static auto* const made = new Quiet;
  return *made;
}

}  // namespace brig::fuzz
