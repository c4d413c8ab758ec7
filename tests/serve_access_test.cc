// Who gets in: Host and Origin, tokens and what they allow, TLS; and servers that must not start.
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "serve_program.h"

namespace {

using namespace e2e;

constexpr const char* kAlice = "alice-0123456789abcdef";
constexpr const char* kBob = "bob-0123456789abcdef";
constexpr const char* kRoot = "root-0123456789abcdef";

std::string tokens(const std::string& of_bob = "") {
  return std::string("[[token]]\nname = 'alice'\ntoken = '") + kAlice +
         "'\n[[token]]\nname = 'bob'\ntoken = '" + kBob + "'\n" + of_bob +
         "[[token]]\nname = 'root'\ntoken = '" + kRoot + "'\nadmin = true\n";
}

Json greeting(const std::string& who = "you") { return {{"arguments", {{"who", who}}}}; }

// --- Host and Origin ---

TEST(ServeAccess, APageThatRebindsItsNameIsKeptOut) {
  Serve serve({.tools = true});
  Client client = serve.client();
  const std::string port = std::to_string(serve.where.port);
  for (const char* path : {"/", "/v1/tools", "/v1/calls", "/metrics", "/events", "/mcp"}) {
    EXPECT_EQ(client.get(path, {{"Host", "evil.example.com:" + port}}).status, 403) << path;
    EXPECT_EQ(client.get(path, {{"Origin", "http://evil.example.com"}}).status, 403) << path;
    EXPECT_EQ(client.get(path, {{"Origin", "null"}}).status, 403) << path;
  }
  const Answer call =
      client.post("/v1/tools/greet/call", greeting(), {{"Origin", "http://evil.example.com"}});
  EXPECT_EQ(call.status, 403);
  EXPECT_EQ(call.problem(), "origin-not-allowed");
  EXPECT_EQ(serve.audit().size(), 0u) << "nothing was called";
  EXPECT_EQ(client.get("/v1/tools", {{"Origin", "http://127.0.0.1:" + port}}).status, 200);
  EXPECT_EQ(client.get("/v1/tools", {{"Host", "localhost:" + port}}).status, 200);
}

TEST(ServeAccess, NamesAndOriginsCanBeAllowed) {
  Serve serve({.arguments = {"--allow-host", "brig.example.org", "--allow-origin",
                             "https://pages.example.org"}});
  Client client = serve.client();
  EXPECT_EQ(client.get("/v1/tools", {{"Host", "brig.example.org"}}).status, 200);
  EXPECT_EQ(client.get("/v1/tools", {{"Origin", "https://pages.example.org"}}).status, 200);
  EXPECT_EQ(client.get("/v1/tools", {{"Host", "other.example.org"}}).status, 403);
}

// --- tokens ---

TEST(ServeAccess, WithoutATokenThereIsOnlyTheConsoleAndHealth) {
  Serve serve({.tools = true, .token = std::string(kAlice) + "\n"});
  Client client = serve.client();
  EXPECT_EQ(client.get("/healthz").status, 200);
  EXPECT_EQ(client.get("/").status, 200);
  for (const char* path : {"/v1/tools", "/v1/calls", "/v1/jobs", "/v1/status", "/v1/capabilities",
                           "/v1/openapi.json", "/metrics", "/events", "/mcp", "/none"}) {
    const Answer answer = client.get(path);
    EXPECT_EQ(answer.status, 401) << path << ": " << answer;
    EXPECT_TRUE(answer.header("www-authenticate").starts_with("Bearer")) << answer;
    EXPECT_EQ(answer.header("content-type"), "application/problem+json");
  }
  EXPECT_EQ(client.post("/v1/tools/greet/call", greeting()).status, 401);
  EXPECT_EQ(client.post("/v1/jobs", {{"tool", "greet"}}).status, 401);
  EXPECT_EQ(client.ask("DELETE", "/v1/calls/x").status, 401);
  EXPECT_EQ(serve.get("/v1/tools", "wrong-0123456789abcdef").status, 401);
  EXPECT_EQ(serve.get("/v1/tools", kAlice).status, 200);
  EXPECT_EQ(serve.get("/v1/status", kAlice).json()["auth"], true);
  EXPECT_EQ(serve.get("/v1/tools?token=" + std::string(kAlice)).status, 401) << "not in a URL";
}

TEST(ServeAccess, ATokenSeesAndCallsItsToolsAlone) {
  Serve serve({.tools = true, .token = tokens("tools = ['gr*']\n")});
  const Json list = serve.get("/v1/tools", kBob).json()["tools"];
  ASSERT_EQ(list.size(), 1u) << list;
  EXPECT_EQ(list[0]["name"], "greet");
  EXPECT_EQ(serve.post("/v1/tools/greet/call", greeting(), kBob).status, 200);
  for (const char* tool : {"shell", "zebra"}) {
    const Answer answer = serve.post(std::string("/v1/tools/") + tool + "/call",
                                     {{"arguments", {{"line", "true"}}}}, kBob);
    EXPECT_EQ(answer.status, 403) << "what it may not call may as well not be there: " << answer;
    EXPECT_EQ(answer.problem(), "not-allowed");
  }
  EXPECT_EQ(serve.post("/v1/jobs", {{"tool", "shell"}}, kBob).status, 403);
  EXPECT_EQ(serve.post("/v1/tools/shell/call", {{"arguments", {{"line", "true"}}}}, kAlice).status,
            200);
}

TEST(ServeAccess, ATokenHasItsRate) {
  Serve serve({.tools = true, .token = tokens("rate = 0.01\n")});
  EXPECT_EQ(serve.post("/v1/tools/greet/call", greeting(), kBob).status, 200);
  const Answer answer = serve.post("/v1/tools/greet/call", greeting(), kBob);
  EXPECT_EQ(answer.status, 429) << answer;
  EXPECT_EQ(answer.problem(), "rate-limited");
  const int wait = atoi(answer.header("retry-after").c_str());
  EXPECT_GT(wait, 50) << answer;
  EXPECT_LE(wait, 101) << answer;
  EXPECT_EQ(serve.get("/v1/tools", kBob).status, 200) << "it is for calls";
  EXPECT_EQ(serve.post("/v1/tools/greet/call", greeting(), kAlice).status, 200) << "and for bob";
  EXPECT_TRUE(
      contains(serve.get("/metrics", kRoot).body, "brig_refused_total{why=\"rate-limited\"} 1"));
}

TEST(ServeAccess, ATokenHasItsNumberOfCallsAtOnce) {
  Serve serve({.tools = true, .token = tokens("concurrency = 1\n")});
  Client gate = begin_call(serve, "gate", kBob);
  const Answer second = serve.post("/v1/tools/greet/call", greeting(), kBob);
  EXPECT_EQ(second.status, 429) << second;
  EXPECT_EQ(second.problem(), "too-many-calls");
  EXPECT_NE(second.header("retry-after"), "");
  EXPECT_EQ(serve.post("/v1/tools/greet/call", greeting(), kAlice).status, 200);
  open_gate(serve.host);
  EXPECT_TRUE(gate.event("result"));
  EXPECT_EQ(serve.post("/v1/tools/greet/call", greeting(), kBob).status, 200);
}

TEST(ServeAccess, CallsAndJobsOfOthersAreOnlyAnAdmins) {
  Serve serve({.tools = true, .token = tokens()});
  Client nap = begin_call(serve, "nap", kAlice);
  const std::string job = serve.post("/v1/jobs", {{"tool", "nap"}}, kAlice).header("location");
  const auto calls = [&](const char* token) {
    return serve.get("/v1/calls", token).json()["calls"];
  };
  ASSERT_TRUE(comes_true([&] { return calls(kAlice).size() == 2; }));
  EXPECT_EQ(calls(kBob).size(), 0u);
  EXPECT_EQ(calls(kRoot).size(), 2u);
  EXPECT_EQ(calls(kRoot)[0]["caller"], "alice");
  const std::string call = "/v1/calls/" + calls(kAlice)[0].value("call_id", "");
  EXPECT_EQ(serve.client(kBob).ask("DELETE", call).status, 404);
  EXPECT_EQ(serve.get(job, kBob).status, 404);
  EXPECT_EQ(serve.client(kBob).ask("DELETE", job).status, 404);
  EXPECT_EQ(serve.get("/v1/jobs", kBob).json()["jobs"].size(), 0u);
  EXPECT_EQ(serve.get(job, kRoot).status, 200);
  EXPECT_EQ(serve.client(kRoot).ask("DELETE", call).status, 202);
  EXPECT_EQ(serve.client(kRoot).ask("DELETE", job).status, 202);
  EXPECT_TRUE(nap.event("result"));
}

TEST(ServeAccess, EventsOfOthersAreOnlyAnAdmins) {
  Serve serve({.tools = true, .token = tokens()});
  Client bob = serve.client(kBob), root = serve.client(kRoot), spy = serve.client(kBob);
  bob.request("GET", "/events");
  root.request("GET", "/events");
  spy.request("GET", "/events?call_id=secret");
  for (Client* each : {&bob, &root, &spy}) ASSERT_EQ(each->read_head().status, 200);
  ASSERT_TRUE(bob.event("status") && root.event("status"));
  Json call = greeting("a secret");
  call["call_id"] = "secret";
  EXPECT_EQ(serve.post("/v1/tools/greet/call", call, kAlice).status, 200);
  call["call_id"] = "own";
  EXPECT_EQ(serve.post("/v1/tools/greet/call", call, kBob).status, 200);
  EXPECT_EQ(root.event("finished")->json()["caller"], "alice");
  const auto seen = bob.event("queued");
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->json()["call_id"], "own") << "of alice's call nothing came before it";
  EXPECT_EQ(serve
                .post("/v1/tools/greet/call",
                      {{"call_id", "secret"}, {"arguments", {{"who", "x"}}}}, kBob)
                .status,
            200);
  const auto next = spy.event();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->json()["caller"], "bob") << next->data;
}

