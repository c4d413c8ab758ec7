// Tools that come, change and go while calls run; a policy of a tool's own; commands as tools.
#include <arpa/inet.h>
#include <netinet/in.h>

#include <thread>

#include "sandbox_support.h"

namespace {

using namespace e2e;

template <typename Callable>
Tool function(const std::string& name, Callable callable, brig::ToolOptions options = {}) {
  return Toolbox::make_tool(name, "A function.", {}, std::move(callable), std::move(options));
}

Toolbox one(Tool tool) {
  Toolbox tools;
  tools.add(std::move(tool));
  return tools;
}

std::size_t count(const char* name) { return descendants_named(getpid(), name).size(); }

// One helper of each kind for each zygote that is still needed, and no more.
bool has_zygotes(std::size_t zygotes) {
  return count("brig-zygote") == zygotes && count("brig-janitor") == zygotes;
}

std::string config_error(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

// A thread of the host's own, that brig knows nothing of.
class Stranger {
 public:
  Stranger()
      : thread_([this] {
          while (!stop_) usleep(1000);
        }) {}
  ~Stranger() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

auto slow(const char* answer) {
  return [answer] {
    nap(700);
    return std::string(answer);
  };
}

TEST(SandboxChange, AddsFunctionsAndCommands) {
  Sandbox box(one(function("first", [] { return 1; })), quick());
  int held = 7;
  box.add(function("second", [&] { return held; }));
  held = 8;
  box.add(command_tool("echo", {"echo", "{x}"}, {"x"}));
  EXPECT_EQ(box.call("first", {}).output, 1);
  EXPECT_EQ(box.call("second", {}).output, 7) << "the host as it was when the tool was added";
  EXPECT_EQ(box.call("echo", {{"x", "hi"}}).output, "hi");
  EXPECT_EQ(box.list_tools().size(), 3u);
  EXPECT_EQ(box.list_tools("SECO").size(), 1u);
  EXPECT_TRUE(comes_true([] { return has_zygotes(2) && count("brig-host-copy") == 1; }))
      << left_over();
}

TEST(SandboxChange, ReplacesAToolBesideItsRunningCalls) {
  Sandbox box(one(function("tell", slow("old"))), quick());
  const auto watch = box.watch();
  auto async = box.call_async("tell", {}, {"async", ""});
  ASSERT_TRUE(await(*watch, Event::Kind::output, "async"));
  box.replace(function("tell", [] { return std::string("new"); }));
  EXPECT_EQ(box.call("tell", {}).output, "new") << "calls from now on";
  EXPECT_EQ(async.wait_for(0s), std::future_status::timeout);
  EXPECT_EQ(async.get().output, "old") << "the one in flight goes on";
  EXPECT_TRUE(comes_true([] { return has_zygotes(1) && count("brig-host-copy") == 1; }))
      << left_over();
}

TEST(SandboxChange, ManyTimesLeavesNothingBehind) {
  const std::size_t descriptors = open_descriptors();
  {
    Sandbox box(one(function("tell", [] { return -1; })), quick());
    const std::size_t before = open_descriptors();
    for (int i = 0; i < 8; ++i) {
      auto pending = box.call_async("tell", {});
      box.replace(function("tell", [i] { return i; }));
      EXPECT_EQ(box.call("tell", {}).output, i);
      EXPECT_EQ(pending.get().output, i - 1);
      Policy policy = quick();
      policy.environment.set["ROUND"] = std::to_string(i);
      box.set_policy(policy);
      box.add(command_tool("round", {"sh", "-c", "echo $ROUND"}));
      EXPECT_EQ(box.call("round", {}).output, std::to_string(i));
      EXPECT_TRUE(box.remove("round"));
    }
    EXPECT_TRUE(comes_true([] { return has_zygotes(1) && count("brig-host-copy") == 1; }))
        << left_over();
    EXPECT_TRUE(comes_true([&] { return open_descriptors() <= before + 4; }))
        << before << " descriptors became " << open_descriptors();
  }
  EXPECT_TRUE(comes_true(nothing_is_left)) << left_over();
  EXPECT_EQ(open_descriptors(), descriptors);
}

TEST(SandboxChange, RemovesAToolBesideItsRunningCalls) {
  Toolbox tools = one(function("tell", slow("told")));
  tools.add(command_tool("echo", {"sh", "-c", "echo running; sleep 0.7; echo done"}));
  Sandbox box(std::move(tools), quick());
  const auto watch = box.watch();
  auto function = box.call_async("tell", {}, {"f", ""});
  auto command = box.call_async("echo", {}, {"c", ""});
  ASSERT_TRUE(await(*watch, Event::Kind::output));
  ASSERT_TRUE(await(*watch, Event::Kind::output));
  EXPECT_TRUE(box.remove("tell"));
  EXPECT_TRUE(box.remove("echo"));
  EXPECT_FALSE(box.remove("tell"));
  EXPECT_EQ(box.call("tell", {}).report.outcome, Outcome::unknown_tool);
  EXPECT_TRUE(box.list_tools().empty());
  EXPECT_EQ(function.get().output, "told");
  EXPECT_EQ(command.get().output, "running\ndone");
  EXPECT_TRUE(comes_true([] { return has_zygotes(0); }))
      << "nothing needs a zygote any more: " << left_over();
  box.add(command_tool("echo", {"echo", "again"}));
  EXPECT_EQ(box.call("echo", {}).output, "again");
}

TEST(SandboxChange, OfThePolicyIsForCallsFromNowOn) {
  const auto policy_of_mode = [](const char* mode) {
    Policy policy = quick();
    policy.environment.set["MODE"] = mode;
    return policy;
  };
  Toolbox tools = one(function("mode", [] { return std::string(getenv("MODE")); }));
  tools.add(function("slow", [] {
    nap(700);
    return std::string(getenv("MODE"));
  }));
  tools.add(command_tool("command", {"sh", "-c", "echo $MODE"}));
  Sandbox box(std::move(tools), policy_of_mode("a"));
  const auto watch = box.watch();
  EXPECT_EQ(box.call("mode", {}).output, "a");
  auto before = box.call_async("slow", {}, {"slow", ""});
  ASSERT_TRUE(await(*watch, Event::Kind::output, "slow"));
  {
    const Stranger stranger;  // no new copy of this process is needed
    box.set_policy(policy_of_mode("b"));
    EXPECT_EQ(box.call("mode", {}).output, "b");
    EXPECT_EQ(box.call("command", {}).output, "b");
    EXPECT_EQ(before.get().output, "a");
  }
  EXPECT_TRUE(comes_true([] { return has_zygotes(2); })) << left_over();
  // One that can't be is refused as a whole.
  Policy bad = policy_of_mode("c");
  bad.files.read = {"/does/not/exist"};
  config_error([&] { box.set_policy(bad); });
  config_error([&] { box.set_policy(quick(0ms)); });
  EXPECT_EQ(box.call("mode", {}).output, "b");
  box.add(command_tool("later", {"sh", "-c", "echo $MODE"}));
  EXPECT_EQ(box.call("later", {}).output, "b");
}

TEST(SandboxChange, OfFunctionsIsRefusedBesideThreadsThatAreNotBrigs) {
  Sandbox box(one(function("one", [] { return 1; })), quick());
  const auto handle = box.watch([](const Event&) {});  // a thread of brig's does not count
  box.add(function("two", [] { return 2; }));
  {
    const Stranger stranger;
    for (const auto& change : std::vector<std::function<void()>>{
             [&] { box.add(function("three", [] { return 3; })); },
             [&] { box.replace(function("one", [] { return 4; })); }}) {
      const std::string text = config_error(change);
      EXPECT_TRUE(contains(text, "1 other thread,") && contains(text, "before starting threads"))
          << text;
    }
    EXPECT_EQ(box.call("three", {}).report.outcome, Outcome::unknown_tool);
    EXPECT_EQ(box.call("one", {}).output, 1) << "the old one is still there";
    EXPECT_EQ(box.list_tools().size(), 2u);
    // Commands need no copy of the process.
    box.add(command_tool("echo", {"echo", "one"}));
    EXPECT_EQ(box.call("echo", {}).output, "one");
    box.replace(command_tool("echo", {"echo", "two"}));
    EXPECT_EQ(box.call("echo", {}).output, "two");
    EXPECT_TRUE(box.remove("two"));
    EXPECT_EQ(box.call("one", {}).output, 1);
  }
  box.add(function("three", [] { return 3; }));
  EXPECT_EQ(box.call("three", {}).output, 3);
}

// The thread of a callback ends with its Sandbox, whoever keeps the handle: it must not make room for
// one that is not brig's.
TEST(SandboxChange, AThreadOfBrigsThatHasEndedIsNotCounted) {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  const auto before = threads();
  auto first = std::make_unique<Sandbox>(one(command_tool("true", {"true"})), quick());
  const auto handle = first->watch([](const Event&) {});
  first.reset();
  EXPECT_TRUE(comes_true([&] { return threads() <= before; }));
  const Stranger stranger;
  const std::string text =
      config_error([&] { Sandbox box(one(function("one", [] { return 1; })), quick()); });
  EXPECT_TRUE(contains(text, "1 other thread,")) << text;
}

TEST(SandboxChange, ThatIsWrongChangesNothing) {
  Sandbox box(one(command_tool("echo", {"echo", "1"})), quick());
  EXPECT_TRUE(contains(config_error([&] {
                         box.add(command_tool("echo", {"echo", "2"}));
                       }),
                       "use replace()"));
  EXPECT_TRUE(
      contains(config_error([&] { box.replace(command_tool("none", {"echo"})); }), "use add()"));
  config_error([&] { box.add(command_tool("bad name!", {"echo"})); });
  config_error([&] { box.add(command_tool("bad", {"echo", "{unknown}"})); });
  config_error([&] { box.replace(command_tool("echo", {"echo", "{unknown}"})); });
  Tool with_bad_policy = command_tool("bad", {"echo"});
  with_bad_policy.options.policy = quick(-1s);
  config_error([&] { box.add(with_bad_policy); });
  EXPECT_EQ(box.list_tools().size(), 1u);
  EXPECT_EQ(box.call("echo", {}).output, "1");
}

// --- a policy of a tool's own ---

TEST(SandboxToolPolicy, OfMemoryHoldsForThatToolOnly) {
  Policy small = quick();
  small.limits.memory = 64_MiB;
  Toolbox tools = one(function("small", touch_memory, {.annotations = {}, .policy = small}));
  tools.add(function("large", touch_memory));
  Policy large = quick();
  large.limits.memory = 2048_MiB;  // a sanitizer's shadow is memory too
  Sandbox box(std::move(tools), large);
  const ToolResult r = box.call("small", {});
  EXPECT_TRUE(r.report.outcome == Outcome::memory_limit || r.error.starts_with("std::bad_alloc"))
      << r.error;
  EXPECT_EQ(box.call("large", {}).output, 200);
  // The sandbox's own policy is not that tool's.
  box.set_policy(quick(19s));
  EXPECT_NE(box.call("small", {}).report.outcome, Outcome::ok);
}

// Whether a server of its own can be reached on 127.0.0.1.
std::string reach_itself() {
  const int server = socket(AF_INET, SOCK_STREAM, 0);
  if (server < 0) return "no socket";
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(server, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(server, 1) != 0 ||
      getsockname(server, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return "no server";
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  return connect(client, reinterpret_cast<sockaddr*>(&address), size) == 0 ? "reached" : "refused";
}

TEST(SandboxToolPolicy, OfTheNetworkHoldsForThatToolOnly) {
  Policy loopback = quick();
  loopback.network = brig::Network::loopback;
  Toolbox tools = one(function("local", reach_itself, {.annotations = {}, .policy = loopback}));
  tools.add(function("none", reach_itself));
  Sandbox box(std::move(tools), quick());
  EXPECT_EQ(box.call("local", {}).output, "reached");
  const ToolResult none = box.call("none", {});
  EXPECT_EQ(none.output, "no socket") << none.error;
  EXPECT_EQ(violations(none.report, "network", "socket(AF_INET)"), 1u);
  EXPECT_EQ(box.call("local", {}).output, "reached");
}

TEST(SandboxToolPolicy, OfTimeHoldsForThatToolOnly) {
  Toolbox tools = one(
      function("brief", [] { return nap(60'000); }, {.annotations = {}, .policy = quick(500ms)}));
  tools.add(function("long", [] { return nap(700); }));
  Sandbox box(std::move(tools), quick());
  EXPECT_EQ(box.call("brief", {}).report.outcome, Outcome::timeout);
  EXPECT_EQ(box.call("long", {}).output, 700);
}

TEST(SandboxToolPolicy, TheSamePolicySharesAZygote) {
  Toolbox tools;
  for (int i = 0; i < 6; ++i) {
    Tool tool = command_tool("tool" + std::to_string(i), {"true"});
    tool.options.policy = quick(i % 2 ? 5s : 6s);
    tool.options.policy->limits.named = i > 3;  // which says nothing of a cell
    tools.add(std::move(tool));
  }
  const Sandbox box(std::move(tools), quick());
  EXPECT_EQ(count("brig-zygote"), 2u) << left_over();
}

// As zygote_key_test.cc has it of the key alone: policies that can be run, and that differ in one field each. (`isolation`
// and what goes with its other values is in the tests of floors.)
std::vector<std::function<void(Policy&)>> harmless_changes(const std::string& path) {
  return {
      [](Policy& p) { ++p.limits.timeout; },
      [](Policy& p) { ++p.limits.grace; },
      [](Policy& p) { p.limits.cpu_time = 10s; },
      [](Policy& p) { p.limits.memory += 1_MiB; },
      [](Policy& p) { ++p.limits.processes; },
      [](Policy& p) { ++p.limits.output; },
      [](Policy& p) { p.limits.output_total = 1_MiB; },
      [](Policy& p) { ++p.limits.result; },
      [](Policy& p) { p.limits.scratch += 1_MiB; },
      [](Policy& p) { p.limits.file_size = 1_MiB; },
      [](Policy& p) { ++p.limits.open_files; },
      [path](Policy& p) { p.files.read = {path}; },
      [path](Policy& p) { p.files.write = {path}; },
      [path](Policy& p) { p.files.hide = {path + "/file"}; },
      [](Policy& p) { p.files.working_directory = "/usr"; },
      [path](Policy& p) { p.files.root = path; },
      [path](Policy& p) { p.files.read_optional = {path}; },
      [path](Policy& p) { p.files.write_optional = {path}; },
      [path](Policy& p) { p.files.read = p.files.noexec = {path}; },
      [path](Policy& p) {
        p.files.write = {path};
        p.files.protect = {path + "/file"};
      },
      [](Policy& p) { p.network = brig::Network::loopback; },
      [](Policy& p) { p.network = brig::Network::to({"a.example"}); },
      [](Policy& p) { p.network = brig::Network::to({"b.example"}); },
      [](Policy& p) { p.network = brig::Network::to({"*.example"}, {"b.example"}); },
      [](Policy& p) { p.limits.connections = 3; },
      [](Policy& p) { p.limits.upload = 1000; },
      [](Policy& p) { p.limits.download = 1000; },
      [](Policy& p) { p.limits.connection_time = 5s; },
      [](Policy& p) { p.environment.passthrough = {"BRIG_TEST"}; },
      [](Policy& p) {
        p.environment.set = {{"BRIG_TEST", "x"}};
      },
      [](Policy& p) { p.environment.unset = {"BRIG_TEST"}; },
      [](Policy& p) { p.syscalls.allow = {"ptrace"}; },
      [](Policy& p) { p.syscalls.deny = {"symlink"}; },
      [](Policy& p) { p.user = 1234; },
      [](Policy& p) { p.preset = {"git"}; },
      [](Policy& p) { p.room = brig::Room::fresh; },
  };
}

TEST(SandboxToolPolicy, OneFieldThatDiffersIsAZygoteOfItsOwn) {
  const HostDirectory host;
  write_file(host / "file", "");
  Policy base = quick();
  if (base.user) base.user.reset();  // BRIG_CELL_USER
  const auto changes = harmless_changes(host.path());
  // Whoever adds a field finds this: it is not compiled until the list above has it. (Not in it: `cpus`, which needs a cgroup, and `named`.)
  [[maybe_unused]] const auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15,
                                a16, a17] = base.limits;
  [[maybe_unused]] const auto& [b1, b2, b3, b4, b5, b6, b7, b8, b9] = base.files;
  [[maybe_unused]] const auto& [c1, c2, c3] = base.environment;
  [[maybe_unused]] const auto& [d1, d2] = base.syscalls;
  [[maybe_unused]] const auto& [n1, n2, n3] = base.network;
  [[maybe_unused]] const auto& [e1, e2, e3, e4, e5, e6, e7, e8, e9] = base;
  // In parts, so that not all zygotes of a small machine are there at once.
  constexpr std::size_t kPart = 7;
  for (std::size_t first = 0; first < changes.size(); first += kPart) {
    Toolbox tools = one(command_tool("base", {"/bin/true"}));
    const std::size_t last = std::min(first + kPart, changes.size());
    for (std::size_t i = first; i < last; ++i) {
      Tool tool = command_tool("tool" + std::to_string(i), {"/bin/true"});
      tool.options.policy = base;
      changes[i](*tool.options.policy);
      EXPECT_NE(*tool.options.policy, base) << i;
      tools.add(std::move(tool));
    }
    const Sandbox box(std::move(tools), base);
    EXPECT_EQ(count("brig-zygote"), 1 + last - first) << first << ": " << left_over();
  }
  EXPECT_TRUE(comes_true(nothing_is_left)) << left_over();
}

// --- a router in front ---

TEST(SandboxRouter, StrictRunsWhatIsListedInACellAndNothingElse) {
  Toolbox tools = one(function("pid", [] { return static_cast<int>(getpid()); }));
  tools.add(function("other", [] { return 1; }));
  const auto box = std::make_shared<Sandbox>(std::move(tools), quick());
  const brig::Router router({.mode = brig::RouterMode::strict,
                             .sandboxed_tools = {"pid", "unknown"},
                             .elevated_tools = {},
                             .host = {},
                             .warn = {}},
                            box);
  const ToolResult r = router.call("pid", {}, {"id", ""});
  EXPECT_TRUE(r.ok()) << r.error;
  EXPECT_LT(r.output, 10) << "in a pid namespace of its own";
  EXPECT_EQ(r.call_id, "id");
  EXPECT_FALSE(r.report.enforced.empty());
  EXPECT_EQ(router.call("unknown", {}).report.outcome, Outcome::unknown_tool);
  EXPECT_TRUE(router.call("other", {}).denied())
      << "not listed: the host's, and nobody runs it there";
}

// --- commands ---

ToolResult run_command(std::vector<std::string> words, const Json& arguments = Json::object(),
                       const std::vector<std::string>& parameters = {"x", "y"}) {
  Sandbox box(one(command_tool("tool", std::move(words), parameters)), quick());
  return box.call("tool", arguments);
}

TEST(SandboxCommand, ItsOutputIsTheResult) {
  EXPECT_EQ(run_command({"echo", "hello"}).output, "hello");
  EXPECT_EQ(run_command({"printf", "a\\n\\nb\\n\\n"}).output, "a\n\nb\n") << "one newline less";
  EXPECT_EQ(run_command({"true"}).output, "");
  EXPECT_EQ(run_command({"printf", "\xc3\xa4"}).output, "\xc3\xa4");
  const ToolResult r = run_command({"sh", "-c", "echo to stdout; echo to stderr >&2"});
  EXPECT_EQ(r.output, "to stdout");
  EXPECT_EQ(r.report.err.bytes, "to stderr\n");
}

TEST(SandboxCommand, ItsFailureIsToldInItsOwnWords) {
  const ToolResult r = run_command({"sh", "-c", "echo partial; echo 'no such row' >&2; exit 3"});
  EXPECT_FALSE(r.ok());
  EXPECT_EQ(r.report.outcome, Outcome::exit);
  EXPECT_EQ(r.report.exit_code, 3);
  EXPECT_TRUE(r.output.is_null());
  EXPECT_TRUE(contains(r.error, "exit code 3") && contains(r.error, "no such row")) << r.error;
  EXPECT_EQ(r.report.out.bytes, "partial\n");
  // What it says is bounded, and only ever text.
  const ToolResult flood =
      run_command({"sh", "-c", "head -c 50000 /dev/zero | tr '\\0' x >&2; exit 1"});
  EXPECT_LT(flood.error.size(), 3000u);
  const ToolResult binary = run_command({"sh", "-c", "printf '\\377\\376' >&2; exit 1"});
  EXPECT_EQ(binary.report.outcome, Outcome::exit);
  EXPECT_EQ(binary.error.find('\xff'), std::string::npos);
  const ToolResult none = run_command({"no-such-program"});
  EXPECT_EQ(none.report.outcome, Outcome::invalid_arguments);
  EXPECT_TRUE(contains(none.error, "no-such-program")) << none.error;
}

// A long message is cut between characters: a result must be valid JSON to who gets it.
TEST(SandboxCommand, ItsFailureIsCutBetweenCharacters) {
  const ToolResult r =
      run_command({"sh", "-c",
                   "printf a >&2; i=0; while [ $i -lt 1500 ]; do printf '\\303\\244' >&2; "
                   "i=$((i+1)); done; exit 1"});
  EXPECT_EQ(r.report.outcome, Outcome::exit) << r.error;
  EXPECT_NO_THROW((void)Json(r.error).dump()) << "cut in the middle of a character";
}

TEST(SandboxCommand, OutputThatIsNotTextIsAnErrorAndKept) {
  const ToolResult r = run_command({"printf", "\\377\\376"});
  EXPECT_FALSE(r.ok());
  EXPECT_EQ(r.report.outcome, Outcome::tool_error);
  EXPECT_EQ(r.error, "the command's output is not UTF-8 text");
  EXPECT_EQ(r.report.out.bytes, "\xff\xfe");
  EXPECT_TRUE(contains(to_json(r), "stdout_base64"));
}

TEST(SandboxCommand, OutputThatWasCutIsNotAResult) {
  const ToolResult r = run_command({"head", "-c", "300000", "/dev/zero"});
  EXPECT_EQ(r.report.outcome, Outcome::output_limit);
  EXPECT_TRUE(contains(r.error, "limits.output")) << r.error;
  EXPECT_EQ(r.report.out.total, 300'000u);
}

TEST(SandboxCommand, ArgumentsAreNeverInterpreted) {
  const std::string marker = "/tmp/" + unique_marker("injected");
  for (const std::string& value :
       {"$(touch " + marker + ")", "`touch " + marker + "`", "; touch " + marker,
        "| touch " + marker, "> " + marker, std::string("*"), std::string("~"),
        std::string("$HOME"), std::string("a b"), std::string("line\nline"), std::string("{y}"),
        std::string("{{x}}"), std::string("'\""), std::string("\\n"), std::string("")}) {
    const ToolResult r =
        run_command({"printf", "[%s][%s]", "{x}", "{y}"}, {{"x", value}, {"y", "Y"}});
    EXPECT_EQ(r.output, "[" + value + "][Y]") << r.error;
  }
  EXPECT_FALSE(exists(marker));
  EXPECT_EQ(run_command({"echo", "a{x}b{{x}}"}, {{"x", "1 2"}}).output, "a1 2b{x}");
  // As a shell's argument it is still one word.
  EXPECT_EQ(run_command({"sh", "-c", "echo \"$1\"", "sh", "--", "{x}"}, {{"x", "$(id)"}}).output,
            "--");
}

TEST(SandboxCommand, ArgumentsThatWouldBeOptionsOrCanNotBePassedAreRefused) {
  const ToolResult option = run_command({"ls", "{x}"}, {{"x", "--version"}});
  EXPECT_EQ(option.report.outcome, Outcome::invalid_arguments);
  EXPECT_TRUE(contains(option.error, "/x: ")) << option.error;
  EXPECT_TRUE(run_command({"echo", "--", "{x}"}, {{"x", "-n"}}).ok());
  const ToolResult nul = run_command({"echo", "{x}"}, {{"x", std::string("a\0b", 3)}});
  EXPECT_EQ(nul.report.outcome, Outcome::invalid_arguments) << nul.error;
  const ToolResult large = run_command({"echo", "{x}"}, {{"x", std::string(200'000, 'x')}});
  EXPECT_EQ(large.report.outcome, Outcome::invalid_arguments) << large.error;
}

}  // namespace
