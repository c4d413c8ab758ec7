// brig/c.h, as another language uses it.
#include <brig/c.h>
#include <brig/json.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <regex>
#include <string>
#include <thread>

#include "e2e_support.h"

namespace brig {
namespace {

std::string taken(char* text) {
  if (!text) return "";
  std::string copy = text;
  brig_c_free(text);
  return copy;
}

Json first_line(const std::string& text) { return Json::parse(text.substr(0, text.find('\n'))); }
Json second_line(const std::string& text) { return Json::parse(text.substr(text.find('\n') + 1)); }

const char kEcho[] =
    R"({"policy":{"timeout":"10s"},"tools":[
        {"name":"say","description":"Says it.","argv":["echo","{text}"],"read_only":true,
         "input_schema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},
        {"name":"nap","argv":["sleep","60"]}]})";

class CApi : public ::testing::Test {
 protected:
  void SetUp() override {
    char* error = nullptr;
    box_ = brig_c_sandbox_new(kEcho, sizeof kEcho - 1, &error);
    ASSERT_NE(box_, nullptr) << taken(error);
  }
  void TearDown() override { brig_c_sandbox_free(box_); }

  std::string call(const std::string& request, std::initializer_list<brig_c_blob> blobs = {}) {
    std::size_t size = 0;
    std::string text = taken(brig_c_sandbox_call(box_, request.data(), request.size(),
                                                 std::data(blobs), blobs.size(), nullptr, &size));
    EXPECT_EQ(text.size(), size);
    return text;
  }

  brig_c_sandbox* box_ = nullptr;
};

TEST_F(CApi, HasAVersion) {
  EXPECT_EQ(brig_c_version(), BRIG_C_VERSION);
  EXPECT_STREQ(brig_c_library_version(), BRIG_VERSION);
}

TEST(Version, ReadsTheSameAsNumbersAndAsText) {
  EXPECT_EQ(std::to_string(BRIG_VERSION_MAJOR) + "." + std::to_string(BRIG_VERSION_MINOR) + "." +
                std::to_string(BRIG_VERSION_PATCH),
            BRIG_VERSION);
}

TEST_F(CApi, CallsATool) {
  const std::string text = call(R"({"tool":"say","arguments":{"text":"hi"},"call_id":"x"})");
  EXPECT_EQ(first_line(text)["output"], "hi");
  EXPECT_EQ(first_line(text)["call_id"], "x");
  EXPECT_EQ(second_line(text)["outcome"], "ok");
}

TEST_F(CApi, TheSameNameTwiceIsRefused) {
  const std::string twice = R"({"tool":"say","arguments":{"text":"a","text":"b"}})";
  const Json result = first_line(call(twice));
  EXPECT_EQ(result["ok"], false);
  EXPECT_NE(result.value("error", "").find("'text' twice"), std::string::npos) << result;
  EXPECT_EQ(second_line(call(twice))["outcome"], "invalid_arguments");
  const std::string request = R"({"argv":["true"],"policy":{"network":"none","network":"host"}})";
  char* error = nullptr;
  EXPECT_EQ(brig_c_run(request.data(), request.size(), nullptr, 0, -1, nullptr, &error), nullptr);
  EXPECT_NE(taken(error).find("'network' twice"), std::string::npos);
  const std::string config = R"({"tools":[],"tools":[]})";
  EXPECT_EQ(brig_c_sandbox_new(config.data(), config.size(), &error), nullptr);
  EXPECT_NE(taken(error).find("'tools' twice"), std::string::npos);
}

TEST_F(CApi, MembersKeepTheirOrder) {
  const e2e::HostDirectory host;
  e2e::write_file(host / "brig.toml", "[[library]]\npath = '" + e2e::guests() + "/libvalues.so'\n");
  const std::string config = Json{{"manifest", host / "brig.toml"}}.dump();
  char* error = nullptr;
  brig_c_sandbox* const other = brig_c_sandbox_new(config.data(), config.size(), &error);
  ASSERT_NE(other, nullptr) << taken(error);
  brig_c_sandbox_free(std::exchange(box_, other));
  const std::string value = R"({"z":1,"a":{"y":[{"q":1,"b":2}],"c":3},"m":2})";
  const Json output =
      first_line(call(R"({"tool":"same","arguments":{"value":)" + value + "}}"))["output"];
  EXPECT_EQ(output["text"], value);
  EXPECT_EQ(output["value"].dump(), value);
}

