#include "os/memfd.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>

#include "os/write.h"

namespace brig {

UniqueFd make_memfd(const char* name, unsigned flags) {
  return UniqueFd(memfd_create(name, flags | MFD_CLOEXEC | MFD_ALLOW_SEALING));
}

bool fill_and_seal(int file, std::span<const std::string_view> pieces) {
  return write_all(file, pieces) &&
         fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0;
}

const char* file_limit_hint() {
  return errno == EFBIG ? " (the limit of file size is too small: ulimit -f)" : "";
}

}  // namespace brig
