// What calls leave behind for their callers, and what they are told of it: results that fit a model, and resources.
#include "serve_mcp_http.h"
#include "serve_stdio.h"

namespace {

using namespace e2e;

constexpr const char* kTwoTokens =
    "[[token]]\nname = 'a'\ntoken = 'aaaaaaaaaaaaaaaa'\n"
    "[[token]]\nname = 'b'\ntoken = 'bbbbbbbbbbbbbbbb'\nadmin = true\n";

Json run_line(const std::string& line, Json files = Json::object()) {
  return call_of("run_command", {{"command", line}, {"files", std::move(files)}});
}

Json links_of(const Json& result) {
  Json links = Json::array();
  for (const Json& each : result["content"])
    if (each["type"] == "resource_link") links.push_back(each);
  return links;
}

// A client of the built-in tools over stdio.
struct Shell {
  explicit Shell(std::vector<std::string> options = {}) : mcp(Stdio::BuiltIns{std::move(options)}) {
    mcp.open();
  }
  Json call(Json params) {
    return mcp.ask(message(++id, "tools/call", std::move(params)))["result"];
  }
  Json read(const std::string& uri) {
    return mcp.ask(message(++id, "resources/read", {{"uri", uri}}));
  }
  Json tool(const std::string& name) {
    const Json answer = mcp.ask(message(++id, "tools/list"));
    for (const Json& each : answer["result"]["tools"])
      if (each["name"] == name) return each;
    return {};
  }
  Stdio mcp;
  int id = 0;
};

TEST(McpFiles, ComeBackAsResources) {
  Shell shell;
  const Json result = shell.call(run_line(
      "echo a,b > out.csv; mkdir d; printf '\\377\\376' > d/raw; mkdir .git; echo x > .git/x; "
      "echo changed >> given",
      {{"given", "given\n"}, {"same", "same\n"}}));
  const Json links = links_of(result);
  ASSERT_EQ(links.size(), 3u) << result;
  EXPECT_EQ(links[0]["name"], "d/raw");
  EXPECT_EQ(links[1]["name"], "given");
  EXPECT_EQ(links[2]["name"], "out.csv");
  EXPECT_EQ(links[2]["mimeType"], "text/csv");
  EXPECT_EQ(links[2]["size"], 4);
  EXPECT_EQ(shell.read(links[0]["uri"])["result"]["contents"][0]["blob"], "//4=");
  EXPECT_EQ(shell.read(links[1]["uri"])["result"]["contents"][0]["text"], "given\nchanged\n");
  EXPECT_EQ(shell.read(links[2]["uri"])["result"]["contents"][0]["text"], "a,b\n");
  const Json list = shell.mcp.ask(message("l", "resources/list"))["result"]["resources"];
  EXPECT_EQ(list.size(), 3u) << list;
  EXPECT_EQ(error_code(shell.read("brig://kept/x")), -32002);
  EXPECT_EQ(error_code(shell.read("file:///etc/passwd")), -32002);
}

TEST(McpFiles, OfPythonComeBackToo) {
  Shell shell;
  const Json result = shell.call(
      call_of("run_python", {{"code",
                              "import os\nos.mkdir('d')\nopen('d/out.json', 'w').write('{}')\n"
                              "open('.hidden', 'w').write('x')\nprint('done')\n"
                              "open('big', 'wb').write(bytes(7 << 20))\n'value'"}}));
  EXPECT_EQ(result["content"][0]["text"], "done\n") << result;
  EXPECT_EQ(result["content"][1]["text"], "value:\nvalue") << result;
  const Json links = links_of(result);
  ASSERT_EQ(links.size(), 2u) << result;
  EXPECT_EQ(links[0]["name"], "big");
  EXPECT_EQ(links[1]["name"], "d/out.json");
  EXPECT_EQ(shell.read(links[1]["uri"])["result"]["contents"][0]["text"], "{}");
}

TEST(McpFiles, AreToldIfTheyAreTooLargeOrTooMany) {
  Shell shell;
  const Json large = shell.call(run_line("head -c 9000000 /dev/zero > big"));
  EXPECT_TRUE(contains(large["content"].dump(), "'big', 8.6 MiB: it is larger than 8 MiB"))
      << large;
  const Json many = shell.call(run_line("for i in $(seq 40); do echo x > $i; done"));
  EXPECT_EQ(links_of(many).size(), 16u);
  EXPECT_TRUE(contains(many["content"].dump(),
                       "24 more files of the workspace were not returned: there are more than 16"))
      << many;
}

TEST(McpFiles, BelongToWhoMadeTheCall) {
  Serve serve({.token = kTwoTokens});
  const Session a(serve, "aaaaaaaaaaaaaaaa"), b(serve, "bbbbbbbbbbbbbbbb");
  const Json links =
      links_of(a.ask(message(1, "tools/call", run_line("echo secret > f")))["result"]);
  ASSERT_EQ(links.size(), 1u);
  const Json read = message(2, "resources/read", {{"uri", links[0]["uri"]}});
  EXPECT_EQ(a.ask(read)["result"]["contents"][0]["text"], "secret\n");
  EXPECT_EQ(error_code(b.ask(read)), -32002) << "not even an admin's";
  EXPECT_TRUE(b.ask(message(3, "resources/list"))["result"]["resources"].empty());
  EXPECT_EQ(Session(serve, "aaaaaaaaaaaaaaaa").ask(read)["result"]["contents"].size(), 1u)
      << "the caller's, whatever the session";
  Json stateless = modern(4, "resources/read", {{"uri", links[0]["uri"]}});
  const Headers headers = {{"Accept", kBoth},
                           {"MCP-Protocol-Version", kModern},
                           {"Mcp-Method", "resources/read"},
                           {"Mcp-Name", links[0].value("uri", "")}};
  Client client = serve.client("bbbbbbbbbbbbbbbb");
  EXPECT_EQ(error_code(client.ask("POST", "/mcp", stateless.dump(), headers).json()), -32602);
  Client own = serve.client("aaaaaaaaaaaaaaaa");
  const Json result = own.ask("POST", "/mcp", stateless.dump(), headers).json()["result"];
  EXPECT_EQ(result["contents"][0]["text"], "secret\n") << result;
  EXPECT_EQ(result["cacheScope"], "private");
}

TEST(McpFiles, AreDataInAnHttpResult) {
  Serve serve;
  const Json output =
      serve.post("/v1/tools/run_command/call", {{"arguments", {{"command", "echo x > f; echo y"}}}})
          .json()["output"];
  EXPECT_EQ(output, Json::parse(R"({"exit_code": 0, "stdout": "y\n", "stderr": "", "files": [
                       {"path": "f", "mime_type": "text/plain", "size": 2, "data": "eAo="}]})"));
}

