// Reading much data at once into memory that nobody has touched yet.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>

namespace brig {

// Maps all pages of the memory at once, because one fault per page takes longer. Kernels before
// 5.14 can't do it.
inline void touch(char* memory, std::size_t size) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t skip = (page - reinterpret_cast<std::uintptr_t>(memory) % page) % page;
  if (size >= skip + page) madvise(memory + skip, (size - skip) / page * page, MADV_POPULATE_WRITE);
}

// Appends the next `size` bytes of a pipe or file. False if the data ends before that, or on an
// error with errno set.
inline bool append_from(int file, std::string& text, std::size_t size) {
  std::size_t at = text.size();
  text.reserve(at + size + 1);
  touch(text.data() + at, size);
  text.resize(at + size);
  while (at < text.size()) {
    const ssize_t count = read(file, text.data() + at, text.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    at += static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace brig
