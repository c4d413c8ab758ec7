// Runs files, or all files of folders, through a fuzz target: what was found once is tried for ever. Usage: corpus TARGET PATH...

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support.h"

// Every target's LLVMFuzzerTestOneInput, renamed when compiled for here.
#define TARGET(name) extern "C" int name##_input(const std::uint8_t* data, std::size_t size);
#include "targets.inc"
#undef TARGET

namespace {

namespace fs = std::filesystem;

struct Target {
  std::string_view name;
  int (*run)(const std::uint8_t*, std::size_t);
};
constexpr Target kTargets[] = {
#define TARGET(name) {#name, name##_input},
#include "targets.inc"
};

void run(const Target& target, const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  // Of a crash this is the last line.
  std::printf("%s\n", file.c_str());
  std::fflush(stdout);
  // On the heap, and no longer than it is: what is read beyond its end is found.
  const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
  target.run(exact.data(), exact.size());
}

}  // namespace

int main(int argc, char** argv) {
  const auto* const target =
      std::find_if(std::begin(kTargets), std::end(kTargets),
                   [&](const Target& each) { return argc > 2 && each.name == argv[1]; });
  if (target == std::end(kTargets)) {
    std::fprintf(stderr, "usage: corpus TARGET PATH...\n");
    return 2;
  }
  std::vector<fs::path> files;
  for (int i = 2; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) {
      files.emplace_back(argv[i]);
      continue;
    }
    for (const auto& each : fs::directory_iterator(argv[i])) files.push_back(each.path());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    std::fprintf(stderr, "corpus: there is nothing in it\n");
    return 1;
  }
  for (const fs::path& each : files) run(*target, each);
  std::printf("%zu inputs\n", files.size());
}
