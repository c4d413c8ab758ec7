// `brig tools` and `brig call`: a manifest as an operator uses it.
#include <brig/json.h>

#include "e2e_program.h"

namespace {

using namespace e2e;
using brig::Json;

constexpr const char* kManifest = R"toml(
[policy]
timeout = "20s"
memory = "64M"

[[command]]
name = "greet"
description = "Greets someone.\nAt length."
argv = ["echo", "hello {who}", "{times}"]
parameters.who = { type = "string", description = "whom to greet" }
parameters.times = { type = "integer", optional = true }
output_schema = { type = "string" }
read_only = true
destructive = false
idempotent = true
open_world = false

[[command]]
name = "shell"
description = "Runs a line."
argv = ["sh", "-c", "{line}"]
parameters.line = { type = "string" }

[[command]]
name = "hasty"
description = "Has half a second."
argv = ["sleep", "{seconds}"]
parameters.seconds = { type = "number", default = 30 }
policy = { timeout = "1s", grace = "100ms" }

[[command]]
name = "doctor"
description = "Is called as a sub-command of brig is."
argv = ["echo", "at your service"]

[[command]]
name = "nowhere"
argv = ["no-such-program"]

[[command]]
name = "typed"
argv = ["echo", "no"]
output_schema = { enum = ["yes"] }

[[command]]
name = "wordy"
argv = ["yes"]
policy = { output_total = "1M" }
)toml";

class Tools : public testing::Test {
 protected:
  void SetUp() override { write_file(manifest(), kManifest); }
  std::string manifest() const { return host_ / "brig.toml"; }
  // With the manifest's directory as its own: that is where it is looked for.
  Result brig(std::vector<std::string> arguments, Brig::Options options = {}) const {
    options.directory = host_.path();
    return brig_program(std::move(arguments), options);
  }
  Result call(const std::string& name, const std::string& arguments,
              std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"call", name, arguments});
    return brig(more);
  }
  Json listed(const std::string& format) const {
    const Result result = brig({"tools", "--format", format});
    EXPECT_EQ(result.code, 0) << result;
    EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1) << result.out;
    return Json::parse(result.out);
  }
  static std::string line_arguments(const std::string& line) { return Json{{"line", line}}.dump(); }
  const HostDirectory host_;
};

const Json& named(const Json& list, const std::string& name) {
  static const Json none;
  for (const Json& each : list)
    if (each.value("name", "") == name) return each;
  return none;
}

// --- brig tools ---

TEST_F(Tools, AreListedForPeople) {
  const Result result = brig({"tools"});
  EXPECT_EQ(result.code, 0) << result;
  EXPECT_TRUE(
      result.out.starts_with("NAME     PARAMETERS   DESCRIPTION\n"
                             "doctor                Is called as a sub-command"))
      << result;
  EXPECT_TRUE(contains(result.out, "\ngreet    who [times]  Greets someone.\n")) << result;
  EXPECT_TRUE(contains(result.out, "\nhasty    [seconds]    Has half a second.\n")) << result;
  EXPECT_FALSE(contains(result.out, "\033")) << "colour in a pipe";
  EXPECT_FALSE(contains(result.out, " \n")) << result;
}

TEST_F(Tools, AreFoundByAQuery) {
  const Result result = brig({"tools", "--query", "GREETS"});
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 2) << result;
  const Result none = brig({"tools", "--query", "zebra"});
  EXPECT_EQ(none.code, 0) << none;
  EXPECT_EQ(none.out, "");
  EXPECT_TRUE(contains(none.err, "zebra")) << none;
  EXPECT_EQ(brig({"tools", "--query", "zebra", "--format", "json"}).out, "[]\n");
}

TEST_F(Tools, AreListedAsJson) {
  const Json list = listed("json");
  ASSERT_EQ(list.size(), 7u);
  EXPECT_EQ(named(list, "greet"), Json::parse(R"({"name": "greet",
    "description": "Greets someone.\nAt length.",
    "input_schema": {"type": "object", "required": ["who"], "additionalProperties": false,
      "properties": {"who": {"type": "string", "description": "whom to greet"},
                     "times": {"type": "integer"}}},
    "output_schema": {"type": "string"},
    "annotations": {"read_only": true, "destructive": false, "idempotent": true,
                    "open_world": false}})"));
  EXPECT_EQ(named(list, "shell")["output_schema"], Json());
}

