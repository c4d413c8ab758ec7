// A program of the build: writes the default filters as C++ arrays to standard output, so that no
// cell waits for libseccomp to compute them again.
#include <cstdio>
#include <string>

#include "policy/seccomp.h"

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
  for (const char* kind : {"", "Inet", "Room"})
    for (const bool counts : {false, true}) {
      brig::FilterRules rules;
      rules.inet = std::string(kind) == "Inet";
      rules.keeps_room = std::string(kind) == "Room";
      rules.counts_memory = counts;
      print((std::string("kLockFilter") + kind + (counts ? "Counting" : "")).c_str(),
            brig::build_lock_filter(rules));
    }
}
