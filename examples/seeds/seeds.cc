// What three systems offer that brig grew from, under their own names: who used those finds it here.
//   c++ -std=c++20 seeds.cc $(pkg-config --cflags --libs brig) -o seeds
#include <brig/brig.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

namespace {

void route() {
  brig::Tool line;
  line.name = "shell";
  line.description = "Runs a line of shell.";
  line.input_schema = {{"type", "object"},
                       {"properties", {{"line", {{"type", "string"}}}}},
                       {"required", brig::Json::array({"line"})}};
  line.argv = {"sh", "-c", "{line}"};
  brig::Toolbox tools;
  tools.add(std::move(line));

  const auto on_host = [](const std::string& tool, const brig::Json& arguments) {
    return brig::Json(tool + " on the host: " + arguments.dump());
  };
  brig::Router router(
      {.mode = brig::RouterMode::strict, .sandboxed_tools = {"shell"}, .host = on_host},
      std::make_shared<brig::Sandbox>(std::move(tools)));
  for (const char* tool : {"shell", "clock"})
    std::printf("%s: %s\n", tool, brig::to_string(router.decide(tool).context));
  const brig::ToolResult shell = router.call("shell", {{"line", "echo in a cell"}});

  std::printf("%s", shell.report.out.bytes.c_str());
  std::printf("%s\n", router.call("clock", {{"zone", "UTC"}}).output.dump().c_str());
}

void one_line() {
  const brig::SandboxResult late =
      brig::run_sandboxed("echo so far; sleep 60", {.timeout = 0.5, .env_extra = {{"LEVEL", "2"}}});
  std::printf("%s%d %d\n", late.stdout_.c_str(), late.returncode, late.timed_out);  // so far, -1 1
}

void look() {
  const brig::Capabilities here = brig::probe();
  std::printf("%s %d\n", here.backend.c_str(), here.available);  // brig 1
}

}  // namespace

int main() {
  route();
  one_line();
  look();
}
