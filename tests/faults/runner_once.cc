// A Runner, one call, its end; exit codes as `brig run` has them. For the fault sweep: the path by
// zygote and keeper, where `brig run` takes the one for a single cell.
//   runner_once [-w ELSEWHERE] FLOOR READ WRITE COMMAND...
// -w: with the words that scripts/test-faults gives to its other `brig run`.
#include <brig/capabilities.h>
#include <brig/command.h>
#include <brig/error.h>
#include <brig/policy.h>
#include <brig/report.h>
#include <brig/runner.h>
#include <brig/seed.h>
#include <brig/version.h>

#include <cstdio>
#include <cstring>
#include <string>

int main(int argc, char** argv) {
  brig::Policy policy;
  if (argc > 2 && !std::strcmp(argv[1], "-w")) {
    policy.files.read = {std::string(argv[2]) + ":/opt/a"};
    policy.files.noexec = {argv[2]};
    policy.files.read_optional = {"/none"};
    policy.user = 0;
    argv += 2, argc -= 2;
  }
  if (argc < 5) return 2;
  for (const brig::Isolation floor :
       {brig::Isolation::jail, brig::Isolation::landlock, brig::Isolation::process})
    if (!std::strcmp(argv[1], to_string(floor))) policy.isolation = floor;
  policy.files.read.push_back(argv[2]);
  policy.files.write = {argv[3]};
  if (!policy.files.noexec.empty()) policy.files.protect = {std::string(argv[3]) + "/kept"};
  policy.limits.timeout = std::chrono::milliseconds(5000);
  brig::Command command;
  command.argv.assign(argv + 4, argv + argc);
  try {
    brig::Runner runner(policy, {.ready = 1});
    const brig::Report report = runner.run(command);
    if (report.ok()) return 0;
    std::fprintf(stderr, "brig: %s\n", report.message.c_str());
    return report.outcome == brig::Outcome::timeout ? 124
           : report.outcome == brig::Outcome::exit  ? *report.exit_code
                                                    : 125;
  } catch (const brig::Error& error) {
    std::fprintf(stderr, "brig: %s\n", error.what());
    return 125;
  }
}
