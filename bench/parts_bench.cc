// The parts of a call under Google Benchmark, for profiling and for comparing two builds.
#include <benchmark/benchmark.h>
#include <brig/capabilities.h>
#include <brig/command.h>
#include <brig/error.h>
#include <brig/policy.h>
#include <brig/report.h>
#include <brig/runner.h>
#include <brig/seed.h>
#include <brig/version.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <random>
#include <string>

#include "cell/output_buffer.h"
#include "cell/plan_builder.h"
#include "json/json_text.h"
#include "policy/seccomp.h"

namespace {

using namespace brig;

void bare_spawn(benchmark::State& state) {
  char name[] = "/bin/true";
  char* argv[] = {name, nullptr};
  for (auto _ : state) {
    pid_t pid;
    posix_spawn(&pid, name, nullptr, nullptr, argv, environ);
    int status;
    waitpid(pid, &status, 0);
  }
}
BENCHMARK(bare_spawn)->UseRealTime()->Unit(benchmark::kMicrosecond);

void ready_cell(benchmark::State& state) {
  Runner runner(Policy{}, {.ready = static_cast<unsigned>(state.range(0))});
  const Command command{.argv = {"/bin/true"}};
  for (auto _ : state)
    if (!runner.run(command).ok()) state.SkipWithError("not ok");
}
BENCHMARK(ready_cell)->Arg(1)->Arg(3)->Arg(8)->UseRealTime()->Unit(benchmark::kMicrosecond);

void new_runner(benchmark::State& state) {
  for (auto _ : state) Runner runner(Policy{}, {.ready = 1});
}
BENCHMARK(new_runner)->UseRealTime()->Unit(benchmark::kMicrosecond);

void single_run(benchmark::State& state) {
  const Command command{.argv = {"/bin/true"}};
  for (auto _ : state)
    if (!run(command).ok()) state.SkipWithError("not ok");
}
BENCHMARK(single_run)->UseRealTime()->Unit(benchmark::kMicrosecond);

void work_out_a_plan(benchmark::State& state) {
  const Policy policy;
  const CgroupLayout none;
  for (auto _ : state) benchmark::DoNotOptimize(build_plan(policy, none, true));
}
BENCHMARK(work_out_a_plan)->Unit(benchmark::kMicrosecond);

void build_filters_at_run_time(benchmark::State& state) {
  FilterRules rules;
  rules.allow = {"ptrace"};
  for (auto _ : state) {
    benchmark::DoNotOptimize(build_filter(rules));
    benchmark::DoNotOptimize(build_lock_filter(rules));
  }
}
BENCHMARK(build_filters_at_run_time)->Unit(benchmark::kMicrosecond);

void keep_output(benchmark::State& state) {
  const std::string piece(static_cast<std::size_t>(state.range(0)), 'x');
  OutputBuffer buffer(100 << 10);
  for (auto _ : state) buffer.append(piece);
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}
BENCHMARK(keep_output)->Arg(64)->Arg(65536);

// An object of that many keys in no order, as a caller may send it.
std::string object_of(std::int64_t keys) {
  std::mt19937_64 random(1);
  std::string text = "{";
  for (std::int64_t i = 0; i < keys; ++i)
    text += (i ? ",\"" : "\"") + std::to_string(random()) + "\":" + std::to_string(i);
  return text + "}";
}

void read_keys(benchmark::State& state) {
  const std::string text = object_of(state.range(0));
  std::string fault;
  for (auto _ : state)
    if (!json_from(text, fault)) state.SkipWithError("not read");
}
BENCHMARK(read_keys)->Arg(10)->Arg(1000)->Arg(40'000)->Arg(80'000)->Unit(benchmark::kMicrosecond);

void read_sorted_keys(benchmark::State& state) {  // nlohmann's own
  const std::string text = object_of(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(nlohmann::json::parse(text));
}
BENCHMARK(read_sorted_keys)->Arg(40'000)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
