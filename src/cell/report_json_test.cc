#include <brig/capabilities.h>
#include <brig/report.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <csignal>
#include <set>
#include <string>
#include <vector>

namespace brig {
namespace {

using Json = nlohmann::ordered_json;
using namespace std::chrono_literals;
using namespace std::string_literals;

std::vector<std::string> keys(const Json& json) {
  std::vector<std::string> result;
  for (const auto& item : json.items()) result.push_back(item.key());
  return result;
}

Output output(std::string bytes) {
  Output result;
  result.total = bytes.size();
  result.bytes = std::move(bytes);
  return result;
}

TEST(Outcome, EveryOneHasItsOwnName) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(Outcome::internal); ++i) {
    names.insert(to_string(static_cast<Outcome>(i)));
  }
  EXPECT_EQ(names.size(), 14u);
  EXPECT_TRUE(names.count("process_limit"));
  EXPECT_STREQ(to_string(Outcome::invalid_arguments), "invalid_arguments");
}

TEST(ReportJson, IsOneLineWithTheKeysInOrder) {
  Report report;
  report.outcome = Outcome::ok;
  report.exit_code = 0;
  report.message = "done";
  report.out = output("hi\n");
  report.usage = {1'234'567us, 500us, 4096, 2};
  report.steps = {1us, 2us, 3us, 4us};
  report.enforced = {"mounts", "seccomp"};
  report.violations = {{.code = "syscall.refused", .what = "mount", .count = 3}};
  EXPECT_EQ(
      to_json(report),
      R"({"outcome":"ok","exit_code":0,"signal":null,"signal_name":null,"message":"done",)"
      R"("stdout":"hi\n","stderr":"","stdout_bytes":3,"stderr_bytes":0,)"
      R"("stdout_truncated":false,"stderr_truncated":false,)"
      R"("usage":{"wall_ms":1234.567,"cpu_ms":0.5,"memory_peak_bytes":4096,)"
      R"("processes_peak":2},"steps":{"queue_ms":0.001,"dispatch_ms":0.002,)"
      R"("run_ms":0.003,"teardown_ms":0.004},"room":"fresh","enforced":["mounts","seccomp"],)"
      R"("violations":[{"code":"syscall.refused","what":"mount","target":"","rule":"","grant":"",)"
      R"("retry":"never","count":3,"certain":true}],"connections":[],"connections_total":0})");
}

TEST(ReportJson, HasEachConnection) {
  Report report;
  report.connections.push_back({.host = "api.github.com",
                                .port = 443,
                                .verdict = Connection::Verdict::allowed,
                                .rule = "api.github.com:443",
                                .reason = "",
                                .address = "192.0.2.7",
                                .way = "connect",
                                .sent = 517,
                                .received = 1 << 20,
                                .begin = 1500us,
                                .duration = 2s});
  report.connections.push_back({.host = "\x80\n", .reason = "no rule allows it", .way = "dns"});
  report.connections_total = 300;
  const Json json = Json::parse(to_json(report));
  EXPECT_EQ(
      json["connections"][0].dump(),
      R"({"host":"api.github.com","port":443,"verdict":"allowed","rule":"api.github.com:443",)"
      R"("reason":"","address":"192.0.2.7","way":"connect","sent_bytes":517,)"
      R"("received_bytes":1048576,"begin_ms":1.5,"duration_ms":2000.0})");
  EXPECT_EQ(json["connections"][1]["host"], "\xEF\xBF\xBD\n");
  EXPECT_EQ(json["connections"][1]["port"], 0);
  EXPECT_EQ(json["connections"][1]["verdict"], "denied");
  EXPECT_EQ(json["connections_total"], 300);
  EXPECT_STREQ(to_string(Connection::Verdict::failed), "failed");
}

TEST(ReportJson, OfAnEmptyReportHasEmptyArraysAndNulls) {
  const Json json = Json::parse(to_json(Report{}));
  EXPECT_EQ(json["outcome"], "internal");
  EXPECT_TRUE(json["exit_code"].is_null());
  EXPECT_TRUE(json["usage"]["processes_peak"].is_null());
  EXPECT_EQ(json["enforced"], Json::array());
  EXPECT_EQ(json["violations"], Json::array());
}