TEST_F(CApi, TakesLongStringsBesideTheRequest) {
  const std::string long_text(100'000, 'x'), bytes("\0\xff", 2);
  const std::string gap = "\x01" + std::to_string(long_text.size()) + "\x01";
  std::string request = R"({"tool":"say","arguments":{"text":")" + gap + "\"}}";
  EXPECT_EQ(first_line(call(request, {{long_text.data(), long_text.size(), 0}}))["output"],
            long_text);
  request =
      "{\"tool\":\"say\",\"arguments\":{\"text\":\"\x01"
      "2\x01\"}}";
  EXPECT_EQ(first_line(call(request, {{bytes.data(), 2, 1}}))["output"], "AP8=");
  // A size that is not the blob's, and a gap without one.
  EXPECT_EQ(second_line(call(request, {{bytes.data(), 1, 1}}))["outcome"], "invalid_arguments");
  EXPECT_EQ(second_line(call(request))["outcome"], "invalid_arguments");
}

TEST_F(CApi, AnswersWhatIsNoRequest) {
  for (const char* request : {"", "[]", "{", R"({"tool":7})", "{\"tool\":\"say\"}", "\xff"}) {
    const Json report = second_line(call(request));
    EXPECT_EQ(report["outcome"], "invalid_arguments") << request;
  }
  EXPECT_EQ(second_line(call("{}"))["outcome"], "unknown_tool");
}

TEST_F(CApi, ListsTools) {
  const Json list = Json::parse(taken(brig_c_sandbox_tools(box_, "SAYS")));
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["name"], "say");
  EXPECT_EQ(list[0]["annotations"]["read_only"], true);
  EXPECT_EQ(Json::parse(taken(brig_c_sandbox_tools(box_, nullptr))).size(), 2u);
}