TEST(ServeAccess, ToolsThatATokenMayNotCallAreNotNamedToIt) {
  Serve serve({.tools = true, .token = tokens("tools = ['gr*']\n")});
  const Json line{{"arguments", {{"line", "true"}}}};
  ASSERT_EQ(serve.post("/v1/tools/shell/call", line, kAlice).status, 200);
  ASSERT_EQ(serve.post("/v1/tools/greet/call", greeting(), kBob).status, 200);
  const std::string bobs = serve.get("/metrics", kBob).body;
  EXPECT_TRUE(contains(bobs, "tool=\"greet\"")) << bobs;
  EXPECT_FALSE(contains(bobs, "shell")) << bobs;
  EXPECT_TRUE(contains(serve.get("/metrics", kRoot).body, "tool=\"shell\""));
  EXPECT_EQ(serve.get("/v1/status", kBob).json()["tools"], 1);
  EXPECT_EQ(serve.get("/v1/status", kRoot).json()["tools"], 4);
  Client bob = serve.client(kBob), root = serve.client(kRoot);
  for (Client* each : {&bob, &root}) {
    each->request("GET", "/events");
    ASSERT_EQ(each->read_head().status, 200);
    ASSERT_TRUE(each->event("status"));
  }
  write_file(serve.manifest(), tools_manifest(serve.host) +
                                   "[[command]]\nname = 'a_secret'\nargv = ['true']\n"
                                   "[[command]]\nname = 'grow'\nargv = ['true']\n");
  serve.program().signal(SIGHUP);
  EXPECT_EQ(root.event("tool_added")->json()["tool"], "a_secret");
  EXPECT_EQ(bob.event("tool_added")->json()["tool"], "grow") << "the other one is not his";
}

