#include "serve/manifest_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"

namespace brig::serve {
namespace {

constexpr std::chrono::milliseconds kQuiet{200};

}  // namespace

ManifestWatch::ManifestWatch(Loop& loop, const std::string& path, std::function<void()> job)
    : loop_(loop),
      name_(std::filesystem::path(path).filename()),
      job_(std::move(job)),
      fd_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  if (!fd_) throw_sys("watching {}: inotify_init1", in_quotes(path));
  // The directory: many editors put a new file in the old one's place.
  const std::string directory = std::filesystem::absolute(path).parent_path();
  if (inotify_add_watch(fd_.get(), directory.c_str(),
                        IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_ONLYDIR) < 0)
    throw_sys("watching {}: inotify_add_watch", in_quotes(directory));
  readable_ = loop_.when_readable(fd_.get(), [this] { read(); });
}

void ManifestWatch::read() {
  alignas(inotify_event) char buffer[16 * 1024];
  const ssize_t size = ::read(fd_.get(), buffer, sizeof buffer);
  for (ssize_t at = 0; at + static_cast<ssize_t>(sizeof(inotify_event)) <= size;) {
    const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
    const bool overflow = (event->mask & IN_Q_OVERFLOW) != 0;
    if (overflow || (event->len > 0 && name_ == event->name)) soon_ = loop_.after(kQuiet, job_);
    at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
  }
}

}  // namespace brig::serve
