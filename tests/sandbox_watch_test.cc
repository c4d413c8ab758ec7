// What watchers are told, and what they can't do to a call.
#include <cmath>
#include <mutex>

#include "sandbox_support.h"

namespace {

using namespace e2e;
using Kind = Event::Kind;

Toolbox talkers() {
  Toolbox tools;
  tools.add("talk", "", {}, [] {
    (void)!write(1, "out\n", 4);
    (void)!write(2, "err\n", 4);
    brig::progress(0.25, "a quarter");
    brig::progress(0.5);
    return 1;
  });
  tools.add("quiet", "", {}, [] { return 1; });
  tools.add("fail", "", {}, []() -> int { throw std::runtime_error("no"); });
  return tools;
}

std::vector<Event> all(Watch& watch) {
  std::vector<Event> events;
  while (const auto event = watch.next(0ms)) events.push_back(*event);
  return events;
}

std::string kinds(const std::vector<Event>& events) {
  std::string text;
  for (const Event& event : events) text += std::string(to_string(event.kind)) + " ";
  return text;
}

void expect_a_talk(const std::vector<Event>& events, const std::string& id) {
  ASSERT_GE(events.size(), 7u) << kinds(events);
  EXPECT_EQ(events[0].kind, Kind::queued);
  EXPECT_EQ(events[1].kind, Kind::started);
  EXPECT_EQ(events.back().kind, Kind::finished);
  EXPECT_EQ(events.back().outcome, Outcome::ok);
  EXPECT_EQ(events.back().text, "the tool succeeded");
  std::string out, err, progress;
  auto last = events[0].at;
  for (const Event& event : events) {
    EXPECT_EQ(event.call_id, id);
    EXPECT_EQ(event.tool, "talk");
    EXPECT_EQ(event.dropped, 0u);
    EXPECT_GE(event.at, last);
    last = event.at;
    if (event.kind == Kind::output) (event.stream == Stream::out ? out : err) += event.text;
    if (event.kind == Kind::progress)
      progress += std::to_string(static_cast<int>(event.fraction * 100)) + event.text + ";";
  }
  EXPECT_EQ(out, "out\n");
  EXPECT_EQ(err, "err\n");
  EXPECT_EQ(progress, "25a quarter;50;");
}

TEST(SandboxWatch, TellsACallFromBeginningToEnd) {
  Sandbox box(talkers(), quick());
  const auto watch = box.watch();
  EXPECT_TRUE(box.call("talk", {}, "sync").ok());
  expect_a_talk(all(*watch), "sync");
  EXPECT_TRUE(box.call_async("talk", {}, {"async", ""}).get().ok());
  expect_a_talk(all(*watch), "async");
  // An id that was not given is the result's.
  const ToolResult r = box.call("talk", {});
  expect_a_talk(all(*watch), r.call_id);
}

TEST(SandboxWatch, TellsHowACallFailed) {
  Sandbox box(talkers(), quick());
  const auto watch = box.watch();
  (void)box.call("fail", {});
  std::vector<Event> events = all(*watch);
  EXPECT_EQ(kinds(events), "queued started finished ");
  EXPECT_EQ(events.back().outcome, Outcome::tool_error);
  EXPECT_EQ(events.back().text, "std::runtime_error: no");
  (void)box.call("unknown", {}, "id");
  events = all(*watch);
  EXPECT_EQ(kinds(events), "finished ") << "it was never taken";
  EXPECT_EQ(events.back().outcome, Outcome::unknown_tool);
  EXPECT_EQ(events.back().call_id, "id");
}

TEST(SandboxWatch, BeganInTheMiddleTellsTheRestOfACall) {
  const HostDirectory host;
  const std::string place = host.make("place");
  Toolbox tools;
  tools.add("slow", "", {}, [gate = place + "/open"] {
    (void)!write(1, "early\n", 6);
    while (access(gate.c_str(), F_OK) != 0) usleep(5000);
    (void)!write(1, "late\n", 5);
    brig::progress(0.75);
    return 1;
  });
  Policy policy = quick();
  policy.files.read = {place};
  Sandbox box(std::move(tools), policy);
  const auto first = box.watch();
  auto future = box.call_async("slow", {});
  ASSERT_TRUE(await(*first, Kind::output));
  const auto watch = box.watch();
  write_file(place + "/open", "");
  EXPECT_TRUE(future.get().ok());
  const std::vector<Event> events = all(*watch);
  ASSERT_EQ(events.size(), 3u) << kinds(events);
  for (const Event& event : events) {
    if (event.kind == Kind::output) {
      EXPECT_EQ(event.text, "late\n");
    }
    if (event.kind == Kind::progress) {
      EXPECT_EQ(event.fraction, 0.75);
    }
  }
  EXPECT_EQ(events.back().kind, Kind::finished);
}

TEST(SandboxWatch, ProgressIsBetweenZeroAndOneAndItsTextIsCut) {
  Toolbox tools;
  tools.add("wild", "", {}, [] {
    brig::progress(7);
    brig::progress(-7);
    brig::progress(std::nan(""));
    brig::progress(INFINITY, std::string(100'000, 'x'));
    std::string umlauts = "a";
    for (int i = 0; i < 3000; ++i) umlauts += "\xc3\xa4";
    brig::progress(0, umlauts);
    brig::progress(0, umlauts.substr(1));
    return 1;
  });
  Sandbox box(std::move(tools), quick());
  const auto watch = box.watch();
  EXPECT_TRUE(box.call("wild", {}).ok());
  std::vector<Event> progress;
  for (const Event& event : all(*watch))
    if (event.kind == Kind::progress) progress.push_back(event);
  ASSERT_EQ(progress.size(), 6u);
  EXPECT_EQ(progress[0].fraction, 1);
  for (const int i : {1, 2, 3}) EXPECT_EQ(progress[static_cast<std::size_t>(i)].fraction, 0) << i;
  EXPECT_LE(progress[3].text.size(), 4096u);
  EXPECT_GE(progress[3].text.size(), 4000u);
  EXPECT_EQ(progress[3].text, std::string(progress[3].text.size(), 'x'));
  for (const int i : {4, 5})
    EXPECT_NO_THROW((void)Json(progress[static_cast<std::size_t>(i)].text).dump())
        << "cut in the middle of a character";
  brig::progress(0.5, "outside of a call: nothing happens");
}

TEST(SandboxWatch, TellsChangesOfTheToolbox) {
  Sandbox box(talkers(), quick());
  const auto watch = box.watch();
  box.add(command_tool("echo", {"echo"}));
  box.replace(command_tool("echo", {"echo", "2"}));
  EXPECT_TRUE(box.remove("echo"));
  EXPECT_FALSE(box.remove("echo"));
  EXPECT_THROW(box.add(command_tool("quiet", {"echo"})), Error);
  EXPECT_THROW(box.replace(command_tool("none", {"echo"})), Error);
  const std::vector<Event> events = all(*watch);
  EXPECT_EQ(kinds(events), "tool_added tool_updated tool_removed ");
  for (const Event& event : events) EXPECT_EQ(event.tool, "echo");
}

TEST(SandboxWatch, ASlowOneLosesEventsAndIsToldHowMany) {
  Sandbox box(talkers(), quick());
  const auto slow = box.watch(4), fast = box.watch(1000);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(box.call("quiet", {}).ok());
  std::vector<Event> events = all(*slow);
  ASSERT_EQ(kinds(events), "queued started finished queued lost ");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(events[static_cast<std::size_t>(i)].dropped, 0u);
  EXPECT_EQ(events[4].dropped, 20 * 3 - 4u);
  EXPECT_TRUE(box.call("quiet", {}).ok());
  events = all(*slow);
  ASSERT_EQ(kinds(events), "queued started finished ") << "told once";
  EXPECT_EQ(events[0].dropped, 0u);
  // With the next one, if there is one.
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(box.call("quiet", {}).ok());
  EXPECT_TRUE(slow->next(0ms));
  EXPECT_TRUE(box.call("quiet", {}).ok());
  events = all(*slow);
  ASSERT_EQ(kinds(events), "started finished queued queued lost ");
  EXPECT_EQ(events[3].dropped, 2u);
  EXPECT_EQ(events[4].dropped, 2u);
  events = all(*fast);
  EXPECT_EQ(events.size(), 24 * 3u) << "another watcher's loss is not this one's";
  for (const Event& event : events) EXPECT_EQ(event.dropped, 0u);
}

TEST(SandboxWatch, AFloodOfOutputDoesNotWaitForWhoDoesNotRead) {
  Toolbox tools;
  tools.add("flood", "", {}, [] {
    const std::string text(1 << 16, 'x');
    for (int i = 0; i < 200; ++i) (void)!write(1, text.data(), text.size());
    for (int i = 0; i < 2000; ++i) brig::progress(0.5, "still");
    return 1;
  });
  Sandbox box(std::move(tools), quick());
  const auto idle = box.watch(2);
  const auto begin = Clock::now();
  const ToolResult r = box.call("flood", {});
  EXPECT_TRUE(r.ok()) << r.error;
  EXPECT_EQ(r.report.out.total, 200u << 16);
  EXPECT_LT(since(begin), kSoon);
}

TEST(SandboxWatch, ACallbackIsCalledOnAThreadOfItsOwnUntilItsHandleGoes) {
  Sandbox box(talkers(), quick());
  std::mutex mutex;
  std::vector<Event> events;
  std::thread::id thread;
  auto handle = box.watch([&](const Event& event) {
    const std::lock_guard lock(mutex);
    events.push_back(event);
    thread = std::this_thread::get_id();
  });
  EXPECT_TRUE(box.call("talk", {}, "id").ok());
  EXPECT_TRUE(comes_true([&] {
    const std::lock_guard lock(mutex);
    return !events.empty() && events.back().kind == Kind::finished;
  }));
  expect_a_talk(events, "id");
  EXPECT_NE(thread, std::this_thread::get_id());
  handle.reset();
  events.clear();
  EXPECT_TRUE(box.call("talk", {}).ok());
  EXPECT_TRUE(events.empty());
}

TEST(SandboxWatch, ASlowCallbackNeverDelaysACall) {
  Sandbox box(talkers(), quick());
  std::atomic<int> told{0};
  std::atomic<std::uint64_t> dropped{0};
  std::promise<void> calls_are_over;
  const std::shared_future<void> over = calls_are_over.get_future().share();
  auto handle = box.watch(
      [&](const Event& event) {
        over.wait();
        told += event.kind != Kind::lost;
        dropped += event.dropped;
      },
      2);
  // It stays in its first event until all calls have ended.
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(box.call("quiet", {}).ok());
  EXPECT_EQ(told, 0);
  calls_are_over.set_value();
  // What it has seen and lost is all that there was, once it has caught up.
  EXPECT_TRUE(comes_true([&] { return told >= 3; }));
  EXPECT_TRUE(comes_true([&] { return told + dropped >= 30; })) << told << " " << dropped;
}

TEST(SandboxWatch, EndsWithTheSandboxWhenAllIsRead) {
  auto box = std::make_unique<Sandbox>(talkers(), quick());
  const auto watch = box->watch(), late = box->watch(), narrow = box->watch(1);
  std::atomic<int> called{0};
  auto callback = box->watch([&](const Event&) { ++called; });
  int seen = 0;
  std::thread reader([&] {
    while (watch->next()) ++seen;
  });
  EXPECT_TRUE(box->call("quiet", {}).ok());
  EXPECT_FALSE(watch->ended());
  box.reset();
  reader.join();
  EXPECT_EQ(seen, 3);
  EXPECT_TRUE(watch->ended());
  EXPECT_FALSE(watch->next(10s)) << "there is nothing to wait for";
  EXPECT_FALSE(late->ended()) << "three events are still there";
  EXPECT_EQ(kinds(all(*late)), "queued started finished ");
  EXPECT_TRUE(late->ended());
  const std::vector<Event> last = all(*narrow);
  ASSERT_EQ(kinds(last), "queued lost ") << "what is lost at the end is told too";
  EXPECT_EQ(last[1].dropped, 2u);
  EXPECT_TRUE(narrow->ended());
  EXPECT_TRUE(comes_true([&] { return called == 3; }));
  callback.reset();
}

TEST(SandboxWatch, TellsTheEndOfCallsThatTheSandboxCancels) {
  auto box = std::make_unique<Sandbox>(
      [] {
        Toolbox tools;
        tools.add("nap", "", {"ms"}, nap);
        return tools;
      }(),
      quick());
  const auto watch = box->watch();
  auto future = box->call_async("nap", {{"ms", 100'000}}, {"id", ""});
  ASSERT_TRUE(await(*watch, Kind::output, "id"));
  box.reset();
  EXPECT_EQ(future.get().report.outcome, Outcome::cancelled);
  const std::vector<Event> events = all(*watch);
  ASSERT_EQ(kinds(events), "finished ");
  EXPECT_EQ(events[0].outcome, Outcome::cancelled);
}

}  // namespace
