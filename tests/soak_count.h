// What a soak test counts before and after.
#pragma once

#include <set>

#include "e2e_support.h"

namespace soak {

using namespace e2e;

struct Count {
  std::size_t processes = 0, descriptors = 0, mounts = 0, cgroups = 0, namespaces = 0, threads = 0;
  bool operator==(const Count&) const = default;
};

// Namespaces that processes of this test's tree, and orphans of it, are in: the machine's others come
// and go.
inline std::size_t namespaces_below(pid_t root) {
  std::set<std::string> found;
  std::vector<Process> tree = descendants(root);
  tree.push_back({root, 0, "", 'S'});
  for (const Process& each : tree) {
    std::error_code error;
    for (std::filesystem::directory_iterator at("/proc/" + std::to_string(each.pid) + "/ns", error),
         end;
         !error && at != end; at.increment(error)) {
      std::error_code ignored;
      const auto target = std::filesystem::read_symlink(at->path(), ignored);
      if (!ignored) found.insert(target.string());
    }
  }
  return found.size();
}

inline Count count() {
  Count now;
  now.processes = descendants(getpid()).size();
  now.descriptors = open_descriptors();
  const std::string table = mount_table();
  now.mounts = static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n'));
  now.cgroups = cgroups_of(getpid()).size();
  now.namespaces = namespaces_below(getpid());
  std::error_code error;
  now.threads = static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/task", error), {}));
  return now;
}

inline std::ostream& operator<<(std::ostream& stream, const Count& now) {
  return stream << now.processes << " processes, " << now.descriptors << " descriptors, "
                << now.mounts << " mounts, " << now.cgroups << " cgroups, " << now.namespaces
                << " namespaces, " << now.threads << " threads";
}

// What is left when the last calls have been cleaned up: the first count that is the same five times
// in a row, or the last one if none is within kSoon. A pool that was busy is large for a while, and then
// becomes smaller, one slot at a time: first that is waited for, down to `most` processes.
inline Count settled(std::size_t most = SIZE_MAX) {
  comes_true([&] { return descendants(getpid()).size() <= most; }, 4 * kSoon);
  Count now;
  int same = 0;
  comes_true([&] {
    usleep(20'000);
    same = std::exchange(now, count()) == now ? same + 1 : 0;
    return same == 5;
  });
  return now;
}

// As `before` in everything that could be left behind.
inline void expect_same(const Count& before) {
  const Count after = count();
  EXPECT_EQ(after.processes, before.processes) << after << names(descendants(getpid()));
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.mounts, before.mounts);
  EXPECT_EQ(after.cgroups, before.cgroups);
  EXPECT_EQ(after.namespaces, before.namespaces);
  EXPECT_LE(after.threads, before.threads + kSanitized);  // TSan makes one of its own
}

}  // namespace soak
