// The rest of the helper, for a zygote that is a Python interpreter: brig._cell loads this and hands it the
// functions to call. What is here is the helper's own code, so what it does in a cell is what it does for
// every other tool.
//
// Not linked with libstdc++ nor with Python: it has to fit into whatever interpreter there is.
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

// What the host has to say. First of all.
BRIG_EXPORT const char* brig_runtime_spec() {
  using namespace brig;
  helper::set_name("brig-zygote");
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // an exec sets it
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

// The environment as it is, not as the interpreter found it when it began.
BRIG_EXPORT char** brig_runtime_environment() { return environ; }

// Whether it is this one: strings, each with its NUL. Looked at in every cell, so without a copy.
BRIG_EXPORT int brig_runtime_environment_is(const char* strings, size_t size) {
  char** variable = environ;
  for (const char* at = strings; at < strings + size; at += strlen(at) + 1, ++variable)
    if (!*variable || strcmp(*variable, at) != 0) return 0;
  return !*variable;
}