TEST_F(Tools, AreListedAsOpenAiWantsThem) {
  const Json expected = Json::parse(R"({"type": "object", "required": ["line"],
    "additionalProperties": false, "properties": {"line": {"type": "string"}}})");
  bool seen = false;
  for (const Json& each : listed("openai")) {
    EXPECT_EQ(each["type"], "function");
    EXPECT_EQ(each.size(), 2u) << each;
    const Json& function = each["function"];
    EXPECT_EQ(function.size(), 3u) << each;
    if (function["name"] != "shell") continue;
    seen = true;
    EXPECT_EQ(function["description"], "Runs a line.");
    EXPECT_EQ(function["parameters"], expected);
  }
  EXPECT_TRUE(seen);
  EXPECT_EQ(named(listed("openai-responses"), "shell"), (Json{{"type", "function"},
                                                              {"name", "shell"},
                                                              {"description", "Runs a line."},
                                                              {"parameters", expected},
                                                              {"strict", false}}));
}

TEST_F(Tools, AreListedAsMcpWantsThem) {
  const Json list = listed("mcp");
  EXPECT_EQ(list.size(), 1u);
  const Json& greet = named(list["tools"], "greet");
  EXPECT_EQ(greet["inputSchema"]["required"], Json{"who"});
  EXPECT_EQ(greet["outputSchema"], (Json{{"type", "string"}}));
  EXPECT_EQ(greet["annotations"], (Json{{"readOnlyHint", true},
                                        {"destructiveHint", false},
                                        {"idempotentHint", true},
                                        {"openWorldHint", false}}));
  const Json& shell = named(list["tools"], "shell");
  EXPECT_FALSE(shell.contains("outputSchema")) << shell;
  EXPECT_EQ(shell["annotations"]["destructiveHint"], true) << "MCP's default";
}

TEST_F(Tools, EveryMistakeOfAManifestIsToldOnALineOfItsOwn) {
  write_file(manifest(), "[[command]]\nnmae = 'x'\nargv = ['true', '{y}']\n[polcy]\n");
  for (const auto& arguments :
       {std::vector<std::string>{"tools"}, std::vector<std::string>{"call", "x", "{}"}}) {
    const Result result = brig(arguments);
    EXPECT_EQ(result.code, 125) << result;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err,
              "brig: brig.toml:1: command 1: has no name\n"
              "      brig.toml:2: unknown key 'nmae' in [command]; did you mean 'name'?\n"
              "      brig.toml:3: command 1: argv: '{y}': 'y' is not a parameter\n"
              "      brig.toml:4: unknown table [polcy]; did you mean 'policy'?\n");
  }
}

TEST_F(Tools, AManifestIsNamedOrLookedForHere) {
  EXPECT_EQ(brig_program({"call", "--manifest", manifest(), "greet", R"({"who": "you"})"}).out,
            "hello you\n");
  const Result missing = brig_program({"tools"}, {.directory = "/usr"});
  EXPECT_EQ(missing.code, 125) << missing;
  EXPECT_TRUE(contains(missing.err, "opening manifest 'brig.toml': No such file")) << missing;
}

TEST_F(Tools, OfALibraryAreListedAndCalled) {
  const std::string geo = std::string(getenv("BRIG_GUESTS")) + "/libgeo.so";
  write_file(manifest(), std::string(kManifest) + "[[library]]\npath = '" + geo + "'\n");
  const Result list = brig({"tools", "--query", "distance", "--format", "json"});
  EXPECT_EQ(list.code, 0) << list;
  EXPECT_TRUE(contains(list.out, "\"distance\"")) << list;
  const Result result = call("distance", R"({"from": {"latitude": 0, "longitude": 0},
                                             "to": {"latitude": 0, "longitude": 90}})");
  EXPECT_EQ(result.code, 0) << result;
  EXPECT_TRUE(result.out.starts_with("10007.5")) << result;
  EXPECT_EQ(call("greet", R"({"who": "you"})").code, 0) << "commands need no library";
  EXPECT_EQ(call("nothing", "{}").code, 127);
}

