// The bodies of what the end-to-end tests share.
#include "e2e_support.h"

#include <dirent.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace e2e {

Policy with_wall(int wall_ms, int grace_ms) {
  Policy policy = escape::policy();
  policy.limits.timeout = milliseconds(wall_ms);
  policy.limits.grace = milliseconds(grace_ms);
  return policy;
}

Policy policy_of(brig::Isolation isolation) {
  Policy policy = escape::policy();
  policy.isolation = isolation;
  if (isolation != brig::Isolation::jail) escape::for_lower_floors(policy);
  if (isolation == brig::Isolation::process) {
    policy.network = brig::Network::host;
    policy.files.read.clear();
  }
  return policy;
}

void by_all_ways(const Command& command, const Policy& policy,
                 const std::function<void(const Report&)>& check) {
  {
    SCOPED_TRACE("brig::run");
    check(brig::run(command, policy));
  }
  Runner runner(policy, {.ready = 1});
  {
    SCOPED_TRACE("Runner::run");
    check(runner.run(command));
  }
  {
    SCOPED_TRACE("Runner::run_async");
    check(runner.run_async(command).report.get());
  }
}

std::string error_of(const Policy& policy, ErrorKind kind) {
  std::string text = "(no error)";
  try {
    const Report report = brig::run(sh("echo ran"), policy);
    ADD_FAILURE() << "ran: " << describe(report);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    text = error.what();
  }
  try {
    Runner runner(policy, {.ready = 1});
    ADD_FAILURE() << "a Runner started";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
  }
  return text;
}

std::vector<Process> processes() {
  std::vector<Process> found;
  DIR* proc = opendir("/proc");
  while (const dirent* entry = proc ? readdir(proc) : nullptr) {
    const pid_t pid = static_cast<pid_t>(strtol(entry->d_name, nullptr, 10));
    if (pid <= 0) continue;
    const std::string stat = read_file("/proc/" + std::string(entry->d_name) + "/stat");
    const std::size_t open = stat.find('('), close = stat.rfind(')');
    if (close == std::string::npos || stat.size() < close + 5) continue;
    found.push_back({pid, static_cast<pid_t>(strtol(stat.c_str() + close + 4, nullptr, 10)),
                     stat.substr(open + 1, close - open - 1), stat[close + 2]});
  }
  if (proc) closedir(proc);
  return found;
}

std::vector<Process> descendants(pid_t root) {
  const std::vector<Process> all = processes();
  std::vector<pid_t> tree{root};
  std::vector<Process> found;
  for (std::size_t i = 0; i < tree.size(); ++i)
    for (const Process& each : all)
      if (each.parent == tree[i] && std::find(tree.begin(), tree.end(), each.pid) == tree.end()) {
        tree.push_back(each.pid);
        if (each.state != 'Z') found.push_back(each);
      }
  return found;
}

std::vector<pid_t> descendants_named(pid_t root, const std::string& name) {
  std::vector<pid_t> found;
  for (const Process& each : descendants(root))
    if (each.name == name) found.push_back(each.pid);
  return found;
}

std::string names(const std::vector<Process>& list) {
  std::string text;
  for (const Process& each : list) text += each.name + "(" + std::to_string(each.pid) + ") ";
  return text;
}

// Other tests' cgroups come and go meanwhile, which ends an iteration with an error: then once more.
namespace {

// In clock ticks since the machine began, as the names of brig's cgroups have it.
unsigned long long own_start() {
  std::ifstream file("/proc/self/stat");
  std::string stat(std::istreambuf_iterator<char>(file), {});
  std::istringstream words(stat.substr(stat.rfind(')') + 1));
  std::string word;
  for (int field = 3; field <= 22; ++field) words >> word;
  return std::strtoull(word.c_str(), nullptr, 10);
}

}  // namespace

std::vector<std::string> cgroups_of(pid_t owner) {
  std::vector<std::string> found;
  // What began before this test is of another process, that was killed and had the same number.
  static const unsigned long long own = own_start();
  const std::string part = "-" + std::to_string(owner) + "-";
  std::error_code error;
  for (int attempt = 0; attempt == 0 || (error && attempt < 100); ++attempt) {
    found.clear();
    error.clear();
    std::filesystem::recursive_directory_iterator at(
        "/sys/fs/cgroup", std::filesystem::directory_options::skip_permission_denied, error),
        end;
    for (; !error && at != end; at.increment(error)) {
      std::error_code ignored;
      if (!at->is_directory(ignored) || at->is_symlink(ignored)) continue;
      const std::string path = at->path().string();
      const std::size_t brig = path.find("/brig-");
      if (brig == std::string::npos) continue;
      const std::size_t number = path.find(part, brig);
      if (number != std::string::npos &&
          std::strtoull(path.c_str() + number + part.size(), nullptr, 10) >= own)
        found.push_back(path);
    }
  }
  return found;
}

std::size_t open_descriptors(const std::string& pid) {
  std::error_code error;
  std::size_t count = 0;
  for (std::filesystem::directory_iterator at("/proc/" + pid + "/fd", error), end;
       !error && at != end; at.increment(error))
    ++count;
  return count;
}

std::uint64_t own_memory(const std::string& field) {
  const std::string status = read_file("/proc/self/status");
  const std::size_t at = status.find("\n" + field + ":");
  return at == std::string::npos
             ? 0
             : strtoull(status.c_str() + at + field.size() + 2, nullptr, 10) * 1024;
}

Variable::Variable(std::string name, const char* value) : name_(std::move(name)) {
  if (const char* before = getenv(name_.c_str())) before_ = before;
  if (value)
    setenv(name_.c_str(), value, 1);
  else
    unsetenv(name_.c_str());
}

Variable::~Variable() {
  if (before_)
    setenv(name_.c_str(), before_->c_str(), 1);
  else
    unsetenv(name_.c_str());
}

}  // namespace e2e
