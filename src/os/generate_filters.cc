// Build-time program: writes the default filters as C++ arrays to standard output, so that no cell
// waits for libseccomp to compute them again.
#include <cstdio>

#include "os/seccomp.h"

namespace {

void print(const char* name, const brig::FilterProgram& program) {
  std::printf("constexpr std::uint64_t %s[] = {\n", name);
  for (const std::uint64_t instruction : program)
    std::printf("    0x%016llxu,\n", static_cast<unsigned long long>(instruction));
  std::printf("};\n");
}

}  // namespace

int main() {
  print("kFilter", brig::build_filter({}));
  print("kLockFilter", brig::build_lock_filter({}));
  print("kLockFilterInet",
        brig::build_lock_filter({.inet = true, .shares_host = false, .allow = {}, .deny = {}}));
}
