#include "policy/listed_path.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "os/open_below.h"
#include "policy/paths.h"

namespace brig {
namespace {

// The position of the first ':' that separates a path from its place. npos: there is none.
std::size_t parting(std::string_view text) {
  for (std::size_t at = 0; at + 1 < text.size(); ++at)
    if (text[at] == ':' && text[at + 1] == '/' && (at == 0 || text[at - 1] != '\\')) return at;
  return std::string_view::npos;
}

std::string without_escapes(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && at + 1 < text.size() && text[at + 1] == ':') ++at;
    result += text[at];
  }
  return result;
}

// Escapes each colon that would separate, and each colon after a backslash, which would otherwise
// lose it.
std::string with_escapes(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool parts = at + 1 < text.size() && text[at + 1] == '/';
    if (text[at] == ':' && (parts || (at > 0 && text[at - 1] == '\\'))) result += '\\';
    result += text[at];
  }
  return result;
}

std::string rest_of(std::string_view path, std::string_view directory) {
  return std::string(path.substr(directory == "/" ? 0 : directory.size()));
}

// Files that tools of the host run or obey without being asked: git, shells, direnv, editors,
// agents, package managers. A directory is kept with everything below it. Two of git's,
// .git/config.worktree and .git/commondir, lead git to another configuration if a tool makes them.
constexpr std::string_view kProtectedNames[] = {
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".gitconfig",
    ".gitmodules",
    ".husky",
    ".pre-commit-config.yaml",
    ".envrc",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".profile",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    ".cshrc",
    ".kshrc",
    ".login",
    ".tcshrc",
    ".config/fish",
    ".config/autostart",
    ".config/systemd",
    ".ssh",
    ".vscode",
    ".idea",
    ".devcontainer",
    ".exrc",
    ".vimrc",
    ".npmrc",
    ".yarnrc.yml",
    ".mcp.json",
    ".claude",
    ".codex",
    ".cursor",
    ".cursorrules",
    ".gemini",
    ".windsurfrules",
    ".clinerules",
    "AGENTS.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    ".github/copilot-instructions.md",
};

constexpr std::string_view kBelowGit = ".git/";

enum class Found { absent, there, link };

// Follows no symlink on the way. A symlink at the end can itself be kept.
Found look_for(const std::string& path, struct stat& info) {
  const UniqueFd fd(open_below(AT_FDCWD, path.c_str(), {.flags = O_PATH | O_NOFOLLOW}));
  if (fd && fstat(fd.get(), &info) == 0) return S_ISLNK(info.st_mode) ? Found::link : Found::there;
  if (errno == ENOENT || errno == ENOTDIR) return Found::absent;
  if (errno == ELOOP)
    throw_error(ErrorKind::config,
                "policy: files.protect: '{}' goes through a symlink, which a tool could replace: "
                "list the real paths to protect instead of \"{}\"",
                path, kProtectDefault);
  throw_sys("policy: files.protect: looking at '{}'", path);
}

bool exists(const std::string& path) {
  const UniqueFd fd(open_below(AT_FDCWD, path.c_str(), {.flags = O_PATH | O_NOFOLLOW}));
  return fd || (errno != ENOENT && errno != ENOTDIR);
}

// As git decides it: the directory is a repository itself, or a file in it says where the other
// half is.
bool is_git_directory(const std::string& base) {
  return exists(base + "/HEAD") &&
         (exists(base + "/commondir") || (exists(base + "/objects") && exists(base + "/refs")));
}

void look_for_defaults(const std::string& directory, ProtectedPaths& found) {
  struct stat info;
  const std::string base = directory == "/" ? "" : directory;
  const auto look_at = [&](std::string path) {
    if (look_for(path, info) != Found::absent)
      found.present.push_back(std::move(path));
    else
      found.missing.push_back({std::move(path)});
  };
  for (const std::string_view name : kProtectedNames) look_at(fmt::format("{}/{}", base, name));
  // In a worktree or a submodule, .git is a file that says where the repository is.
  const Found git = look_for(base + "/.git", info);
  if (git == Found::absent || (git == Found::there && S_ISDIR(info.st_mode)))
    found.missing.push_back({base + "/.git", MissingName::Until::no_directory});
  else
    found.present.push_back(base + "/.git");
  // git also finds a repository without a work tree, and obeys its configuration.
  if (!is_git_directory(base))
    return found.missing.push_back({base + "/HEAD", MissingName::Until::git_directory});
  for (const std::string_view name : kProtectedNames)
    if (name.starts_with(kBelowGit))
      look_at(base + "/" + std::string(name.substr(kBelowGit.size())));
}

}  // namespace

ListedPath listed_path(std::string_view text) {
  const std::size_t colon = parting(text);
  std::string path = without_escapes(text.substr(0, colon));
  if (colon == std::string_view::npos) return {path, path};
  return {std::move(path), without_escapes(text.substr(colon + 1))};
}

std::size_t places_in(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t colon; (colon = parting(text)) != std::string_view::npos; ++count)
    text.remove_prefix(colon + 1);
  return count;
}

std::string listed_text(std::string_view path, std::string_view at) {
  std::string text = with_escapes(path);
  if (at.empty() || at == path) return text;
  return text + ":" + with_escapes(at);
}

