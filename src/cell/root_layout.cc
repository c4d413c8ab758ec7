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

// Looks the owner up so that the janitor can make a namespace for it. The mount checks that what is
// mounted has this owner (root_mounts.cc).
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

// The file is listed by itself, so it is meant to be read. It is not readable for strangers, and a
// cell of root's is one. (In a listed directory, private files stay private.)
bool is_private_file(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && !(info.st_mode & S_IROTH);
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// What is mounted at a place in the cell.
struct Mounted {
  // Null: what is there already is mounted onto itself.
  const ListedEntry* entry;
  bool writable = false;
};

// Returns parents before children, so that each mount lands on the one it belongs to. A tool could
// move the parent of a hidden path below a writable one, or of another listed path, out of the way,
// and put something else, a link too, in its place, for this cell or the next. So every directory
// between the two is mounted onto itself, and the kernel does not let a tool rename a mount point.
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
      // Below a read-only path a tool can rename nothing, and that path is guarded itself.
      const ListedEntry* over = entry_over(entries, at);
      if (!over || !over->writable) break;
      mounts.emplace(at, Mounted{nullptr, true});
    }
  return mounts;
}

// Returns whether the cell would see or may do something else at the entry's place if its mount
// were gone.
bool differs(const ListedEntry& entry, const ListedEntry& over) {
  return entry.writable != over.writable || entry.executable != over.executable ||
         entry.path != behind(over, entry.at);
}

// Returns the places where the cell sees what files.protect names and could write to it.
std::vector<std::string> kept_places(const std::vector<ListedEntry>& entries,
                                     const std::vector<std::string>& paths) {
  std::vector<std::string> places;
  for (const std::string& path : paths)
    for (std::string& place : places_of(entries, path)) {
      const ListedEntry* over = entry_over(entries, place);
      // A place that is listed by itself is as its list says.
      if (over->writable && over->at != place) places.push_back(std::move(place));
    }
  return places;
}

class LayoutBuilder {
 public:
  LayoutBuilder(const Policy& policy, const std::string& home, bool as_root, bool for_zygote,
                const std::vector<std::string>& held)
      : policy_(policy),
        home_(home),
        as_root_(as_root),
        for_zygote_(for_zygote),
        held_(held),
        entries_(listed_entries(policy.files)) {}

  RootLayout build() {
    add_system();
    find_kept_and_hidden();
    add_scratch();
    for (const auto& [place, mounted] : mounted_places(entries_, hidden_, layout_.kept))
      if (mounted.entry)
        add_listed(place, *mounted.entry);
      else
        add_onto_itself(place, mounted.writable);
    add_covers();
    add_guards();
    return std::move(layout_);
  }

 private:
  bool listed(const std::string& place) const { return entry_over(entries_, place) != nullptr; }

  bool below_scratch(const std::string& path) const {
    return std::any_of(layout_.scratch.begin(), layout_.scratch.end(),
                       [&](const auto& part) { return is_at_or_below(path, part.second); });
  }

  // Returns where the zygote keeps what cells see at `place`, below a listed path that it keeps
  // aside, or "".
  std::string aside(const std::string& place) const {
    const auto holder =
        std::find_if(layout_.late.rbegin(), layout_.late.rend(),
                     [&](const auto& late) { return is_at_or_below(place, late.second); });
    return holder == layout_.late.rend() ? "" : holder->first + place.substr(holder->second.size());
  }

  void add_system() {
    if (policy_.files.root.empty())
      add_host_system(layout_, policy_, home_, entries_, as_root_);
    else
      add_root_directory(layout_, normal_path(policy_.files.root));
    add_devices(layout_);
    for (const char* path : {"/proc", "/tmp", kWorkspace})
      layout_.steps.push_back({RootOp::directory, "", path});
  }

  void find_kept_and_hidden() {
    if (!policy_.files.protect.empty()) {
      ProtectedPaths paths = protected_paths(policy_.files, entries_);
      layout_.kept = kept_places(entries_, paths.present);
      layout_.missing = std::move(paths.missing);
    }
    for (const std::string& path : policy_.files.hide) {
      const std::string own = normal_path(path);
      const std::vector<std::string> places = places_of(entries_, own);
      hidden_.insert(hidden_.end(), places.begin(), places.end());
      // Where the cell has the link to its own /tmp, nothing of the host's is there, and a cover
      // would find the link.
      const bool is_behind_link =
          is_at_or_below(own, "/var/tmp") && var_tmp_is_a_link(policy_, entries_);
      if (!listed(own) && !is_behind_link) hidden_if_there_.push_back(own);
    }
  }

