// A zygote that is an interpreter. It is executed here, inside the jail, so that not a line of it
// runs outside. It gets as descriptors what it needs to go on as a zygote.
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <errno.h>

#include "helper/helper.h"
#include "os/sys.h"

namespace brig::helper {
namespace {

using wire::Stage;

// MFD_EXEC, since Linux 6.3. Older kernels know no other kind.
constexpr unsigned kExecutable = 0x10;

int memory_file(const char* name, unsigned flags, const void* bytes, size_t size) {
  int file = memfd_create(name, flags);
  if (file < 0 && errno == EINVAL) file = memfd_create(name, 0);
  const char* at = static_cast<const char*>(bytes);
  while (file >= 0 && size > 0) {
    const ssize_t written = write(file, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      close(file);
      return -1;
    }
    at += written;
    size -= static_cast<size_t>(written);
  }
  return file;
}

// An exec takes all capabilities from a process that is not root. Keepers need these, over the
// jail's own namespaces, to make theirs and to take their slot's id; cells give them up.
bool keep_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  constexpr int kNeeded[] = {CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID};
  for (const int needed : kNeeded) data[0].inheritable |= 1u << needed;
  if (syscall(SYS_capset, &header, data) != 0) return false;
  for (const int needed : kNeeded)
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, needed, 0, 0) != 0) return false;
  return true;
}

char** strings(const Plan& plan, const PlanList<PlanText>& list, char** out) {
  char** const begin = out;
  for (unsigned i = 0; i < list.count; ++i)
    *out++ = const_cast<char*>(text(plan, begin_of(plan, list)[i]));
  *out++ = nullptr;
  return begin;
}

char* g_words[64];
char* g_variables[wire::kMaxStrings + 1];

}  // namespace

void become_runtime(const Plan& plan, int janitor_socket, int catalog) {
  if (plan.runtime.count >= 64 || plan.runtime_environment.count > wire::kMaxStrings) {
    errno = E2BIG;
    die(janitor_socket, Stage::runtime, 0);
  }
  const int given[] = {
      janitor_socket, memory_file("brig-plan", 0, &plan, plan.size), catalog,
      memory_file("brig-runtime", kExecutable, begin_of(plan, plan.runtime_image),
                  plan.runtime_image.count),
      memory_file("brig-files", 0, begin_of(plan, plan.runtime_files), plan.runtime_files.count)};
  constexpr int kCount = sizeof given / sizeof *given, kAbove = 64;
  // Moves the descriptors out of the way first: one that still has to be moved may stand in
  // another's place.
  int copies[kCount];
  for (int i = 0; i < kCount; ++i) {
    copies[i] = fcntl(given[i], F_DUPFD_CLOEXEC, kAbove);
    if (copies[i] < 0) die(janitor_socket, Stage::runtime, 1);
  }
  for (int i = 0; i < kCount; ++i)
    if (dup2(copies[i], kRuntimeJanitor + i) < 0) die(copies[0], Stage::runtime, 1);
  // The copies stay until the exec; one of them reports it if the exec fails.
  if (sys::close_range(kRuntimeFiles + 1, kAbove - 1, 0) != 0) die(copies[0], Stage::runtime, 1);
  if (plan.floor == Floor::jail && !keep_capabilities()) die(copies[0], Stage::runtime, 2);
  char** const argv = strings(plan, plan.runtime, g_words);
  execve(text(plan, plan.runtime_program), argv,
         strings(plan, plan.runtime_environment, g_variables));
  die(copies[0], Stage::runtime, 3);
}

}  // namespace brig::helper
