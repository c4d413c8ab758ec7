#include "os/threads.h"

#include <dirent.h>

namespace brig {

int count_threads() {
  int count = 0;
  DIR* tasks = opendir("/proc/self/task");
  while (const dirent* entry = tasks ? readdir(tasks) : nullptr) count += entry->d_name[0] != '.';
  if (tasks) closedir(tasks);
  return count;
}

}  // namespace brig