TEST_F(CApi, DeliversResultsThroughAQueue) {
  brig_c_queue* queue = brig_c_queue_new(nullptr);
  ASSERT_NE(queue, nullptr);
  std::uint64_t ticket = 0;
  std::size_t size = 0;
  EXPECT_EQ(brig_c_queue_take(queue, &ticket, &size), nullptr);
  const std::string request = R"({"tool":"say","arguments":{"text":"later"}})";
  brig_c_sandbox_submit(box_, queue, 42, request.data(), request.size(), nullptr, 0);
  pollfd poll_fd{brig_c_queue_descriptor(queue), POLLIN, 0};
  ASSERT_EQ(poll(&poll_fd, 1, 15'000), 1);
  const std::string text = taken(brig_c_queue_take(queue, &ticket, &size));
  EXPECT_EQ(ticket, 42u);
  EXPECT_EQ(text.size(), size);
  EXPECT_EQ(first_line(text)["output"], "later");
  EXPECT_EQ(poll(&poll_fd, 1, 0), 0) << "readable without a result";
  brig_c_queue_free(queue);
}

TEST_F(CApi, CancelsAtOnceAndDropsWhatNobodyWaitsFor) {
  brig_c_queue* queue = brig_c_queue_new(nullptr);
  const std::string request = R"({"tool":"nap","call_id":"n"})";
  brig_c_sandbox_submit(box_, queue, 1, request.data(), request.size(), nullptr, 0);
  brig_c_queue_free(queue);
  EXPECT_EQ(brig_c_sandbox_cancel(box_, "n", 1), 1);
  EXPECT_TRUE(e2e::comes_true([&] { return brig_c_sandbox_cancel(box_, "n", 1) == 0; }));
}

TEST_F(CApi, ASignalEndsACallIfItsHandlerSaysSo) {
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {};
  sigaction(SIGUSR2, &action, &before);
  const pthread_t self = pthread_self();
  // Again and again: one that came before the call would end nothing.
  std::atomic<bool> over{false};
  std::thread other([&] {
    for (; !over; usleep(10'000)) pthread_kill(self, SIGUSR2);
  });
  const std::string request = R"({"tool":"nap"})";
  std::size_t size = 0;
  const std::string text = taken(brig_c_sandbox_call(
      box_, request.data(), request.size(), nullptr, 0, [] { return 1; }, &size));
  over = true;
  other.join();
  sigaction(SIGUSR2, &before, nullptr);
  EXPECT_EQ(second_line(text)["outcome"], "cancelled");
}

// RFC 3339, UTC, milliseconds.
bool is_time(const Json& value) {
  return value.is_string() &&
         std::regex_match(value.get<std::string>(),
                          std::regex(R"(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ)"));
}

TEST_F(CApi, TellsWhatHappens) {
  brig_c_watch* watch = brig_c_sandbox_watch(box_, 64, nullptr);
  pollfd poll_fd{brig_c_watch_descriptor(watch), POLLIN, 0};
  EXPECT_EQ(poll(&poll_fd, 1, 0), 0);
  call(R"({"tool":"say","arguments":{"text":"hi"},"call_id":"x"})");
  std::vector<std::string> kinds;
  std::size_t size = 0;
  while (poll(&poll_fd, 1, 0) == 1) {
    const Json event = Json::parse(taken(brig_c_watch_next(watch, 0, &size)));
    kinds.push_back(event["kind"]);
    EXPECT_TRUE(is_time(event["at"])) << event;
  }
  EXPECT_EQ(kinds, (std::vector<std::string>{"queued", "started", "output", "finished"}));
  EXPECT_EQ(brig_c_watch_next(watch, 0, &size), nullptr);
  EXPECT_EQ(brig_c_watch_ended(watch), 0);
  brig_c_sandbox_free(box_);
  box_ = nullptr;
  EXPECT_EQ(brig_c_watch_ended(watch), 1);
  EXPECT_EQ(poll(&poll_fd, 1, 0), 1) << "who polls for the end does not hear of it";
  brig_c_watch_free(watch);
}

TEST_F(CApi, ChangesItsToolsOrLeavesThemAsTheyWere) {
  char* error = nullptr;
  const std::string bad = R"({"tools":[{"name":"a b","argv":["true"]}]})",
                    good = R"({"tools":[{"name":"t","argv":["true"]}]})";
  EXPECT_EQ(brig_c_sandbox_set_tools(box_, bad.data(), bad.size(), &error), -1);
  EXPECT_EQ(Json::parse(taken(error))["kind"], "config");
  EXPECT_EQ(Json::parse(taken(brig_c_sandbox_tools(box_, ""))).size(), 2u);
  EXPECT_EQ(brig_c_sandbox_set_tools(box_, good.data(), good.size(), &error), 0);
  EXPECT_EQ(Json::parse(taken(brig_c_sandbox_tools(box_, "")))[0]["name"], "t");
}

std::string refusal(const std::string& config) {
  char* error = nullptr;
  brig_c_sandbox* box = brig_c_sandbox_new(config.data(), config.size(), &error);
  EXPECT_EQ(box, nullptr) << config;
  return Json::parse(taken(error))["message"];
}

TEST(CApiConfig, IsCheckedInTheWordsOfAPolicyFile) {
  EXPECT_EQ(refusal(R"({"policy":{"memory":"much"}})"),
            "policy: memory: expected a size such as \"512M\" or \"1.5G\", got 'much'");
  EXPECT_EQ(refusal(R"({"policy":{"tiemout":1}})"),
            "policy: unknown key 'tiemout'; did you mean 'timeout'?");
  EXPECT_EQ(refusal(R"({"policy":[]})"), "policy: expected an object");
  EXPECT_EQ(refusal(R"({"policy":{"files":{"read":["/usr:/etc/x"]}}})"),
            "policy: files.read: '/usr:/etc/x': the cell has the system's /etc there; name another "
            "place");
  EXPECT_EQ(
      refusal(R"({"policy":{"files":{"read_optional":["/no/such"],"noexec":["/no/such"],
                                           "protect":["@none"]}}})"),
      "policy: files.protect: '@none': not a list of names; use \"@default\", or an absolute path");
  EXPECT_EQ(refusal(R"({"options":{"queue":-1}})"), "queue: expected a whole number, 0 or more");
  EXPECT_EQ(refusal(R"({"tools":[7]})"), "tools: expected an array of objects");
  EXPECT_EQ(refusal("nonsense").find("not JSON"), 0u);
  EXPECT_EQ(brig_c_sandbox_new("x", 1, nullptr), nullptr) << "without a place for the error";
}

TEST(CApiConfig, AnEmptyManifestIsNotNone) {
  EXPECT_EQ(refusal(R"({"manifest":""})"), "opening manifest '': No such file or directory");
}

TEST(CApiRun, RunsACommandUntilItIsCancelled) {
  std::size_t size = 0;
  const std::string request = R"({"argv":["cat"],"policy":{"timeout":10}})";
  const Json report =
      Json::parse(taken(brig_c_run(request.data(), request.size(), "in", 2, -1, &size, nullptr)));
  EXPECT_EQ(report["stdout"], "in");
  const int cancel = eventfd(1, EFD_CLOEXEC);
  const std::string nap = R"({"argv":["sleep","60"],"policy":{"timeout":70}})";
  EXPECT_EQ(Json::parse(taken(
                brig_c_run(nap.data(), nap.size(), nullptr, 0, cancel, &size, nullptr)))["outcome"],
            "cancelled");
  close(cancel);
  static std::atomic<int> asked = 0;
  EXPECT_EQ(Json::parse(taken(brig_c_run_interruptible(
                nap.data(), nap.size(), nullptr, 0, -1, [] { return ++asked > 2 ? 1 : 0; }, &size,
                nullptr)))["outcome"],
            "cancelled");
  EXPECT_GT(asked, 2);
  char* error = nullptr;
  EXPECT_EQ(brig_c_run("{\"argv\":7}", 10, nullptr, 0, -1, &size, &error), nullptr);
  EXPECT_EQ(Json::parse(taken(error))["kind"], "config");
}

TEST(CApiRun, TheNetworkMayBeAListOfHosts) {
  const std::string request =
      R"({"argv":["sh","-c","echo $https_proxy"],"policy":{"timeout":10,"connections":3,
          "network":{"allow":["api.github.com","10.2.0.0/16:5432"],"deny":null}}})";
  std::size_t size = 0;
  char* error = nullptr;
  const std::string report =
      taken(brig_c_run(request.data(), request.size(), nullptr, 0, -1, &size, &error));
  ASSERT_FALSE(report.empty()) << taken(error);
  EXPECT_EQ(Json::parse(report)["stdout"], "http://127.0.0.1:3128\n");
  EXPECT_EQ(Json::parse(report)["connections"], Json::array());
  EXPECT_EQ(Json::parse(report)["connections_total"], 0);
  for (const char* network : {R"("a.example")", R"(["a.example"])", R"({"allow":"a.example"})",
                              R"({"allow":["*"]})", R"({})", R"({"hosts":["a.example"]})"}) {
    const std::string wrong =
        R"({"argv":["true"],"policy":{"network":)" + std::string(network) + "}}";
    EXPECT_EQ(brig_c_run(wrong.data(), wrong.size(), nullptr, 0, -1, &size, &error), nullptr);
    const Json told = Json::parse(taken(error));
    EXPECT_EQ(told["kind"], "config");
    EXPECT_NE(told.value("message", "").find("network"), std::string::npos) << told;
  }
}

