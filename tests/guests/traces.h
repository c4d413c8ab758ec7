// What the attacks on rooms share: leaving something (leave.c) and looking for it (traces.c). Both are
// guests, and are linked into the test, whose functions call them in their cells.
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

// Leaves something behind in one way. 0: it did what it could; 2: there is no such way. `place` is a
// directory of the host's that the cell may read, or "".
int leave_behind(const char* way, const char* place);

// Writes all that a process can observe of its room, in a form that is the same in each fresh room: no
// numbers that only count on (of processes, inodes, System V objects, mounts), no moments. A line that
// begins with "time " has the last moment, in nanoseconds, at which a directory changed: the host knows
// which are too late.
void print_traces(FILE* out, const char* place);

// Writes a line that differs between any two rooms, and is the same for all calls in one.
__attribute__((unused)) static void print_room(FILE* out) {
  struct statx info;
  const unsigned kUniqueMount = 0x4000;  // Since Linux 6.8; before that the number is used again.
  if (statx(AT_FDCWD, "/tmp", AT_SYMLINK_NOFOLLOW, STATX_BTIME | kUniqueMount, &info) != 0) return;
  unsigned long long mount;
  memcpy(&mount, (const char*)&info + 0x90, sizeof mount);  // stx_mnt_id
  fprintf(out, "room %llu on %u:%u made %lld.%09u\n", mount, info.stx_dev_major, info.stx_dev_minor,
          (long long)info.stx_btime.tv_sec, info.stx_btime.tv_nsec);
  fflush(out);
}

// Bytes that a call leaves in its memory; here they are inverted, so that no program holds them.
enum { kMarkSize = 24 };
__attribute__((unused)) static const unsigned char kInvertedMark[kMarkSize] = {
    0x9e, 0x8c, 0xdf, 0x93, 0x9a, 0x99, 0x8b, 0xdf, 0x9d, 0x86, 0xdf, 0x9e,
    0x91, 0x90, 0x8b, 0x97, 0x9a, 0x8d, 0xdf, 0x9c, 0x9e, 0x93, 0x93, 0xde};

#ifdef __cplusplus
}
#endif