TEST(ServeAccess, TokensAreReadAgainAndBadOnesAreNotTaken) {
  Serve serve({.tools = true, .token = tokens()});
  const std::string path = serve.host / "token";
  Client gate = begin_call(serve, "gate", kAlice);
  write_file(path, "[[token]]\nname = 'alice'\n");
  serve.program().signal(SIGHUP);
  ASSERT_TRUE(serve.program().says("the tokens stay as they were")) << serve.program().said();
  EXPECT_EQ(serve.get("/v1/tools", kBob).status, 200);
  open_gate(serve.host);
  EXPECT_TRUE(gate.event("result"));
}

TEST(ServeAccess, ATokenThatIsTakenBackIsOutAtOnce) {
  Serve serve({.tools = true, .token = tokens()});
  const std::string fresh = std::string("new-") + kAlice;
  Client called = begin_call(serve, "nap", kAlice);
  std::vector<Client> watching;
  for (const char* token : {kAlice, kBob}) {
    watching.push_back(serve.client(token));
    watching.back().request("GET", "/events");
    ASSERT_EQ(watching.back().read_head().status, 200);
    ASSERT_EQ(serve.post("/v1/jobs", {{"tool", "nap"}}, token).status, 202);
  }
  ASSERT_TRUE(comes_true([&] { return serve.calls(kBob).size() == 1; }));
  // Another token of that name; and no bob.
  write_file(serve.host / "token",
             "[[token]]\nname = 'alice'\ntoken = '" + fresh + "'\nadmin = true\n");
  serve.program().signal(SIGHUP);
  EXPECT_TRUE(comes_true([&] { return serve.get("/v1/tools", kBob).status == 401; }));
  EXPECT_EQ(serve.get("/v1/tools", kAlice).status, 401);
  EXPECT_FALSE(called.event("result"));
  for (Client& each : watching) EXPECT_FALSE(each.event("finished"));
  EXPECT_TRUE(comes_true([&] { return serve.calls(fresh).size() == 1; })) << serve.calls(fresh);
  const Json jobs = serve.get("/v1/jobs", fresh).json()["jobs"];
  ASSERT_EQ(jobs.size(), 2u) << "an admin sees those of others";
  EXPECT_NE(jobs[0]["status"] == "done", jobs[1]["status"] == "done") << "alice's goes on" << jobs;
  for (const Json& job : jobs)
    serve.client(fresh).ask("DELETE", "/v1/jobs/" + job["id"].get<std::string>());
}

