// run_command, called through a Sandbox: what its tests share.
#pragma once

#include "sandbox_support.h"
#include "service/run_command.h"

namespace e2e {

inline const std::string kPng = "iVBORw0KGgoAAAANSUhEUg==";  // its first bytes, as base64

// A Sandbox with run_command alone.
inline std::unique_ptr<Sandbox> command_box(const Policy& policy, SandboxOptions options = {}) {
  Toolbox tools;
  tools.add(brig::serve::run_command_tool());
  return std::make_unique<Sandbox>(std::move(tools), policy, options);
}

inline ToolResult run_command(Sandbox& box, const Json& arguments) {
  return box.call("run_command", arguments);
}

// The output of a line that succeeds.
inline Json output_of_line(Sandbox& box, const std::string& line,
                           const Json& files = Json::object()) {
  const ToolResult result = run_command(box, {{"command", line}, {"files", files}});
  EXPECT_TRUE(result.ok()) << result.error << "\n" << result.report.err.bytes;
  return result.ok() ? result.output : Json{{"stdout", ""}};
}

inline std::vector<std::string> images_of(const Json& output) {
  std::vector<std::string> paths;
  for (const Json& image : output.value("images", Json::array())) paths.push_back(image["path"]);
  return paths;
}

}  // namespace e2e
