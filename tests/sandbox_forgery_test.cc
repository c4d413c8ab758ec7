// A tool that writes its own bytes where its result goes: what it says is its own, and never more.
#include <dirent.h>

#include "sandbox_support.h"

namespace {

using namespace e2e;

// Writes these bytes where the result will be written: the highest descriptor.
void forge(const std::string& bytes) {
  int highest = -1;
  DIR* directory = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(directory)) highest = std::max(highest, atoi(entry->d_name));
  closedir(directory);
  if (write(highest, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) _exit(77);
}

std::string frame(std::uint32_t kind, std::uint32_t size, const std::string& payload) {
  std::string bytes(8, '\0');
  memcpy(bytes.data(), &kind, 4);
  memcpy(bytes.data() + 4, &size, 4);
  return bytes + payload;
}

std::string frame(std::uint32_t kind, const std::string& payload) {
  return frame(kind, static_cast<std::uint32_t>(payload.size()), payload);
}

// A tool that writes that instead of a result, and ends as well as can be.
ToolResult forged(const std::string& bytes, bool go_on = false) {
  const auto box = sandbox([bytes, go_on] {
    forge(bytes);
    if (!go_on) _exit(0);
    return 7;
  });
  const auto begin = Clock::now();
  ToolResult first = box->call("tool", {});
  EXPECT_LT(since(begin), kSoon);
  EXPECT_NE(first.report.outcome, Outcome::internal) << first.error;
  EXPECT_EQ(box->call_async("tool", {}).get().report.outcome, first.report.outcome);
  return first;
}

TEST(SandboxForgery, GarbageIsNoResult) {
  for (const std::string& bytes :
       {std::string("x"), std::string("{\"result\": 1}"), std::string(1000, '\xff'),
        std::string(8, '\0'), frame(99, "x"), frame(0, 0, ""), frame(1, 3, "abc"),
        frame(1, 5000, std::string(5000, 'x')), frame(2, 100, "1"), frame(3, 1 << 20, "{}")}) {
    const ToolResult r = forged(bytes);
    EXPECT_FALSE(r.ok()) << r.output;
    EXPECT_EQ(r.report.outcome, Outcome::exit) << r.error;
    EXPECT_TRUE(contains(r.error, "result")) << r.error;
  }
}

TEST(SandboxForgery, AHugeLengthIsNotAllocated) {
  const std::uint64_t before = own_memory("VmHWM");
  const ToolResult r = forged(frame(2, ~0u, "1"));
  EXPECT_EQ(r.report.outcome, Outcome::output_limit) << r.error;
  const ToolResult most = forged(frame(2, 16 << 20, "1"));
  EXPECT_EQ(most.report.outcome, Outcome::exit) << most.error;
  EXPECT_LT(own_memory("VmHWM"), before + (kSanitized ? 256_MiB : 32_MiB));
}

TEST(SandboxForgery, AResultOfManySmallValuesDoesNotFillTheHost) {
  constexpr std::size_t kSize = 12 << 20;
  const auto box = sandbox([] {
    std::string values = "[";
    while (values.size() < kSize) values += "{},";
    values.back() = ']';
    forge(frame(2, values));
    return 7;
  });
  const std::uint64_t before = own_memory("VmHWM");
  const ToolResult r = box->call("tool", {});
  EXPECT_EQ(r.report.outcome, Outcome::output_limit) << r.error;
  EXPECT_TRUE(contains(r.error, "too many values")) << r.error;
  EXPECT_LT(own_memory("VmHWM"), before + 4 * kSize + (kSanitized ? 512_MiB : 96_MiB));
}

TEST(SandboxForgery, AResultIsOnlyEverTheToolsOwn) {
  EXPECT_EQ(forged(frame(2, "5")).output, 5) << "its own to give, however it does";
  EXPECT_EQ(forged(frame(2, "5") + frame(2, "6")).output, 5) << "the first one is the result";
  EXPECT_EQ(forged(frame(2, "5") + frame(3, "{}")).output, 5);
  EXPECT_EQ(forged(frame(1, std::string(8, '\0') + "half") + frame(2, "5")).output, 5);
  for (const char* wrong : {"\"five\"", "null", "[1]", "{\"ok\": true}"}) {
    const ToolResult r = forged(frame(2, wrong));
    EXPECT_EQ(r.report.outcome, Outcome::tool_error) << wrong;
    EXPECT_TRUE(contains(r.error, "schema")) << r.error;
  }
  for (const std::string& wrong : {std::string("{"), std::string("\xff"), std::string(),
                                   std::string("1 2"), std::string(100'000, '[')}) {
    const ToolResult r = forged(frame(2, wrong));
    EXPECT_EQ(r.report.outcome, Outcome::tool_error) << wrong.substr(0, 20);
    EXPECT_FALSE(r.ok());
  }
  const ToolResult error = forged(frame(3, R"({"type": 1, "message": ["x"]})"));
  EXPECT_EQ(error.report.outcome, Outcome::tool_error);
  EXPECT_EQ(forged(frame(3, "nonsense")).error, "the tool failed, and its error could not be read");
}

TEST(SandboxForgery, WhatFollowsAnAnswerIsDroppedAndHarmsNobody) {
  const auto box = sandbox([] {
    forge(frame(2, "5"));
    forge(std::string(3 << 20, 'x'));
    return 7;
  });
  for (int i = 0; i < 3; ++i) {
    const ToolResult r = i < 2 ? box->call("tool", {}) : box->call_async("tool", {}, {}).get();
    EXPECT_EQ(r.output, 5) << r.error;
  }
}

TEST(SandboxForgery, ATrueResultAfterAForgedOneChangesNothing) {
  const auto box = sandbox([] {
    forge(frame(2, "5"));
    return 7;
  });
  for (int i = 0; i < 10; ++i) {
    const ToolResult r = box->call("tool", {});
    // Who had read its first result does not listen to a second: SIGPIPE, if that was sooner.
    if (r.ok())
      EXPECT_EQ(r.output, 5);
    else
      EXPECT_EQ(r.report.signal, SIGPIPE) << r.error;
  }
}

TEST(SandboxForgery, AProgressFloodIsNotKept) {
  const auto box = sandbox([] {
    for (int i = 0; i < 20'000; ++i) brig::progress(0.5, std::string(4000, 'x'));
    return 1;
  });
  const std::uint64_t before = own_memory("VmHWM");
  EXPECT_EQ(output_of(*box), 1);
  EXPECT_LT(own_memory("VmHWM"), before + (kSanitized ? 256_MiB : 32_MiB));
}

}  // namespace