TEST_F(Tools, ALibraryThatCanNotBeLoadedIsAnError) {
  write_file(host_ / "libx.so", "");
  write_file(manifest(), std::string(kManifest) + "[[library]]\npath = 'libx.so'\n");
  for (const Result& result : {brig({"tools"}), call("nothing", "{}")}) {
    EXPECT_EQ(result.code, 125) << result;
    EXPECT_TRUE(contains(result.err, "libx.so")) << result;
  }
}

// --- brig call ---

TEST_F(Tools, ACallPrintsWhatTheToolAnswers) {
  const Result result = call("greet", R"J({"who": "you; $(id)", "times": "3"})J");
  EXPECT_EQ(result.code, 0) << result;
  EXPECT_EQ(result.out, "hello you; $(id) 3\n");
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(call("shell", line_arguments("true")).out, "") << "nothing is nothing";
  EXPECT_EQ(call("shell", line_arguments("printf 'a\\n\\n'")).out, "a\n");
  EXPECT_EQ(brig({"call", "doctor"}).out, "at your service\n") << "without arguments";
}

TEST_F(Tools, ExitCodes) {
  const auto code = [&](const std::string& name, const std::string& arguments, int expected,
                        const std::string& told) {
    const Result result = call(name, arguments);
    EXPECT_EQ(result.code, expected) << result;
    EXPECT_EQ(result.out, "") << result;
    EXPECT_TRUE(result.err.starts_with("brig: ")) << result;
    EXPECT_TRUE(contains(result.err, told)) << told << " in " << result;
  };
  code("shell", line_arguments("echo oops >&2; echo again >&2; exit 7"), 1,
       "exit code 7: oops\n      again\n");
  code("typed", "{}", 1, "schema");
  code("hasty", "{}", 124, "its timeout of");
  code("nowhere", "{}", 125, "no-such-program");
  code("greet", "{}", 126, "/who: expected a value: it is required");
  code("greet", R"({"who": 1, "extra": 2})", 126, "/extra");
  code("greet", "[]", 126, "expected an object");
  code("shell", line_arguments("-x"), 126, "begin with '-'");
  code("gret", "{}", 127, "did you mean 'greet'?");
  code("zebra", "{}", 127, "brig tools");
  code("shell", line_arguments("kill -SEGV $$"), 128 + SIGSEGV, "SIGSEGV");
  code("wordy", "{}", 137, "output_total");
}

TEST_F(Tools, MemoryIs137WhereItIsCounted) {
  const Result result =
      call("shell", line_arguments("head -c 200000000 /dev/zero | tail -c 190000000"), {"--json"});
  const Json json = Json::parse(result.out);
  const bool counted = escape::has_cgroups();
  EXPECT_TRUE(contains(json["report"]["enforced"].dump(),
                       counted ? "memory:cgroup" : "memory:per_process"));
  // Where it isn't, tail is refused the memory and fails by itself.
  EXPECT_EQ(json["report"]["outcome"], counted ? "memory_limit" : "exit") << result;
  EXPECT_EQ(result.code, counted ? 137 : 1) << result;
}

TEST_F(Tools, ArgumentsThatAreNotJsonAre126) {
  for (const char* text : {"{", "", "{'who': 1}", "{\"who\": \"\xFF\"}"}) {
    const Result result = call("greet", text);
    EXPECT_EQ(result.code, 126) << text << result;
    EXPECT_TRUE(contains(result.err, "not JSON")) << result;
    EXPECT_FALSE(contains(result.err, "\xFF")) << result;
  }
  const Result twice = call("greet", R"({"who": "me", "who": "you"})");
  EXPECT_EQ(twice.code, 126) << twice;
  EXPECT_TRUE(contains(twice.err, "an object has 'who' twice")) << twice;
  const std::string deep(1000, '[');
  EXPECT_TRUE(contains(call("greet", deep).err, "nested deeper than"));
}

