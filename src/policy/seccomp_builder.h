// Builds a filter with libseccomp. Only for seccomp.cc.
#pragma once

#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>
#include <memory>

#include "base/error.h"
#include "base/fd.h"
#include "policy/seccomp.h"

namespace brig {

class FilterBuilder {
 public:
  explicit FilterBuilder(std::uint32_t default_action) : context_(seccomp_init(default_action)) {
    if (!context_) throw Error(ErrorKind::resource, "seccomp: seccomp_init: out of memory");
    check(seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2),
          "optimize");  // a binary tree
    check(seccomp_attr_set(context_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)),
          "bad_arch");
    check(seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_NNP, 0), "no_new_privs");
  }

  // A name that this architecture does not have needs no rule.
  void rule(std::uint32_t action, const char* name, std::initializer_list<scmp_arg_cmp> args = {}) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number < 0) return;
    rule(action, number, name, args);
  }
  void rule(std::uint32_t action, int number, const char* name,
            std::initializer_list<scmp_arg_cmp> args = {}) {
    check(seccomp_rule_add_array(context_.get(), action, number, static_cast<unsigned>(args.size()),
                                 args.begin()),
          name);
  }

  FilterProgram take() {
    UniqueFd file(memfd_create("brig-filter", MFD_CLOEXEC));
    if (!file) throw_sys("seccomp: memfd_create");
    check(seccomp_export_bpf(context_.get(), file.get()), "export");
    const off_t size = lseek(file.get(), 0, SEEK_END);
    FilterProgram program(static_cast<std::size_t>(size) / sizeof(std::uint64_t));
    if (pread(file.get(), program.data(), static_cast<std::size_t>(size), 0) != size)
      throw_sys("seccomp: reading the program");
    return program;
  }

 private:
  static void check(int result, const char* what) {
    if (result < 0) throw_error(ErrorKind::internal, "seccomp: {}: {}", what, errno_text(-result));
  }
  struct Release {
    void operator()(void* context) const { seccomp_release(context); }
  };
  std::unique_ptr<void, Release> context_;
};

}  // namespace brig
