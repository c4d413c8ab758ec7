// The paths that a policy lists: where each is on the host, and at which place the cell sees it.
// These functions work on text alone, except those that say that they look at the disk.
#pragma once

#include <brig/policy.h>

#include <string>
#include <string_view>
#include <vector>

namespace brig {

// An entry of files.read or a similar list. Both parts are as written; see normal_path().
struct ListedPath {
  std::string path;  // on the host
  std::string at;    // in the cell
};

// "/srv/data" is at the same place, "/srv/data:/data" at /data. "\:" is a colon that parts nothing.
ListedPath listed_path(std::string_view text);
// How many places the text names. More than one is a mistake.
std::size_t places_in(std::string_view text);
// The text from which listed_path() makes these two.
std::string listed_text(std::string_view path, std::string_view at = {});

// One entry of files.read or files.write, with normal paths.
struct ListedEntry {
  std::string path, at;
  bool writable = false;
  bool executable = true;
  bool is_moved() const { return path != at; }
};

// All listed entries, including the optional ones, sorted by place, so that parents come first. If
// two have one place, the readable one is kept.
std::vector<ListedEntry> listed_entries(const Files& files);

// The entry that shows what is at `place` (a normal path): the nearest one at or above it. Null: no
// listed entry shows it. `entries` are sorted.
const ListedEntry* entry_over(const std::vector<ListedEntry>& entries, std::string_view place);

// The places where listed entries show the host's `path`.
std::vector<std::string> places_of(const std::vector<ListedEntry>& entries, std::string_view path);

// The host's path behind a place at or below the entry.
std::string behind(const ListedEntry& entry, std::string_view place);

// Looks at the disk: optional paths that exist become listed ones, and the others are dropped, also
// from files.noexec.
// Throws Error if brig can't tell whether one exists, if a path goes through a symlink, or if
// validate() refuses the policy without the dropped paths.
Policy with_optional_settled(Policy policy);

// In files.protect, this stands for the names of protected_names().
inline constexpr std::string_view kProtectDefault = "@default";

// A name that "@default" stands for and that does not exist yet, so that nothing keeps a tool from
// making it.
struct MissingName {
  enum class Until {
    exists,
    // For .git: below a directory the names are protected one by one, but a file leads git
    // elsewhere.
    no_directory,
    // For HEAD: counts together with what makes its directory a repository without a work tree.
    git_directory,
  };
  std::string path;  // On the host, normal.
  Until until = Until::exists;
};
// Whether that name exists now. Looks at the disk. A symlink on the way counts as the name.
bool is_there(const MissingName& name);

struct ProtectedPaths {
  std::vector<std::string> present;  // On the host, normal. The cell keeps them read-only.
  std::vector<MissingName> missing;  // Names of "@default" that do not exist.
};
// Looks at the disk. `entries` are those of a policy whose optional paths are settled. Throws
// Error(config) for a path that no mount can keep.
ProtectedPaths protected_paths(const Files& files, const std::vector<ListedEntry>& entries);

}  // namespace brig