TEST_F(Tools, ArgumentsComeFromAFileOrStdin) {
  write_file(host_ / "arguments.json", R"({"who": "file"})");
  EXPECT_EQ(call("greet", "@arguments.json").out, "hello file\n");
  EXPECT_EQ(call("greet", "@" + host_ / "arguments.json").out, "hello file\n");
  const Result missing = call("greet", "@none.json");
  EXPECT_EQ(missing.code, 125) << missing;
  EXPECT_TRUE(contains(missing.err, "'none.json': No such file")) << missing;
  Pipe pipe;
  EXPECT_GT(dprintf(pipe.ends[1], "%s", "{\"who\":\n \"pipe\"}\n"), 0);
  pipe.close_write();
  EXPECT_EQ(brig({"call", "greet", "-"}, {.in = pipe.ends[0]}).out, "hello pipe\n");
  EXPECT_EQ(call("greet", "-").code, 126) << "nothing is not JSON";
}

TEST_F(Tools, JsonIsTheWholeResult) {
  Result result = call("greet", R"({"who": "you"})", {"--json"});
  EXPECT_EQ(result.code, 0) << result;
  Json json = Json::parse(result.out);
  EXPECT_EQ(json["ok"], true);
  EXPECT_EQ(json["output"], "hello you");
  EXPECT_EQ(json["report"]["outcome"], "ok");
  result = call("shell", line_arguments("exit 3"), {"--json"});
  EXPECT_EQ(result.code, 1) << result;
  EXPECT_EQ(result.err, "");
  json = Json::parse(result.out);
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["report"]["exit_code"], 3);
  for (const auto& [name, arguments, outcome, code] :
       {std::tuple{"gret", "{}", "unknown_tool", 127},
        std::tuple{"greet", "{", "invalid_arguments", 126},
        std::tuple{"greet", "{}", "invalid_arguments", 126}}) {
    result = call(name, arguments, {"--json"});
    EXPECT_EQ(result.code, code) << result;
    json = Json::parse(result.out);
    EXPECT_EQ(json["report"]["outcome"], outcome) << result;
    EXPECT_FALSE(json["error"].get<std::string>().empty());
  }
}

TEST_F(Tools, WatchTellsWhatHappensInItsOrder) {
  const Result result =
      call("shell", line_arguments("echo one; printf 'two\\033[2J'; sleep 0.1; echo three >&2"),
           {"--watch"});
  EXPECT_EQ(result.code, 0) << result;
  EXPECT_EQ(result.out, "one\ntwo\033[2J\n") << "the result is as it is";
  std::size_t at = 0;
  for (const char* line : {"queued\n", "started\n", "stdout    one\n", "stderr    three\n",
                           "stdout    two\\x1b[2J\n", "finished  ok: the command succeeded\n"}) {
    const std::size_t found = result.err.find(line, at);
    EXPECT_NE(found, std::string::npos) << line << result;
    if (found != std::string::npos) at = found;
  }
  const Result failed = call("hasty", "{}", {"--watch"});
  EXPECT_EQ(failed.code, 124) << failed;
  EXPECT_TRUE(contains(failed.err, "finished  timeout: ")) << failed;
  EXPECT_TRUE(contains(failed.err, "\nbrig: ")) << failed;
}

TEST_F(Tools, WatchTellsItAsItHappens) {
  Pipe pipe;
  Brig brig({.arguments = {"call", "shell", line_arguments("echo early; sleep 20"), "--watch"},
             .err = pipe.ends[1],
             .directory = host_.path()});
  pipe.close_write();
  std::string seen;
  char buffer[4096];
  const auto begin = Clock::now();
  while (!contains(seen, "stdout    early\n") && since(begin) < kSoon) {
    const ssize_t size = read(pipe.ends[0], buffer, sizeof buffer);
    if (size <= 0) break;
    seen.append(buffer, static_cast<std::size_t>(size));
  }
  EXPECT_TRUE(contains(seen, "stdout    early\n")) << seen;
  brig.signal(SIGTERM);
  EXPECT_EQ(brig.wait(), 128 + SIGTERM);
}

