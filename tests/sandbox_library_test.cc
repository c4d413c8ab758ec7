// Tools of shared libraries: loaded in the jail by a clean zygote, never by this process.
#include <brig/error.h>
#include <brig/sandbox.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <thread>

#include "e2e_support.h"

namespace brig {
namespace {

using namespace std::chrono_literals;

std::string library(const std::string& name) {
  const char* guests = getenv("BRIG_GUESTS");
  return std::string(guests ? guests : "guests") + "/lib" + name + ".so";
}

Policy quick(std::chrono::milliseconds wall = 20s) {
  Policy policy;
  policy.limits.timeout = wall;
  return policy;
}

std::string refusal(const std::string& name, const Policy& policy = quick()) {
  Toolbox tools;
  tools.add_library(name);
  try {
    const Sandbox box(std::move(tools), policy);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(SandboxLibrary, ItsToolsAreListedAndCalled) {
  // Threads of the host do not matter.
  std::promise<void> end;
  std::thread other([over = end.get_future()] { over.wait(); });
  Toolbox tools;
  tools.add_library(library("geo"));
  Sandbox box(std::move(tools), quick());
  const auto list = box.list_tools();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]->name, "distance");
  EXPECT_EQ(list[0]->input_schema["properties"]["from"]["description"], "where to start");
  const Json paris{{"latitude", 48.8566}, {"longitude", 2.3522}};
  const Json rome{{"latitude", 41.9028}, {"longitude", 12.4964}};
  const ToolResult r = box.call("distance", {{"from", paris}, {"to", rome}});
  ASSERT_TRUE(r.ok()) << r.error;
  EXPECT_NEAR(r.output.get<double>(), 1105, 5);
  const ToolResult bad = box.call("distance", {{"from", paris}, {"to", {{"latitude", "x"}}}});
  EXPECT_EQ(bad.report.outcome, Outcome::invalid_arguments);
  end.set_value();
  other.join();
}

TEST(SandboxLibrary, MayUseNoMoreMemoryThanATool) {
  Policy policy = quick();
  policy.limits.memory = 64_MiB;
  EXPECT_NE(refusal(library("greedy"), policy).find("bad_alloc"), std::string::npos)
      << refusal(library("greedy"), policy);
}

TEST(SandboxLibrary, AZygoteThatGrowsIsReplaced) {
  Policy policy = quick();
  policy.limits.memory = 64_MiB;
  Toolbox tools;
  tools.add_library(library("grow"));
  Sandbox box(std::move(tools), policy);
  const auto zygote = [] { return e2e::descendants_named(getpid(), "brig-zygote"); };
  const std::vector<pid_t> first = zygote();
  ASSERT_FALSE(first.empty());
  EXPECT_TRUE(e2e::comes_true([&] {
    const std::vector<pid_t> now = zygote();
    return !now.empty() && std::find(now.begin(), now.end(), first[0]) == now.end();
  }));
  // What it has used up is not its tools'.
  EXPECT_TRUE(e2e::comes_true([&] { return box.call("hold", {}).output == 48; }));
}

TEST(SandboxLibrary, TellsProgress) {
  Toolbox tools;
  tools.add_library(library("geo"));
  Sandbox box(std::move(tools), quick());
  const auto watch = box.watch();
  const Json here{{"latitude", 0}, {"longitude", 0}}, there{{"latitude", 0}, {"longitude", 1}};
  ASSERT_TRUE(box.call("walk", {{"from", here}, {"to", there}}).ok());
  std::vector<double> told;
  while (const auto event = watch->next(0ms))
    if (event->kind == Event::Kind::progress) told.push_back(event->fraction);
  EXPECT_EQ(told, (std::vector<double>{0.25, 0.5, 0.75, 1}));
}

TEST(SandboxLibrary, IsLoadedInsideTheJail) {
  setenv("BRIG_TEST_SECRET", "s3cret", 1);
  Toolbox tools;
  tools.add_library(library("outside"));
  Sandbox box(std::move(tools), quick());
  EXPECT_EQ(box.call("seen", {}).output, "pid 1") << "no file, no variable, its own pid namespace";
  EXPECT_EQ(box.call("count", {}).output, 1);
  EXPECT_EQ(box.call("count", {}).output, 1) << "calls share nothing";
  EXPECT_EQ(box.call("crash", {}).report.signal, SIGABRT);
  EXPECT_EQ(box.call("count", {}).output, 1) << "the zygote is unharmed";
  unsetenv("BRIG_TEST_SECRET");
}

TEST(SandboxLibrary, MayLieBelowACellsOwnSpace) {
  const e2e::HostDirectory host;  // below /tmp
  const std::string path = host.make("here") + "/libgeo.so";
  std::filesystem::copy_file(library("geo"), path);
  Toolbox tools;
  tools.add_library(path);
  Sandbox box(std::move(tools), quick());
  EXPECT_EQ(box.list_tools().size(), 2u);
}

// What was judged is what runs: bytes that are written over the file afterwards are not called.
TEST(SandboxLibrary, ThatIsWrittenOverGoesOnAndIsLoadedAnewOnRequest) {
  char name[] = "/tmp/brig-library-XXXXXX";
  const std::string directory = mkdtemp(name), path = directory + "/tools.so";
  std::filesystem::permissions(directory, std::filesystem::perms(0755));
  std::string bytes = escape::read_file(library("version"));
  const auto save = [&](int version) {
    bytes.replace(bytes.find("version 1") + 8, 4, std::to_string(version));
    escape::write_file(path, bytes);
  };
  save(1000);
  const auto tools = [&] {
    Toolbox made;
    made.add_library(path);
    return made;
  };
  Sandbox box(tools(), quick());
  EXPECT_EQ(box.sources(), std::vector{path});
  EXPECT_EQ(box.call("version", {}).output, 1000);
  save(1001);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(box.call("version", {}).output, 1000);
  std::filesystem::resize_file(path, 0);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(box.call("version", {}).output, 1000);
  EXPECT_THROW(box.set_tools(tools()), Error);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(box.call("version", {}).output, 1000);
  save(1002);
  box.set_tools(tools());
  EXPECT_EQ(box.call("version", {}).output, 1002);
  std::filesystem::remove_all(directory);
}

// There the file is on a mount of the host's, and what is called is on top of it.
TEST(SandboxLibrary, MayLieBelowAListedPath) {
  for (const char* place : {"/tmp/brig-library-XXXXXX", "/var/lib/brig-library-XXXXXX"}) {
    std::string directory = place;
    if (!mkdtemp(directory.data())) continue;  // an ordinary user has only the first
    std::filesystem::permissions(directory, std::filesystem::perms(0755));
    const std::string path = directory + "/tools.so";
    std::filesystem::copy_file(library("version"), path);
    for (const bool writable : {false, true}) {
      Policy policy = quick();
      (writable ? policy.files.write : policy.files.read) = {directory};
      Toolbox tools;
      tools.add_library(path);
      Sandbox box(std::move(tools), policy);
      EXPECT_EQ(box.call("version", {}).output, 1000);
      escape::write_file(path, "another");
      for (int i = 0; i < 5; ++i) EXPECT_EQ(box.call("version", {}).output, 1000) << path;
      std::filesystem::copy_file(library("version"), path,
                                 std::filesystem::copy_options::overwrite_existing);
    }
    std::filesystem::remove_all(directory);
  }
}

TEST(SandboxLibrary, BesideFunctionsAndCommands) {
  Toolbox tools;
  tools.add_library(library("outside"));
  tools.add("own", "", {}, [] { return "own"; });
  Tool echo;
  echo.name = "echo";
  echo.input_schema = Json::parse(R"({"type": "object"})");
  echo.argv = {"echo", "hi"};
  tools.add(std::move(echo));
  Sandbox box(std::move(tools), quick());
  EXPECT_EQ(box.list_tools().size(), 6u);
  EXPECT_EQ(box.call("own", {}).output, "own");
  EXPECT_EQ(box.call("echo", {}).output, "hi");
  EXPECT_EQ(box.call("count", {}).output, 1);
}

TEST(SandboxLibrary, WhatItWritesWhenItIsLoadedIsInNoCell) {
  Toolbox tools;
  tools.add_library(library("outside"));
  Sandbox box(std::move(tools), quick());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(box.call("scratch", {}).output, Json({true, false}));
}

TEST(SandboxLibrary, ThatCanNotBeLoadedSaysWhy) {
  const auto says = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says(refusal("/nonexistent.so"), "No such file");
  says(refusal("/etc"), "not a file");
  says(refusal("/etc/passwd"), "invalid ELF header");
  says(refusal(library("nothing")), "brig_register");
  says(refusal(library("throw")), "no licence");
  says(refusal(library("thread")), "threads");
  says(refusal(library("policy")), "policy of its own");
  says(refusal(library("crash")), "not loaded");
}

TEST(SandboxLibrary, ThatHangsIsNotWaitedForLong) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_NE(refusal(library("hang"), quick(1s)).find("not loaded"), std::string::npos);
  EXPECT_LT(e2e::since(begin), e2e::kSoon);
}

TEST(SandboxLibrary, ANameThatIsTakenIsRefused) {
  Toolbox tools;
  tools.add("count", "", {}, [] { return 1; });
  tools.add_library(library("outside"));
  EXPECT_THROW(Sandbox(std::move(tools), quick()), Error);
}

}  // namespace
}  // namespace brig