TEST(CApiRun, ThePolicysWordsHaveTheirEffect) {
  const e2e::HostDirectory host;
  const std::string data = host.make("data"), home = host.make("home"), own = host.make("own");
  e2e::write_file(data + "/file", "of data\n");
  e2e::write_file(data + "/program", "#!/bin/sh\necho ran\n");
  chmod((data + "/program").c_str(), 0755);
  e2e::write_file(own + "/kept", "as it was\n");
  for (const char* name : {"home/.cargo", "home/.cargo/registry"}) host.make(name);
  e2e::write_file(home + "/.cargo/registry/crate", "a crate\n");
  const e2e::Variable at_home("HOME", home.c_str()), lang("LANG", "C.UTF-8");
  const Json policy{{"timeout", "20s"},
                    {"user", "root"},
                    {"preset", {"rust"}},
                    {"files",
                     {{"read_optional", {data + ":/opt/data", host / "missing"}},
                      {"noexec", {data, host / "missing"}},
                      {"write", {own}},
                      {"protect", {own + "/kept"}}}},
                    {"environment", {{"unset", {"LANG"}}}},
                    {"scratch", "1.5M"},
                    {"memory", "1.5G"}};
  const auto run = [](const Json& request, int cancel) {
    const std::string text = request.dump();
    char* error = nullptr;
    const std::string report =
        taken(brig_c_run(text.data(), text.size(), nullptr, 0, cancel, nullptr, &error));
    EXPECT_FALSE(report.empty()) << taken(error);
    return report.empty() ? Json() : Json::parse(report);
  };
  const std::string line = "id -u; cat /opt/data/file " + home +
                           "/.cargo/registry/crate; echo $CARGO_NET_OFFLINE ${LANG-no LANG}; "
                           "echo $(($(stat -f -c '%b * %S' /tmp))); ls " +
                           data + "; /opt/data/program; echo x >" + own + "/new; echo x >" + own +
                           "/kept";
  const Json report = run({{"argv", {"/bin/sh", "-c", line}}, {"policy", policy}}, -1);
  EXPECT_EQ(report["stdout"], "0\nof data\na crate\ntrue no LANG\n1572864\n") << report;
  EXPECT_EQ(e2e::read_file(own + "/new"), "x\n") << report;
  EXPECT_EQ(e2e::read_file(own + "/kept"), "as it was\n") << report;
  if (!e2e::has_cgroups()) return;
  const int cancel = eventfd(0, EFD_CLOEXEC);
  std::thread napping([&] { run({{"argv", {"sleep", "60"}}, {"policy", policy}}, cancel); });
  EXPECT_TRUE(e2e::comes_true([] {
    std::string limits;
    for (const std::string& path : e2e::cgroups_of(getpid()))
      limits +=
          e2e::read_file(path + "/memory.max") + e2e::read_file(path + "/memory.limit_in_bytes");
    return e2e::contains(limits, "1610612736");
  }));
  eventfd_write(cancel, 1);
  napping.join();
  close(cancel);
}

TEST(CApiEnvironment, IsTheSafeOne) {
  const std::string request = R"({"extra":{"A":"b"}})";
  const Json made =
      Json::parse(taken(brig_c_safe_environment(request.data(), request.size(), nullptr)));
  EXPECT_EQ(made["A"], "b");
  EXPECT_TRUE(made.contains("PATH"));
}

}  // namespace
}  // namespace brig
