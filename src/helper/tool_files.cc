// The files that a command finds in its working directory.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "helper/tool_request.h"

namespace brig::helper {
namespace {

char g_piece[64 * 1024];
char g_path[wire::kMaxFilePath];

bool invalid() {
  errno = EINVAL;
  return false;
}

bool read_all(int file, void* data, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t count = read(file, static_cast<char*>(data) + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    if (count == 0) return invalid();
    done += static_cast<size_t>(count);
  }
  return true;
}

bool copy_bytes(int from, int to, uint64_t size) {
  while (size > 0) {
    const size_t piece = size < sizeof g_piece ? static_cast<size_t>(size) : sizeof g_piece;
    if (!read_all(from, g_piece, piece)) return false;
    for (size_t done = 0; done < piece;) {
      const ssize_t count = write(to, g_piece + done, piece - done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return false;
      done += static_cast<size_t>(count);
    }
    size -= piece;
  }
  return true;
}

void close_quietly(int file) {
  const int error = errno;
  if (file >= 0) close(file);
  errno = error;
}

// Makes the missing directories of `path`, one component at a time, and then the file, open for
// writing. -1 on failure; errno is set.
int make_file(char* path) {
  int directory = AT_FDCWD;
  for (;;) {
    char* const slash = strchr(path, '/');
    if (slash) *slash = '\0';
    if (!*path || !strcmp(path, ".") || !strcmp(path, "..")) {
      close_quietly(directory);
      errno = EINVAL;
      return -1;
    }
    int next = -1;
    if (!slash)
      next = openat(directory, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    else if (mkdirat(directory, path, 0755) == 0 || errno == EEXIST)
      next = openat(directory, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    close_quietly(directory);
    if (next < 0 || !slash) return next;
    directory = next;
    path = slash + 1;
  }
}

bool put_file(int block) {
  wire::FileHeader header;
  if (!read_all(block, &header, sizeof header)) return false;
  if (header.path_size < 2 || header.path_size > sizeof g_path) return invalid();
  if (!read_all(block, g_path, header.path_size)) return false;
  if (strnlen(g_path, header.path_size) != header.path_size - 1) return invalid();
  const int file = make_file(g_path);
  const bool copied = file >= 0 && copy_bytes(block, file, header.size);
  close_quietly(file);
  return copied;
}

}  // namespace

bool put_files(int block, unsigned count, unsigned* index) {
  // A file above the limit is an error to report, and must not end this process.
  signal(SIGXFSZ, SIG_IGN);
  for (*index = 0; *index < count; ++*index)
    if (!put_file(block)) return false;
  signal(SIGXFSZ, SIG_DFL);
  return true;
}

}  // namespace brig::helper
