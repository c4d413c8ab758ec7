#include "os/rights.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/text.h"

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
  if (geteuid() != 0) return false;
  const std::string map = read_text("/proc/self/uid_map");  // "inside outside count"
  const char* at = map.c_str();
  char* end = nullptr;
  const bool maps_root = std::strtoul(at, &end, 10) == 0 && end != at;
  return !maps_root || std::strtoul(end, nullptr, 10) == 0;  // not to be seen: taken for it
}

bool in_container() {
  return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0 ||
         std::getenv("KUBERNETES_SERVICE_HOST") != nullptr;
}

}  // namespace brig
