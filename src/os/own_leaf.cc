#include "os/own_leaf.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "base/text.h"

namespace brig {
namespace {

// systemd always has it there.
constexpr const char* kMount = "/sys/fs/cgroup";

// systemd 251 and later mark it for everybody, older ones only for root. All give the directory to
// the service's user.
bool is_given_away(const std::string& path) {
  char mark = 0;
  for (const char* name : {"user.delegate", "trusted.delegate"})
    if (getxattr(path.c_str(), name, &mark, 1) == 1 && mark == '1') return true;
  struct stat info {};
  return geteuid() != 0 && stat(path.c_str(), &info) == 0 && info.st_uid == geteuid();
}

}  // namespace

bool move_into_own_leaf() {
  // "0::/path\n" if there is no version 1.
  std::string own = read_text("/proc/self/cgroup");
  if (own.rfind("0::/", 0) != 0 || own.find('\n') != own.size() - 1) return false;
  own = kMount + own.substr(3, own.size() - 4);
  if (own == std::string(kMount) + "/" || !is_given_away(own)) return false;
  const std::string leaf = own + "/main";
  if (mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST) return false;
  const UniqueFd procs(open((leaf + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  if (procs && write(procs.get(), "0", 1) == 1) return true;
  rmdir(leaf.c_str());
  return false;
}

}  // namespace brig
