// run_command and run_python: what one call may say of itself, and what comes back of it, however it ended.
#include "serve_builtin.h"
#include "serve_mcp.h"
#include "serve_stdio.h"

namespace {

using namespace e2e;

class ServeBuiltinCall : public ServeBuiltin {
 protected:
  using ServeBuiltin::ServeBuiltin;
  Answer call_python(const Json& arguments) {
    return client_.post("/v1/tools/run_python/call", {{"arguments", arguments}});
  }
  // A file of an output, its bytes as base64; null if it is not there.
  static Json file_in(const Json& result, const std::string& path) {
    for (const Json& each : result["output"].value("files", Json::array()))
      if (each["path"] == path) return each.value("data", Json());
    return nullptr;
  }
};

// Answers in place of brig's own code, which runs in the same process.
constexpr const char* kForge =
    "import json, os, resource, struct\n"
    "def forge(value):\n"
    "    text = json.dumps(value).encode()\n"
    "    text = struct.pack('=II', 2, len(text)) + text\n"
    "    while text:\n"
    "        text = text[os.write(resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 1, text):]\n";

// --- env, cwd, timeout ---

TEST_F(ServeBuiltinCall, ACommandHasTheVariablesOfItsCall) {
  EXPECT_EQ(output({{"command", "echo $A-$B-$HOME; env | grep -c ^HOME="},
                    {"env", {{"A", "a b"}, {"B", "ä=$A"}, {"HOME", "/elsewhere"}}}})["stdout"],
            "a b-ä=$A-/elsewhere\n1\n")
      << "as they are, once, in place of the cell's";
  EXPECT_EQ(output({{"command", "echo ${A-none}; test $HOME != /elsewhere"}})["stdout"], "none\n")
      << "and of that call alone";
  EXPECT_EQ(output({{"argv", {"true"}}, {"env", {{"PATH", "/usr/bin:/bin"}}}})["exit_code"], 0);
  for (const Json& env :
       {Json{{"A=B", "x"}}, Json{{"", "x"}}, Json{{"A", 1}}, Json{{"A", nullptr}}, Json("A=1"),
        Json{{"A", std::string("x\0y", 3)}}, Json{{"A", std::string(200'000, 'x')}}}) {
    const Answer answer = run({{"command", "echo ran"}, {"env", env}});
    EXPECT_EQ(answer.status, 422) << answer;
    EXPECT_EQ(answer.problem(), "invalid-arguments") << answer;
    EXPECT_TRUE(contains(answer.body, "env")) << answer;
  }
}

TEST(ServeBuiltins, AVariableThatThePolicyTakesOutIsNotACallsToSet) {
  Serve serve(
      {.arguments = {"--builtins"},
       .manifest = "[policy]\ntimeout = '20s'\nenvironment.unset = ['LD_PRELOAD', 'TERM']\n"});
  const Json env{{"LD_PRELOAD", "/x"}, {"TERM", "odd"}, {"OTHER", "kept"}};
  EXPECT_EQ(serve
                .post("/v1/run",
                      {{"command", "echo ${LD_PRELOAD-unset} ${TERM-unset} $OTHER"}, {"env", env}})
                .json()["output"]["stdout"],
            "unset unset kept\n");
  const auto tools = serve.tools();
  BRIG_NEEDS(std::find(tools.begin(), tools.end(), "run_python") != tools.end(),
             "no Python interpreter that can be used");
  EXPECT_EQ(
      serve
          .post("/v1/tools/run_python/call",
                {{"arguments",
                  {{"code",
                    "import os; [os.environ.get(n) for n in ('LD_PRELOAD', 'TERM', 'OTHER')]"},
                   {"env", env}}}})
          .json()["output"]["value"],
      (Json{nullptr, nullptr, "kept"}));
}

TEST_F(ServeBuiltinCall, ACommandStartsWhereItsCallSays) {
  EXPECT_EQ(output({{"command", "cat a; cat ../b; basename $PWD"},
                    {"files", {{"sub/dir/a", "A"}, {"sub/b", "B"}}},
                    {"cwd", "sub/dir"}})["stdout"],
            "ABdir\n")
      << "files are put into the workspace, wherever it starts";
  EXPECT_EQ(output({{"command", "pwd"}, {"cwd", "/usr/bin/.."}})["stdout"], "/usr\n");
}

TEST_F(ServeBuiltinCall, ADirectoryThatIsNotThereIsToldAndNothingIsRun) {
  const HostDirectory host;
  for (const std::string& path :
       {std::string("no/such"), std::string("/no/such"), std::string("f"), host / "",
        std::string("x/../../../etc/shadow"), std::string("a\nb")}) {
    const Answer answer =
        run({{"command", "echo ran"}, {"files", {{"f", "a file"}}}, {"cwd", path}});
    EXPECT_EQ(answer.status, 422) << path << answer;
    EXPECT_TRUE(contains(answer.body, "cwd: ")) << path << answer;
    EXPECT_TRUE(contains(answer.body, "was not run")) << path << answer;
  }
  for (const Json& path :
       {Json(""), Json(7), Json(std::string("a\0b", 3)), Json(std::string(5000, 'x'))})
    EXPECT_EQ(run({{"command", "echo ran"}, {"cwd", path}}).status, 422) << path;
  EXPECT_EQ(output({{"command", "echo next"}})["stdout"], "next\n");
}

TEST_F(ServeBuiltinCall, ACallMayTakeLessTimeAndKeepsWhatItDid) {
  const Json ended =
      run({{"command", "echo before; echo kept > f; sleep 600"}, {"timeout", 0.5}}).json();
  EXPECT_EQ(ended["report"]["outcome"], "timeout") << ended;
  EXPECT_TRUE(contains(ended.value("error", ""), "raise timeout")) << ended["error"];
  EXPECT_FALSE(contains(ended.value("error", ""), "limits.")) << ended["error"];
  EXPECT_EQ(ended["output"]["stdout"], "before\n");
  EXPECT_EQ(file_in(ended, "f"), "a2VwdAo=");
  EXPECT_FALSE(ended["output"].contains("exit_code")) << ended["output"];
  // The shorter of both.
  const Json body{{"command", "sleep 600"}, {"timeout", 20}, {"limits", {{"timeout", 0.3}}}};
  EXPECT_TRUE(contains(run(body).json().value("error", ""), "limits.timeout"));
  for (const Json& time : {Json(0), Json(-1), Json("soon"), Json(nullptr), Json(1e300)}) {
    const Answer answer = run({{"command", "echo ran"}, {"timeout", time}});
    EXPECT_EQ(answer.status, 422) << time << answer;
    EXPECT_TRUE(contains(answer.body, "timeout")) << answer;
  }
  const Answer wider = run({{"command", "echo ran"}, {"timeout", 86000}});
  EXPECT_EQ(wider.status, 422);
  EXPECT_EQ(wider.problem(), "invalid-arguments") << wider;
  EXPECT_TRUE(contains(wider.body, "timeout: 86000 s is more than the 30 s of the policy"))
      << wider;
}

// "raise timeout" would be refused by the next call.
TEST(ServeBuiltins, ACallThatTookAllTheTimeThereIsIsToldOfThePolicy) {
  Serve serve({.arguments = {"--builtins"},
               .manifest = "[policy]\ntimeout = '1s'\n[[command]]\nname = 'n'\nargv = ['true']\n"});
  const Json ended = serve.post("/v1/run", {{"command", "sleep 600"}, {"timeout", 1}}).json();
  EXPECT_EQ(ended["report"]["outcome"], "timeout") << ended;
  EXPECT_TRUE(contains(ended.value("error", ""), "raise limits.timeout")) << ended["error"];
}

TEST_F(ServeBuiltinCall, CodeHasVariablesADirectoryAndInputOfItsCall) {
  BRIG_NEEDS(has_python(), "no Python interpreter that can be used");
  const Answer answer =
      call_python({{"code",
                    "import os, sys\n[os.environ['A'], os.path.basename(os.getcwd()), input(), "
                    "sys.stdin.read(), open('here').read(), 'HOME' in os.environ]"},
                   {"env", {{"A", "a b"}}},
                   {"cwd", "d"},
                   {"stdin", "line\nrest"},
                   {"files", {{"d/here", "H"}}}});
  EXPECT_EQ(answer.json()["output"]["value"], (Json{"a b", "d", "line", "rest", "H", true}))
      << answer;
  const Json next = python("import os\n['A' in os.environ, os.getcwd() == os.path.realpath('.')]\n")
                        .value("output", Json());
  EXPECT_EQ(next["value"], (Json{false, true})) << "of that call alone";
  EXPECT_EQ(python("input()")["error_type"], "EOFError") << "without, there is none";
  for (const Json& wrong :
       {Json{{"env", {{"A=B", "x"}}}}, Json{{"env", {{"A", 7}}}}, Json{{"stdin", 7}}}) {
    Json arguments = wrong;
    arguments["code"] = "print('ran')";
    const Answer refused = call_python(arguments);
    EXPECT_FALSE(contains(refused.body, "ran\\n")) << refused;
    EXPECT_TRUE(contains(refused.body, wrong.begin().key())) << refused;
    EXPECT_EQ(refused.status, 422) << refused;
  }
}

// --- what comes back ---

// Shows an image, with a text and HTML; and a value that has HTML.
constexpr const char* kShow =
    "import base64\n"
    "class Page:\n"
    "    def __repr__(self): return 'a page'\n"
    "    def _repr_html_(self): return '<b>page</b>'\n"
    "class Picture(Page):\n"
    "    def _repr_png_(self): return base64.b64decode('iVBORw0KGgoAAAANSUhEUg==')\n"
    "print('before')\ndisplay(Picture())\nprint('after')\nPage()\n";

TEST_F(ServeBuiltinCall, WhatCodeDisplaysStandsWhereItWasDisplayed) {
  BRIG_NEEDS(has_python(), "no Python interpreter that can be used");
  const Json output = python(kShow)["output"];
  EXPECT_EQ(output["stdout"], "before\nafter\n");
  EXPECT_EQ(output["value"], "a page");
  EXPECT_EQ(output["displays"],
            (Json{{{"at", 7},
                   {"data",
                    {{"text/plain", "a page"}, {"text/html", "<b>page</b>"}, {"image/png", kPng}}}},
                  {{"at", 13},
                   {"data", {{"text/plain", "a page"}, {"text/html", "<b>page</b>"}}},
                   {"is_value", true}}}))
      << output;
}

TEST_F(ServeBuiltinCall, WhatAFailedCommandHasLeftComesBack) {
  for (const char* end : {"exit 3", "kill -9 $$"}) {
    const Json failed =
        run({{"command", std::string("echo text > d.txt; base64 -d in > p; ") + end},
             {"files", {{"in", kPng}}}})
            .json();
    EXPECT_EQ(failed["ok"], false) << end;
    EXPECT_EQ(file_in(failed, "d.txt"), "dGV4dAo=") << failed;
    EXPECT_EQ(failed["output"]["images"][0]["data"], kPng) << failed;
  }
  const Json failed = run({{"command", "exit 3"}}).json();
  EXPECT_EQ(failed["output"], (Json{{"exit_code", 3}, {"stdout", ""}, {"stderr", ""}}));
  EXPECT_EQ(run({{"command", "kill -9 $$"}}).json()["output"]["signal"], 9);
  const Answer missing = run({{"argv", {"no-such-program"}}});
  EXPECT_EQ(missing.status, 422) << "what was not run has no output" << missing;
}

TEST_F(ServeBuiltinCall, FilesComeBackWithTheirTypesAndWhatIsLeftOutIsTold) {
  const Json files =
      output({{"command",
               "echo '{}' > a.json; head -c 9000000 /dev/zero > big; head -c 7000000 /dev/zero "
               "> more; mkdir .git; echo x > .git/x"}})["files"];
  ASSERT_EQ(files.size(), 3u) << files;
  EXPECT_EQ(files[0], Json::parse(R"({"path": "a.json", "mime_type": "application/json", "size": 3,
                                      "data": "e30K"})"));
  EXPECT_EQ(files[1]["size"], 9000000);
  EXPECT_EQ(files[1]["left_out"], "it is larger than 8 MiB");
  EXPECT_TRUE(contains(files[2].value("left_out", ""), "6 MiB in all")) << files[2];
  const Json many = output({{"command",
                             "for i in $(seq 40); do echo x > $i; done; "
                             "echo x > \"$(printf 'a\\377')\""}});
  EXPECT_EQ(many["files"].size(), 16u);
  EXPECT_EQ(many["files_left_out"],
            Json::parse(R"([{"why": "their names are not UTF-8", "count": 1},
                            {"why": "there are more than 16", "count": 24}])"))
      << many["files_left_out"];
  const Json names = output({{"command", "mkdir d; cd d; seq 3000 | xargs touch"}});
  EXPECT_TRUE(contains(names["files_left_out"].dump(), "too many names"))
      << names["files_left_out"];
}

TEST_F(ServeBuiltinCall, WhatFailedCodeHasLeftComesBack) {
  BRIG_NEEDS(has_python(), "no Python interpreter that can be used");
  const std::string begin =
      "import base64\nprint('before', flush=True)\nopen('f', 'w').write('kept')\n"
      "open('p', 'wb').write(base64.b64decode('" +
      kPng + "'))\n";
  for (const auto& [end, outcome] :
       {std::pair("1 / 0", "tool_error"), std::pair("raise SystemExit(3)", "exit"),
        std::pair("import os; os._exit(4)", "exit"),
        std::pair("import os; os.abort()", "signal")}) {
    const Json failed = python(begin + end);
    EXPECT_EQ(failed["report"]["outcome"], outcome) << failed;
    EXPECT_EQ(failed["output"]["stdout"], "before\n") << failed;
    EXPECT_EQ(file_in(failed, "f"), "a2VwdA==") << failed;
    EXPECT_EQ(failed["output"]["images"][0]["data"], kPng) << failed;
    EXPECT_FALSE(failed["output"].contains("value"));
  }
  const Answer late =
      call_python({{"code", begin + "import time; time.sleep(600)"}, {"timeout", 1}});
  EXPECT_EQ(late.json()["report"]["outcome"], "timeout") << late;
  EXPECT_TRUE(contains(late.json().value("error", ""), "raise timeout")) << late;
  EXPECT_EQ(file_in(late.json(), "f"), "a2VwdA==") << late;
  EXPECT_EQ(late.json()["output"]["stdout"], "before\n");
  for (const Json& time : {Json(0), Json("one"), Json(100'000)})
    EXPECT_EQ(call_python({{"code", "print('ran')"}, {"timeout", time}}).status, 422) << time;
}

// Code that wrote a file and then runs into a limit: the file comes back.
void expect_the_file_after_every_limit(const std::string& floor) {
  struct Case {
    const char *limit, *code;
    std::vector<std::string> outcomes;
    bool here = true;
  };
  const std::vector<Case> cases = {
      {"output_total = '64K'", "while True: print('x' * 1000)", {"output_limit"}},
      {"timeout = '1s'", "import time\ntime.sleep(600)", {"timeout"}},
      {"cpu_time = '1s'", "while True: pass", {"timeout", "signal"}},
      {"processes = 12",
       "import subprocess\nwhile True: subprocess.Popen(['sleep', '600'])",
       {"process_limit", "tool_error"},
       has_cgroups()},
      {"scratch = '1M'",
       "with open('/tmp/big', 'wb', 0) as big:\n    while True: big.write(bytes(1 << 16))",
       {"tool_error"},
       floor == "jail"}};
  for (const Case& each : cases) {
    if (!each.here) continue;
    SCOPED_TRACE(each.limit);
    Serve serve({.arguments = {"--builtins"},
                 .manifest = "[policy]\nisolation = '" + floor + "'\n" + "limits = { " +
                             each.limit + " }\n[[command]]\nname = 'nothing'\nargv = ['true']\n"});
    const auto tools = serve.tools();
    BRIG_NEEDS(std::find(tools.begin(), tools.end(), "run_python") != tools.end(),
               "no Python interpreter that can be used");
    const Json ended =
        serve
            .post("/v1/tools/run_python/call",
                  {{"arguments",
                    {{"code", "open('f', 'w').write('kept')\n" + std::string(each.code)}}}})
            .json();
    const std::string outcome = ended.value("/report/outcome"_json_pointer, "");
    EXPECT_TRUE(std::count(each.outcomes.begin(), each.outcomes.end(), outcome)) << ended;
    EXPECT_EQ(ended.value("/output/files/0/path"_json_pointer, ""), "f") << ended;
    EXPECT_EQ(ended.value("/output/files/0/data"_json_pointer, ""), "a2VwdA==") << ended;
  }
}

TEST(ServeBuiltinLimits, WhatCodeHasLeftComesBackWhateverLimitEndedIt) {
  expect_the_file_after_every_limit("jail");
}

TEST(ServeBuiltinLimits, OnTheLandlockFloorToo) {
  BRIG_NEEDS(brig::probe().landlock, "this kernel has no Landlock");
  expect_the_file_after_every_limit("landlock");
}

TEST_F(ServeBuiltinCall, WhatCodeHasLeftComesBackAfterItRanOutOfMemory) {
  BRIG_NEEDS(has_python(), "no Python interpreter that can be used");
  const Json failed =
      python("open('f', 'w').write('kept')\nx = [bytearray(1 << 20) for i in range(1 << 20)]");
  EXPECT_EQ(failed["report"]["outcome"], has_cgroups() ? "memory_limit" : "tool_error") << failed;
  EXPECT_EQ(file_in(failed, "f"), "a2VwdA==") << failed;
}

TEST_F(ServeBuiltinCall, CodeThatNamesAPathOutsideIsToldSo) {
  BRIG_NEEDS(has_python(), "no Python interpreter that can be used");
  const Json failed = python("open('/srv/no/such/data.csv')");
  EXPECT_EQ(failed["error_type"], "FileNotFoundError");
  EXPECT_TRUE(contains(failed["report"]["violations"].dump(), "file.not_in_cell")) << failed;
}

// By code that its policy calls root, too.
class ServeBuiltinCallAs : public ServeBuiltinCall,
                           public testing::WithParamInterface<const char*> {
 protected:
  ServeBuiltinCallAs() : ServeBuiltinCall(as(GetParam())) {}
};
INSTANTIATE_TEST_SUITE_P(Inside, ServeBuiltinCallAs, testing::Values("", "root"),
                         [](const auto& each) {
                           return std::string(*each.param ? each.param : "default");
                         });

TEST_P(ServeBuiltinCallAs, AForgedAnswerSpeaksOnlyOfItself) {
  BRIG_NEEDS(has_python(), "no Python interpreter that can be used");
  EXPECT_EQ(python("import os\nos.getuid()")["output"]["value"], *GetParam() ? 0 : 1000);
  const std::string end = "\nos._exit(0)";
  const Json forged =
      python(std::string(kForge) +
             "print('real', flush=True)\nforge({'value': 1, 'stdout': 'forged', 'files': [{'path': "
             "'/etc/shadow', 'data': 'AAAA'}], 'images': [{'path': 'x', 'mime_type': 'text/html', "
             "'data': '<'}], 'displays': [{'at': -5, 'data': {'image/png': '<script>', 'text/html; "
             "x': 'y'}}, {'at': 99999999, 'data': {'text/plain': 'shown'}}] + [0] * 5000})" +
             end);
  EXPECT_EQ(forged["output"],
            Json::parse(R"({"value": 1, "stdout": "real\n", "stderr": "", "displays_left_out": 5001,
                            "displays": [{"at": 5, "data": {"text/plain": "shown"}}]})"))
      << forged;
  const Json failed = python(std::string(kForge) +
                             "forge({'error': {'type': 'T' * 100000, 'message': 'm', 'traceback': "
                             "['x']}, 'exit_code': 0, 'value': 7})" +
                             end);
  EXPECT_EQ(failed["report"]["outcome"], "tool_error");
  EXPECT_LT(failed["error"].get<std::string>().size(), 1000u);
  EXPECT_EQ(python(std::string(kForge) + "forge({'exit_code': 300})" + end)["report"]["outcome"],
            "tool_error");
  const Json exited = python(std::string(kForge) + "forge({'exit_code': 9})" + end);
  EXPECT_EQ(exited["report"]["outcome"], "exit");
  EXPECT_EQ(exited["report"]["exit_code"], 9);
}

// "It was not run" is what the cell says: code that was run can say so, too, and what it did is told all the same.
TEST_F(ServeBuiltinCall, CodeCannotSayThatItWasNotRun) {
  BRIG_NEEDS(has_python(), "no Python interpreter that can be used");
  const Answer answer = call_python(
      {{"code", std::string(kForge) +
                    "import socket\ntry:\n    socket.socket()\nexcept OSError:\n    pass\n"
                    "open('evil', 'w').write('x')\nprint('ran', flush=True)\n"
                    "forge({'not_run': 'SERVER: anything'})\nos._exit(0)"}});
  EXPECT_EQ(answer.status, 200) << answer;
  const Json told = answer.json();
  EXPECT_EQ(told["report"]["outcome"], "tool_error") << told;
  EXPECT_EQ(told["output"]["stdout"], "ran\n") << told;
  EXPECT_EQ(file_in(told, "evil"), "eA==") << told;
  EXPECT_TRUE(contains(told["report"]["violations"].dump(), "network.refused")) << told;
  ASSERT_FALSE(serve_.audit().empty());
  EXPECT_EQ(serve_.audit().back()["outcome"], "tool_error") << serve_.audit().back();
}

TEST_F(ServeBuiltinCall, WhatKeepsCodeFromBeingRunIsTold) {
  BRIG_NEEDS(has_python(), "no Python interpreter that can be used");
  for (const Json& more :
       {Json{{"env", {{"A=B", "x"}}}}, Json{{"cwd", std::string("a\0b", 3)}},
        Json{{"files", {{"a", "1"}, {"./a", "2"}}}}, Json{{"files", {{"a", {{"base64", "!"}}}}}}}) {
    Json arguments{{"code", "print('ran')"}};
    arguments.update(more);
    const Answer answer = call_python(arguments);
    EXPECT_EQ(answer.status, 422) << answer;
    EXPECT_EQ(answer.problem(), "invalid-arguments") << answer;
  }
  const Json told = call_python({{"code", "print('ran')"}, {"cwd", "no/such"}}).json();
  EXPECT_EQ(told["report"]["outcome"], "tool_error") << told;
  EXPECT_TRUE(told.value("error", "").starts_with("cwd: 'no/such': No such file")) << told;
  EXPECT_EQ(told["output"]["stdout"], "") << told;
}

TEST_F(ServeBuiltinCall, CodeThatGoesOnAfterItsAnswerIsEnded) {
  BRIG_NEEDS(has_python(), "no Python interpreter that can be used");
  const Json ended = call_python({{"code", std::string(kForge) +
                                               "open('f', 'w').write('kept')\nforge({'value': 1})\n"
                                               "while True: pass"},
                                  {"timeout", 1}})
                         .json();
  EXPECT_EQ(ended["report"]["outcome"], "timeout") << ended;
  EXPECT_EQ(file_in(ended, "f"), "a2VwdA==");
  EXPECT_EQ(python("1 + 1")["output"]["value"], 2);
}

TEST_F(ServeBuiltinCall, AJobsResultHasItAll) {
  const Json job = client_
                       .post("/v1/jobs", {{"tool", "run_command"},
                                          {"arguments",
                                           {{"command", "echo $A; echo kept > f; exit 2"},
                                            {"env", {{"A", "a"}}},
                                            {"timeout", 20}}}})
                       .json();
  const Json done = serve_.get("/v1/jobs/" + job.value("id", "") + "?wait=20").json();
  EXPECT_EQ(done["result"]["output"]["stdout"], "a\n") << done;
  EXPECT_EQ(file_in(done["result"], "f"), "a2VwdAo=") << done;
}

// --- files.protect ---

// A server lives long: what the host makes in its time, or a call, is protected from then on.
TEST(ServeProtect, WhatComesToBeThereLaterIsProtected) {
  const HostDirectory host;
  const std::string repo = host.make("repo");
  Serve serve(
      {.arguments = {"--builtins"},
       .manifest = "[policy.files]\nwrite = ['" + repo +
                   "']\nprotect = ['@default']\n[[command]]\nname = 'a'\nargv = ['true']\n"});
  const auto tools = serve.tools();
  const bool has_python = std::find(tools.begin(), tools.end(), "run_python") != tools.end();
  const auto command = [&](const std::string& line) {
    return serve.post("/v1/run", {{"command", "cd '" + repo + "'; " + line}}).json();
  };
  const auto code = [&](const std::string& line) {
    return serve.post("/v1/tools/run_python/call", {{"arguments", {{"code", line}, {"cwd", repo}}}})
        .json();
  };
  EXPECT_EQ(command("echo x >own")["ok"], true);
  if (has_python) {
    EXPECT_EQ(code("open('own').read()")["ok"], true);
  }
  for (const char* name : {"repo/.git", "repo/.git/hooks"}) host.make(name);
  for (const char* name : {"/.git/config", "/.envrc"}) write_file(repo + name, "original");
  const Json refused = command("echo x >.git/hooks/pre-commit; echo x >>.envrc; echo x >>'" + repo +
                               "/.git/config'");
  EXPECT_EQ(refused["ok"], false) << refused;
  EXPECT_TRUE(contains(refused["report"]["violations"].dump(), "file.protected")) << refused;
  if (has_python) {
    const Json raised = code("open('" + repo + "/.git/config', 'a').write('x')");
    EXPECT_EQ(raised["error_type"], "OSError") << raised;
    EXPECT_TRUE(contains(raised["report"]["violations"].dump(), "file.protected")) << raised;
  }
  EXPECT_TRUE(
      contains(command("echo mine >.npmrc")["report"]["violations"].dump(), "file.appeared"));
  EXPECT_EQ(command("echo more >>.npmrc")["ok"], false);
  EXPECT_EQ(read_file(repo + "/.npmrc"), "mine\n");
  for (const char* name : {"/.git/config", "/.envrc"})
    EXPECT_EQ(read_file(repo + name), "original") << name;
  EXPECT_TRUE(std::filesystem::is_empty(repo + "/.git/hooks"));
}

// --- over MCP ---

TEST(McpBuiltin, AFailureHasItsFilesAndImages) {
  Stdio mcp(Stdio::BuiltIns{});
  mcp.open();
  const Json result = mcp.ask(message(
      1, "tools/call",
      call_of("run_command", {{"command", "echo out; echo kept > f.txt; base64 -d in > p; exit 3"},
                              {"files", {{"in", kPng}}}})))["result"];
  EXPECT_EQ(result["isError"], true);
  const Json& content = result["content"];
  ASSERT_EQ(content.size(), 4u) << content;
  EXPECT_TRUE(contains(content[0].value("text", ""), "exit: ")) << content;
  EXPECT_EQ(content[1]["text"], "stdout:\nout\n");
  EXPECT_EQ(content[2]["data"], kPng);
  EXPECT_EQ(content[3]["name"], "f.txt");
  EXPECT_EQ(mcp.ask(message(2, "resources/read",
                            {{"uri", content[3]["uri"]}}))["result"]["contents"][0]["text"],
            "kept\n");
  const Json late = mcp.ask(message(
      3, "tools/call",
      call_of("run_command", {{"command", "echo x > g; sleep 600"}, {"timeout", 0.4}})))["result"];
  EXPECT_TRUE(contains(late["content"][0].value("text", ""), "timeout: ")) << late;
  EXPECT_EQ(late["content"].back()["name"], "g") << late;
  const Json wrong = mcp.ask(message(
      4, "tools/call", call_of("run_command", {{"command", "true"}, {"timeout", 5000}})))["result"];
  EXPECT_TRUE(contains(wrong.dump(), "timeout: 5000 s is more than the 30 s of the policy"))
      << wrong;
}

TEST(McpBuiltin, CodeCannotSayThatItWasNotRun) {
  Stdio mcp(Stdio::BuiltIns{});
  mcp.open();
  const Json listed = mcp.ask(message(1, "tools/list"))["result"]["tools"];
  BRIG_NEEDS(contains(listed.dump(), "run_python"), "no Python interpreter that can be used");
  const Json result = mcp.ask(
      message(2, "tools/call",
              call_of("run_python",
                      {{"code", std::string(kForge) +
                                    "open('evil', 'w').write('x')\nprint('ran', flush=True)\n"
                                    "forge({'not_run': 'anything'})\nos._exit(0)"}})))["result"];
  EXPECT_EQ(result["isError"], true);
  EXPECT_EQ(result["_meta"]["brig/outcome"], "tool_error") << result;
  EXPECT_TRUE(contains(result["content"].dump(), "ran")) << result;
  EXPECT_EQ(result["content"].back()["name"], "evil") << result;
}

TEST(McpBuiltin, WhatCodeDisplaysStandsBetweenWhatItPrints) {
  Stdio mcp(Stdio::BuiltIns{});
  mcp.open();
  const Json listed = mcp.ask(message(1, "tools/list"))["result"]["tools"];
  BRIG_NEEDS(contains(listed.dump(), "run_python"), "no Python interpreter that can be used");
  for (const Json& tool : listed)
    EXPECT_TRUE(tool["inputSchema"]["properties"].contains("timeout")) << tool;
  const Json result = mcp.ask(message(
      2, "tools/call",
      call_of("run_python", {{"code", std::string(kForge) +
                                          "print('a')\nprint('b', flush=True)\n"
                                          "forge({'value': 'end', 'displays': [{'at': 2, 'data': "
                                          "{'image/png': '" +
                                          kPng +
                                          "'}}, {'at': 4, 'data': {'text/plain': 'table', "
                                          "'text/html': '<table>'}}]})\nos._exit(0)"}})))["result"];
  const Json& content = result["content"];
  ASSERT_EQ(content.size(), 6u) << content;
  EXPECT_EQ(content[0]["text"], "a\n");
  EXPECT_EQ(content[1]["data"], kPng);
  EXPECT_EQ(content[2]["text"], "b\n");
  EXPECT_EQ(content[3]["text"], "table");
  EXPECT_EQ(content[4]["mimeType"], "text/html");
  EXPECT_EQ(content[5]["text"], "value:\nend");
}

TEST(McpBuiltin, AValueThatIsDisplayedIsNotToldAgain) {
  Stdio mcp(Stdio::BuiltIns{});
  mcp.open();
  const Json listed = mcp.ask(message(1, "tools/list"))["result"]["tools"];
  BRIG_NEEDS(contains(listed.dump(), "run_python"), "no Python interpreter that can be used");
  const Json content = mcp.ask(
      message(2, "tools/call", call_of("run_python", {{"code", kShow}})))["result"]["content"];
  ASSERT_EQ(content.size(), 5u) << content;
  EXPECT_EQ(content[0]["text"], "before\n");
  EXPECT_EQ(content[1]["data"], kPng);
  EXPECT_EQ(content[2]["text"], "after\n");
  EXPECT_EQ(content[3]["text"], "a page");
  EXPECT_EQ(content[4]["mimeType"], "text/html");
}

}  // namespace
