#include "cell/root_layout.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "cell/root_system.h"
#include "policy/listed_path.h"
#include "policy/paths.h"

namespace brig {
namespace {

// The owner is looked up here so that the janitor can make a namespace for it; that what is mounted has
// this owner the mount sees to (root_builder.cc).
int id_map_of(RootLayout& layout, const std::string& path, const char* field) {
  struct stat info;
  const UniqueFd fd = open_listed(path, O_PATH, field);
  if (fstat(fd.get(), &info) != 0) throw_sys("policy: {}: '{}'", field, path);
  const auto same = std::find_if(
      layout.id_maps.begin(), layout.id_maps.end(),
      [&](const IdMap& map) { return map.uid == info.st_uid && map.gid == info.st_gid; });
  if (same != layout.id_maps.end()) return static_cast<int>(same - layout.id_maps.begin());
  layout.id_maps.push_back({info.st_uid, info.st_gid});
  return static_cast<int>(layout.id_maps.size()) - 1;
}

// Listed by itself, so it is meant to be read, but not by strangers, and a cell of root's is one. (In a listed
// directory, private files stay private.)
bool is_private_file(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && !(info.st_mode & S_IROTH);
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// What is mounted at a place.
struct Mounted {
  const ListedEntry* entry;  // or, null: what is there already, onto itself
  bool writable = false;
};

// Parents before children, so that each mount lands on the one it belongs to. A hidden path below a writable one, or another
// listed one, could be moved out of the way with its parent, and something else, a link too, be put in its place, for this
// cell or the next: so every directory between the two is mounted onto itself, which the kernel does not let a tool rename.
std::map<std::string, Mounted> mounted_places(const std::vector<ListedEntry>& entries,
                                              const std::vector<std::string>& hidden,
                                              const std::vector<std::string>& kept) {
  std::map<std::string, Mounted> mounts;
  std::vector<std::string> guarded = hidden;
  for (const ListedEntry& each : entries) {
    mounts[each.at] = {&each, each.writable};
    guarded.push_back(each.at);
  }
  for (const std::string& place : kept) mounts.emplace(place, Mounted{nullptr, false});
  guarded.insert(guarded.end(), kept.begin(), kept.end());
  for (const std::string& place : guarded)
    for (std::string at = parent_of(place); !at.empty(); at = parent_of(at)) {
      // Where nothing can be written nothing can be renamed; and what is read-only is guarded itself.
      const ListedEntry* over = entry_over(entries, at);
      if (!over || !over->writable) break;
      mounts.emplace(at, Mounted{nullptr, true});
    }
  return mounts;
}

// Whether the cell would see or may do something else at the entry's place, were its mount gone.
bool differs(const ListedEntry& entry, const ListedEntry& over) {
  return entry.writable != over.writable || entry.executable != over.executable ||
         entry.path != behind(over, entry.at);
}

// The places where the cell sees what files.protect names, and could write to it.
std::vector<std::string> kept_places(const std::vector<ListedEntry>& entries,
                                     const std::vector<std::string>& paths) {
  std::vector<std::string> places;
  for (const std::string& path : paths)
    for (std::string& place : places_of(entries, path)) {
      const ListedEntry* over = entry_over(entries, place);
      // One that is listed by itself is as its list says.
      if (over->writable && over->at != place) places.push_back(std::move(place));
    }
  return places;
}

}  // namespace

bool needs_id_maps(const Files& files) {
  return !files.write.empty() ||
         std::any_of(files.read.begin(), files.read.end(), [](const std::string& text) {
           return is_private_file(normal_path(listed_path(text).path));
         });
}

RootLayout root_layout(const Policy& policy, const std::string& home, bool as_root, bool for_zygote,
                       const std::vector<std::string>& held) {
  RootLayout layout;
  const std::vector<ListedEntry> entries = listed_entries(policy.files);
  if (policy.files.root.empty())
    add_host_system(layout, policy, home, entries, as_root);
  else
    add_root_directory(layout, normal_path(policy.files.root));
  add_devices(layout);
  for (const char* path : {"/proc", "/tmp", kWorkspace})
    layout.steps.push_back({RootOp::directory, "", path});

  if (!policy.files.protect.empty()) {
    ProtectedPaths paths = protected_paths(policy.files, entries);
    layout.kept = kept_places(entries, paths.present);
    layout.missing = std::move(paths.missing);
  }
  std::vector<std::string> hidden;
  for (const std::string& path : policy.files.hide) {
    const std::vector<std::string> places = places_of(entries, normal_path(path));
    hidden.insert(hidden.end(), places.begin(), places.end());
  }
  const auto mounts = mounted_places(entries, hidden, layout.kept);
  const auto listed = [&](const std::string& place) {
    return entry_over(entries, place) != nullptr;
  };
  // A place that the policy lists, or lists a parent of, is the host's; the others are private. The
  // workspace comes last: it covers the stage of the scratch space.
  for (const auto& [name, place] : {std::pair<std::string, std::string>{"tmp", "/tmp"},
                                    {"shm", "/dev/shm"},
                                    {"home", home},
                                    {"workspace", kWorkspace}}) {
    if (listed(place)) continue;
    if (name == "home") layout.steps.push_back({RootOp::directory, "", place});
    layout.scratch.emplace_back(name, place);
  }
  const auto below_scratch = [&](const std::string& path) {
    return std::any_of(layout.scratch.begin(), layout.scratch.end(),
                       [&](const auto& part) { return is_at_or_below(path, part.second); });
  };
  // Where the zygote keeps what cells see at `place`, below a listed path that it keeps aside; "": nowhere.
  const auto aside = [&](const std::string& place) {
    const auto holder =
        std::find_if(layout.late.rbegin(), layout.late.rend(),
                     [&](const auto& late) { return is_at_or_below(place, late.second); });
    return holder == layout.late.rend() ? "" : holder->first + place.substr(holder->second.size());
  };

  for (const auto& [place, mounted] : mounts) {
    if (!mounted.entry) {
      LayoutStep step{RootOp::onto_itself, "", place, mounted.writable ? kBindWritable : 0u};
      if (below_scratch(place)) {
        if (for_zygote) layout.steps.push_back(step);
        step.target = aside(place);
      }
      layout.steps.push_back(std::move(step));
      continue;
    }
    const ListedEntry& entry = *mounted.entry;
    LayoutStep step{RootOp::bind, entry.path, place,
                    (entry.writable ? kBindWritable : 0u) | (entry.executable ? 0u : kBindNoexec)};
    const auto own = std::find(held.begin(), held.end(), entry.path);
    const bool is_held = !entry.writable && !entry.is_moved() && own != held.end();
    if (is_held)
      step = {RootOp::held, "", place, 0, static_cast<std::uint32_t>(own - held.begin())};
    else if (as_root && (entry.writable || is_private_file(entry.path)))
      step.id_map = id_map_of(layout, entry.path, entry.writable ? "files.write" : "files.read");
    if (below_scratch(place)) {
      // What is held is loaded, and while it loads a zygote has what cells have.
      if (for_zygote && !is_held) layout.steps.push_back(step);
      // One below another goes along with it, so that no cell has to find its place among the host's names.
      step.target = aside(place);
      if (step.target.empty()) {
        step.target = fmt::format("{}/{}", kAside, layout.late.size());
        layout.late.emplace_back(step.target, place);
      }
    }
    layout.steps.push_back(std::move(step));
  }

  const auto cover = [&](const std::string& place, std::uint32_t flags) {
    std::string target = place;
    if (below_scratch(place)) {
      target = aside(place);
      if (target.empty()) return;  // private already: nothing of the host's is there
      if (for_zygote) layout.steps.push_back({RootOp::cover, "", place, flags});
    }
    layout.steps.push_back({RootOp::cover, "", std::move(target), flags});
  };
  // Below a listed path it must be there to be covered: one that was moved away may come back.
  for (const std::string& place : hidden) cover(place, 0);
  for (const std::string& each : policy.files.hide)
    if (const std::string place = normal_path(each); !listed(place)) cover(place, kBindOptional);

  layout.guards = hidden;
  for (const std::string& each : policy.files.hide)
    if (const std::string place = normal_path(each); !listed(place)) layout.guards.push_back(place);
  for (const ListedEntry& each : entries) {
    const ListedEntry* over = entry_over(entries, parent_of(each.at));
    if (!over) continue;
    // What is missing below a writable path a tool could make, for the host to find and for the next cell to mount on.
    if (over->writable)
      layout.needed.push_back(each.at);
    else if (differs(each, *over))
      layout.guards.push_back(each.at);
  }
  return layout;
}

}  // namespace brig
