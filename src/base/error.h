// Making errors: SysError captures errno before anything else can change it.
#pragma once

#include <brig/error.h>
#include <fmt/format.h>

#include <cerrno>
#include <string>

namespace brig {

// "Operation not permitted" and the like; thread-safe, unlike strerror.
std::string errno_text(int error);
// `permission` for EPERM and EACCES; `resource` for ENOMEM, EMFILE, ENFILE, EAGAIN and ENOSPC;
// `unsupported` for ENOSYS; `internal` for all others.
ErrorKind kind_of_errno(int error);

// Throws Error with the kind of `error` and the message "doing: reason".
[[noreturn]] void throw_sys_error(int error, const std::string& doing);

// The same for errno: throw_sys("opening '{}'", path). Reads errno before it formats the message.
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