TEST(McpFiles, ALargeImageIsLinked) {
  Shell shell;
  const Json result = shell.call(
      run_line("printf '\\211PNG\\r\\n\\032\\n' > p.png; head -c 6000000 /dev/zero >> p.png; "
               "printf '\\211PNG\\r\\n\\032\\n' > q.png; head -c 3000000 /dev/zero >> q.png"));
  const Json links = links_of(result);
  ASSERT_EQ(links.size(), 2u) << result.dump().substr(0, 2000);
  for (const Json& each : links) EXPECT_EQ(each["mimeType"], "image/png");
  EXPECT_LT(result.dump().size(), 10'000u);
}

TEST(McpFiles, ALongOutputIsCutWithAMarkAndReadAsAResource) {
  Shell shell;
  const Json result = shell.call(run_line("echo first; seq 200000; echo last"));
  const std::string text = result["content"][0]["text"];
  EXPECT_LT(text.size(), 26'000u);
  EXPECT_TRUE(text.starts_with("first\n1\n2\n"));
  EXPECT_TRUE(text.ends_with("200000\nlast\n"));
  EXPECT_TRUE(contains(text, "[... 1.2 MiB left out ...]")) << text;
  const Json links = links_of(result);
  ASSERT_EQ(links.size(), 1u);
  EXPECT_EQ(links[0]["name"], "stdout");
  const std::string more = shell.read(links[0]["uri"])["result"]["contents"][0]["text"];
  EXPECT_GT(more.size(), 100'000u);
  EXPECT_TRUE(contains(more, "left out")) << "beyond limits.output nothing is kept";
  EXPECT_FALSE(result.contains("structuredContent"));
}

TEST(McpFiles, BinaryOutputIsToldAndKept) {
  Shell shell;
  const Json result = shell.call(run_line("printf '\\377\\376\\375'"));
  EXPECT_TRUE(contains(result["content"][0]["text"].get<std::string>(), "3 B of binary data"));
  const Json links = links_of(result);
  ASSERT_EQ(links.size(), 1u) << result;
  EXPECT_EQ(shell.read(links[0]["uri"])["result"]["contents"][0]["blob"], "//79");
  EXPECT_EQ(shell.call(run_line("true"))["content"][0]["text"], "[no output]");
}

TEST(McpFiles, AnOlderVersionReadsOfThemInTheText) {
  Stdio mcp{Stdio::BuiltIns{}};
  mcp.ask(initialize(0, "2025-03-26"));
  const Json result = mcp.ask(message(1, "tools/call", run_line("echo x > f")))["result"];
  EXPECT_TRUE(links_of(result).empty());
  EXPECT_TRUE(contains(result["content"].dump(), "brig://kept/")) << result;
}

TEST(McpFiles, ARefusedThingStandsInTheText) {
  Shell shell;
  const Json result = shell.call(run_line("mount -t tmpfs x /tmp; exit 3"));
  EXPECT_EQ(result["isError"], true);
  EXPECT_TRUE(contains(result["content"][0]["text"], "refused the system call mount")) << result;
  ASSERT_TRUE(result["_meta"].contains("brig/violations")) << result;
  EXPECT_TRUE(result["_meta"]["brig/violations"][0].contains("count")) << result;
}

// --- brig mcp --read --write --net --memory --timeout --policy ---

TEST(McpOptions, SayWhatTheBuiltInToolsMayUse) {
  const HostDirectory host;
  write_file(host / "data", "from the host\n");
  const std::string writable = host.make("writable");
  chmod(writable.c_str(), 0777);
  {
    Shell plain;
    EXPECT_EQ(plain.call(run_line("cat " + host / "data"))["isError"], true);
    const Json tool = plain.tool("run_command");
    EXPECT_TRUE(contains(tool.value("description", ""), "30 s, 512 MiB of memory, no network"));
    EXPECT_EQ(tool["annotations"]["readOnlyHint"], true);
    EXPECT_EQ(tool["annotations"]["openWorldHint"], false);
    EXPECT_EQ(plain.tool("run_python")["annotations"]["destructiveHint"], false);
  }
  Shell shell({"--read", host.path(), "--write", writable, "--memory", "64M", "--timeout", "7s",
               "--net", "loopback"});
  EXPECT_EQ(shell.call(run_line("cat " + host / "data"))["content"][0]["text"], "from the host\n");
  EXPECT_FALSE(shell.call(run_line("echo x > " + writable + "/new")).contains("isError"));
  EXPECT_TRUE(exists(writable + "/new"));
  const Json tool = shell.tool("run_command");
  for (const char* each : {"7 s", "64 MiB", "loopback", "writable"})
    EXPECT_TRUE(contains(tool.value("description", ""), each)) << tool;
  EXPECT_EQ(tool["annotations"]["destructiveHint"], true);
  EXPECT_EQ(tool["annotations"]["readOnlyHint"], false);
}

TEST(McpOptions, APolicyFileComesFirst) {
  const HostDirectory host;
  write_file(host / "p.toml", "[limits]\ntimeout = '11s'\nmemory = '96M'\n");
  Shell shell({"--policy", host / "p.toml", "--memory", "80M"});
  const std::string text = shell.tool("run_python").value("description", "");
  EXPECT_TRUE(contains(text, "11 s, 80 MiB")) << text;
}

TEST(McpOptions, AreRefusedBesideAManifest) {
  const HostDirectory host;
  write_file(host / "brig.toml", many_tools(1));
  for (const auto& [option, value] :
       {std::pair("--read", "/usr"), std::pair("--write", "/tmp"), std::pair("--net", "host"),
        std::pair("--memory", "1G"), std::pair("--timeout", "1m"),
        std::pair("--policy", "/dev/null")}) {
    const Result result = brig_program(
        {"mcp", "--audit", "none", "--manifest", host / "brig.toml", "--builtins", option, value});
    EXPECT_EQ(result.code, 125) << result;
    EXPECT_TRUE(contains(result.err, std::string(option) + " and --manifest")) << result;
    EXPECT_TRUE(contains(result.err, "[policy]")) << result;
  }
}

TEST(McpOptions, AreCheckedLikeThoseOfRun) {
  for (const auto& [option, value] :
       {std::pair("--memory", "lots"), std::pair("--timeout", "soon"), std::pair("--net", "wifi"),
        std::pair("--read", "/no/such/path"), std::pair("--mcp-text", "2"),
        std::pair("--mcp-text", "2G"), std::pair("--policy", "/no/such/file")}) {
    const Result result = brig_program({"mcp", "--audit", "none", option, value});
    EXPECT_EQ(result.code, 125) << option << result;
    EXPECT_TRUE(contains(result.err, option) || contains(result.err, value)) << result;
  }
}

TEST(McpOptions, AreNamedInWhatIsWrongWithThem) {
  const HostDirectory host;
  for (const auto& [option, value] : {std::pair<std::string, std::string>("--memory", "1K"),
                                      {"--timeout", "0s"},
                                      {"--read", "/no/such/path"},
                                      {"--write", "/no/such/path"},
                                      {"--noexec", "/srv/a"},
                                      {"--protect", "/srv/a"}}) {
    const Result result = brig_program({"mcp", "--audit", "none", option, value});
    EXPECT_EQ(result.code, 125) << result;
    EXPECT_TRUE(contains(result.err, option)) << result;
    EXPECT_FALSE(contains(result.err, "limits.") || contains(result.err, "files.")) << result;
  }
  // The keys of a file stay as they stand there.
  write_file(host / "p.toml", "[limits]\nmemory = '1K'\n");
  const Result result = brig_program({"mcp", "--audit", "none", "--policy", host / "p.toml"});
  EXPECT_EQ(result.code, 125) << result;
  EXPECT_TRUE(contains(result.err, "limits.memory")) << result;
}

TEST(McpOptions, TheRoomForTextIsTheOperators) {
  Shell shell({"--mcp-text", "2K"});
  const std::string text = shell.call(run_line("seq 10000"))["content"][0]["text"];
  EXPECT_LT(text.size(), 2200u);
  EXPECT_TRUE(contains(text, "left out"));
}

}  // namespace
