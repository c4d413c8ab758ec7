// The smallest user of the installed library: prints the exit code of /bin/true.
#include <brig/brig.h>

#include <cstdio>

int main() {
  try {
    const brig::Report report = brig::run({.argv = {"/bin/true"}});
    if (!report.exit_code) {
      std::fprintf(stderr, "%s: %s\n", brig::to_string(report.outcome), report.message.c_str());
      return 1;
    }
    std::printf("%d\n", *report.exit_code);
    return 0;
  } catch (const brig::Error& error) {
    // Caught by its type, across the library's edge: its typeinfo must be exported.
    std::fprintf(stderr, "%s: %s\n", brig::to_string(error.kind()), error.what());
    return 2;
  }
}
