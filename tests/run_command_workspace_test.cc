// What is put into run_command's workspace before, and what the host finds there after: all of it made by the model.
#include <fmt/format.h>

#include "run_command_support.h"
#include "sandbox/call_maker.h"

namespace {

using namespace e2e;

constexpr const char* kMagic = "\\211PNG\\r\\n\\032\\n";  // for printf

class RunCommandWorkspace : public testing::Test {
 protected:
  static std::string error_of(const Policy& policy, const Json& files, Outcome outcome) {
    const auto box = command_box(policy);
    const ToolResult result = run_command(*box, {{"command", "echo ran"}, {"files", files}});
    EXPECT_EQ(result.report.outcome, outcome) << result.error;
    EXPECT_EQ(result.report.out.bytes, "") << "it was run";
    EXPECT_FALSE(result.report.exit_code);
    return result.error;
  }
};

// --- before ---

TEST_F(RunCommandWorkspace, FilesThatDoNotFitAreToldAndNothingIsRun) {
  Policy policy = quick();
  policy.limits.scratch = 1u << 20;
  const std::string error = error_of(policy, {{"a", "small"}, {"b", std::string(3u << 20, 'x')}},
                                     Outcome::invalid_arguments);
  EXPECT_TRUE(contains(error, "'b'") && contains(error, "limits.scratch")) << error;
  Json many;
  for (int i = 0; i < 1000; ++i) many[fmt::format("d{}/e/f", i)] = "";
  policy.limits.scratch = 64u << 10;  // 1024 inodes
  EXPECT_TRUE(contains(error_of(policy, many, Outcome::invalid_arguments), "limits.scratch"));
}

TEST_F(RunCommandWorkspace, AFileAboveTheLimitOfOneFileIsToldAsThat) {
  Policy policy = quick();
  policy.limits.file_size = 1000;
  const std::string error =
      error_of(policy, {{"a", std::string(1001, 'x')}}, Outcome::invalid_arguments);
  EXPECT_TRUE(contains(error, "limits.file_size")) << error;
  const auto box = command_box(policy);
  EXPECT_EQ(output_of_line(*box, "cat a", {{"a", "fits"}})["stdout"], "fits");
  EXPECT_EQ(
      run_command(*box, {{"command", "exec head -c 2000 /dev/zero >f"}, {"files", {{"a", ""}}}})
          .report.signal,
      SIGXFSZ)
      << "the command has the signal back";
}

TEST_F(RunCommandWorkspace, FilesThatExcludeEachOtherAreRefused) {
  EXPECT_TRUE(
      contains(error_of(quick(), {{"a", "x"}, {"a/b", "y"}}, Outcome::invalid_arguments), "'a/b'"));
  EXPECT_TRUE(contains(error_of(quick(), {{"a", "x"}, {"./a", "y"}}, Outcome::invalid_arguments),
                       "already"));
  for (const char* path : {"../x", "/etc/x", "a/../../x", "..", ".", "", "a/"})
    error_of(quick(), {{path, "x"}}, Outcome::invalid_arguments);
}

TEST_F(RunCommandWorkspace, FilesAreChargedToTheCell) {
  if (!has_cgroups()) GTEST_SKIP() << "without a cgroup the limit is per process";
  Policy policy = quick();
  policy.limits.memory = 16u << 20;
  policy.limits.scratch = 256u << 20;
  const auto box = command_box(policy);
  const ToolResult result =
      run_command(*box, {{"command", "echo ran"}, {"files", {{"a", std::string(40u << 20, 'x')}}}});
  EXPECT_EQ(result.report.outcome, Outcome::memory_limit) << result.error;
  EXPECT_EQ(result.report.out.bytes, "");
  EXPECT_EQ(output_of_line(*box, "echo next")["stdout"], "next\n");
}

TEST_F(RunCommandWorkspace, LargeFilesAndRequestsGoTogether) {
  const auto box = command_box(quick());
  const std::string large(5'000'000, 'y'), input(100'000, 'z');
  const ToolResult result = run_command(
      *box, {{"argv", {"sh", "-c", "wc -c <a; wc -c; echo ${#1}", "sh", std::string(100'000, 'w')}},
             {"stdin", input},
             {"files", {{"a", large}}}});
  EXPECT_EQ(result.output.value("stdout", ""), "5000000\n100000\n100000\n") << result.error;
}

// The working directory is a path of the host's then: files are made there with the cell's rights, where nothing is in the
// way, and nothing of it comes back, since the host looks at the cell's own directory only.
TEST_F(RunCommandWorkspace, AWorkingDirectoryOfTheHostsIsNeitherOverwrittenNorLookedAt) {
  for (const brig::Isolation floor : {brig::Isolation::jail, brig::Isolation::landlock}) {
    SCOPED_TRACE(brig::to_string(floor));
    const HostDirectory host;
    const std::string work = host / "work", elsewhere = host / "elsewhere";
    for (const std::string& each : {work, elsewhere}) {
      std::filesystem::create_directory(each);
      std::filesystem::permissions(each, std::filesystem::perms::all);
    }
    std::filesystem::create_directory_symlink(elsewhere, work + "/link");
    write_file(work + "/there", "old");
    Policy policy = policy_of(floor);
    policy.files.write = {work, elsewhere};
    policy.files.working_directory = work;
    error_of(policy, {{"link/x", "x"}}, Outcome::invalid_arguments);
    error_of(policy, {{"there", "new"}}, Outcome::invalid_arguments);
    EXPECT_TRUE(std::filesystem::is_empty(elsewhere));
    EXPECT_EQ(read_file(work + "/there"), "old");
    const auto box = command_box(policy);
    const Json made = output_of_line(*box, "cat in; base64 -d in > out.png; ls", {{"in", kPng}});
    EXPECT_EQ(made["stdout"], kPng + "in\nlink\nout.png\nthere\n");
    EXPECT_FALSE(made.contains("images")) << made;
  }
}

// --- after ---

// A tool whose output is what `look` finds.
std::unique_ptr<Sandbox> looking(const Policy& policy, const std::string& line,
                                 std::function<Json(const brig::Workspace&)> look) {
  Tool tool;
  tool.name = "tool";
  tool.input_schema = {{"type", "object"}};
  tool.maker = std::make_shared<const brig::CallMaker>(
      brig::CallMaker{{}, [=](Json&) {
                        brig::MadeCall made;
                        made.command = Command::shell(line);
                        made.output = [look](ToolResult& result, const brig::Workspace* workspace) {
                          result.output = workspace ? look(*workspace) : Json("no workspace");
                        };
                        return made;
                      }});
  Toolbox tools;
  tools.add(std::move(tool));
  return std::make_unique<Sandbox>(std::move(tools), policy);
}

TEST_F(RunCommandWorkspace, NothingOfTheCommandIsAliveWhenTheHostLooks) {
  for (const brig::Isolation floor : kFloors) {
    SCOPED_TRACE(brig::to_string(floor));
    const auto box =
        looking(policy_of(floor),
                "for i in 1 2 3; do (trap '' TERM HUP; echo x >ready$i; setsid sleep 600) & done; "
                "until [ -e ready1 ] && [ -e ready2 ] && [ -e ready3 ]; do :; done",
                [](const brig::Workspace& left) -> Json {
                  Json found = descendants_named(getpid(), "sleep").size() +
                               descendants_named(getpid(), "sh").size();
                  return {found, left.files(Clock::time_point::max()).size()};
                });
    for (int i = 0; i < 5; ++i) EXPECT_EQ(output_of(*box), (Json{0, 3}));
  }
}

// It is the host that ends it then, and the init has to stay all the same.
TEST_F(RunCommandWorkspace, WhatItLeftIsThereHoweverItEnded) {
  for (const brig::Isolation floor : kFloors) {
    SCOPED_TRACE(brig::to_string(floor));
    const auto box = command_box(policy_of(floor));
    for (const char* end : {"trap '' TERM; while :; do sleep 600; done", "exit 3", "kill -9 $$"}) {
      const ToolResult result = run_command(
          *box, {{"command", fmt::format("echo kept >f; echo out; {}", end)}, {"timeout", 0.5}});
      EXPECT_FALSE(result.ok());
      ASSERT_TRUE(result.output.is_object()) << end << ": " << result.error;
      EXPECT_EQ(result.output["stdout"], "out\n");
      ASSERT_EQ(result.output.value("files", Json::array()).size(), 1u) << end;
      EXPECT_EQ(result.output["files"][0]["path"], "f");
    }
    EXPECT_EQ(output_of_line(*box, "ls")["stdout"], "") << "and gone for the next";
  }
}

TEST_F(RunCommandWorkspace, ACallsDirectoryIsOneOfTheCells) {
  for (const brig::Isolation floor : kFloors) {
    SCOPED_TRACE(brig::to_string(floor));
    const auto box = command_box(policy_of(floor));
    const ToolResult inside = run_command(*box, {{"command", "cat f; ls ../other"},
                                                 {"cwd", "d"},
                                                 {"files", {{"d/f", "F"}, {"other", ""}}}});
    EXPECT_EQ(inside.report.out.bytes, "F../other\n") << inside.error;
    const ToolResult missing = run_command(*box, {{"command", "echo ran"}, {"cwd", "no/such"}});
    EXPECT_EQ(missing.report.outcome, Outcome::invalid_arguments);
    EXPECT_EQ(missing.report.out.bytes, "");
    EXPECT_FALSE(missing.report.exit_code);
    EXPECT_TRUE(missing.output.is_null());
    EXPECT_TRUE(contains(missing.error, "cwd: ")) << missing.error;
  }
}

TEST_F(RunCommandWorkspace, AHostileOneBringsNothingFromOutside) {
  const HostDirectory host;
  write_file(host / "outside.png", "\x89PNG\r\n\x1a\n outside");
  std::filesystem::permissions(host / "outside.png", std::filesystem::perms::all);
  for (const brig::Isolation floor : kFloors) {
    SCOPED_TRACE(brig::to_string(floor));
    const auto box = command_box(policy_of(floor));
    const Json made = output_of_line(
        *box,
        fmt::format("magic() {{ printf '{0}'; }}; mkdir d\n"
                    "ln -s /etc/passwd a.png; ln -s /etc d/etc; ln -s ../.. d/up\n"
                    "ln -s {1}/outside.png b.png; ln -s {1} c; ln -s /proc/self/root r\n"
                    "ln {1}/outside.png hard.png 2>/dev/null\n"
                    "ln -s loop loop; ln -s . here; ln -s /dev/stdin e.png; ln -s /dev/zero z\n"
                    "mkfifo x.png; magic >closed.png; chmod 0 closed.png\n"
                    "magic >sparse.png; truncate -s 1T sparse.png || truncate -s 1G sparse.png\n"
                    "mkdir locked; magic >locked/x.png; chmod 0 locked\n"
                    "magic >\"$(printf 'bad\\377name.png')\"\n"
                    "magic >\"$(printf 'line\\nbreak.png')\"; magic >ok.png; magic >d/ok.png\n"
                    "p=.; for i in $(seq 60); do p=$p/deep; mkdir $p; done; magic >$p/x.png\n"
                    ": >empty.png\n",
                    kMagic, host / "."));
    std::vector<std::string> expected{"d/ok.png", "line\nbreak.png", "ok.png"};
    // Where nothing keeps a tool from what its user may do, that may give its own file a second name.
    auto found = images_of(made);
    if (floor == brig::Isolation::process) std::erase(found, "hard.png");
    EXPECT_EQ(found, expected);
  }
}

// It costs the tool's own memory and time, not the host's.
TEST_F(RunCommandWorkspace, AHundredThousandNamesCostTheHostLittle) {
  Policy policy = quick(60s);
  policy.limits.scratch = 1u << 30;
  policy.limits.memory = 1u << 30;
  const auto box = command_box(policy);
  const std::string line = fmt::format(
      "mkdir d && cd d && seq 100000 | xargs touch && cd .. && printf '{}' >ok.png", kMagic);
  ASSERT_EQ(images_of(output_of_line(*box, "true")), std::vector<std::string>{});
  const std::uint64_t before = own_memory("VmHWM");
  const Json made = output_of_line(*box, line);
  EXPECT_EQ(images_of(made), std::vector<std::string>{"ok.png"});
  EXPECT_LT(own_memory("VmHWM"), before + (32u << 20));
  EXPECT_EQ(output_of_line(*box, "ls | wc -l")["stdout"], "0\n");
}

TEST_F(RunCommandWorkspace, ImagesAreBoundedInNumberAndSize) {
  Policy policy = quick();
  policy.limits.scratch = 64u << 20;
  const auto box = command_box(policy);
  const Json made = output_of_line(
      *box, fmt::format("for i in 1 2 3 4 5 6 7 8 9; do printf '{0}' >$i; done; printf '{0}' >0; "
                        "truncate -s 5M 0",
                        kMagic));
  EXPECT_EQ(images_of(made), (std::vector<std::string>{"1", "2", "3", "4", "5", "6", "7", "8"}));
}

}  // namespace
