// What the attacking guests share. Each attempt prints one line, `name: refused EPERM` or
// `name: SUCCEEDED`; the guest's exit code is 0 only if all went as it should.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static int guest_failed;

static inline const char* error_name(int error) {
  const char* name = strerrorname_np(error);
  return name ? name : "unknown error";
}

// The attempt must have failed: -1 and errno.
__attribute__((unused)) static void refused(const char* name, long result) {
  const int error = errno;
  if (result == -1) {
    printf("%s: refused %s\n", name, error_name(error));
  } else {
    printf("%s: SUCCEEDED\n", name);
    guest_failed = 1;
  }
  fflush(stdout);
}

// The attempt must have failed with one of two errors: another one would mean that it got further.
__attribute__((unused)) static void refused_with(const char* name, long result, int a, int b) {
  const int error = errno;
  if (result == -1 && error != a && error != b) {
    printf("%s: WRONG ERROR %s\n", name, error_name(error));
    fflush(stdout);
    guest_failed = 1;
    return;
  }
  errno = error;
  refused(name, result);
}

// A control: what must work, so that a refusal beside it means something.
__attribute__((unused)) static void works(const char* name, long result) {
  if (result == -1) {
    printf("%s: FAILED %s\n", name, error_name(errno));
    guest_failed = 1;
  } else {
    printf("%s: works\n", name);
  }
  fflush(stdout);
}

// A fact that must hold.
__attribute__((unused)) static void holds(const char* name, int fact) {
  printf("%s: %s\n", name, fact ? "holds" : "BROKEN");
  fflush(stdout);
  if (!fact) guest_failed = 1;
}

__attribute__((unused)) static long open_for_reading(const char* path) {
  const int fd = open(path, O_RDONLY | O_NONBLOCK);
  if (fd < 0) return -1;
  char byte;
  const long got = read(fd, &byte, 1);
  const int error = errno;
  close(fd);
  errno = error;
  if (got == 0) {  // a mask: there, and empty
    errno = ENODATA;
    return -1;
  }
  return got < 0 ? -1 : 0;
}

__attribute__((unused)) static long open_for_writing(const char* path) {
  const int fd = open(path, O_WRONLY);
  if (fd >= 0) close(fd);
  return fd;
}

// Writes `text` to `path`, which must exist.
__attribute__((unused)) static long write_text(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY);
  if (fd < 0) return -1;
  const long got = write(fd, text, strlen(text));
  const int error = errno;
  close(fd);
  errno = error;
  return got;
}

__attribute__((unused)) static int is(const char* a, const char* b) { return strcmp(a, b) == 0; }
