// Presets: what common toolchains need in a cell, by name: `Policy::preset = {"node", "git"}`. A
// preset is a row of a table, which `brig presets` prints: files of the user that are readable,
// variables, and a cache for those who ask for it. A preset gives no network, no limit and no file
// that it does not list. No preset lists files that hold tokens or passwords.
#pragma once

#include <brig/policy.h>

#include <map>
#include <string>
#include <vector>

namespace brig {

struct Preset {
  std::string name, what;
  // "~/..." is below the host's HOME. A path is added to files.read if it exists, unless the policy
  // itself lists or hides it or a directory above it. A path that a symlink leads to is left out.
  std::vector<std::string> read;
  // Caches of the host, added in the same way, but not if network is `host` or the cache is shared:
  // a tool that can download needs a cache that it can write.
  std::vector<std::string> caches;
  // Added to environment.passthrough.
  std::vector<std::string> passthrough;
  // Added to environment.set, unless the policy itself names the variable.
  std::map<std::string, std::string> set;
  // As `set`, but not if network is `host`.
  std::map<std::string, std::string> offline;
  // As `set`, for "NAME:shared". Empty: this preset has no shared form. {cache} stands for a
  // directory of the user, $XDG_CACHE_HOME/brig/presets/NAME or ~/.cache/brig/presets/NAME, which
  // all cells with this preset can write. Without ":shared" the cache is in the cell's scratch
  // space and goes with it.
  std::map<std::string, std::string> shared;
  // Options that builds with this toolchain usually need too. Advice for people; brig does not
  // apply it.
  std::string limits;
};

// All presets. The reference holds for the life of the process.
[[nodiscard]] const std::vector<Preset>& presets();

// The policy with everything that its presets list, and with no preset names. Creates nothing on
// disk: the cache of "NAME:shared" is created when a cell is. Throws Error(config) for an unknown
// name.
[[nodiscard]] Policy with_presets(Policy policy);

}  // namespace brig
