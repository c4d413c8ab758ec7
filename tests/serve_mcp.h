// MCP messages of both eras, over stdio and over HTTP.
#pragma once

#include "serve_program.h"

namespace e2e {

inline constexpr const char* kModern = "2026-07-28";
inline constexpr const char* kLegacy = "2025-11-25";

inline Json message(const Json& id, const std::string& method, Json params = Json::object()) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}};
}

inline Json notice(const std::string& method, Json params = Json::object()) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

inline Json initialize(const Json& id, const std::string& version = kLegacy) {
  return message(id, "initialize",
                 {{"protocolVersion", version},
                  {"capabilities", Json::object()},
                  {"clientInfo", {{"name", "test"}, {"version", "1"}}}});
}

// A request of the era without a handshake; `meta` on top of what it must have.
inline Json modern(const Json& id, const std::string& method, Json params = Json::object(),
                   const Json& meta = Json::object()) {
  params["_meta"] = {{"io.modelcontextprotocol/protocolVersion", kModern},
                     {"io.modelcontextprotocol/clientCapabilities", Json::object()}};
  params["_meta"].update(meta);
  return message(id, method, std::move(params));
}

inline Json call_of(const std::string& tool, Json arguments = Json::object()) {
  return {{"name", tool}, {"arguments", std::move(arguments)}};
}

// Of the tool "walk" of libgeo.so, which tells its progress four times.
inline Json walk() {
  const Json place{{"latitude", 1}, {"longitude", 2}};
  return call_of("walk", {{"from", place}, {"to", place}});
}

inline int error_code(const Json& answer) { return answer.value("/error/code"_json_pointer, 0); }

inline std::vector<std::string> names_of(const Json& answer) {
  std::vector<std::string> names;
  for (const Json& each : answer.value("/result/tools"_json_pointer, Json::array()))
    names.push_back(each.value("name", ""));
  return names;
}

// A manifest of that many tools, tool_000 and so on.
inline std::string many_tools(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    char name[16];
    snprintf(name, sizeof name, "tool_%03d", i);
    text += std::string("[[command]]\nname = '") + name + "'\nargv = ['true']\n";
  }
  return text;
}

// A manifest of one tool whose cells may have that much memory. `others`: the policy of all other
// tools, such as the built-in ones, has it instead.
inline std::string with_memory(const std::string& memory, bool others = false) {
  const std::string fixed = "64M";
  return "[policy]\nmemory = '" + (others ? memory : fixed) + "'\n" + many_tools(1) +
         "[command.policy]\nmemory = '" + (others ? fixed : memory) + "'\n";
}

inline std::string description_of(const Json& answer, const std::string& tool) {
  for (const Json& each : answer.value("/result/tools"_json_pointer, Json::array()))
    if (each.value("name", "") == tool) return each.value("description", "");
  return "there is no " + tool;
}

// Requests of 2026-07-28 that no call comes of, and what the audit log says of each.
inline std::vector<std::pair<Json, std::string>> refused_requests() {
  return {{modern(1, "tools/call", {{"name", "greet"}, {"arguments", 5}}), "invalid-arguments"},
          {modern(2, "tools/call"), "invalid-arguments"},
          {modern(3, "tools/call", call_of("greet", {{"who", "x"}}),
                  {{"progressToken", std::string(2000, 'x')}}),
           "invalid-arguments"},
          {modern(4, "tasks/get", {{"taskId", "t0123456789abcdef0123456789abcdef"}},
                  {{"io.modelcontextprotocol/clientCapabilities",
                    {{"extensions", {{"io.modelcontextprotocol/tasks", Json::object()}}}}}}),
           "unknown-job"}};
}

}  // namespace e2e
