// The start of the helper program. The host starts it with an empty environment and two
// descriptors: 3, the host's socket, and 4, a pidfd of the host.
#include <fcntl.h>
#include <unistd.h>

#include "helper/helper.h"
#include "os/sys.h"

int main() {
  constexpr int kSocketFd = 3, kHostFd = 4;
  if (brig::sys::close_range(kHostFd + 1, ~0u, 0) != 0 ||
      fcntl(kSocketFd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(kHostFd, F_SETFD, FD_CLOEXEC) != 0) {
    const char hint[] = "brig-helper is started by the brig library, not by hand\n";
    (void)!write(2, hint, sizeof hint - 1);
    return 125;
  }
  brig::helper::janitor_main(kSocketFd, kHostFd);
}
