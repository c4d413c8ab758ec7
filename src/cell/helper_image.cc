#include "cell/helper_image.h"

#include <cerrno>

#include "base/error.h"
#include "os/memfd.h"
#include "os/surroundings.h"

extern "C" const char brig_helper_begin[];
extern "C" const char brig_helper_end[];

namespace brig {

UniqueFd executable(const char* name, std::string_view image) {
  // MFD_EXEC, since Linux 6.3. Older kernels know no other kind.
  constexpr unsigned kExec = 0x10;
  UniqueFd file = make_memfd(name, kExec);
  if (!file && errno == EINVAL) file = make_memfd(name);
  if (!file && errno == EACCES)
    throw Error(ErrorKind::unsupported,
                "starting the helper: memfd_create: executable memfds are disabled; set the sysctl "
                "vm.memfd_noexec to 0 or 1");
  if (!file && errno == ENOSYS)
    throw Error(ErrorKind::unsupported,
                in_cell() ? "starting the helper: brig runs inside a cell of brig that has no "
                            "memory cgroup, and there memfd_create is missing: that cell is the "
                            "boundary already, so run the command without brig, or give the outer "
                            "cell a policy with syscalls.allow = [\"memfd_create\"]"
                          : "starting the helper: this kernel or container has no memfd_create, "
                            "and brig can't work without it");
  if (!file || !fill_and_seal(file.get(), image))
    throw_sys("starting the helper: writing a memfd{}", file_limit_hint());
  return file;
}

UniqueFd helper_image() { return executable("brig-helper", {brig_helper_begin, brig_helper_end}); }

}  // namespace brig
