// Libraries with bad habits, one per macro.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#if defined(HABIT_OUTSIDE) || defined(HABIT_POLICY) || defined(HABIT_GROW) || \
    defined(HABIT_PROGRAM) || defined(HABIT_VALUES) || defined(HABIT_VERSION)
#include <brig/progress.h>
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
static const bool g_wrote = (std::ofstream("/tmp/at-load") << "kept").good();
extern "C" void brig_register(brig::Toolbox& tools) {
  tools.add("seen", "What it saw when it was loaded.", {}, [] { return g_seen; });
  tools.add("scratch", "Whether it could write when it was loaded, and whether that is here.", {},
            [] {
              return std::vector{g_wrote, std::ifstream("/tmp/at-load").good()};
            });
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
#elif defined(HABIT_GREEDY)
static char* grab() {
  const size_t size = 1 << 20;
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<char*>(memset(memory, 1, size));
}
extern "C" void brig_register(brig::Toolbox&) {
  for (int i = 0; i < 1000; ++i) grab();
}
#elif defined(HABIT_GROW)
// Grows while it waits, by a timer that a fork does not inherit.
static void grow(int) {
  const size_t size = 4 << 20;
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) abort();
  memset(memory, 1, size);
}
extern "C" void brig_register(brig::Toolbox& tools) {
  tools.add("hold", "How much it can have.", {}, [] {
    int blocks = 0;
    while (blocks < 48 && malloc(1 << 20)) ++blocks;
    return blocks;
  });
  signal(SIGALRM, grow);
  const itimerval often{{0, 20'000}, {0, 20'000}};
  setitimer(ITIMER_REAL, &often, nullptr);
}
#elif defined(HABIT_PROGRAM)
extern "C" void brig_register(brig::Toolbox& tools) {
  tools.add("attack", "Changes the program that it runs in; says what was refused.", {}, [] {
    const char* path = "/proc/self/exe";
    const timespec times[2] = {{1, 0}, {1, 0}};
    std::string refused;
    if (chmod(path, 0) != 0) refused += "chmod ";
    if (utimensat(AT_FDCWD, path, times, 0) != 0) refused += "utimensat ";
    if (setxattr(path, "user.brig", "message", 7, 0) != 0) refused += "setxattr ";
    return refused;
  });
}
#elif defined(HABIT_VALUES)
// What small values there are: taken, given, told.
extern "C" void brig_register(brig::Toolbox& tools) {
  tools.add("take", "Takes anything.", {"value"}, [](const brig::Json&) { return true; });
  tools.add("same", "Gives what it was given, and the text of it.", {"value"},
            [](const brig::Json& value) {
              return brig::Json{{"value", value}, {"text", value.dump()}};
            });
  tools.add("take_lists", "Takes lists by name.", {"lists"},
            [](const std::map<std::string, std::vector<int>>& lists) { return lists.size(); });
  tools.add("give", "Gives an array of that item, as many as there is room for in so much text.",
            {"item", "bytes"}, [](const brig::Json& item, std::size_t bytes) {
              return brig::Json(brig::Json::array_t(bytes / (item.dump().size() + 1), item));
            });
  tools.add("chat", "Tells its progress so often.", {"count"}, [](int count) {
    for (int i = 1; i <= count; ++i) brig::progress(1.0 * i / count, std::string(1000, 'x'));
    return true;
  });
}
#elif defined(HABIT_VERSION)
// A test changes the number in the file.
extern "C" const char brig_version_of_test[] = "version 1000";
extern "C" void brig_register(brig::Toolbox& tools) {
  tools.add("version", "Which one this is.", {}, [] {
    const char* volatile text = brig_version_of_test;
    return atoi(text + sizeof "version");
  });
}
#elif defined(HABIT_POLICY)
extern "C" void brig_register(brig::Toolbox& tools) {
  brig::Policy policy;
  policy.network = brig::Network::host;
  tools.add("escape", "", {}, [] { return 1; }, {.policy = policy});
}
#endif