TEST(ReportJson, NamesTheSignal) {
  Report report;
  for (const auto& [number, name] : std::vector<std::pair<int, Json>>{{SIGSEGV, "SIGSEGV"},
                                                                      {SIGKILL, "SIGKILL"},
                                                                      {SIGRTMIN, "SIGRTMIN"},
                                                                      {SIGRTMIN + 3, "SIGRTMIN+3"},
                                                                      {0, nullptr},
                                                                      {-1, nullptr},
                                                                      {1000, nullptr}}) {
    report.signal = number;
    const Json json = Json::parse(to_json(report));
    EXPECT_EQ(json["signal"], number);
    EXPECT_EQ(json["signal_name"], name);
  }
}

TEST(ReportJson, HasBase64InPlaceOfAStreamThatIsNotUtf8) {
  Report report;
  report.out = output("\xFF\x00"s);
  report.err = output("ok \xE2\x82\xAC \0 \x1b"s);
  const Json json = Json::parse(to_json(report));
  EXPECT_FALSE(json.contains("stdout"));
  EXPECT_EQ(json["stdout_base64"], "/wA=");
  EXPECT_EQ(json["stderr"], "ok \xE2\x82\xAC \0 \x1b"s);
  EXPECT_FALSE(json.contains("stderr_base64"));
  EXPECT_EQ(keys(json)[5], "stdout_base64");
}

TEST(ReportJson, SaysWhereATruncatedStreamWasCut) {
  Report report;
  report.err = {"headtail", 1'000'000'000'000, true, 4};
  const Json json = Json::parse(to_json(report));
  EXPECT_EQ(json["stderr_truncated"], true);
  EXPECT_EQ(json["stderr_cut_at"], 4);
  EXPECT_EQ(json["stderr_bytes"], 1'000'000'000'000);
  EXPECT_FALSE(json.contains("stdout_cut_at"));
}

TEST(ReportJson, TextOfAnyBytesDoesNotThrow) {
  Report report;
  report.message = "bad \xFF byte";
  report.enforced = {"\xC3"};
  report.violations = {{.code = "\x80", .what = "\xED\xA0\x80"}};
  const Json json = Json::parse(to_json(report));
  EXPECT_EQ(json["message"], "bad \xEF\xBF\xBD byte");
}

TEST(ReportJson, IndentsOnRequestWithinReason) {
  EXPECT_EQ(to_json(Report{}, -100), to_json(Report{}));
  EXPECT_EQ(to_json(Report{}).find('\n'), std::string::npos);
  EXPECT_EQ(to_json(Report{}, 2).substr(0, 26), "{\n  \"outcome\": \"internal\",");
  EXPECT_LT(to_json(Report{}, 1 << 30).size(), 2000u);
}

TEST(ReportJson, TimesHaveAtMostThreeDecimals) {
  Report report;
  for (const std::int64_t us : {1l, 10l, 999l, 1001l, 33'333l, 86'400'000'001l}) {
    report.usage.wall = std::chrono::microseconds(us);
    const std::string text = to_json(report);
    const std::size_t at = text.find("\"wall_ms\":") + 10;
    const std::string number = text.substr(at, text.find(',', at) - at);
    const std::size_t point = number.find('.');
    ASSERT_NE(point, std::string::npos) << number;
    EXPECT_LE(number.size() - point - 1, 3u) << number;
    EXPECT_EQ(std::llround(std::stod(number) * 1000), us);
  }
}

TEST(CapabilitiesJson, HasTheKeysInOrder) {
  Capabilities capabilities;
  capabilities.layers = {{"landlock", true, "ABI 7", "", false},
                         {"cgroup_memory", false, "not delegated", "run under systemd", true}};
  capabilities.jail = true;
  capabilities.process = true;
  capabilities.available = true;
  capabilities.isolation_level = "jail";
  capabilities.filesystem_isolation = true;
  capabilities.network_isolation = true;
  capabilities.memory_limit_mb = 512;
  capabilities.timeout = 30;
  EXPECT_EQ(to_json(capabilities),
            R"({"backend":"brig","available":true,"isolation_level":"jail",)"
            R"("filesystem_isolation":true,"network_isolation":true,"memory_limit_mb":512,)"
            R"("timeout":30.0,"floors":{"jail":true,"landlock":false,"process":true},"layers":[)"
            R"({"name":"landlock","present":true,"detail":"ABI 7","fix":"","required":false},)"
            R"({"name":"cgroup_memory","present":false,"detail":"not delegated",)"
            R"("fix":"run under systemd","required":true}]})");
  EXPECT_EQ(Json::parse(to_json(Capabilities{}))["layers"], Json::array());
}

}  // namespace
}  // namespace brig
