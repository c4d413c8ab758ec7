// What the root file system of a jail holds: the system, read-only, and the paths that the policy
// lists.
#pragma once

#include <brig/policy.h>

#include <cstdint>
#include <string>
#include <vector>

#include "policy/listed_path.h"
#include "wire/plan.h"

namespace brig {

struct LayoutStep {
  RootOp op;
  std::string source, target;
  std::uint32_t flags = 0;
  // For a directory: its permissions. For a device: major << 8 | minor. For a held file: its index.
  std::uint32_t mode = 0;
  int id_map = -1;
};

struct RootLayout {
  std::vector<LayoutStep> steps;
  std::vector<IdMap> id_maps;
  // Parts of the cell's scratch space: the name, and where it is mounted.
  std::vector<std::pair<std::string, std::string>> scratch;
  // Listed paths below a scratch part. A cell's private mounts would cover them, so the zygote
  // keeps them aside, and each cell puts them on top with everything that is below them. Pairs:
  // (aside, target).
  std::vector<std::pair<std::string, std::string>> late;
  // Places that must have a mount on them whenever a cell is made: `kept` by files.protect,
  // `needed` (which must also exist), and `guards`.
  std::vector<std::string> kept, needed, guards;
  // Names of files.protect "@default" that can't be kept.
  std::vector<MissingName> missing;
};

inline constexpr const char* kWorkspace = "/workspace";
inline constexpr const char* kAside = "/.brig";

// The files and directories of /etc that every cell may read, where they exist, because programs
// need them to run. The jail mounts or copies them; the landlock floor allows them.
std::vector<std::string> shared_etc();

// Whether a layout made as root would have id maps, as far as one can see before it is made.
// `files` are settled.
bool needs_id_maps(const Files& files);

// Makes the layout. It reads the host's directory tree (which links /bin is, what files.root holds)
// and throws Error. The policy's optional paths are settled. `home` gets a private directory. With
// `as_root`, writable paths and files that only their owner can read are id-mapped to their owners.
// With `for_zygote`, what is kept aside for the cells is also in its place, until a cell covers it.
// `held`: listed files whose bytes come with the plan and which are not mounted.
RootLayout root_layout(const Policy& policy, const std::string& home, bool as_root,
                       bool for_zygote = false, const std::vector<std::string>& held = {});

}  // namespace brig
