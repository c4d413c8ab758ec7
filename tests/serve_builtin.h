// A server with run_command and run_python: what their tests share.
#pragma once

#include "serve_program.h"

namespace e2e {

inline const std::string kPng = "iVBORw0KGgoAAAANSUhEUg==";  // its first bytes, as base64

class ServeBuiltin : public testing::Test {
 protected:
  explicit ServeBuiltin(ServeOptions options = {}) : serve_(std::move(options)) {}
  // A server whose built-in tools are that user inside; empty: as they are by default.
  static ServeOptions as(const std::string& user) {
    if (user.empty()) return {};
    return {.arguments = {"--builtins"},
            .manifest = "[policy]\nuser = '" + user +
                        "'\n[[command]]\nname = 'nothing'\nargv = ['true']\n"};
  }
  Answer run(const Json& body) { return client_.post("/v1/run", body); }
  Json output(const Json& body) {
    const Answer answer = run(body);
    EXPECT_EQ(answer.status, 200) << answer;
    EXPECT_EQ(answer.json().value("ok", false), true) << answer;
    return answer.json().value("output", Json::object());
  }
  std::string outcome(const Json& body) {
    const Answer answer = run(body);
    EXPECT_EQ(answer.status, 200) << answer;
    return answer.json().value("/report/outcome"_json_pointer, "");
  }
  Json python(const std::string& code, const Json& files = Json::object()) {
    const Answer answer = client_.post("/v1/tools/run_python/call",
                                       {{"arguments", {{"code", code}, {"files", files}}}});
    EXPECT_EQ(answer.status, 200) << answer;
    return answer.json();
  }
  bool has_python() {
    const auto tools = serve_.tools();
    return std::find(tools.begin(), tools.end(), "run_python") != tools.end();
  }
  Serve serve_;
  Client client_ = serve_.client();
};

}  // namespace e2e