TEST_F(Tools, SignalsCancelACallAndNothingIsLeft) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string marker = unique_marker("call");
    Brig brig({.arguments = {"call", "shell", "--json",
                             line_arguments("setsid sh -c 'sleep 60; : " + marker +
                                            "' & sh -c 'sleep 60; : " + marker + "'")},
               .directory = host_.path()});
    EXPECT_TRUE(comes_true([&] { return processes_with(marker).size() >= 3; }));
    const auto begin = Clock::now();
    brig.signal(number);
    EXPECT_EQ(brig.wait(), 128 + number) << brig.err;
    EXPECT_LT(since(begin), kSoon);
    EXPECT_TRUE(contains(brig.out, "\"outcome\":\"cancelled\"")) << brig.out;
    EXPECT_TRUE(comes_true([&] { return processes_with(marker).empty(); }));
    EXPECT_TRUE(comes_true([&] { return cgroups_of(brig.pid()).empty(); }));
  }
}

TEST_F(Tools, AWatcherThatDoesNotReadDoesNotStretchTheTime) {
  Pipe pipe;
  write_file(manifest(),
             "[[command]]\nname = 'yes'\nargv = ['yes']\n"
             "policy = { timeout = '1s', grace = '100ms' }\n");
  Brig brig({.arguments = {"call", "yes", "--watch", "--json"},
             .err = pipe.ends[1],
             .directory = host_.path()});
  EXPECT_EQ(brig.wait(), 124);
  EXPECT_LT(brig.seconds, 15.0);
}

TEST_F(Tools, BadUsageIs125) {
  for (const auto& arguments : {std::vector<std::string>{"call"},
                                {"call", "greet", "{}", "more"},
                                {"call", "--bad"},
                                {"tools", "--format", "xml"},
                                {"tools", "extra"}}) {
    const Result result = brig(arguments);
    EXPECT_EQ(result.code, 125) << result;
    EXPECT_TRUE(result.err.starts_with("brig: ")) << result;
    EXPECT_EQ(result.out, "");
  }
}

TEST_F(Tools, HelpHasExamples) {
  for (const char* name : {"tools", "call"}) {
    const Result result = brig({name, "--help"});
    EXPECT_EQ(result.code, 0) << result;
    EXPECT_TRUE(contains(result.out, "Examples")) << result;
    EXPECT_TRUE(contains(result.out, "--manifest")) << result;
    EXPECT_TRUE(contains(brig({"--help"}).out, std::string("brig ") + name));
  }
}

// --- examples/manifest ---

TEST(Examples, TheManifestsToolsDoWhatTheySay) {
  const char* examples = getenv("BRIG_EXAMPLES");
  BRIG_NEEDS(examples != nullptr, "BRIG_EXAMPLES is not set");
  const std::string directory = std::string(examples) + "/manifest";
  const auto answer = [&](const std::string& name, const std::string& arguments) {
    const Result result = brig_program({"call", name, arguments}, {.directory = directory});
    EXPECT_EQ(result.code, 0) << result;
    return result.out;
  };
  EXPECT_EQ(answer("greet", R"({"who": "world"})"), "hello, world!\n");
  EXPECT_EQ(answer("greet", R"({"who": "you", "greeting": "good morning"})"),
            "good morning, you!\n");
  EXPECT_EQ(answer("word_count", R"({"text": "one two three"})"), "3\n");
  EXPECT_EQ(answer("word_count", R"({"text": "-n $(id) 'x", "unit": "bytes"})"), "12\n");
  EXPECT_EQ(answer("calculate", R"({"expression": "6 * 7"})"), "42\n");
  EXPECT_EQ(answer("calendar", R"({"year": 2026, "month": 2})"), "Sunday\n");
  const Result refused = brig_program(
      {"call", "calculate", R"J({"expression": "system(\"id\")"})J"}, {.directory = directory});
  EXPECT_EQ(refused.code, 126) << refused;
  EXPECT_EQ(
      Json::parse(brig_program({"tools", "--format", "json"}, {.directory = directory}).out).size(),
      4u);
}

}  // namespace