// --- servers that must not start ---

Result refused(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"serve", "--audit", "none"});
  const Result result = brig_program(arguments);
  EXPECT_EQ(result.code, 125) << result;
  EXPECT_FALSE(contains(result.err, "listening")) << result;
  return result;
}

TEST(ServeAccess, OtherThanLoopbackNeedsTokens) {
  for (const char* where : {"0.0.0.0:0", "[::]:0"}) {
    const Result result = refused({"--listen", where});
    EXPECT_TRUE(contains(result.err, "--token-file")) << result;
  }
  Serve serve({.listen = "0.0.0.0:0", .token = std::string(kAlice)});
  EXPECT_EQ(serve.get("/v1/tools", kAlice).status, 200);
  EXPECT_EQ(serve.get("/v1/tools").status, 401);
}

TEST(ServeAccess, ATokenFileThatOthersCanReadIsRefused) {
  const HostDirectory host;
  const std::string path = host / "token";
  write_file(path, kAlice);
  chmod(path.c_str(), 0644);
  const Result result = refused({"--listen", "127.0.0.1:0", "--token-file", path});
  EXPECT_TRUE(contains(result.err, "chmod 600")) << result;
  EXPECT_FALSE(contains(result.err, kAlice)) << result;
}

TEST(ServeAccess, FilesThatEveryoneCanWriteAreRefused) {
  const HostDirectory host;
  for (const char* name : {"brig.toml", "c.pem", "k.pem"}) {
    write_file(host / name, "");
    chmod((host / name).c_str(), 0666);
  }
  for (std::vector<std::string> arguments :
       {std::vector<std::string>{"--manifest", host / "brig.toml"},
        {"--tls-cert", host / "c.pem", "--tls-key", host / "k.pem"}}) {
    arguments.insert(arguments.end(), {"--listen", "127.0.0.1:0"});
    const Result result = refused(arguments);
    EXPECT_TRUE(contains(result.err, "is not trusted: everyone can write it")) << result;
  }
  const std::string open = host.make("open");
  write_file(open + "/token", kAlice);
  chmod((open + "/token").c_str(), 0600);
  chmod(open.c_str(), 0777);
  const Result result = refused({"--listen", "127.0.0.1:0", "--token-file", open + "/token"});
  EXPECT_TRUE(contains(result.err, "everyone can write to its directory")) << result;
}

