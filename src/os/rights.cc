#include "os/rights.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/text.h"

namespace brig {
namespace {

[[noreturn]] void throw_no_proc(const char* file) {
  throw_error(ErrorKind::unsupported,
              "/proc is not mounted here, or brig can't read it ({}). brig needs it: "
              "mount -t proc proc /proc",
              file);
}

// Whether all those ids are mapped by one line of "inside outside count".
bool are_mapped(const char* file, std::uint32_t first, std::uint32_t count) {
  bool found = false;
  errno = 0;
  const std::string map = read_text(file);
  // brig must not guess: one wrong answer would send two parts of brig different ways.
  if (map.empty() && errno != 0 && errno != ENOENT) throw_sys("reading '{}'", file);
  if (map.empty()) throw_no_proc(file);
  const char* at = map.c_str();
  for (;;) {
    std::uint64_t line[3];
    for (std::uint64_t& number : line) {
      char* end = nullptr;
      number = std::strtoull(at, &end, 10);
      if (end == at) return found;
      at = end;
    }
    found |= first >= line[0] && first - line[0] + count <= line[2];
  }
}

}  // namespace

void require_proc() {
  constexpr const char* kMap = "/proc/self/uid_map";
  if (access(kMap, R_OK) != 0) throw_no_proc(kMap);
}

bool ids_are_mapped(std::uint32_t first, std::uint32_t count) {
  return are_mapped("/proc/self/uid_map", first, count) &&
         are_mapped("/proc/self/gid_map", first, count);
}

bool has_root_rights() {
  if (geteuid() != 0) return false;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  constexpr unsigned kNeeded =
      1u << CAP_SYS_ADMIN | 1u << CAP_SETUID | 1u << CAP_SETGID | 1u << CAP_CHOWN;
  return (data[0].effective & kNeeded) == kNeeded && ids_are_mapped(kSpareId, 1);
}

bool is_the_machines_root() {
  if (geteuid() != 0) return false;
  // "inside outside count".
  const std::string map = read_text("/proc/self/uid_map");
  const char* at = map.c_str();
  char* end = nullptr;
  const bool maps_root = std::strtoul(at, &end, 10) == 0 && end != at;
  // Unreadable counts as root.
  return !maps_root || std::strtoul(end, nullptr, 10) == 0;
}

}  // namespace brig
