// Presets: what common toolchains need in a cell, by name: `Policy::preset = {"node", "git"}`. A preset is a row of a
// table, which `brig presets` prints: files of the user's that are read, variables, and, if one asks for it, a cache.
// It gives no network, no limit and no file that it does not list; files that hold tokens or passwords are in none.
#pragma once

#include <brig/policy.h>

#include <map>
#include <string>
#include <vector>

namespace brig {

struct Preset {
  std::string name, what;
  // "~/..." is below the host's HOME. Added to files.read if it is there, unless the policy itself lists or hides it
  // or something above it. Where a symlink leads to it, it is left out.
  std::vector<std::string> read;
  // The same for caches of the host's, unless network is `host` or the cache is shared: a tool that can download needs
  // one that it can write.
  std::vector<std::string> caches;
  std::vector<std::string> passthrough;  // added to environment.passthrough
  // Added to environment.set, unless the policy itself names the variable.
  std::map<std::string, std::string> set;
  std::map<std::string, std::string> offline;  // the same, unless network is `host`
  // The same for "NAME:shared". {cache} is a directory of the user's that all cells with this word can write:
  // $XDG_CACHE_HOME/brig/presets/NAME or ~/.cache/brig/presets/NAME. Without the word a cache is the cell's own, in its
  // scratch space, and is gone with it. Empty: there is no such word.
  std::map<std::string, std::string> shared;
  std::string
      limits;  // options that its builds mostly want besides: words for people, nothing that is applied
};

const std::vector<Preset>& presets();

// The policy that this one stands for: with what its presets list, and without their names. Makes nothing: the cache
// of "NAME:shared" is made when a cell is. Throws Error(config) for a name that there is not.
Policy with_presets(Policy policy);

}  // namespace brig
