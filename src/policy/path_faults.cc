// What is wrong with the paths of a policy.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "policy/fault_list.h"
#include "policy/listed_path.h"
#include "policy/paths.h"

namespace brig {
namespace {

constexpr std::size_t kMaxPaths = 1024;
constexpr std::size_t kMaxPathBytes = 4096;

// Turns "/a//b/" into {"b", "a"}: a stack whose top is the next component.
std::vector<std::string> reversed_components(std::string_view path) {
  std::vector<std::string> result;
  while (!path.empty()) {
    const std::size_t slash = path.find_last_of('/');
    const std::size_t start = slash == std::string_view::npos ? 0 : slash + 1;
    if (start < path.size()) result.emplace_back(path.substr(start));
    path = path.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
  return result;
}

// Checks the text alone, not the disk.
Reason path_text_fault(std::string_view path) {
  if (path.empty()) return "the path is empty; remove it or write one";
  if (path.size() > kMaxPathBytes) return fmt::format("longer than {} bytes", kMaxPathBytes);
  if (path.find('\0') != std::string_view::npos) return "a NUL byte is not allowed; remove it";
  if (path[0] != '/') return "not absolute; write the path from '/' on";
  for (const std::string& component : reversed_components(path)) {
    if (component == "..") return "'..' is not allowed; write the path without it";
    if (component == ".") return "'.' is not allowed; write the path without it";
  }
  return std::nullopt;
}

// Refuses places that a cell has of its own, or that hold the host's kernel and devices.
Reason reserved_fault(std::string_view normal) {
  if (is_at_or_below(normal, "/proc")) {
    return "the cell has a /proc of its own, and the host's shows the host's processes; remove it";
  }
  if (is_at_or_below(normal, "/sys")) return "/sys controls the host's kernel; remove it";
  if (is_at_or_below(normal, "/dev")) {
    return "the cell has a minimal /dev of its own, and the host's /dev would show the host's "
           "devices; "
           "remove it";
  }
  return std::nullopt;
}

Reason missing_fault(std::string_view path, const std::string& at, int error) {
  if (error == ENOENT && path.find_first_of("*?[") != std::string_view::npos) {
    return "no such path, and globs are not supported; list each path";
  }
  std::string reason = errno_text(error);
  if (at != normal_path(path)) reason += fmt::format(" at {}", in_quotes(at));
  if (error == ENOENT) reason += "; create it or remove it from the policy";
  if (error == ENOENT && path.find(':') != std::string_view::npos)
    reason += " (a place in the cell is written PATH:/PLACE)";
  return reason;
}

// Refuses the place of the cell's own workspace, where no other path can be.
Reason workspace_fault(std::string_view normal) {
  if (normal == "/workspace")
    return "the cell has a private workspace there; list another path, or one below it";
  return std::nullopt;
}

// Walks a path one lstat at a time. A symlink on the way is refused, whoever owns it: a cell that
// may write where it stands could point it elsewhere, and so write the next cell's policy. The
// mount itself does not follow symlinks either (root_mounts.cc), which closes the race; this check
// is for the message. `may_lack`: the path need not exist.
Reason walk(std::string_view path, mode_t& mode, bool may_lack = false) {
  std::string here;
  mode = S_IFDIR;
  std::vector<std::string> ahead = reversed_components(path);
  while (!ahead.empty()) {
    here += '/' + ahead.back();
    ahead.pop_back();
    if (Reason reason = reserved_fault(here)) return reason;
    struct stat status;
    if (::lstat(here.c_str(), &status) != 0) {
      if (may_lack && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
      return missing_fault(path, here, errno);
    }
    mode = status.st_mode;
    if (!S_ISLNK(mode)) continue;
    const std::unique_ptr<char, decltype(&::free)> real(
        ::realpath(std::string(path).c_str(), nullptr), ::free);
    return fmt::format("{} is a symlink, and those are not followed; list the real path{} instead",
                       in_quotes(here), real ? " " + in_quotes(real.get()) : "");
  }
  return std::nullopt;
}

Reason root_fault(std::string_view field) {
  if (field == "files.read" || field == "files.read_optional")
    return "gives the whole host to the cell; list what is needed";
  if (field == "files.write" || field == "files.write_optional")
    return "lets the cell write everywhere; list what is needed";
  if (field == "files.hide") return "would hide everything; list what is to be hidden";
  return "is the host itself; leave it out to use the host's system directories";
}

// Sets `mode` if nothing is wrong.
Reason host_path_fault(std::string_view field, std::string_view path, mode_t& mode,
                       bool may_lack = false) {
  if (Reason reason = path_text_fault(path)) return reason;
  if (normal_path(path) == "/") return root_fault(field);
  return walk(path, mode, may_lack);
}

// Checks a place in the cell that differs from the path on the host.
Reason place_fault(std::string_view place) {
  if (Reason reason = path_text_fault(place)) return reason;
  const std::string normal = normal_path(place);
  if (normal == "/") return "a path can't take the place of the cell's root; name a place below it";
  for (const std::string& name : reversed_components(normal))
    if (name.size() > NAME_MAX)
      return fmt::format("a name in it is longer than {} bytes", NAME_MAX);
  if (Reason reason = workspace_fault(normal)) return reason;
  for (const char* taken : {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc",
                            "/proc", "/sys", "/dev"})
    if (is_at_or_below(normal, taken))
      return fmt::format("the cell has the system's {} there; name another place", taken);
  if (normal.starts_with("/.brig")) return "brig uses that place itself; name another";
  return std::nullopt;
}

// Checks an entry of files.read, files.write, or their optional forms.
Reason listed_fault(std::string_view field, const std::string& text, bool may_lack) {
  const ListedPath listed = listed_path(text);
  mode_t mode = 0;
  if (places_in(text) == 0) {
    if (Reason reason = host_path_fault(field, listed.path, mode, may_lack)) return reason;
    return workspace_fault(normal_path(listed.path));
  }
  if (places_in(text) > 1)
    return "there is more than one ':/' in it; write '\\:' for those that are part of a name";
  if (Reason reason = host_path_fault(field, listed.path, mode, may_lack)) return reason;
  // Whoever may choose a file name could make the entry mean another path than its author meant.
  struct stat status;
  if (::lstat((listed.path + ":" + listed.at).c_str(), &status) == 0)
    return "there is a path of that very name, too; write '\\:' for each ':' if you mean that one, "
           "or rename it";
  if (normal_path(listed.path) == normal_path(listed.at))
    return workspace_fault(normal_path(listed.path));
  return place_fault(listed.at);
}

// Each entry is correct by itself; this checks all of them together.
void find_clashes(Faults& faults, const Files& files) {
  const std::vector<ListedEntry> entries = listed_entries(files);
  const bool any_moved = std::any_of(entries.begin(), entries.end(),
                                     [](const ListedEntry& each) { return each.is_moved(); });
  const auto each_listed = [&](const auto& body) {
    for (const auto& [field, list] : {std::pair{"files.write", &files.write},
                                      std::pair{"files.write_optional", &files.write_optional},
                                      std::pair{"files.read", &files.read},
                                      std::pair{"files.read_optional", &files.read_optional}})
      for (std::size_t i = 0; i < list->size(); ++i) {
        const ListedPath listed = listed_path((*list)[i]);
        const Reason reason = body(ListedEntry{normal_path(listed.path), normal_path(listed.at),
                                               std::string_view(field).starts_with("files.write")});
        note_fault(faults, field, std::to_string(i), (*list)[i], reason);
      }
  };
  std::map<std::string, std::string> at;
  each_listed([&](const ListedEntry& entry) -> Reason {
    const auto [found, is_new] = at.emplace(entry.at, entry.path);
    if (is_new || found->second == entry.path) return std::nullopt;
    return fmt::format("{} is at that place already; name another", in_quotes(found->second));
  });
  each_listed([&](const ListedEntry& entry) -> Reason {
    for (const std::string& each : files.hide)
      if (const std::string hidden = normal_path(each);
          entry.path != hidden && is_at_or_below(entry.path, hidden))
        return fmt::format("files.hide hides it with {}; take one of the two out",
                           in_quotes(hidden));
    if (entry.writable || !any_moved) return std::nullopt;
    for (const std::string& place : places_of(entries, entry.path))
      if (const ListedEntry* over = entry_over(entries, place); over->writable)
        return fmt::format(
            "it can be written at {}, through {} of files.write; list it there, or name it in "
            "files.protect",
            in_quotes(place), in_quotes(over->path));
    return std::nullopt;
  });
}

// For a path of the host in a list whose entries may be at any place in the cell.
Reason other_place_fault(const std::vector<ListedEntry>& entries, const std::string& path) {
  const ListedEntry* over = entry_over(entries, normal_path(path));
  if (!over || !over->is_moved()) return std::nullopt;
  return fmt::format(
      "the cell shows the host's {} at that path; name the path that it has on the host",
      in_quotes(behind(*over, normal_path(path))));
}

Reason noexec_fault(const std::vector<ListedEntry>& entries, const std::string& path) {
  if (Reason reason = path_text_fault(path)) return reason;
  const std::string normal = normal_path(path);
  if (std::any_of(entries.begin(), entries.end(),
                  [&](const ListedEntry& each) { return each.path == normal; })) {
    for (const std::string& place : places_of(entries, normal))
      if (const ListedEntry* over = entry_over(entries, place); over->executable)
        return fmt::format("it can be executed at {}, through {}; name that one, too",
                           in_quotes(place), in_quotes(over->path));
    return std::nullopt;
  }
  if (Reason reason = other_place_fault(entries, path)) return reason;
  return "files.read and files.write do not list it; list it there, too";
}

Reason protect_fault(const std::vector<ListedEntry>& entries, const std::string& path) {
  if (path == kProtectDefault) return std::nullopt;
  if (path.starts_with('@'))
    return fmt::format("not a list of names; use \"{}\", or an absolute path", kProtectDefault);
  mode_t mode = 0;
  const std::string normal = normal_path(path);
  if (Reason reason = path_text_fault(path)) return reason;
  if (Reason reason = other_place_fault(entries, path)) return reason;
  if (Reason reason = host_path_fault("files.protect", path, mode)) {
    if (reason->find(errno_text(ENOENT)) != std::string::npos)
      return "it does not exist, and a tool can't be kept from making it; create it, or list less "
             "in "
             "files.write";
    return reason;
  }
  bool is_writable = false;
  for (const ListedEntry& each : entries) {
    if (each.writable && each.path == normal)
      return "files.write lists it; list it in files.read instead";
    is_writable |= each.writable && is_at_or_below(normal, each.path);
  }
  if (!is_writable)
    return "no path of files.write is above it, so nothing can write there; remove it";
  return std::nullopt;
}

}  // namespace

void find_file_faults(Faults& faults, const Files& files) {
  std::size_t count = 0;
  mode_t mode = 0;
  const std::size_t before = faults.size();
  const auto each = [&](const char* field, const std::vector<std::string>& list,
                        const auto& judge) {
    if (count > kMaxPaths) return;
    count += list.size();
    if (count > kMaxPaths) {
      faults.push_back(
          {field, {}, fmt::format("more than {} paths in all; list their directories", kMaxPaths)});
      return;
    }
    for (std::size_t i = 0; i < list.size(); ++i)
      note_fault(faults, field, std::to_string(i), list[i], judge(list[i]));
  };
  const auto listed = [&](const char* field, const std::vector<std::string>& list, bool may_lack) {
    each(field, list, [&](const std::string& text) { return listed_fault(field, text, may_lack); });
  };
  listed("files.read", files.read, false);
  listed("files.write", files.write, false);
  each("files.hide", files.hide, [&](const std::string& path) {
    Reason reason = host_path_fault("files.hide", path, mode);
    return reason ? reason : workspace_fault(normal_path(path));
  });
  listed("files.read_optional", files.read_optional, true);
  listed("files.write_optional", files.write_optional, true);
  if (count > kMaxPaths) return;
  const std::vector<ListedEntry> entries = listed_entries(files);
  each("files.noexec", files.noexec,
       [&](const std::string& path) { return noexec_fault(entries, path); });
  each("files.protect", files.protect,
       [&](const std::string& path) { return protect_fault(entries, path); });
  // Further checks make sense only for paths that are correct themselves.
  if (faults.size() == before && !entries.empty()) {
    find_clashes(faults, files);
    for (std::size_t i = 0; i < files.hide.size(); ++i)
      note_fault(faults, "files.hide", std::to_string(i), files.hide[i],
                 other_place_fault(entries, files.hide[i]));
  }
  if (!files.working_directory.empty()) {
    note_fault(faults, "files.working_directory", {}, files.working_directory,
               path_text_fault(files.working_directory));
  }
  if (!files.root.empty()) {
    Reason reason = host_path_fault("files.root", files.root, mode);
    if (!reason && !S_ISDIR(mode)) reason = "not a directory; name the one that holds usr";
    note_fault(faults, "files.root", {}, files.root, reason);
  }
}

bool can_be_read(const std::string& path) {
  mode_t mode = 0;
  return !host_path_fault("files.read", path, mode);
}

}  // namespace brig
