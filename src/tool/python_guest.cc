// The rest of the helper, for a zygote that is a Python interpreter: brig._cell loads this and
// gives it the functions to call. All of this is the helper's own code, so in a cell it does what
// it does for every other tool.
//
// Linked neither with libstdc++ nor with Python, because it has to fit into whatever interpreter
// there is.
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "helper/guest.h"
#include "helper/helper.h"
#include "os/threads.h"

namespace brig {
namespace {

const Plan* g_plan = nullptr;

struct Hooks {
  void (*load)(int catalog);
  int (*fork)();
  void (*rehearse)();
  void (*run)(const char* tool, const char* arguments, size_t size, int gaps, int answer);
};
const Hooks* g_hooks = nullptr;

void load(const Plan&, int catalog) { g_hooks->load(catalog); }

}  // namespace
}  // namespace brig

#define BRIG_EXPORT extern "C" __attribute__((visibility("default")))

// What the host sends for the runtime. To be called first of all.
BRIG_EXPORT const char* brig_runtime_spec() {
  using namespace brig;
  helper::set_name("brig-zygote");
  // An exec has set it.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  g_plan = &helper::map_plan(helper::kRuntimeJanitor, helper::kRuntimePlan);
  return text(*g_plan, g_plan->runtime_spec);
}

// Serves as the zygote. Does not return.
BRIG_EXPORT void brig_runtime_serve(const brig::Hooks* hooks) {
  using namespace brig;
  g_hooks = hooks;
  g_guest = {load, hooks->fork, hooks->rehearse, hooks->run};
  helper::zygote_serve(*g_plan, helper::kRuntimeJanitor, helper::kRuntimeCatalog);
}

BRIG_EXPORT int brig_runtime_threads() { return brig::count_threads(); }

// The environment as it is now, and not as it was when the interpreter started.
BRIG_EXPORT char** brig_runtime_environment() { return environ; }

// Whether the environment is this one: strings, each with a NUL at its end. Every cell calls this,
// so it makes no copy.
BRIG_EXPORT int brig_runtime_environment_is(const char* strings, size_t size) {
  char** variable = environ;
  for (const char* at = strings; at < strings + size; at += strlen(at) + 1, ++variable)
    if (!*variable || strcmp(*variable, at) != 0) return 0;
  return !*variable;
}