std::vector<ListedEntry> listed_entries(const Files& files) {
  std::map<std::string, ListedEntry> by_place;
  const auto add = [&](const std::vector<std::string>& list, bool writable) {
    for (const std::string& text : list) {
      const ListedPath listed = listed_path(text);
      ListedEntry entry{normal_path(listed.path), normal_path(listed.at), writable};
      entry.executable =
          std::none_of(files.noexec.begin(), files.noexec.end(),
                       [&](const std::string& each) { return normal_path(each) == entry.path; });
      by_place[entry.at] = entry;
    }
  };
  add(files.write, true);
  add(files.write_optional, true);
  add(files.read, false);
  add(files.read_optional, false);
  std::vector<ListedEntry> entries;
  entries.reserve(by_place.size());
  for (auto& [place, entry] : by_place) entries.push_back(std::move(entry));
  return entries;
}

const ListedEntry* entry_over(const std::vector<ListedEntry>& entries, std::string_view place) {
  for (; place.size() > 1; place = place.substr(0, place.rfind('/'))) {
    const auto found =
        std::lower_bound(entries.begin(), entries.end(), place,
                         [](const ListedEntry& each, std::string_view at) { return each.at < at; });
    if (found != entries.end() && found->at == place) return &*found;
  }
  return nullptr;
}

std::vector<std::string> places_of(const std::vector<ListedEntry>& entries, std::string_view path) {
  std::vector<std::string> places;
  for (const ListedEntry& each : entries) {
    if (!is_at_or_below(path, each.path)) continue;
    std::string place = each.at + rest_of(path, each.path);
    // Another entry may stand on the way and show something else there.
    if (entry_over(entries, place) == &each) places.push_back(std::move(place));
  }
  return places;
}

std::string behind(const ListedEntry& entry, std::string_view place) {
  return entry.path + rest_of(place, entry.at);
}

Policy with_optional_settled(Policy policy) {
  // What a floor can't do it refuses, whether or not the path exists.
  const auto is_refused = [&](const std::string& text) {
    return policy.isolation == Isolation::process ||
           (policy.isolation == Isolation::landlock && places_in(text) > 0);
  };
  std::vector<std::string> dropped;
  const auto settle = [&](std::vector<std::string>& from, std::vector<std::string>& to,
                          const char* field) {
    for (std::string& text : from) {
      std::string path = normal_path(listed_path(text).path);
      const UniqueFd fd(open_below(AT_FDCWD, path.c_str(), {}));
      if (fd || is_refused(text))
        to.push_back(std::move(text));
      else if (errno != ENOENT && errno != ENOTDIR)
        throw_sys("policy: {}: looking at '{}'", field, path);
      else
        dropped.push_back(std::move(path));
    }
    from.clear();
  };
  settle(policy.files.read_optional, policy.files.read, "files.read_optional");
  settle(policy.files.write_optional, policy.files.write, "files.write_optional");
  if (dropped.empty()) return policy;
  // What no cell can see can't be executed either. A path that another entry shows stays: if it
  // appears, it could be.
  const std::vector<ListedEntry> entries = listed_entries(policy.files);
  if (policy.isolation == Isolation::jail)
    std::erase_if(policy.files.noexec, [&](const std::string& text) {
      const std::string path = normal_path(text);
      return std::find(dropped.begin(), dropped.end(), path) != dropped.end() &&
             places_of(entries, path).empty();
    });
  // A dropped path covers nothing any more. What lies below its place shows now, and the policy may
  // not be valid with that.
  validate(policy);
  return policy;
}

ProtectedPaths protected_paths(const Files& files, const std::vector<ListedEntry>& entries) {
  ProtectedPaths found;
  for (const std::string& each : files.protect) {
    if (each != kProtectDefault) {
      found.present.push_back(normal_path(each));
      continue;
    }
    for (const ListedEntry& entry : entries) {
      struct stat info;
      if (entry.writable && look_for(entry.path, info) == Found::there && S_ISDIR(info.st_mode))
        look_for_defaults(entry.path, found);
    }
  }
  std::sort(found.present.begin(), found.present.end());
  found.present.erase(std::unique(found.present.begin(), found.present.end()), found.present.end());
  // One path at two places is in the list twice.
  const auto same = [](const MissingName& a, const MissingName& b) { return a.path == b.path; };
  std::sort(found.missing.begin(), found.missing.end(),
            [](const MissingName& a, const MissingName& b) { return a.path < b.path; });
  found.missing.erase(std::unique(found.missing.begin(), found.missing.end(), same),
                      found.missing.end());
  return found;
}

bool is_there(const MissingName& name) {
  struct stat info;
  switch (name.until) {
    case MissingName::Until::exists: break;
    case MissingName::Until::no_directory:
      if (const UniqueFd fd(
              open_below(AT_FDCWD, name.path.c_str(), {.flags = O_PATH | O_NOFOLLOW}));
          fd && fstat(fd.get(), &info) == 0 && S_ISDIR(info.st_mode))
        return false;
      break;
    case MissingName::Until::git_directory:
      return is_git_directory(name.path.substr(0, name.path.rfind('/')));
  }
  return exists(name.path);
}

std::span<const std::string_view> protected_names() { return kProtectedNames; }

}  // namespace brig
