// run_command and run_python: the tools of a server that was given none.
#include "serve_builtin.h"

namespace {

using namespace e2e;

TEST_F(ServeBuiltin, AreTheToolsOfAServerWithoutAManifest) {
  EXPECT_EQ(serve_.tools().front(), "run_command");
  EXPECT_EQ(serve_.get("/v1/status").json()["builtins"], true);
  const Answer answer =
      client_.post("/v1/tools/run_command/call", {{"arguments", {{"argv", {"echo", "a b", "c"}}}}});
  EXPECT_EQ(answer.json()["output"]["stdout"], "a b c\n") << answer;
}

TEST_F(ServeBuiltin, ACommandIsWordsOrALine) {
  EXPECT_EQ(output({{"argv", {"printf", "%s|", "a b", "$HOME"}}})["stdout"], "a b|$HOME|");
  EXPECT_EQ(output({{"command", "echo a; echo b >&2"}}),
            (Json{{"exit_code", 0}, {"stdout", "a\n"}, {"stderr", "b\n"}}));
  for (const Json& body : {Json::object(), Json{{"argv", {"true"}}, {"command", "true"}},
                           Json{{"argv", Json::array()}}, Json{{"argv", "true"}},
                           Json{{"argv", {1}}}, Json{{"argv", {"true"}}, {"extra", 1}}}) {
    const Answer answer = run(body);
    EXPECT_EQ(answer.status, 422) << body << answer;
    EXPECT_EQ(answer.problem(), "invalid-arguments") << body;
  }
}

TEST_F(ServeBuiltin, ACommandThatFailsTellsHow) {
  EXPECT_EQ(outcome({{"command", "exit 3"}}), "exit");
  EXPECT_EQ(outcome({{"command", "kill -9 $$"}}), "signal");
  const Json failed = run({{"command", "echo out; echo err >&2; exit 3"}}).json();
  EXPECT_EQ(failed["report"]["exit_code"], 3);
  EXPECT_EQ(failed["report"]["stdout"], "out\n");
  EXPECT_EQ(failed["report"]["stderr"], "err\n");
  const Answer missing = run({{"argv", {"no-such-program"}}});
  EXPECT_TRUE(contains(missing.body, "no-such-program")) << missing;
  EXPECT_TRUE(missing.status == 422 || missing.json()["ok"] == false) << missing;
}

TEST_F(ServeBuiltin, ACommandReadsItsInput) {
  EXPECT_EQ(output({{"argv", {"cat"}}, {"stdin", "line\nä"}})["stdout"], "line\nä");
  EXPECT_EQ(output({{"argv", {"cat"}}})["stdout"], "") << "without, there is none";
  const std::string large(200'000, 'x');
  EXPECT_EQ(output({{"command", "wc -c"}, {"stdin", large}})["stdout"], "200000\n");
}

TEST_F(ServeBuiltin, FilesAreInTheWorkspaceFirst) {
  EXPECT_EQ(output({{"command", "cat a.txt deep/er/b"},
                    {"files", {{"a.txt", "A"}, {"deep/er/b", {{"base64", "/w=="}}}}}})
                .value("stdout_base64", ""),
            "Qf8=");
  EXPECT_EQ(output({{"command", "ls -A; pwd"}})["stdout"], "/workspace\n")
      << "of the call before nothing is left";
}

TEST_F(ServeBuiltin, AFileOutsideTheWorkspaceIsRefused) {
  for (const char* path :
       {"../x", "/etc/x", "a/../../x", "..", ".", "", "a/", "./..", "/", "../workspace/../../x"}) {
    const Answer answer = run({{"command", "echo ran"}, {"files", {{path, "x"}}}});
    EXPECT_EQ(answer.status, 422) << path << ": " << answer;
    EXPECT_FALSE(contains(answer.body, "ran\\n")) << path << ": " << answer;
  }
  EXPECT_EQ(run({{"command", "true"}, {"files", {{"x", {{"base64", "!"}}}}}}).status, 422);
  EXPECT_EQ(run({{"command", "true"}, {"files", {{"x", 7}}}}).status, 422);
}

TEST_F(ServeBuiltin, ImagesThatAreWrittenComeBack) {
  const Json made = output({{"command", "mkdir d; base64 -d in > d/plot; echo text > d/a.png"},
                            {"files", {{"in", kPng}}}});
  ASSERT_EQ(made.value("images", Json()).size(), 1u) << made;
  EXPECT_EQ(made["images"][0],
            (Json{{"path", "d/plot"}, {"mime_type", "image/png"}, {"data", kPng}}))
      << "by what they are, not by their name";
  EXPECT_FALSE(output({{"command", "true"}, {"files", {{"given.png", {{"base64", kPng}}}}}})
                   .contains("images"))
      << "what was given is not given back";
}

TEST_F(ServeBuiltin, TheCellIsLocked) {
  EXPECT_EQ(output({{"command", "cat /etc/shadow 2>/dev/null || echo no"}})["stdout"], "no\n");
  EXPECT_EQ(output({{"command", "touch /usr/x 2>/dev/null || echo no"}})["stdout"], "no\n");
  const std::string audit = serve_.audit_path();
  EXPECT_EQ(output({{"command", "cat '" + audit + "' 2>/dev/null || echo no"}})["stdout"], "no\n");
  EXPECT_EQ(output({{"command", "ls /proc/self/fd | wc -l"}})["stdout"], "4\n")
      << "three, and that of ls itself";
}

// --- narrower limits ---

TEST_F(ServeBuiltin, LimitsMayBeNarrower) {
  EXPECT_EQ(outcome({{"command", "sleep 60"}, {"limits", {{"timeout", 0.5}}}}), "timeout");
  EXPECT_EQ(outcome({{"command", "sleep 60"}, {"limits", {{"timeout", "500ms"}}}}), "timeout");
  const Json large = run({{"command", "yes"}, {"limits", {{"output_total", "64K"}}}}).json();
  EXPECT_EQ(large["report"]["outcome"], "output_limit");
  EXPECT_EQ(output({{"command", "head -c 5000 /dev/zero | tr '\\0' x"},
                    {"limits", {{"output", 1000}}}})["stdout_bytes"],
            5000);
  EXPECT_EQ(output({{"command", "echo fine"}, {"limits", Json::object()}})["stdout"], "fine\n");
}

TEST_F(ServeBuiltin, MemoryProcessesAndCpuTimeMayBeLess) {
  if (!has_cgroups()) {  // then it is said, with the fix, and nothing runs weaker
    for (const Json& limits : {Json{{"memory", "32M"}}, Json{{"processes", 4}}}) {
      const Json refused = run({{"command", "echo ran"}, {"limits", limits}}).json();
      EXPECT_EQ(refused["report"]["outcome"], "denied") << refused;
      EXPECT_NE(refused["error"].get<std::string>().find("brig doctor"), std::string::npos);
    }
    return;
  }
  EXPECT_EQ(outcome({{"command", "while :; do :; done"}, {"limits", {{"cpu_time", 1}}}}),
            "timeout");
  const Json memory =
      run({{"command", "head -c 200000000 /dev/zero | tail -c 190000000 >/dev/null"},
           {"limits", {{"memory", "32M"}}}})
          .json();
  EXPECT_EQ(memory["report"]["outcome"], "memory_limit") << memory;
  const Json processes =
      run({{"command", "for i in 1 2 3 4 5 6 7 8; do sleep 5 & done; wait; exit 1"},
           {"limits", {{"processes", 4}}}})
          .json();
  EXPECT_EQ(processes["ok"], false) << processes;
}

TEST_F(ServeBuiltin, WiderLimitsAreRefused) {
  for (const Json& limits :
       {Json{{"timeout", 100'000}}, Json{{"memory", "900G"}}, Json{{"processes", 1'000'000}},
        Json{{"output", "900G"}}, Json{{"cpu_time", 1'000'000}}}) {
    const Answer answer = run({{"command", "echo ran"}, {"limits", limits}});
    EXPECT_EQ(answer.status, 422) << limits << answer;
    EXPECT_EQ(answer.problem(), "wider-policy") << limits;
  }
  for (const Json& limits : {Json{{"timeout", "x"}}, Json{{"memory", -1}}, Json{{"colour", 1}},
                             Json{{"timeout", 0}}, Json{{"memory", "1M"}}}) {
    const Answer answer = run({{"command", "echo ran"}, {"limits", limits}});
    EXPECT_EQ(answer.status, 422) << limits << answer;
    EXPECT_EQ(answer.problem(), "invalid-arguments") << limits;
  }
}

TEST(ServeBuiltins, OutputInAllIsLimitedByThePolicyToo) {
  Serve serve({.arguments = {"--builtins"},
               .manifest = "[policy]\ntimeout = '20s'\noutput_total = '1M'\ncpu_time = '10s'\n"});
  for (const Json& limits : {Json{{"output_total", "1025K"}}, Json{{"cpu_time", "10001ms"}}}) {
    const Answer answer = serve.post("/v1/run", {{"command", "echo ran"}, {"limits", limits}});
    EXPECT_EQ(answer.status, 422) << limits << answer;
    EXPECT_EQ(answer.problem(), "wider-policy") << limits;
    EXPECT_FALSE(contains(answer.body, "ran")) << answer;
  }
  EXPECT_EQ(serve.post("/v1/run", {{"command", "echo ran"}, {"limits", {{"output_total", "1M"}}}})
                .json()["output"]["stdout"],
            "ran\n");
}

// The policy is the operator's: a call can't bring any of its words.
TEST(ServeBuiltins, ACallWithAWordOfThePolicyIsRefusedAndNothingIsRun) {
  const HostDirectory host;
  const std::string witness = host.make("writable") + "/ran";
  Serve serve({.arguments = {"--builtins"},
               .manifest = "[policy]\ntimeout = '20s'\nfiles.write = ['" + host / "writable" +
                           "']\n[[command]]\nname = 'nothing'\nargv = ['true']\n"});
  const Json command{{"command", "touch " + witness}},
      code{{"code", "open('" + witness + "', 'w').close()"}};
  const auto tools = serve.tools();
  const bool python = std::find(tools.begin(), tools.end(), "run_python") != tools.end();
  // All the ways of a call: its address, and its body with `words` as arguments.
  const auto requests = [&](const Json& words) {
    const auto with = [&](Json arguments) {
      arguments.update(words);
      return arguments;
    };
    std::vector<std::pair<std::string, Json>> all{
        {"/v1/run", with(command)}, {"/v1/tools/run_command/call", {{"arguments", with(command)}}}};
    if (python) all.emplace_back("/v1/tools/run_python/call", Json{{"arguments", with(code)}});
    return all;
  };
  for (const auto& [path, body] : requests(Json::object())) {
    EXPECT_EQ(serve.post(path, body).json()["ok"], true) << body;
    EXPECT_TRUE(exists(witness)) << "without such a word it is run";
    std::filesystem::remove(witness);
  }
  for (const Json& words :
       {Json{{"user", "root"}}, Json{{"preset", {"git"}}}, Json{{"files", {{"read", {"/etc"}}}}},
        Json{{"protect", Json::array()}}, Json{{"network", "host"}},
        Json{{"policy", {{"user", "root"}}}}, Json{{"limits", {{"user", "root"}}}}}) {
    auto all = requests(words);
    // And beside the arguments.
    for (const auto& [tool, arguments] :
         {std::pair{"run_command", command}, {"run_python", code}}) {
      Json body{{"arguments", arguments}};
      body.update(words);
      if (python || arguments == command)
        all.emplace_back("/v1/tools/" + std::string(tool) + "/call", body);
    }
    for (const auto& [path, body] : all) {
      const Answer answer = serve.post(path, body);
      EXPECT_EQ(answer.status, 422) << path << body << answer;
      EXPECT_EQ(answer.problem(), "invalid-arguments") << path << body;
      EXPECT_FALSE(exists(witness)) << path << body;
    }
  }
}

// --- run_python ---

TEST_F(ServeBuiltin, PythonGivesAValueAndWhatWasPrinted) {
  BRIG_NEEDS(has_python(), "no Python interpreter that can be used");
  EXPECT_EQ(python("print('hello')\n6 * 7")["output"],
            (Json{{"value", 42}, {"stdout", "hello\n"}, {"stderr", ""}}));
  EXPECT_EQ(python("x = 1")["output"]["value"], Json());
  EXPECT_EQ(python("{'a': [1, None]}")["output"]["value"], (Json{{"a", {1, nullptr}}}));
  EXPECT_EQ(python("1+2j")["output"]["value"], "(1+2j)") << "what JSON can't hold";
}

TEST_F(ServeBuiltin, PythonTellsWhereItFailed) {
  BRIG_NEEDS(has_python(), "no Python interpreter that can be used");
  const Json failed = python("def f():\n    return 1 / 0\nf()\n");
  EXPECT_EQ(failed["ok"], false);
  EXPECT_EQ(failed["error_type"], "ZeroDivisionError");
  EXPECT_EQ(failed["report"]["outcome"], "tool_error");
  EXPECT_TRUE(contains(failed.value("traceback", ""), "line 2, in f")) << failed["traceback"];
  EXPECT_FALSE(contains(failed.value("traceback", ""), "_builtin.py")) << failed["traceback"];
  EXPECT_EQ(python("x = (")["error_type"], "SyntaxError");
}

TEST_F(ServeBuiltin, PythonHasFilesAndGivesImages) {
  BRIG_NEEDS(has_python(), "no Python interpreter that can be used");
  EXPECT_EQ(python("open('d/a').read()", {{"d/a", "text"}})["output"]["value"], "text");
  const Json made =
      python("import base64; open('x', 'wb').write(base64.b64decode('" + kPng + "'))")["output"];
  ASSERT_EQ(made.value("images", Json()).size(), 1u) << made;
  EXPECT_EQ(made["images"][0]["mime_type"], "image/png");
  for (const char* path : {"../x", "/etc/x"}) {
    const Answer answer =
        client_.post("/v1/tools/run_python/call",
                     {{"arguments", {{"code", "print('ran')"}, {"files", {{path, "x"}}}}}});
    EXPECT_EQ(answer.status, 422) << path << answer;
  }
}

TEST_F(ServeBuiltin, NothingOfACallIsThereForTheNext) {
  BRIG_NEEDS(has_python(), "no Python interpreter that can be used");
  python("import sys; sys.marker = 1; open('/tmp/mark', 'w').write('x'); mark = 1");
  EXPECT_EQ(python("import os, sys; [hasattr(sys, 'marker'), os.path.exists('/tmp/mark'), "
                   "'mark' in globals()]")["output"]["value"],
            (Json{false, false, false}));
}

TEST(ServeBuiltins, MayStandBesideAManifest) {
  Serve serve({.arguments = {"--builtins"}, .tools = true});
  const auto tools = serve.tools();
  EXPECT_EQ(std::count(tools.begin(), tools.end(), "run_command"), 1);
  EXPECT_EQ(std::count(tools.begin(), tools.end(), "greet"), 1);
  EXPECT_TRUE(std::is_sorted(tools.begin(), tools.end()));
  EXPECT_EQ(serve.post("/v1/run", {{"command", "echo x"}}).json()["output"]["stdout"], "x\n");
  EXPECT_EQ(serve.post("/v1/tools/greet/call", {{"arguments", {{"who", "you"}}}}).json()["output"],
            "hello you");
}

// By a tool that its policy calls root, too.
class ServeBuiltinAs : public ServeBuiltin, public testing::WithParamInterface<const char*> {
 protected:
  ServeBuiltinAs() : ServeBuiltin(as(GetParam())) {}
};
INSTANTIATE_TEST_SUITE_P(Inside, ServeBuiltinAs, testing::Values("", "root"), [](const auto& each) {
  return std::string(*each.param ? each.param : "default");
});

// Both act with the rights of the server's user, who owns its program.
TEST_P(ServeBuiltinAs, ACommandCanNeitherReachItsResultNorTheServersProgram) {
  const Json result = output(
      {{"command",
        "for each in /proc/[0-9]*/fd/*; do case $each in /proc/self/*|/proc/$$/*) continue;; esac; "
        "printf '\\002\\000\\000\\000\\017\\000\\000\\000{\"exit_code\":7}' 2>/dev/null >\"$each\" "
        "&& "
        "echo reached $each; done; "
        "for each in /proc/[0-9]*/exe; do chmod 777 $each 2>/dev/null && echo changed $each; done; "
        "ls -l /proc/2/fd /proc/2/exe 2>&1 | grep -c -i 'denied'; exit 0"}});
  EXPECT_EQ(result["exit_code"], 0) << result;
  EXPECT_EQ(output({{"command", "id -u"}})["stdout"], *GetParam() ? "0\n" : "1000\n");
  EXPECT_FALSE(contains(result["stdout"].get<std::string>(), "reached")) << result;
  EXPECT_FALSE(contains(result["stdout"].get<std::string>(), "changed")) << result;
}

TEST(ServeProgram, ACommandCantChangeTheFileOfTheServer) {
  const HostDirectory host;
  const std::string from = std::filesystem::path(program()).parent_path();
  for (const char* name : {"brig", "brig-server"})
    std::filesystem::copy_file(from + "/" + name, host / name);
  const Variable own("BRIG_PROGRAM", (host / "brig").c_str());
  struct stat before {
  }, after{};
  ASSERT_EQ(stat((host / "brig-server").c_str(), &before), 0);
  Serve serve;
  for (const char* command : {"chmod 777 /proc/2/exe", "touch -d 2001-01-01 /proc/2/exe",
                              "chmod 0 /proc/2/exe; : >>/proc/2/exe"})
    EXPECT_EQ(serve.post("/v1/run", {{"command", command}}).json()["report"]["outcome"], "exit")
        << command;
  ASSERT_EQ(stat((host / "brig-server").c_str(), &after), 0);
  EXPECT_EQ(after.st_mode, before.st_mode);
  EXPECT_EQ(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
  EXPECT_EQ(after.st_ctim.tv_sec, before.st_ctim.tv_sec);
  EXPECT_EQ(after.st_ctim.tv_nsec, before.st_ctim.tv_nsec);
}

}  // namespace
