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

}  // namespace e2e
