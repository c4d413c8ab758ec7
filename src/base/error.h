// Making errors: SysError captures errno before anything else can change it.
#pragma once

#include <brig/error.h>
#include <fmt/format.h>

#include <cerrno>
#include <string>

namespace brig {

// "Operation not permitted" and the like; thread-safe, unlike strerror.
std::string errno_text(int error);
// permission for EPERM/EACCES, resource for ENOMEM/EMFILE/ENFILE/EAGAIN/ENOSPC, unsupported for ENOSYS, else internal.
ErrorKind kind_of_errno(int error);

[[noreturn]] void throw_sys_error(int error, const std::string& doing);

// throw_sys("opening '{}'", path): errno is read first.
template <typename... Args>
[[noreturn]] void throw_sys(fmt::format_string<Args...> format, Args&&... args) {
  const int error = errno;
  throw_sys_error(error, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
[[noreturn]] void throw_error(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace brig
