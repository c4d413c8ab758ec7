#include "os/rights.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace brig {

bool has_root_rights() {
  if (geteuid() != 0) return false;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  constexpr unsigned kNeeded =
      1u << CAP_SYS_ADMIN | 1u << CAP_SETUID | 1u << CAP_SETGID | 1u << CAP_CHOWN;
  return (data[0].effective & kNeeded) == kNeeded;
}

bool is_the_machines_root() {
  unsigned inside = 1, outside = 1;
  std::FILE* map = geteuid() == 0 ? std::fopen("/proc/self/uid_map", "re") : nullptr;
  if (!map) return geteuid() == 0;
  const bool read = std::fscanf(map, "%u %u", &inside, &outside) == 2;
  std::fclose(map);
  return !read || (inside == 0 && outside == 0);
}

bool in_container() {
  return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0 ||
         std::getenv("KUBERNETES_SERVICE_HOST") != nullptr;
}

}  // namespace brig
