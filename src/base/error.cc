#include "base/error.h"

#include <cerrno>
#include <cstring>

namespace brig {

const char* to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::config: return "config";
    case ErrorKind::unsupported: return "unsupported";
    case ErrorKind::permission: return "permission";
    case ErrorKind::resource: return "resource";
    case ErrorKind::internal: return "internal";
  }
  return "internal";
}

std::string errno_text(int error) {
  // The C library's text, "Too many references: cannot splice", names the wrong cause.
  if (error == ETOOMANYREFS)
    return "this user's processes are sending each other more descriptors than ulimit -n allows";
  char buffer[128];
  return strerror_r(error, buffer, sizeof buffer);
}

ErrorKind kind_of_errno(int error) {
  switch (error) {
    case EPERM:
    case EACCES: return ErrorKind::permission;
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EAGAIN:
    case ENOSPC: return ErrorKind::resource;
    case ENOSYS: return ErrorKind::unsupported;
    default: return ErrorKind::internal;
  }
}

void throw_sys_error(int error, const std::string& doing) {
  throw Error(kind_of_errno(error), doing + ": " + errno_text(error));
}

}  // namespace brig
