#include "helper/own_process.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <errno.h>
#include <string.h>

#include "os/sys.h"

namespace brig::helper {

void set_name(const char* name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

bool enter_cgroup(int entrance) {
  const bool ok = write(entrance, "0", 1) == 1;
  const int error = errno;
  close(entrance);
  errno = error;
  return ok;
}

bool set_names(const char* host) {
  return (sethostname(host, strlen(host)) == 0 && setdomainname("", 0) == 0) || errno == EPERM;
}

bool load_filter(const Plan& plan, const PlanList<uint64_t>& program, unsigned flags,
                 int* listener) {
  sock_fprog filter;
  filter.len = static_cast<unsigned short>(program.count);
  filter.filter = reinterpret_cast<sock_filter*>(const_cast<uint64_t*>(begin_of(plan, program)));
  const long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
  if (result < 0) return false;
  if (listener) *listener = static_cast<int>(result);
  return true;
}

}  // namespace brig::helper