  void add_scratch() {
    // A place that the policy lists, or whose parent it lists, is the host's; the others are
    // private. The workspace comes last because it covers the stage of the scratch space.
    for (const auto& [name, place] : {std::pair<std::string, std::string>{"tmp", "/tmp"},
                                      {"shm", "/dev/shm"},
                                      {"home", home_},
                                      {"workspace", kWorkspace}}) {
      if (listed(place)) continue;
      if (name == "home") layout_.steps.push_back({RootOp::directory, "", place});
      layout_.scratch.emplace_back(name, place);
    }
  }

  void add_onto_itself(const std::string& place, bool writable) {
    LayoutStep step{RootOp::onto_itself, "", place, writable ? kBindWritable : 0u};
    if (below_scratch(place)) {
      if (for_zygote_) layout_.steps.push_back(step);
      step.target = aside(place);
    }
    layout_.steps.push_back(std::move(step));
  }

  void add_listed(const std::string& place, const ListedEntry& entry) {
    LayoutStep step{RootOp::bind, entry.path, place,
                    (entry.writable ? kBindWritable : 0u) | (entry.executable ? 0u : kBindNoexec)};
    const auto own = std::find(held_.begin(), held_.end(), entry.path);
    const bool is_held = !entry.writable && !entry.is_moved() && own != held_.end();
    if (is_held)
      step = {RootOp::held, "", place, 0, static_cast<std::uint32_t>(own - held_.begin())};
    else if (as_root_ && (entry.writable || is_private_file(entry.path)))
      step.id_map = id_map_of(layout_, entry.path, entry.writable ? "files.write" : "files.read");
    if (below_scratch(place)) {
      // Held files are loaded tools. While a zygote loads them, it sees what cells see.
      if (for_zygote_ && !is_held) layout_.steps.push_back(step);
      // A path below another one moves along with it, so that no cell has to look up its place
      // among the host's names.
      step.target = aside(place);
      if (step.target.empty()) {
        step.target = fmt::format("{}/{}", kAside, layout_.late.size());
        layout_.late.emplace_back(step.target, place);
      }
    }
    layout_.steps.push_back(std::move(step));
  }

  void cover(const std::string& place, std::uint32_t flags) {
    std::string target = place;
    if (below_scratch(place)) {
      target = aside(place);
      // The place is private already: nothing of the host's is there.
      if (target.empty()) return;
      if (for_zygote_) layout_.steps.push_back({RootOp::cover, "", place, flags});
    }
    layout_.steps.push_back({RootOp::cover, "", std::move(target), flags});
  }

  void add_covers() {
    // A path below a listed one must exist to be covered: one that was moved away may come back.
    for (const std::string& place : hidden_) cover(place, 0);
    for (const std::string& place : hidden_if_there_) cover(place, kBindOptional);
  }

  void add_guards() {
    layout_.guards = hidden_;
    layout_.guards.insert(layout_.guards.end(), hidden_if_there_.begin(), hidden_if_there_.end());
    for (const ListedEntry& each : entries_) {
      const ListedEntry* over = entry_over(entries_, parent_of(each.at));
      if (!over) continue;
      // A tool could make what is missing below a writable path, and the host would find it there,
      // and the next cell mount on it.
      if (over->writable)
        layout_.needed.push_back(each.at);
      else if (differs(each, *over))
        layout_.guards.push_back(each.at);
    }
  }

  const Policy& policy_;
  const std::string& home_;
  const bool as_root_, for_zygote_;
  const std::vector<std::string>& held_;
  const std::vector<ListedEntry> entries_;
  RootLayout layout_;
  // Places in the cell: below listed paths, and others.
  std::vector<std::string> hidden_, hidden_if_there_;
};

}  // namespace

bool needs_id_maps(const Files& files) {
  return !files.write.empty() ||
         std::any_of(files.read.begin(), files.read.end(), [](const std::string& text) {
           return is_private_file(normal_path(listed_path(text).path));
         });
}

RootLayout root_layout(const Policy& policy, const std::string& home, bool as_root, bool for_zygote,
                       const std::vector<std::string>& held) {
  return LayoutBuilder(policy, home, as_root, for_zygote, held).build();
}

}  // namespace brig
