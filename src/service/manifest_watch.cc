#include "service/manifest_watch.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <tuple>

#include "base/error.h"
#include "base/text.h"

namespace brig::serve {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kTick{100};
constexpr std::chrono::seconds kLongest{2};
constexpr std::size_t kMostSources = 2000, kMostDirectories = 200;

bool is_source(const fs::path& path) {
  return path.extension() == ".py" || path.extension() == ".so";
}

// The Python files and libraries in a directory and below it, and the directories that were looked
// at.
void collect(const fs::path& top, std::set<std::string>& files,
             std::set<std::string>& directories) {
  std::error_code error;
  std::vector<fs::path> left{top};
  while (!left.empty() && directories.size() < kMostDirectories) {
    const fs::path directory = std::move(left.back());
    left.pop_back();
    directories.insert(directory);
    for (fs::directory_iterator at(directory, error), end; !error && at != end;
         at.increment(error)) {
      const std::string name = at->path().filename();
      std::error_code ignored;
      if (name.front() == '.' || name == "__pycache__") continue;
      if (at->is_directory(ignored) && !at->is_symlink(ignored))
        left.push_back(at->path());
      else if (is_source(at->path()) && files.size() < kMostSources)
        files.insert(at->path());
    }
  }
}

bool is_after(const timespec& a, const timespec& b) {
  return std::tie(a.tv_sec, a.tv_nsec) > std::tie(b.tv_sec, b.tv_nsec);
}

}  // namespace

bool ManifestWatch::Identity::is_same(const Identity& other) const {
  const auto parts = [](const Identity& of) {
    return std::tie(of.device, of.inode, of.size, of.modified.tv_sec, of.modified.tv_nsec);
  };
  return parts(*this) == parts(other);
}

ManifestWatch::ManifestWatch(Loop& loop, std::function<void(const std::string&)> job)
    : loop_(loop), job_(std::move(job)), fd_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  if (!fd_) throw_sys("watching the manifest: inotify_init1");
  readable_ = loop_.when_readable(fd_.get(), [this] { read(); });
}

// The clock that files are stamped by.
timespec ManifestWatch::now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME_COARSE, &time);
  return time;
}

std::string ManifestWatch::watch(const std::vector<std::string>& paths, const timespec& loaded) {
  paths_.clear();
  for (const std::string& path : paths) paths_.push_back(fs::absolute(path).lexically_normal());
  std::set<std::string> directories;
  look(&directories);
  std::string fault = follow(directories);
  // Once more: from here on the kernel tells.
  loaded_ = look(nullptr);
  bool late = false;
  for (auto& [path, identity] : loaded_) {
    if (!is_after(identity.changed, loaded)) continue;
    identity = Identity();
    late = true;
  }
  if (late) later();
  return fault;
}

ManifestWatch::Files ManifestWatch::look(std::set<std::string>* directories) const {
  std::set<std::string> names, around;
  std::error_code error;
  for (const std::string& path : paths_) {
    if (fs::is_directory(path, error))
      collect(path, names, around);
    else
      names.insert(path);
    // Where the name is, and where links lead to: either may get another file. What is not there
    // may come.
    around.insert(fs::path(path).parent_path());
    if (const fs::path real = fs::canonical(path, error); !error) around.insert(real.parent_path());
  }
  Files found;
  for (const std::string& name : names) {
    struct stat info;
    Identity& identity = found[name];
    if (stat(name.c_str(), &info) == 0)
      identity = {info.st_dev, info.st_ino, info.st_size, info.st_mtim, info.st_ctim};
  }
  if (directories)
    for (fs::path at : around) {
      while (!fs::is_directory(at, error) && at.has_relative_path()) at = at.parent_path();
      directories->insert(at);
    }
  return found;
}

// If a directory was replaced, the kernel sees another one. So all names are added anew each time.
std::string ManifestWatch::follow(const std::set<std::string>& directories) {
  std::set<int> now;
  std::string fault;
  for (const std::string& directory : directories) {
    const int watch = inotify_add_watch(fd_.get(), directory.c_str(),
                                        IN_CLOSE_WRITE | IN_MOVE | IN_CREATE | IN_DELETE |
                                            IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR);
    if (watch >= 0)
      now.insert(watch);
    else if (fault.empty())
      fault = fmt::format("{}: inotify_add_watch: {}", in_quotes(directory), errno_text(errno));
  }
  for (const int old : watched_)
    if (!now.contains(old)) inotify_rm_watch(fd_.get(), old);
  watched_ = std::move(now);
  return fault;
}

void ManifestWatch::read() {
  alignas(inotify_event) char buffer[16 * 1024];
  bool any = false;
  const ssize_t size = ::read(fd_.get(), buffer, sizeof buffer);
  for (ssize_t at = 0; at + static_cast<ssize_t>(sizeof(inotify_event)) <= size;) {
    const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
    any |=
        (event->mask & IN_IGNORED) == 0;  // the end of a watch, by our own hand for the most part
    at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
  }
  if (any) later();
}

void ManifestWatch::later() {
  if (checking_) return;
  checking_ = true;
  since_ = std::chrono::steady_clock::now();
  seen_ = loaded_;
  soon_ = loop_.after(kTick, [this] { check(); });
}

void ManifestWatch::check() {
  Files found = look(nullptr);
  const std::string what = changed(loaded_, found);
  if (!what.empty() && !changed(seen_, found).empty() &&
      std::chrono::steady_clock::now() - since_ < kLongest) {
    seen_ = std::move(found);
    soon_ = loop_.after(kTick, [this] { check(); });
    return;
  }
  checking_ = false;
  if (what.empty()) return;
  loaded_ = std::move(found);
  std::set<std::string> directories;
  look(&directories);
  follow(directories);
  job_(what);
}

std::string ManifestWatch::changed(const Files& before, const Files& after) {
  for (const auto& [path, identity] : after)
    if (const auto old = before.find(path); old == before.end() || !old->second.is_same(identity))
      return path;
  for (const auto& [path, identity] : before)
    if (!after.contains(path)) return path;
  return "";
}

}  // namespace brig::serve
