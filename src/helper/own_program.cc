// A function zygote is a copy of the host's program or of brig-loader. Through /proc/self/exe its
// tools would reach that file where it lies: on a writable mount of the host, or in a memory file
// whose attributes anyone may write. An ordinary user's tool has the owner's rights on the file, so
// it could change the mode, the times and the attributes of the host's own program. Therefore the
// zygote separates from the file. What it maps of it without writing becomes a mapping of a copy, a
// file on a read-only mount of its own; the rest becomes anonymous. (Anonymous memory would do for
// all of it, but a fork copies the page tables of that, and those of unwritten files it does not:
// for the five megabytes of a small program, a quarter of what a call costs.) Its program becomes
// an empty file on the same mount.
#include <fcntl.h>
#include <linux/prctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "helper/helper.h"
#include "os/sys.h"

namespace brig::helper {
namespace {

using wire::Stage;

struct Range {
  unsigned long begin, end;
  int protection;
  long offset;  // In the copy; -1: it is not there.
};
constexpr unsigned kMostRanges = 256;

// A line of /proc/self/maps: "begin-end rwxp offset major:minor inode   path".
struct MapsLine {
  Range range;
  bool is_private;
  unsigned long inode;
  const char* path;
};

MapsLine parse(char* line) {
  MapsLine found{};
  char* at = line;
  found.range.begin = strtoul(at, &at, 16);
  found.range.end = strtoul(at + 1, &at, 16);
  const char* mode = ++at;
  if (mode[0] == 'r') found.range.protection |= PROT_READ;
  if (mode[1] == 'w') found.range.protection |= PROT_WRITE;
  if (mode[2] == 'x') found.range.protection |= PROT_EXEC;
  found.is_private = mode[3] == 'p';
  strtoul(at + 5, &at, 16);  // The offset.
  strtoul(at, &at, 16);      // The major number.
  strtoul(at + 1, &at, 16);  // The minor number.
  found.inode = strtoul(at, &at, 10);
  while (*at == ' ') ++at;
  found.path = at;
  return found;
}

// Finds every private mapping of the program's file, by the inode or by the name: file systems
// layered on others show another inode here than stat() does. One mapping too many does no harm,
// because its copy is the same. Returns their number, or -1.
int ranges_of_program(Range* ranges) {
  struct stat program;
  char name[4096];
  if (stat("/proc/self/exe", &program) != 0) return -1;
  const ssize_t length = readlink("/proc/self/exe", name, sizeof name - 1);
  if (length <= 0) return -1;
  name[length] = '\0';
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  unsigned count = 0;
  char buffer[8192];
  size_t held = 0;
  for (ssize_t size; (size = read(file, buffer + held, sizeof buffer - 1 - held)) > 0;) {
    held += static_cast<size_t>(size);
    buffer[held] = '\0';
    char* line = buffer;
    for (char* end; (end = strchr(line, '\n')); line = end + 1) {
      *end = '\0';
      const MapsLine found = parse(line);
      if (!found.is_private || !found.inode) continue;
      if (found.inode != program.st_ino && strcmp(found.path, name) != 0) continue;
      if (count == kMostRanges) {
        close(file);
        errno = E2BIG;
        return -1;
      }
      ranges[count++] = found.range;
    }
    held -= static_cast<size_t>(line - buffer);
    memmove(buffer, line, held + 1);
    // A longer path is not the program's.
    if (held == sizeof buffer - 1) held = 0;
  }
  close(file);
  return static_cast<int>(count);
}

// Appends the range to the copy, with what was changed in memory since it was mapped. The kernel
// does the copying, because a sanitizer would not let this code read all of the program's memory.
bool append(int copy, long& size, Range& range) {
  range.offset = -1;
  if ((range.protection & PROT_WRITE) || !(range.protection & PROT_READ)) return true;
  range.offset = size;
  for (unsigned long at = range.begin; at < range.end;) {
    const long written = syscall(SYS_write, copy, at, range.end - at);
    if (written <= 0) return false;
    at += static_cast<unsigned long>(written);
  }
  size += static_cast<long>(range.end - range.begin);
  return true;
}

// Replaces the mapping in one step for the code that runs in it: the old mapping is there until the
// new one is.
bool replace(const Range& range, int image) {
  const size_t size = range.end - range.begin;
  void* const at = reinterpret_cast<void*>(range.begin);  // NOLINT(performance-no-int-to-ptr)
  if (range.offset >= 0)
    return mmap(at, size, range.protection, MAP_PRIVATE | MAP_FIXED, image, range.offset) !=
           MAP_FAILED;
  void* copy = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return false;
  if (range.protection & PROT_READ)
    for (size_t done = 0; done < size;) {
      const iovec to{static_cast<char*>(copy) + done, size - done};
      const iovec from{static_cast<char*>(at) + done, size - done};
      const ssize_t copied = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
      if (copied <= 0) return false;
      done += static_cast<size_t>(copied);
    }
  return mprotect(copy, size, range.protection) == 0 &&
         mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED;
}

Range g_ranges[kMostRanges];
int g_range_count = 0;
int g_image = -1;

// Copies what is mapped of the program without being written.
bool write_image(int mount) {
  g_range_count = ranges_of_program(g_ranges);
  if (g_range_count < 0) return false;
  const int copy = openat(mount, "image", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
  if (copy < 0) return false;
  bool ok = true;
  long size = 0;
  for (int i = 0; ok && i < g_range_count; ++i) ok = append(copy, size, g_ranges[i]);
  close(copy);
  return ok;
}

// Makes an empty program and the image beside it, on a detached mount that is read-only from then
// on.
int empty_program() {
  const int fs = sys::fsopen("tmpfs", 1 /* FSOPEN_CLOEXEC */);
  if (fs < 0) return -1;
  const int mount = sys::fsconfig_create(fs) == 0 ? sys::fsmount(fs, 1 /* FSMOUNT_CLOEXEC */,
                                                                 sys::kAttrNosuid | sys::kAttrNodev)
                                                  : -1;
  close(fs);
  if (mount < 0) return -1;
  int file = openat(mount, "tool", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555);
  if (file >= 0) close(file);
  sys::MountAttr read_only{.set = sys::kAttrRdonly, .clear = 0, .propagation = 0, .userns_fd = 0};
  file = file >= 0 && write_image(mount) &&
                 sys::mount_setattr(mount, "", AT_EMPTY_PATH, &read_only) == 0
             ? openat(mount, "tool", O_RDONLY | O_CLOEXEC)
             : -1;
  g_image = file >= 0 ? openat(mount, "image", O_RDONLY | O_CLOEXEC) : -1;
  close(mount);
  return g_image >= 0 ? file : -1;
}

// The kernel changes the program's file only together with everything it knows of the memory's
// layout, so this reads the current layout.
bool layout_of_memory(prctl_mm_map& map) {
  char text[2048];
  const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return false;
  text[size] = '\0';
  char* at = strrchr(text, ')');
  if (!at) return false;
  at += 2;
  at = strchr(at, ' ');  // The state, field 3, is a letter.
  for (int field = 4; at && *at && field <= 51; ++field) {
    const unsigned long value = strtoul(at, &at, 10);
    switch (field) {  // See proc(5).
      case 26: map.start_code = value; break;
      case 27: map.end_code = value; break;
      case 28: map.start_stack = value; break;
      case 45: map.start_data = value; break;
      case 46: map.end_data = value; break;
      case 47: map.start_brk = value; break;
      case 48: map.arg_start = value; break;
      case 49: map.arg_end = value; break;
      case 50: map.env_start = value; break;
      case 51: map.env_end = value; break;
      default: break;
    }
  }
  map.brk = static_cast<unsigned long>(syscall(SYS_brk, 0));
  return map.env_end != 0;
}

}  // namespace

bool make_stand_in(int* stand_in, Failure& failure) {
  *stand_in = empty_program();
  return *stand_in >= 0 || fail(failure, Stage::program, 0);
}

bool leave_program_file(int stand_in, Failure& failure) {
  for (int i = 0; i < g_range_count; ++i)
    if (!replace(g_ranges[i], g_image)) return fail(failure, Stage::program, 2);
  close(g_image);
  prctl_mm_map map{};
  if (!layout_of_memory(map)) return fail(failure, Stage::program, 3);
  map.exe_fd = static_cast<unsigned>(stand_in);
  if (prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0) != 0)
    return fail(failure, Stage::program, 4);
  close(stand_in);
  return true;
}

}  // namespace brig::helper
