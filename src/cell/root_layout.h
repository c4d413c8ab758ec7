// What the root file system of a jail holds: the system, read-only, and what the policy lists.
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
  // directory: permissions; device: major << 8 | minor; held: which
  std::uint32_t mode = 0;
  int id_map = -1;
};

struct RootLayout {
  std::vector<LayoutStep> steps;
  std::vector<IdMap> id_maps;
  // Parts of the cell's scratch space: name, and where it is mounted.
  std::vector<std::pair<std::string, std::string>> scratch;
  // Listed paths below a scratch part: a cell's private mounts would cover them, so the zygote keeps
  // them aside and each cell puts them on top, with all that is below them. (aside, target)
  std::vector<std::pair<std::string, std::string>> late;
  // Places that must have a mount on them whenever a cell is made. `kept`, by files.protect, and `needed`: and that must exist.
  std::vector<std::string> kept, needed, guards;
  // Of what files.protect "@default" names: it can't be kept.
  std::vector<MissingName> missing;
};

inline constexpr const char* kWorkspace = "/workspace";
inline constexpr const char* kAside = "/.brig";

// The files and directories of /etc that every cell may read, where they exist: what programs need to
// run. The jail mounts or copies them; the landlock floor allows them.
std::vector<std::string> shared_etc();

// Whether a layout as root would have id maps, as far as one can see before it is made. `files` are settled.
bool needs_id_maps(const Files& files);

// `home` gets a private directory. With `as_root` writable paths, and files that only their owner can read,
// are id-mapped to their owners. With
// `for_zygote` what is kept aside for the cells is in its place, too, until a cell covers it.
// Reads the host's directory tree (which links /bin is, what files.root holds); throws Error.
// The policy's optional paths are settled. `held`: listed files whose bytes come with the plan, and are not mounted.
RootLayout root_layout(const Policy& policy, const std::string& home, bool as_root,
                       bool for_zygote = false, const std::vector<std::string>& held = {});

}  // namespace brig
