#include "helper/text.h"

#include <fcntl.h>
#include <unistd.h>

#include <errno.h>
#include <string.h>

namespace brig::helper {

bool write_file(int dir, const char* path, const char* text) {
  const int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const size_t size = strlen(text);
  const bool ok = write(fd, text, size) == static_cast<ssize_t>(size);
  const int error = errno;
  close(fd);
  errno = error;
  return ok;
}

const char* decimal(char* buffer, unsigned long value) {
  char* end = buffer + 23;
  *end = '\0';
  do *--end = static_cast<char>('0' + value % 10);
  while (value /= 10);
  return static_cast<const char*>(memmove(buffer, end, static_cast<size_t>(buffer + 24 - end)));
}

bool join(char* out, const char* a, const char* b) {
  const size_t na = strlen(a), nb = strlen(b);
  if (na + 1 + nb + 1 > 4096) {
    errno = ENAMETOOLONG;
    return false;
  }
  memcpy(out, a, na);
  out[na] = '/';
  memcpy(out + na + 1, b, nb + 1);
  return true;
}

}  // namespace brig::helper
