// rooms_fuzz SECONDS [FIRST_SEED [CALLS]]: one call makes random system calls, the next one in its room
// must see what a first call in a fresh room sees. Prints seed and difference. By hand, not in CI.
#include <cstdio>

#include "rooms.h"

int main(int argc, char** argv) {
  using namespace escape;
  using Clock = std::chrono::steady_clock;
  if (argc < 2) return fprintf(stderr, "rooms_fuzz SECONDS [FIRST_SEED [CALLS]]\n"), 2;
  const auto end = Clock::now() + std::chrono::seconds(atol(argv[1]));
  unsigned long seed = argc > 2 ? strtoul(argv[2], nullptr, 10) : 1;
  const char* const calls = argc > 3 ? argv[3] : nullptr;
  const brig::Policy policy = room_policy();
  const auto look_fresh = [&] {
    return traces_of(brig::Runner(policy, {.ready = 1}).run(guest({"traces"})).out.bytes);
  };
  Traces fresh = look_fresh();
  brig::Runner runner(policy, {.ready = 1});
  unsigned long made = 0, kept = 0, looked_into = 0, found = 0;
  std::map<std::string, unsigned long> ends;
  for (; Clock::now() < end; ++seed) {
    // Few calls leave a room that may stay; many leave more.
    const std::string count = calls ? calls : std::to_string(1 + seed % 5 * (1 + seed % 7));
    // Every other time in a room that was kept.
    if (seed % 2) (void)runner.run(guest({"leave", "nothing"}));
    const brig::Report left =
        runner.run(guest({"random_calls", std::to_string(seed), count, seed % 3 ? "" : "alone"}));
    ++made;
    ++ends[to_string(left.outcome)];
    kept += left.room == brig::Room::as_new;
    const std::string room = traces_of(left.out.bytes).room;
    bool same = false;
    for (int looks = 0; looks < 2 && !same; ++looks) {
      const brig::Report seen = runner.run(guest({"traces"}));
      const Traces traces = traces_of(seen.out.bytes);
      same = !room.empty() && traces.room == room;
      std::string what = difference(fresh.text, traces.text, same);
      // The host may have changed: packages are installed, files below /etc are replaced.
      if (!what.empty()) what = difference((fresh = look_fresh()).text, traces.text, same);
      if (seen.ok() && what.empty()) continue;
      ++found;
      printf("seed %lu, %s calls (%s, its room was %s), %s room (%s):\n%s\n", seed, count.c_str(),
             to_string(left.outcome), to_string(left.room), same ? "the same" : "another",
             to_string(seen.outcome), what.c_str());
      fflush(stdout);
    }
    looked_into += same;
  }
  printf(
      "%lu calls up to seed %lu, %lu in rooms that were kept; the next call was in the same room "
      "%lu times; "
      "%lu differences;",
      made, seed - 1, kept, looked_into, found);
  for (const auto& [outcome, times] : ends) printf(" %s %lu", outcome.c_str(), times);
  printf("\n");
  if (!looked_into) printf("no room was kept after random calls: this run shows nothing\n");
  return found || !looked_into ? 1 : 0;
}
