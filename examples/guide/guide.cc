// The code of docs/cpp.md, one function for each section. tests/docs/check compares the two.
//   c++ -std=c++20 guide.cc $(pkg-config --cflags --libs brig) -o guide
//   ./guide ../manifest/brig.toml
#include <brig/brig.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

enum class Unit { celsius, fahrenheit };
BRIG_ENUM(Unit, {Unit::celsius, "C"}, {Unit::fahrenheit, "F"})

struct Forecast {
  std::string city;
  double temperature = 0;
  std::optional<std::string> warning;
};
BRIG_STRUCT(Forecast, city, temperature, warning)

namespace {

using namespace std::chrono_literals;
using namespace brig::literals;

void one_command() {
  brig::Policy policy;  // the defaults are safe: no network, no file of yours
  policy.limits.timeout = 5s;
  policy.limits.memory = 256_MiB;
  const brig::Report report = brig::run(brig::Command::shell("echo hello; exit 3"), policy);
  std::printf("%s, code %d: %s", brig::to_string(report.outcome), report.exit_code.value_or(-1),
              report.out.bytes.c_str());  // exit, code 3: hello
}

void what_was_refused() {
  const brig::Report report = brig::run({.argv = {"cat", "/srv/data/sales.csv"}});
  for (const brig::Violation& violation : report.violations)
    std::printf("%s: give it with %s\n", violation.code.c_str(), violation.grant.c_str());
}

void named_hosts() {
  brig::Policy policy;
  policy.network = brig::Network::to({"api.github.com", "10.2.0.0/16:5432"});
  const brig::Command command{.argv = {"curl", "-sS", "https://files.example.org/"}};
  for (const brig::Connection& each : brig::run(command, policy).connections)
    std::printf("%s:%d is %s: %s\n", each.host.c_str(), each.port, brig::to_string(each.verdict),
                each.reason.c_str());  // files.example.org:443 is denied: no rule allows it
}

void many_commands() {
  brig::Runner runner(brig::Policy{.limits = {.timeout = 5s}}, {.ready = 2});
  for (const char* word : {"one", "two"})
    std::printf("%s", runner.run({.argv = {"echo", word}}).out.bytes.c_str());

  // Output as it arrives. The callback runs on this thread.
  const auto print = [](brig::Stream, std::string_view text) {
    std::printf("%.*s", static_cast<int>(text.size()), text.data());
  };
  const brig::Report counted = runner.run({.argv = {"seq", "3"}}, print);
  if (!counted.ok()) std::printf("%s\n", counted.message.c_str());

  // Without waiting. Descriptors that the command borrows must stay open until the call ends.
  brig::Runner::Pending sleeper = runner.run_async({.argv = {"sleep", "60"}});
  runner.cancel(sleeper.id);
  std::printf("%s\n", brig::to_string(sleeper.report.get().outcome));  // cancelled
}

void tools() {
  brig::Toolbox toolbox;
  toolbox.add("add", "Adds two integers.", {"a", "b"},
              [](std::int64_t a, std::int64_t b) { return a + b; });
  toolbox.add("forecast", "Tells the weather of a city.",
              {{"city", "where"}, {"unit", "of the temperature", "C"}},
              [](const std::string& city, Unit unit) {
                return Forecast{city, unit == Unit::celsius ? 20.0 : 68.0, std::nullopt};
              });

  brig::Sandbox box(std::move(toolbox), brig::Policy{.limits = {.memory = 64_MiB}});
  const brig::ToolResult sum = box.call("add", {{"a", 2}, {"b", 3}});
  std::printf("%d %s\n", sum.ok(), sum.output.dump().c_str());  // 1 5

  const brig::ToolResult wrong = box.call("add", {{"a", "two"}});
  std::printf("%s: %s\n", brig::to_string(wrong.report.outcome), wrong.error.c_str());

  const brig::ToolResult weather = box.call("forecast", {{"city", "Bern"}});
  std::printf("%s\n", weather.output.dump().c_str());
}

void tools_that_fail() {
  brig::Toolbox toolbox;
  toolbox.add("mean", "The mean of some numbers.", {"numbers"},
              [](const std::vector<double>& numbers) {
                if (numbers.empty()) throw std::invalid_argument("there are no numbers");
                return std::accumulate(numbers.begin(), numbers.end(), 0.0) /
                       static_cast<double>(numbers.size());
              });
  toolbox.add("crash", "Ends badly.", {}, [] { std::abort(); });
  brig::Sandbox box(std::move(toolbox));

  const brig::ToolResult mean = box.call("mean", {{"numbers", brig::Json::array()}});
  std::printf("%s: %s\n", brig::to_string(mean.report.outcome), mean.error.c_str());
  const brig::ToolResult crash = box.call("crash", brig::Json::object());
  std::printf("%s: %s\n", brig::to_string(crash.report.outcome), crash.error.c_str());
}

void other_kinds_of_tools(const std::string& path) {
  brig::Manifest manifest = brig::manifest_from_toml_file(path);
  brig::Sandbox box(std::move(manifest.tools), manifest.policy);
  std::printf("%s\n", box.call("greet", {{"who", "world"}}).output.dump().c_str());
}

void asynchronous() {
  brig::Toolbox toolbox;
  toolbox.add("nap", "Sleeps.", {"ms"}, [](int ms) {
    brig::progress(0.5, "half asleep");  // watchers see it
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  });
  brig::Sandbox box(std::move(toolbox));
  const std::shared_ptr<brig::Watch> watch = box.watch();

  std::future<brig::ToolResult> nap = box.call_async("nap", {{"ms", 60'000}}, {.call_id = "nap-1"});
  while (const std::optional<brig::Event> event = watch->next(10s))
    if (event->kind == brig::Event::Kind::progress) break;
  box.cancel("nap-1");
  std::printf("%s\n", brig::to_string(nap.get().report.outcome));  // cancelled
}

void mistakes() {
  try {
    brig::Policy policy;
    policy.files.read = {"/no/such/directory"};
    brig::Runner runner(policy);
  } catch (const brig::Error& error) {
    std::printf("%s: %s\n", brig::to_string(error.kind()), error.what());  // config: ...
  }
}

void this_machine() {
  const brig::Capabilities here = brig::probe();
  for (const brig::Layer& layer : here.layers)
    if (layer.required && !layer.present)
      std::printf("%s: %s\n", layer.name.c_str(), layer.fix.c_str());
  std::printf("%s\n", here.jail ? "the jail works here" : "the jail does not work here");
}

}  // namespace

int main(int argc, char** argv) {
  one_command();
  what_was_refused();
  named_hosts();
  many_commands();
  tools();
  tools_that_fail();
  if (argc > 1) other_kinds_of_tools(argv[1]);
  asynchronous();
  mistakes();
  this_machine();
}
