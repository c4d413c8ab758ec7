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
// Error where it can't be told, where a path goes through a symlink, or where the policy without those that were dropped is none
// that validate() takes.
Policy with_optional_settled(Policy policy);

// Stands in files.protect for the names of protected_names().
inline constexpr std::string_view kProtectDefault = "@default";

// A name that "@default" stands for, and that is not there: nothing keeps a tool from making it.
struct MissingName {
  enum class Until {
    exists,
    no_directory,   // .git: below one there are names of their own, but a file leads git elsewhere
    git_directory,  // HEAD: with what makes its directory a repository without a work tree
  };
  std::string path;  // of the host, normal
  Until until = Until::exists;
};
// Looks at the disk. A symlink in the way of it counts for it.
bool is_there(const MissingName& name);

struct ProtectedPaths {
  std::vector<std::string> present;  // of the host, normal: they are kept
  std::vector<MissingName> missing;  // of "@default"
};
// Looks at the disk. `entries` are those of a settled policy. Throws Error(config) for one that no mount can keep.
ProtectedPaths protected_paths(const Files& files, const std::vector<ListedEntry>& entries);

}  // namespace brig
