// run_command is a command like any other: what is reported of it is what `brig run` reports.
#include "run_command_support.h"

namespace {

using namespace e2e;

struct Row {
  const char* name;
  std::vector<std::string> words;
  void (*change)(Policy&) = [](Policy&) {};
  bool is_ended = false;  // by brig, at a moment of its own: how much it had written differs
};

std::vector<std::string> line(const char* text) { return {"/bin/sh", "-c", text}; }

const std::vector<Row>& rows() {
  static const std::vector<Row> list{
      {"success", line("echo out; echo err >&2")},
      {"exit", line("echo out; echo err >&2; exit 3")},
      {"signal", line("kill -9 $$")},
      {"abort", line("kill -ABRT $$")},
      {"no_program", {"no-such-program"}},
      {"no_file", {"/no/such/program"}},
      {"directory", {"/usr"}},
      {"memory", line("head -c 300000000 /dev/zero | tail -c 290000000 >/dev/null; exit 1"),
       [](Policy& policy) { policy.limits.memory = 64u << 20; }},
      {"memory_of_one_process",
       {"tail", "-c", "290000000", "/dev/zero"},
       [](Policy& policy) { policy.limits.memory = 64u << 20; }},
      {"processes", line("for i in 1 2 3 4 5 6 7 8; do sleep 60 & done"),
       [](Policy& policy) { policy.limits.processes = 4; }},
      {"timeout", line("sleep 600"), [](Policy& policy) { policy.limits.timeout = 2000ms; }},
      // Two: where the time of the tree is counted it is over long before that of a process, which the kernel
      // counts.
      {"cpu_time", line("while :; do :; done & while :; do :; done"),
       [](Policy& policy) { policy.limits.cpu_time = 1000ms; }},
      {"output_total", line("yes"), [](Policy& policy) { policy.limits.output_total = 64u << 10; },
       true},
      {"output", line("head -c 5000 /dev/zero | tr '\\0' x"),
       [](Policy& policy) { policy.limits.output = 1000; }},
      {"file_size", line("head -c 5000 /dev/zero >f"),
       [](Policy& policy) { policy.limits.file_size = 1000; }},
      {"refused_call", {"unshare", "-U", "true"}},
  };
  return list;
}

void expect_same(const Report& is, const Report& as, const Row& row) {
  EXPECT_EQ(to_string(is.outcome), std::string(to_string(as.outcome))) << is.message;
  EXPECT_EQ(is.exit_code, as.exit_code);
  EXPECT_EQ(is.signal, as.signal);
  EXPECT_EQ(is.message, as.message);
  EXPECT_EQ(is.enforced, as.enforced);
  const auto refused = [](const Report& report) {
    std::set<std::pair<std::string, std::string>> what;
    for (const brig::Violation& each : report.violations) what.emplace(each.code, each.what);
    return what;
  };
  EXPECT_EQ(refused(is), refused(as));
  if (row.is_ended) return;
  EXPECT_EQ(is.out.bytes, as.out.bytes);
  EXPECT_EQ(is.err.bytes, as.err.bytes);
  EXPECT_EQ(is.out.total, as.out.total);
  EXPECT_EQ(is.out.truncated, as.out.truncated);
}

class RunCommandTable : public testing::TestWithParam<std::tuple<brig::Isolation, std::size_t>> {};

TEST_P(RunCommandTable, IsReportedAsBrigRunReportsIt) {
  const auto [floor, number] = GetParam();
  const Row& row = rows()[number];
  Policy policy = policy_of(floor);
  policy.limits.timeout = 100s;
  policy.limits.grace = 200ms;
  row.change(policy);
  const Report as = brig::run(argv(row.words), policy);
  const auto box = command_box(policy);
  const ToolResult is = run_command(*box, {{"argv", row.words}});
  expect_same(is.report, as, row);
  EXPECT_EQ(is.ok(), as.outcome == Outcome::ok);
  EXPECT_EQ(is.error, is.ok() ? "" : as.message);
  EXPECT_EQ(is.output.is_null(), is.report.outcome == Outcome::invalid_arguments) << "it was run";
}

INSTANTIATE_TEST_SUITE_P(Floors, RunCommandTable,
                         testing::Combine(testing::ValuesIn(kFloors),
                                          testing::Range(std::size_t{0}, rows().size())),
                         [](const auto& each) {
                           return std::string(brig::to_string(std::get<0>(each.param))) + "_" +
                                  rows()[std::get<1>(each.param)].name;
                         });

class RunCommandOn : public testing::TestWithParam<brig::Isolation> {};

TEST_P(RunCommandOn, HasItsFilesFirstAndGivesItsImages) {
  const auto box = command_box(policy_of(GetParam()));
  const Json made = output_of_line(
      *box, "cat a deep/er/b; stat -c %a a deep; base64 -d deep/er/b > plot; base64 -d a > d.png",
      {{"a", kPng}, {"deep/er/b", kPng}});
  EXPECT_EQ(made["stdout"], kPng + kPng + "644\n755\n");
  EXPECT_EQ(images_of(made), (std::vector<std::string>{"d.png", "plot"}));
  EXPECT_EQ(output_of_line(*box, "ls -A")["stdout"], "") << "of the call before nothing is left";
}

// Each in a cell of the same slot, one after the other: what the host holds of one does not hold up the next.
TEST_P(RunCommandOn, ManyCallsLeaveNothingBehind) {
  const HostDirectory host;
  const Variable directory("TMPDIR", (host / ".").c_str());
  {
    const auto box = command_box(policy_of(GetParam()), {.concurrency = 1, .ready_max = 1});
    std::vector<std::future<ToolResult>> calls;
    const Json arguments{{"command", "base64 -d a > b; cat a"}, {"files", {{"a", kPng}}}};
    for (int i = 0; i < 20; ++i) calls.push_back(box->call_async("run_command", arguments));
    for (auto& call : calls) {
      const ToolResult result = call.get();
      EXPECT_TRUE(result.ok()) << result.error;
      EXPECT_EQ(images_of(result.output), std::vector<std::string>{"b"});
    }
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(run_command(*box, {{"argv", {"false"}}}).report.exit_code, 1);
  }
  EXPECT_TRUE(comes_true(nothing_is_left)) << left_over();
  EXPECT_TRUE(std::filesystem::is_empty(host / "."));
}

TEST_P(RunCommandOn, SurvivesACellThatDiesWhileItWaits) {
  const auto box = command_box(policy_of(GetParam()), {.concurrency = 2, .ready_min = 2});
  // The process that waits to become the command is the child of the cell's init, and has its name.
  const auto is_init = [](pid_t pid) {
    const auto inits = descendants_named(getpid(), "brig-init");
    return std::find(inits.begin(), inits.end(), pid) != inits.end();
  };
  const auto waiting = [&] {
    std::vector<Process> found = descendants(getpid());
    std::erase_if(found, [&](const Process& each) { return !is_init(each.parent); });
    return found;
  };
  ASSERT_TRUE(comes_true([&] { return waiting().size() >= 2; }));
  const auto killed = waiting();
  for (const Process& each : killed) kill(each.pid, SIGKILL);
  // Their inits have reaped them, and sleep again: or are gone.
  ASSERT_TRUE(comes_true([&] {
    const auto now = descendants(getpid());
    return std::all_of(now.begin(), now.end(), [&](const Process& each) {
      return std::all_of(killed.begin(), killed.end(), [&](const Process& one) {
        return each.pid != one.pid && (each.pid != one.parent || each.state == 'S');
      });
    });
  }));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(output_of_line(*box, "echo fine")["stdout"], "fine\n");
}

// The call is answered, and the next ones are as ever.
TEST_P(RunCommandOn, TheDeathOfAPartEndsItsCallOnly) {
  for (const char* part : {"brig-init", "brig-keeper", "brig-zygote", "brig-janitor"}) {
    SCOPED_TRACE(part);
    const auto box = command_box(policy_of(GetParam()));
    const auto watch = box->watch();
    auto call = box->call_async("run_command", {{"command", "echo begun; sleep 600"}});
    ASSERT_TRUE(await(*watch, Event::Kind::output));
    for (const pid_t victim : descendants_named(getpid(), part)) kill(victim, SIGKILL);
    const ToolResult result = call.get();
    EXPECT_FALSE(result.ok());
    EXPECT_EQ(result.report.out.bytes, "begun\n");
    // A cell that was ready and died may be handed out until that is noticed.
    EXPECT_TRUE(comes_true([&] { return run_command(*box, {{"argv", {"true"}}}).ok(); }));
    EXPECT_EQ(images_of(output_of_line(*box, "base64 -d a >b", {{"a", kPng}})),
              std::vector<std::string>{"b"});
  }
  EXPECT_TRUE(comes_true(nothing_is_left)) << left_over();
}

INSTANTIATE_TEST_SUITE_P(Floors, RunCommandOn, testing::ValuesIn(kFloors),
                         [](const auto& each) { return std::string(brig::to_string(each.param)); });

TEST(RunCommand, SeesNoOtherProcessOfItsCellButItsInit) {
  for (const std::optional<std::uint32_t> user : {std::optional<std::uint32_t>(), {0}}) {
    Policy policy = policy_of(brig::Isolation::jail);
    if (user) policy.user = user;
    const auto box = command_box(policy);
    EXPECT_EQ(
        output_of_line(*box, "for each in /proc/[0-9]*; do echo ${each#/proc/}; done")["stdout"],
        "1\n2\n");
    const Json reached = output_of_line(
        *box,
        "for each in exe root cwd fd/0 environ maps mem; do "
        "cat /proc/1/$each >/dev/null 2>&1 && echo read $each; "
        "chmod 777 /proc/1/$each 2>/dev/null && echo changed $each; done; "
        "ls /proc/1/fd 2>/dev/null; kill -9 1 2>/dev/null; kill -STOP 1 2>/dev/null; "
        "ls /proc/self/fd | wc -l");
    EXPECT_EQ(reached["stdout"], "4\n") << "three descriptors, and that of ls itself";
    if (user) {
      EXPECT_EQ(output_of_line(*box, "id -u")["stdout"], "0\n");
    }
  }
}

// The zygote is a program of brig's, executed for it, not a copy of this process.
TEST(RunCommand, IsNotRunInACopyOfTheHost) {
  const auto box = command_box(policy_of(brig::Isolation::jail));
  const std::string own = std::filesystem::read_symlink("/proc/self/exe");
  for (const Process& each : descendants(getpid())) {
    std::error_code gone;
    const auto program =
        std::filesystem::read_symlink("/proc/" + std::to_string(each.pid) + "/exe", gone);
    EXPECT_NE(program.string(), own) << each.name;
  }
  EXPECT_FALSE(descendants(getpid()).empty());
}

TEST(RunCommand, OutputIsToldWhileItRuns) {
  const auto box = command_box(quick());
  const auto watch = box->watch();
  auto call =
      box->call_async("run_command", {{"command", "echo begun; sleep 60"}}, {.call_id = "x"});
  EXPECT_TRUE(await(*watch, Event::Kind::output, "x"));
  EXPECT_TRUE(box->cancel("x"));
  EXPECT_EQ(call.get().report.outcome, Outcome::cancelled);
}

TEST(RunCommand, CpuTimeOfOneCallMayBeLessThanThePolicys) {
  if (!has_cgroups()) GTEST_SKIP() << "without a cgroup nothing counts it for one call";
  const auto box = command_box(quick());
  CallOptions options;
  options.limits.cpu_time = 500ms;
  const ToolResult result =
      box->call("run_command", {{"command", "while :; do :; done"}}, std::move(options));
  EXPECT_EQ(result.report.outcome, Outcome::timeout) << result.error;
}

}  // namespace
