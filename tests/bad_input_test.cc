// What nobody should send, to the server: it is refused, it harms nobody else, and nothing of it is left.
#include <gtest/gtest.h>

#include "bad_input/wire.h"

namespace bad_input {
namespace {

using namespace std::string_literals;

const std::string kLast = get("/healthz", "Connection: close\r\n");
const std::string kHalfHead = "GET /healthz HTTP/1.1\r\nHost: local";
const std::string kHead =
    "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
const std::string kChunked = kHead + "Transfer-Encoding: chunked\r\n\r\n";

// After every test the server still answers, has no descriptor more than before, and ends when asked.
class BadInput : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(ask(server, get("/healthz")), 200);
    settle();
  }
  // Its zygotes and cells come one after the other: the same number of descriptors five times in a row.
  void settle() {
    int same = 0;
    ASSERT_TRUE(comes_true([&] {
      usleep(50'000);
      same = std::exchange(descriptors_, server.descriptors()) == descriptors_ ? same + 1 : 0;
      return same == 5;
    }));
  }
  void TearDown() override {
    EXPECT_EQ(ask(server, get("/healthz")), 200);
    EXPECT_TRUE(comes_true([&] { return server.descriptors() <= descriptors_; }, 2 * kSoon))
        << server.descriptors() << " descriptors, before " << descriptors_;
    EXPECT_EQ(server.stop(), 0);
  }

  // A request of somebody else's: at once, whatever else is going on.
  void expect_service() {
    const auto begin = Clock::now();
    EXPECT_EQ(ask(server, get("/healthz")), 200);
    EXPECT_EQ(ask(server, post("/v1/jobs", "{}")), 422);
    EXPECT_LT(since(begin), kSoon);
  }

  std::string answer_to(std::string_view path) {
    Wire wire(server);
    std::string answer;
    wire.send(get(path, "Connection: close\r\n"), &answer);
    wire.read_to_end(answer);
    return answer;
  }

  void expect_all_of(const char* file) {
    const char* guests = getenv("BRIG_GUESTS");
    const auto cases = cases_in((guests ? guests : ""s) + "/bad_input/" + file);
    ASSERT_FALSE(cases.empty());
    for (const Case& each : cases) expect(each);
  }

  Server server;
  std::size_t descriptors_ = 0;

 private:
  void expect(const Case& one) {
    SCOPED_TRACE(one.name);
    Wire wire(server);
    std::string answers;
    wire.send(one.bytes + kLast, &answers);
    ASSERT_TRUE(wire.read_to_end(answers)) << "the server waits for more: " << answers;
    std::vector<std::string> expected = one.expected;
    if (!one.closed) expected.emplace_back("200");
    const std::vector<int> statuses = statuses_of(answers);
    EXPECT_EQ(statuses.size(), expected.size()) << answers;
    for (std::size_t i = 0; i < std::min(statuses.size(), expected.size()); ++i)
      EXPECT_TRUE(fits(statuses[i], expected[i])) << "not " << expected[i] << ": " << answers;
  }
};

TEST_F(BadInput, SmuggledRequests) { expect_all_of("smuggling.txt"); }
TEST_F(BadInput, Requests) { expect_all_of("requests.txt"); }
TEST_F(BadInput, Bodies) { expect_all_of("bodies.txt"); }

TEST_F(BadInput, ConnectionsThatSayNothingHoldUpNobody) {
  std::vector<Wire> wires;
  for (int i = 0; i < 100; ++i) wires.emplace_back(server);
  expect_service();
}

TEST_F(BadInput, TwoHundredSlowHeadsHoldUpNobodyAndAreClosedInTime) {
  std::vector<Wire> wires;
  for (int i = 0; i < 200; ++i) {
    wires.emplace_back(server);
    wires.back().send(kHalfHead);
  }
  expect_service();
  // A byte now and then wins no time.
  const auto begin = Clock::now();
  while (since(begin) < std::chrono::seconds(14) && !wires.back().readable(1000))
    for (Wire& wire : wires) wire.send("h");
  std::string answer;
  EXPECT_TRUE(wires.back().read_to_end(answer));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 408 ")) << answer;
}

TEST_F(BadInput, HalfABodyHoldsUpNobody) {
  std::vector<Wire> wires;
  for (int i = 0; i < 40; ++i) {
    wires.emplace_back(server);
    wires.back().send(i % 2 ? kChunked + "5\r\n{" : kHead + "Content-Length: 16777216\r\n\r\n{");
  }
  expect_service();
}

TEST_F(BadInput, AClientThatLeavesInTheMiddleIsForgotten) {
  for (const std::string& part :
       {kHalfHead, kChunked, kHead + "Content-Length: 100\r\n\r\n{", get("/events")})
    for (int i = 0; i < 10; ++i) Wire(server).send(part);
  expect_service();
}

TEST_F(BadInput, ACallWhoseClientLeavesIsEnded) {
  const auto leave = [&](int times) {
    for (int round = 0; round < times; ++round) {
      for (int i = 0; i < 10; ++i) Wire(server).send(post("/v1/run", R"({"command":"sleep 60"})"));
      expect_service();
      EXPECT_TRUE(comes_true(
          [&] { return answer_to("/v1/calls").find(R"("calls":[])") != std::string::npos; }));
    }
  };
  leave(5);
  settle();
  leave(20);
  // How many cells are kept ready, with a dozen descriptors each, depends on the load; but not on how many calls
  // there were: one descriptor of each would be 200.
  descriptors_ += 150;
}

TEST_F(BadInput, ABodyInChunksIsNoLargerThanAnother) {
  Wire wire(server);
  std::string answers;
  const std::string chunk = "10000\r\n" + std::string(0x10000, ' ') + "\r\n";
  bool open = wire.send(kChunked, &answers);
  for (int i = 0; i < 1000 && open && answers.empty(); ++i) open = wire.send(chunk, &answers);
  wire.read_to_end(answers);
  EXPECT_TRUE(answers.starts_with("HTTP/1.1 413 ")) << answers;
}

// Neither counts as the body, nor as the head.
TEST_F(BadInput, ExtensionsAndTrailersDoNotFillTheMemory) {
  const std::size_t before = server.resident();
  for (const std::string& begin : {"2;"s, "2\r\n{}\r\n0\r\nX: "s}) {
    Wire wire(server);
    std::string answers;
    const std::string much(1 << 16, 'a');
    bool open = wire.send(kChunked + begin, &answers);
    for (int i = 0; i < 1000 && open && answers.empty(); ++i) open = wire.send(much, &answers);
    wire.read_to_end(answers);
    EXPECT_TRUE(answers.starts_with("HTTP/1.1 4")) << answers;
  }
  EXPECT_LT(server.resident(), before + (std::size_t{32} << 20));
}

TEST_F(BadInput, TenThousandRequestsAtOnce) {
  std::string all;
  for (int i = 0; i < 10'000; ++i) all += get("/healthz");
  Wire wire(server);
  std::string answers;
  EXPECT_TRUE(wire.send(all + kLast, &answers));
  expect_service();
  EXPECT_TRUE(wire.read_to_end(answers));
  EXPECT_EQ(statuses_of(answers), std::vector<int>(10'001, 200));
}

// Once, what came while another request was answered was looked for where it was not.
TEST_F(BadInput, APipelinedRequestIsNotReadTwice) {
  Wire wire(server);
  std::string answers;
  wire.send(get("/healthz") + get("/v1/jobs"));
  ASSERT_TRUE(
      comes_true([&] { return wire.receive(answers) && statuses_of(answers).size() == 2; }));
  wire.send(get("/v1/none"));
  ASSERT_TRUE(
      comes_true([&] { return wire.receive(answers) && statuses_of(answers).size() == 3; }));
  const std::string next = get("/healthz");
  wire.send(get("/v1/none") + next.substr(0, next.find('\n') + 1));
  ASSERT_TRUE(
      comes_true([&] { return wire.receive(answers) && statuses_of(answers).size() == 4; }));
  wire.send(next.substr(next.find('\n') + 1) + kLast);
  EXPECT_TRUE(wire.read_to_end(answers));
  EXPECT_EQ(statuses_of(answers), (std::vector{200, 200, 404, 404, 200, 200})) << answers;
}

TEST_F(BadInput, AClientThatNeverReadsFillsNoMemory) {
  const std::size_t before = server.resident();
  std::string all;
  for (int i = 0; i < 1000; ++i) all += get("/v1/openapi.json");
  std::vector<Wire> wires;
  for (int i = 0; i < 20; ++i) {
    wires.emplace_back(server);
    // As much as the kernel takes, and no answer read.
    const std::string_view part = std::string_view(all).substr(0, 32 * 1024);
    wires.back().send(part);
  }
  expect_service();
  EXPECT_LT(server.resident(), before + (std::size_t{64} << 20));
}

TEST_F(BadInput, ManyConnectionsThatComeAndGo) {
  for (int i = 0; i < 1000; ++i) Wire(server).send(i % 2 ? "\x16\x03\x01" : "\r\n");
  expect_service();
}

}  // namespace
}  // namespace bad_input