TEST(ServeAccess, OptionsThatMakeNoSenseAreRefused) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--listen", "7070"},
        {"--listen", "example.org:7070"},
        {"--tls-cert", "/x"},
        {"--listen", "127.0.0.1:0", "--max-body", "7"},
        {"--listen", "127.0.0.1:0", "--drain", "soon"},
        {"--manifest", "/no/such"},
        {"--listen", "127.0.0.1:0", "--tls-cert", "/no", "--tls-key", "/no"},
        {"--no-such-option"},
        {"--listen", "unix:/no/such/directory/s"}})
    EXPECT_NE(refused(arguments).err, "");
}

// --- Unix sockets and TLS ---

TEST(ServeAccess, AUnixSocketIsItsOwnersAndGoneAtTheEnd) {
  const HostDirectory host;
  const std::string path = host / "s";
  {
    Serve serve({.listen = "unix:" + path});
    EXPECT_EQ(mode_of(path) & 0777, 0600u);
    EXPECT_EQ(serve.get("/v1/status").status, 200);
    EXPECT_EQ(serve.post("/v1/run", {{"command", "echo x"}}).json()["output"]["stdout"], "x\n");
    EXPECT_EQ(serve.audit().at(0)["peer"], "unix");
    EXPECT_TRUE(contains(refused({"--listen", "unix:" + path}).err, "another server"));
    EXPECT_EQ(serve.get("/v1/status").status, 200) << "the first is not disturbed";
  }
  EXPECT_FALSE(exists(path));
}

// A certificate that signs itself, and its key.
void make_certificate(const std::string& certificate, const std::string& key) {
  EVP_PKEY* pair = EVP_EC_gen("P-256");
  X509* made = X509_new();
  X509_set_version(made, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
  X509_gmtime_adj(X509_getm_notBefore(made), -60);
  X509_gmtime_adj(X509_getm_notAfter(made), 3600);
  X509_set_pubkey(made, pair);
  X509_NAME* name = X509_get_subject_name(made);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(made, name);
  X509_sign(made, pair, EVP_sha256());
  FILE* file = fopen(certificate.c_str(), "w");
  PEM_write_X509(file, made);
  fclose(file);
  file = fopen(key.c_str(), "w");
  PEM_write_PrivateKey(file, pair, nullptr, nullptr, 0, nullptr, nullptr);
  fclose(file);
  X509_free(made);
  EVP_PKEY_free(pair);
}

TEST(ServeAccess, TlsCarriesAllTheSame) {
  const HostDirectory host;
  make_certificate(host / "c.pem", host / "k.pem");
  Serve serve(
      {.arguments = {"--tls-cert", host / "c.pem", "--tls-key", host / "k.pem"}, .tools = true});
  ASSERT_TRUE(serve.where.tls) << serve.program().said();
  Client client = serve.client();
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(client.post("/v1/tools/greet/call", greeting()).json()["output"], "hello you");
  const std::string own = "127.0.0.1:" + std::to_string(serve.where.port);
  EXPECT_EQ(client.get("/v1/tools", {{"Origin", "https://" + own}}).status, 200);
  EXPECT_EQ(client.get("/v1/tools", {{"Origin", "http://" + own}}).status, 403);
  Client nap = begin_call(serve, "nap");
  nap.close();
  EXPECT_TRUE(serve.runs(0)) << "who leaves is noticed";
  Where plain = serve.where;
  plain.tls = false;
  EXPECT_EQ(Client(plain).get("/healthz").status, 0) << "no plain text";
  EXPECT_EQ(serve.get("/healthz").status, 200);
}

TEST(ServeAccess, AKeyThatIsNotTheCertificatesIsRefused) {
  const HostDirectory host;
  make_certificate(host / "c.pem", host / "k.pem");
  make_certificate(host / "c2.pem", host / "k2.pem");
  EXPECT_TRUE(contains(refused({"--listen", "127.0.0.1:0", "--tls-cert", host / "c.pem",
                                "--tls-key", host / "k2.pem"})
                           .err,
                       "k2.pem"));
}

}  // namespace
