#include "cell/helper_image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

extern "C" const char brig_helper_begin[];
extern "C" const char brig_helper_end[];

namespace brig {

UniqueFd helper_image() {
  constexpr unsigned kExec = 0x10;  // MFD_EXEC, Linux 6.3; older kernels know no other kind
  UniqueFd file(memfd_create("brig-helper", MFD_CLOEXEC | MFD_ALLOW_SEALING | kExec));
  if (!file && errno == EINVAL)
    file.reset(memfd_create("brig-helper", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file && errno == EACCES)
    throw Error(ErrorKind::unsupported,
                "starting the helper: memfd_create: executable memfds are off; set the sysctl "
                "vm.memfd_noexec to 0 or 1");
  if (!file) throw_sys("starting the helper: memfd_create");
  for (const char* at = brig_helper_begin; at < brig_helper_end;) {
    const ssize_t size = write(file.get(), at, static_cast<std::size_t>(brig_helper_end - at));
    if (size < 0) throw_sys("starting the helper: write");
    at += size;
  }
  fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  return file;
}

}  // namespace brig
