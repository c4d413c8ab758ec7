// `brig serve` as HTTP: its paths and methods, and what no well-behaved client sends.
#include "serve_program.h"

namespace {

using namespace e2e;

TEST(ServeHttp, EveryPathOfTheContractAnswers) {
  Serve serve({.tools = true});
  Client client = serve.client();
  EXPECT_EQ(client.get("/healthz").json(), (Json{{"status", "ok"}}));
  const Answer page = client.get("/");
  EXPECT_EQ(page.status, 200) << page;
  EXPECT_TRUE(page.header("content-type").starts_with("text/html")) << page;
  EXPECT_TRUE(page.header("content-security-policy")
                  .starts_with("default-src 'none'; script-src 'self'; style-src 'self'; "
                               "connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
                               "form-action 'none'; frame-ancestors 'none'"))
      << page;
  EXPECT_EQ(page.header("x-content-type-options"), "nosniff");
  EXPECT_EQ(serve.tools(), (std::vector<std::string>{"gate", "greet", "nap", "shell"}));
  EXPECT_EQ(client.get("/v1/calls").json(), (Json{{"calls", Json::array()}}));
  EXPECT_EQ(client.get("/v1/jobs").json(), (Json{{"jobs", Json::array()}}));
  EXPECT_TRUE(client.get("/v1/capabilities").json().is_object());
  const Json status = client.get("/v1/status").json();
  for (const char* key :
       {"version", "uptime_s", "draining", "tools", "running", "waiting", "concurrency", "queue",
        "ready", "calls_total", "connections", "builtins", "auth"})
    EXPECT_TRUE(status.contains(key)) << key << " is not in " << status;
  EXPECT_EQ(status["tools"], 4);
  EXPECT_EQ(status["builtins"], false);
  EXPECT_EQ(status["auth"], false);
  EXPECT_EQ(client.get("/v1/openapi.json").json().value("openapi", "").substr(0, 3), "3.1");
  const Answer metrics = client.get("/metrics");
  EXPECT_TRUE(metrics.header("content-type").starts_with("text/plain")) << metrics;
  EXPECT_TRUE(contains(metrics.body, "\nbrig_info{")) << metrics;
}

TEST(ServeHttp, TheConsolesFilesAreServedByNameAndNothingElseIs) {
  Serve serve;
  const Answer page = serve.get("/");
  for (std::size_t at = 0; (at = page.body.find("/console/", at)) != page.body.npos; ++at) {
    const std::string path = page.body.substr(at, page.body.find_first_of("\"'", at) - at);
    EXPECT_EQ(serve.get(path).status, 200) << path;
  }
  for (const char* path : {"/console/", "/console/x", "/console/../server", "/console/%2e%2e/x",
                           "/index.html", "/console/index.html/x", "/console//etc/passwd"})
    EXPECT_EQ(serve.get(path).status, 404) << path;
}

TEST(ServeHttp, ToolsAreFoundByAQuery) {
  Serve serve({.tools = true});
  const Json found = serve.get("/v1/tools?query=GREETS").json()["tools"];
  ASSERT_EQ(found.size(), 1u) << found;
  EXPECT_EQ(found[0]["name"], "greet");
  EXPECT_EQ(found[0]["output_schema"], (Json{{"type", "string"}}));
  EXPECT_EQ(found[0]["annotations"]["read_only"], true);
  EXPECT_EQ(found[0]["input_schema"]["required"], Json::array({"who"}));
  const Json nap = serve.get("/v1/tools?query=nap").json()["tools"][0];
  EXPECT_TRUE(nap.contains("output_schema") && nap["output_schema"].is_null()) << nap;
  EXPECT_EQ(serve.get("/v1/tools?query=zebra").json()["tools"], Json::array());
}

TEST(ServeHttp, WhatIsNotThereIsAProblem) {
  Serve serve;
  Client client = serve.client();
  for (const char* path :
       {"/x", "/v1", "/v1/", "/v1/x", "/v1/tools/x", "/v1/tools/x/call/y", "/v1/a/b/c/d/e/f",
        "/v2/tools", "/v1/%zz", "/V1/tools", "/v1//tools", "/events/x", "/metricsx", "/mcp/"}) {
    const Answer answer = client.get(path);
    EXPECT_EQ(answer.status, 404) << path << ": " << answer;
    EXPECT_EQ(answer.header("content-type"), "application/problem+json") << path;
    EXPECT_EQ(answer.json().value("status", 0), 404) << path;
  }
}

TEST(ServeHttp, AHeadHasTheLengthAndNoBody) {
  Serve serve;
  Client client = serve.client();
  for (const char* path : {"/healthz", "/", "/v1/tools", "/v1/openapi.json", "/none"}) {
    const Answer whole = client.get(path), head = client.ask("HEAD", path);
    EXPECT_EQ(head.status, whole.status) << path;
    EXPECT_EQ(head.header("content-length"), whole.header("content-length")) << path;
    EXPECT_EQ(client.get("/healthz").status, 200) << "what follows it is no body";
  }
}

TEST(ServeHttp, AHeadOfAStreamLeavesTheConnectionUsable) {
  Serve serve;
  Client client = serve.client();
  EXPECT_EQ(client.ask("HEAD", "/events").status, 200);
  EXPECT_EQ(client.get("/healthz").status, 200);
}

TEST(ServeHttp, AMethodThatIsNotAllowedIsToldWhichAre) {
  Serve serve;
  Client client = serve.client();
  const auto allowed = [&](const char* method, const char* path) {
    const Answer answer = client.ask(method, path);
    EXPECT_EQ(answer.status, 405) << method << " " << path << ": " << answer;
    return answer.header("allow");
  };
  EXPECT_TRUE(contains(allowed("POST", "/healthz"), "GET"));
  EXPECT_TRUE(contains(allowed("PUT", "/"), "GET"));
  EXPECT_TRUE(contains(allowed("DELETE", "/v1/tools"), "GET"));
  EXPECT_TRUE(contains(allowed("GET", "/v1/tools/x/call"), "POST"));
  EXPECT_TRUE(contains(allowed("GET", "/v1/run"), "POST"));
  EXPECT_TRUE(contains(allowed("POST", "/v1/calls"), "GET"));
  EXPECT_TRUE(contains(allowed("GET", "/v1/calls/x"), "DELETE"));
  EXPECT_TRUE(contains(allowed("POST", "/events"), "GET"));
  EXPECT_TRUE(contains(allowed("PATCH", "/metrics"), "GET"));
  EXPECT_TRUE(contains(allowed("GET", "/mcp"), "POST")) << "without a session";
  const std::string jobs = allowed("PUT", "/v1/jobs"), job = allowed("PUT", "/v1/jobs/x");
  EXPECT_TRUE(contains(jobs, "GET") && contains(jobs, "POST")) << jobs;
  EXPECT_TRUE(contains(job, "GET") && contains(job, "DELETE")) << job;
}

TEST(ServeHttp, ABodyIsJson) {
  Serve serve({.tools = true});
  Client client = serve.client();
  const std::string path = "/v1/tools/greet/call";
  const std::string good = R"({"arguments": {"who": "you"}})";
  for (const char* type : {"application/json", "application/json; charset=utf-8"})
    EXPECT_EQ(client.ask("POST", path, good, {{"Content-Type", type}}).status, 200) << type;
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "", "json"})
    EXPECT_EQ(client.ask("POST", path, good, {{"Content-Type", type}}).status, 415) << type;
  for (const char* body : {"{", "[]", "7", "\"x\"", "null", "{}{}", "{\"arguments\": \"\xff\"}"}) {
    const Answer answer = client.ask("POST", path, body);
    EXPECT_EQ(answer.status, 400) << body << ": " << answer;
    EXPECT_EQ(answer.problem(), "malformed") << body;
  }
  const std::string deep = std::string(100'000, '[');
  EXPECT_EQ(client.ask("POST", path, deep).status, 400);
  for (const char* body : {R"({"arguments": []})", R"({"arguments": {"who": 7}})", R"({})",
                           R"({"arguments": {"who": "x"}, "call_id": 7})",
                           R"({"arguments": {"who": "x"}, "argument": 7})",
                           R"({"arguments": {"who": "x"}, "call_id": "a b"})"}) {
    const Answer answer = client.ask("POST", path, body);
    if (std::string(body).find("\"who\": 7") != std::string::npos) continue;  // coerced or not
    EXPECT_EQ(answer.status, 422) << body << ": " << answer;
    EXPECT_EQ(answer.problem(), "invalid-arguments") << body;
  }
}

TEST(ServeHttp, ABodyOrAHeadThatIsTooLargeIsRefused) {
  Serve serve({.arguments = {"--max-body", "64K"}});
  const auto status = [&](const std::string& text) {
    Client client = serve.client();
    client.send(text);
    const Answer answer = client.read();
    EXPECT_EQ(answer.header("connection"), "close");
    EXPECT_TRUE(client.at_end());
    return answer.status;
  };
  const std::string head = "POST /v1/run HTTP/1.1\r\nHost: localhost\r\n";
  EXPECT_EQ(status(head + "Content-Length: 65537\r\n\r\n"), 413) << "before it is sent";
  EXPECT_EQ(status(head + "Content-Length: 99999999999999999999\r\n\r\n"), 400);
  std::string chunks;
  for (int i = 0; i < 5; ++i) chunks += "4000\r\n" + std::string(0x4000, ' ') + "\r\n";
  EXPECT_EQ(status(head + "Transfer-Encoding: chunked\r\n\r\n" + chunks), 413);
  EXPECT_EQ(status(head + "X: " + std::string(20'000, 'x') + "\r\n\r\n"), 431);
  EXPECT_EQ(status("GET /" + std::string(20'000, 'x') + " HTTP/1.1\r\n\r\n"), 431);
  EXPECT_EQ(serve.get("/healthz").status, 200);
}

TEST(ServeHttp, WhatIsNoRequestIsRefusedAndClosed) {
  Serve serve;
  for (const char* text :
       {"\r\n\r\nX\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/3.0\r\nHost: localhost\r\n\r\n",
        "GET /healthz HTTP/1.1\r\n\r\n",  // no Host
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        "GET http://me@localhost/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /healthz#x HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nbad header: x\r\n\r\n",
        "POST /v1/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: "
        "3\r\n\r\n{}",
        "POST /v1/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /v1/run HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, x\r\n\r\n{}",
        "POST /v1/run HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"}) {  // TLS, to one who does not speak it
    Client client = serve.client();
    client.send(text);
    const Answer answer = client.read();
    EXPECT_GE(answer.status, 400) << text << answer;
    EXPECT_LE(answer.status, 505) << text << answer;
    EXPECT_TRUE(client.at_end()) << text;
  }
  EXPECT_EQ(serve.get("/healthz").status, 200);
}

TEST(ServeHttp, AConnectionServesManyRequests) {
  Serve serve({.tools = true});
  Client client = serve.client();
  for (int i = 0; i < 20; ++i) {
    const std::string who = std::to_string(i);
    const Answer answer = client.post("/v1/tools/greet/call", {{"arguments", {{"who", who}}}});
    EXPECT_EQ(answer.json()["output"], "hello " + who) << answer;
  }
  EXPECT_GE(serve.get("/v1/status").json()["calls_total"], 20);
}

TEST(ServeHttp, PipelinedRequestsAreAnsweredInOrder) {
  Serve serve({.tools = true});
  Client client = serve.client();
  // The first takes longest.
  const auto shell = [](const std::string& line) {
    return Json{{"arguments", {{"line", line}}}}.dump();
  };
  client.request("POST", "/v1/tools/shell/call", shell("sleep 0.3; echo one"));
  client.request("GET", "/healthz");
  client.request("POST", "/v1/tools/shell/call", shell("echo two"));
  client.request("GET", "/none");
  EXPECT_EQ(client.read().json()["output"], "one");
  EXPECT_EQ(client.read().json()["status"], "ok");
  EXPECT_EQ(client.read().json()["output"], "two");
  EXPECT_EQ(client.read().status, 404);
}

TEST(ServeHttp, ARequestMayComeInPieces) {
  Serve serve({.tools = true});
  Client client = serve.client();
  const std::string text =
      "POST /v1/tools/greet/call HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n1b\r\n{\"arguments\":{\"who\":\"you\"}}\r\n0\r\n\r\n";
  for (const char c : text) {
    client.send(std::string_view(&c, 1));
    usleep(100);
  }
  EXPECT_EQ(client.read().json()["output"], "hello you");
}

TEST(ServeHttp, WhoExpectsToContinueMay) {
  Serve serve({.tools = true});
  Client client = serve.client();
  const std::string body = R"({"arguments":{"who":"you"}})";
  client.request("POST", "/v1/tools/greet/call", "",
                 {{"Expect", "100-continue"},
                  {"Content-Type", "application/json"},
                  {"Content-Length", std::to_string(body.size())}});
  EXPECT_EQ(client.read_head().status, 100);
  client.send(body);
  EXPECT_EQ(client.read().json()["output"], "hello you");
}

TEST(ServeHttp, AnOlderClientIsAnsweredAndClosed) {
  Serve serve;
  Client client = serve.client();
  client.send("GET /healthz HTTP/1.0\r\n\r\n");
  const Answer answer = client.read();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("connection"), "close");
  EXPECT_TRUE(client.at_end());
  Client closing = serve.client();
  EXPECT_EQ(closing.get("/healthz", {{"Connection", "close"}}).header("connection"), "close");
  EXPECT_TRUE(closing.at_end());
}

Answer sent(const Serve& serve, const std::string& text) {
  Client client = serve.client();
  client.send(text);
  return client.read();
}

TEST(ServeHttp, EveryAnswerHasADate) {
  Serve serve({.tools = true});
  for (const char* path : {"/", "/healthz", "/v1/tools", "/none", "/metrics"})
    EXPECT_TRUE(serve.get(path).header("date").ends_with(" GMT")) << path;
  EXPECT_TRUE(sent(serve, "nonsense\r\n\r\n").header("date").ends_with(" GMT"));
}

TEST(ServeHttp, TheHostOfAnAbsoluteTargetIsTheOneThatCounts) {
  Serve serve({.tools = true});
  EXPECT_EQ(sent(serve, "GET http://localhost/v1/tools HTTP/1.1\r\nHost: x.example\r\n\r\n").status,
            200);
  const Answer other =
      sent(serve, "GET http://evil.example/v1/tools HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(other.status, 403) << other;
  EXPECT_EQ(other.problem(), "host-not-allowed");
}

TEST(ServeHttp, ABodyThatIsPackedIsNotTaken) {
  Serve serve({.tools = true});
  const Answer answer = serve.client().ask("POST", "/v1/tools/greet/call", "\x1f\x8b",
                                           {{"Content-Encoding", "gzip"}});
  EXPECT_EQ(answer.status, 415) << answer;
  EXPECT_EQ(answer.header("accept-encoding"), "identity");
  EXPECT_EQ(serve.client()
                .ask("POST", "/v1/tools/greet/call", R"({"arguments": {"who": "you"}})",
                     {{"Content-Encoding", "identity"}})
                .status,
            200);
}

TEST(ServeHttp, TheConsoleIsPackedForWhoTakesIt) {
  Serve serve;
  Client client = serve.client();
  const Answer plain = client.get("/console/main.js"),
               packed = client.get("/console/main.js", {{"Accept-Encoding", "gzip, br"}}),
               neither = client.get("/console/main.js", {{"Accept-Encoding", "gzip;q=0"}});
  EXPECT_EQ(plain.header("content-encoding"), "");
  EXPECT_EQ(neither.body, plain.body);
  EXPECT_EQ(packed.header("content-encoding"), "gzip");
  EXPECT_EQ(packed.body.substr(0, 2), "\x1f\x8b");
  EXPECT_LT(packed.body.size(), plain.body.size() / 2);
  for (const Answer& each : {plain, packed}) EXPECT_EQ(each.header("vary"), "Accept-Encoding");
  EXPECT_NE(plain.header("etag"), packed.header("etag"));
  const auto again = [&](const std::string& tag) {
    return client.get("/console/main.js", {{"If-None-Match", tag}}).status;
  };
  EXPECT_EQ(again(plain.header("etag")), 304);
  EXPECT_EQ(again("\"x\", W/" + plain.header("etag")), 304) << "as a proxy makes it";
  EXPECT_EQ(again(packed.header("etag")), 200) << "the other form";
}

TEST(ServeHttp, PagesOfAnAllowedOriginMayAskAndOthersNot) {
  Serve serve({.arguments = {"--allow-origin", "https://pages.example.org"},
               .tools = true,
               .token = "0123456789abcdef"});
  const auto ask = [&](const char* method, const char* origin, const std::string& token) {
    return serve.client(token).ask(method, "/v1/tools", "",
                                   {{"Origin", origin},
                                    {"Access-Control-Request-Method", "GET"},
                                    {"Access-Control-Request-Headers", "authorization"}});
  };
  const Answer before = ask("OPTIONS", "https://pages.example.org", "");
  EXPECT_EQ(before.status, 204) << before;
  EXPECT_EQ(before.header("access-control-allow-headers"), "authorization");
  const Answer answer = ask("GET", "https://pages.example.org", "0123456789abcdef");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("access-control-allow-origin"), "https://pages.example.org");
  const Answer stranger = ask("GET", "https://pages.example.org", "");
  EXPECT_EQ(stranger.status, 401) << "a page needs a token as everybody does";
  EXPECT_EQ(stranger.header("access-control-allow-origin"), "https://pages.example.org")
      << "and may read why";
  for (const char* method : {"OPTIONS", "GET"}) {
    const Answer other = ask(method, "https://other.example.org", "0123456789abcdef");
    EXPECT_EQ(other.status, 403) << other;
    EXPECT_EQ(other.header("access-control-allow-origin"), "");
    EXPECT_EQ(other.header("vary"), "Origin");
  }
}

TEST(ServeHttp, AnAnswerIsAsAcceptPrefersIt) {
  Serve serve({.tools = true});
  const auto type = [&](const char* accept) {
    const Answer answer = serve.client().ask(
        "POST", "/v1/tools/greet/call", R"({"arguments": {"who": "you"}})", {{"Accept", accept}});
    return answer.status == 200 ? answer.header("content-type") : std::to_string(answer.status);
  };
  for (const char* accept :
       {"*/*", "application/json", "application/json, text/event-stream",
        "text/event-stream;q=0, */*", "text/event-stream;q=0.5, application/json",
        "text/*;q=0.5, application/*"})
    EXPECT_EQ(type(accept), "application/json") << accept;
  for (const char* accept :
       {"text/event-stream", "text/event-stream, */*;q=0.1", "application/json;q=0, */*",
        "application/json;q=0.9, text/event-stream"})
    EXPECT_EQ(type(accept), "text/event-stream") << accept;
  EXPECT_EQ(type("image/png"), "406");
  EXPECT_EQ(serve.audit().size(), 10u) << "and that was no call";
}

}  // namespace
