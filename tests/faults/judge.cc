#include "judge.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <regex>
#include <sstream>
#include <vector>

#include "trace.h"

namespace faults {
namespace {

const Harmless kHarmless[] = {
#include "harmless.inc"
};

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> found;
  DIR* proc = opendir("/proc");
  while (const dirent* entry = proc ? readdir(proc) : nullptr) {
    const std::string stat = read_file("/proc/" + std::string(entry->d_name) + "/stat");
    const std::size_t paren = stat.rfind(')');
    if (atoi(entry->d_name) > 0 && paren != std::string::npos && stat.size() > paren + 4 &&
        atoi(stat.c_str() + paren + 4) == parent)
      found.push_back(atoi(entry->d_name));
  }
  if (proc) closedir(proc);
  return found;
}

// Of the brig process `owner`.
std::set<std::string> brig_cgroups(pid_t owner) {
  std::set<std::string> found;
  std::error_code error;
  std::filesystem::recursive_directory_iterator at(
      "/sys/fs/cgroup", std::filesystem::directory_options::skip_permission_denied, error),
      end;
  for (; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("brig-") &&
        name.find("-" + std::to_string(owner) + "-") != std::string::npos)
      found.insert(at->path().string());
  }
  return found;
}

}  // namespace

const Harmless* harmless(const std::string& process, const char* call) {
  for (const Harmless& each : kHarmless)
    if (process == each.process && !strcmp(each.call, call)) return &each;
  return nullptr;
}

bool may_differ(const Harmless* harmless, const std::string& line) {
  std::istringstream list(harmless ? harmless->may_differ : "");
  for (std::string prefix; std::getline(list, prefix, '|');)
    if (line.starts_with(prefix)) return true;
  return false;
}

// Lines that only one of two fingerprints has, and that may not differ.
std::string difference(const std::string& expected, const std::string& found,
                       const Harmless* harmless) {
  std::string text;
  // Of a tmpfs: they differ by run. And a file of the system that another process replaces meanwhile.
  static const std::regex ids(",[ug]id=[0-9]+|//deleted");
  const auto lines = [](const std::string& all) {
    std::multiset<std::string> set;
    std::istringstream stream(all);
    for (std::string line; std::getline(stream, line);)
      set.insert(std::regex_replace(line, ids, ""));
    return set;
  };
  const auto was = lines(expected), is = lines(found);
  for (const std::string& line : was)
    if (!is.contains(line) && !may_differ(harmless, line)) text += "    gone: " + line + "\n";
  for (const std::string& line : is)
    if (!was.contains(line) && !may_differ(harmless, line)) text += "    new:  " + line + "\n";
  return text;
}

std::set<std::string> entries_of(const std::string& directory) {
  std::set<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error))
    found.insert(at->path().string());
  return found;
}

std::string left_behind(pid_t owner, const std::string& temporary,
                        const std::set<std::string>& before) {
  std::string wrong;
  // The janitor may outlive its host by as long as it takes to clean up.
  const auto begin = Clock::now();
  std::vector<pid_t> left;
  do {
    // One that was born when its parent was killed is still stopped, for a tracer that never heard of it.
    int status = 0;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0;)
      if (WIFSTOPPED(status)) ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
    left = children_of(getpid());
    if (!left.empty()) usleep(2000);
  } while (!left.empty() && since(begin) < 20);
  for (const pid_t pid : left) {
    wrong += "  left: process " + name_of_process(pid) + "\n";
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, __WALL);
  }
  // Numbers of processes come again: one of that number may be another run's, which is just cleaning up.
  while (!brig_cgroups(owner).empty() && since(begin) < 20) usleep(2000);
  for (const std::string& each : brig_cgroups(owner)) {
    wrong += "  left: " + each + "\n";
    rmdir((each + "/0").c_str());
    rmdir(each.c_str());
  }
  for (const std::string& each : entries_of(temporary))
    if (!before.contains(each) && each.find("/brig-") != std::string::npos) {
      wrong += "  left: " + each + "\n";
      std::error_code ignored;
      std::filesystem::remove_all(each, ignored);
    }
  return wrong;
}

}  // namespace faults
