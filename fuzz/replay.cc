// Runs inputs through a fuzz target: what was found once is tried for ever. An input is a file, a file of a folder, or a file in a
// pack: a tar archive, named *.tar. Usage: corpus TARGET PATH...

#include <algorithm>
#include <cstdlib>
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

struct Input {
  std::string name, bytes;
};

std::string bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void run(const Target& target, const Input& input) {
  // Of a crash this is the last line.
  std::printf("%s\n", input.name.c_str());
  std::fflush(stdout);
  // On the heap, and no longer than it is: what is read beyond its end is found.
  const std::vector<std::uint8_t> exact(input.bytes.begin(), input.bytes.end());
  target.run(exact.data(), exact.size());
}

// The files of a pack, as scripts/fuzz writes it: ustar, with plain files only. False: it is another archive, or cut off.
bool unpack(const fs::path& pack, std::vector<Input>& inputs) {
  constexpr std::size_t kBlock = 512, kSizeAt = 124, kTypeAt = 156, kMagicAt = 257;
  const std::string archive = bytes_of(pack);
  std::size_t at = 0;
  for (; at + kBlock <= archive.size() && archive[at] != '\0'; at += kBlock) {
    const char* const header = archive.data() + at;
    const std::size_t size = std::strtoull(header + kSizeAt, nullptr, 8);
    if (std::string_view(header + kMagicAt, 5) != "ustar" || header[kTypeAt] != '0' ||
        size > archive.size() - at - kBlock)
      return false;
    inputs.push_back({pack.string() + ": " + header, archive.substr(at + kBlock, size)});
    at += (size + kBlock - 1) / kBlock * kBlock;
  }
  return at + kBlock <= archive.size();  // its end is a block of zeros
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
  std::vector<Input> inputs;
  for (const fs::path& each : files) {
    if (each.extension() != ".tar") {
      inputs.push_back({each, bytes_of(each)});
    } else if (!unpack(each, inputs)) {
      std::fprintf(stderr, "corpus: %s is no pack that scripts/fuzz has made\n", each.c_str());
      return 1;
    }
  }
  if (inputs.empty()) {
    std::fprintf(stderr, "corpus: there is nothing in it\n");
    return 1;
  }
  for (const Input& each : inputs) run(*target, each);
  std::printf("%zu inputs\n", inputs.size());
}
