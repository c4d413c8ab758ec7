// The paths that a policy lists: where each is on the host, and at which place the cell sees it. Text only, but for the functions
// that say that they look at the disk.
#pragma once

#include <brig/policy.h>

#include <string>
#include <string_view>
#include <vector>

namespace brig {

// An entry of files.read and its like. Both are as they were written; see normal_path().
struct ListedPath {
  std::string path;  // on the host
  std::string at;    // in the cell
};

// "/srv/data" is at the same place, "/srv/data:/data" at /data. "\:" is a colon that parts nothing.
ListedPath listed_path(std::string_view text);
// How many places it names: one at most, or it is a mistake.
std::size_t places_in(std::string_view text);
// The text that listed_path() makes these of.
std::string listed_text(std::string_view path, std::string_view at = {});

// One of files.read or files.write, normal.
struct ListedEntry {
  std::string path, at;
  bool writable = false;
  bool executable = true;
  bool is_moved() const { return path != at; }
};

// Everything that is listed, sorted by place, so that parents come first; the optional ones too. Two at one place: the readable one.
std::vector<ListedEntry> listed_entries(const Files& files);

// The entry that shows what is at `place` (normal): the nearest at or above it. Null: no listed one does. `entries` are sorted.
const ListedEntry* entry_over(const std::vector<ListedEntry>& entries, std::string_view place);

// Where the cell sees the host's `path`, as far as listed entries show it.
std::vector<std::string> places_of(const std::vector<ListedEntry>& entries, std::string_view path);

// The host's path behind a place at or below the entry.
std::string behind(const ListedEntry& entry, std::string_view place);

// Looks at the disk: what is there of the optional paths is listed from now on as the others are, the rest is dropped. Throws
// Error where it can't be told, or where a path goes through a symlink.
Policy with_optional_settled(Policy policy);

// Stands in files.protect for the names of protected_names().
inline constexpr std::string_view kProtectDefault = "@default";

struct ProtectedPaths {
  std::vector<std::string> present;     // of the host, normal: they are kept
  std::vector<std::string> by_default;  // all that "@default" names, there or not
};
// Looks at the disk. `entries` are those of a settled policy. Throws Error(config) for one that no mount can keep.
ProtectedPaths protected_paths(const Files& files, const std::vector<ListedEntry>& entries);

// Looks at the disk: which of them are not there. A symlink in the way of one counts for it.
std::vector<std::string> absent_of(const std::vector<std::string>& paths);

}  // namespace brig
