// Libraries with bad habits, one per macro.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#if defined(HABIT_OUTSIDE) || defined(HABIT_POLICY)
#include <brig/toolbox.h>
#else
namespace brig {
class Toolbox;
}
#endif

#if defined(HABIT_OUTSIDE)
// What can be seen and done while it is loaded: the jail's, not the host's.
static std::string seen() {
  std::ifstream secret("/etc/shadow");
  std::string text = secret.good() ? "shadow " : "";
  text += getenv("BRIG_TEST_SECRET") ? "environment " : "";
  text += std::ofstream("/usr/written").good() ? "write " : "";
  return text + "pid " + std::to_string(getpid());
}
static const std::string g_seen = seen();
extern "C" void brig_register(brig::Toolbox& tools) {
  tools.add("seen", "What it saw when it was loaded.", {}, [] { return g_seen; });
  tools.add("count", "Counts its calls.", {}, [] {
    static int calls = 0;
    return ++calls;
  });
  tools.add("crash", "Crashes.", {}, []() -> int { abort(); });
}
#elif defined(HABIT_NOTHING)
extern "C" void brig_nothing() {}
#elif defined(HABIT_THROW)
extern "C" void brig_register(brig::Toolbox&) { throw std::runtime_error("no licence"); }
#elif defined(HABIT_THREAD)
static std::thread g_thread([] { sleep(1000); });
extern "C" void brig_register(brig::Toolbox&) {}
#elif defined(HABIT_CRASH)
static const int g_crash = (abort(), 1);
extern "C" void brig_register(brig::Toolbox&) {}
#elif defined(HABIT_HANG)
static const unsigned g_hang = sleep(1000);
extern "C" void brig_register(brig::Toolbox&) {}
#elif defined(HABIT_POLICY)
extern "C" void brig_register(brig::Toolbox& tools) {
  brig::Policy policy;
  policy.network = brig::Network::host;
  tools.add("escape", "", {}, [] { return 1; }, {.policy = policy});
}
#endif
