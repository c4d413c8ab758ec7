#include "http/loop.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/epoll.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/error.h"
#include "base/fd.h"
#include "http/loop_impl.h"

namespace brig::serve {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// Whatever is thrown meanwhile.
template <typename Job>
struct Finally {
  Job job;
  ~Finally() { job(); }
};
template <typename Job>
Finally(Job) -> Finally<Job>;

struct Alarm : std::enable_shared_from_this<Alarm> {
  Alarm(asio::io_context& context, std::function<void()> what, std::chrono::milliseconds period)
      : timer(context), job(std::move(what)), repeat(period) {}

  void arm(std::chrono::milliseconds time) {
    timer.expires_after(time);
    timer.async_wait([weak = weak_from_this()](error_code error) {
      const auto self = weak.lock();
      if (error || !self) return;
      const Finally again{[&] {
        if (self->repeat.count() > 0) self->arm(self->repeat);
      }};
      self->job();
    });
  }

  asio::steady_timer timer;
  std::function<void()> job;
  std::chrono::milliseconds repeat;
};

struct Readable : std::enable_shared_from_this<Readable> {
  Readable(asio::io_context& context, int fd, std::function<void()> what)
      : descriptor(context), job(std::move(what)) {
    error_code error;
    descriptor.assign(fd, error);
    if (error)
      throw_sys_error(error.value(), fmt::format("waiting for descriptor {}: epoll_ctl", fd));
  }
  ~Readable() { descriptor.release(); }  // it is not ours to close

  void wait() {
    descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                          [weak = weak_from_this()](error_code error) {
                            const auto self = weak.lock();
                            if (error || !self) return;
                            const Finally again{[&] { self->wait(); }};
                            self->job();
                          });
  }

  asio::posix::stream_descriptor descriptor;
  std::function<void()> job;
};

void next_signal(Loop::Impl& impl, const std::shared_ptr<std::function<void(int)>>& job) {
  impl.signals.async_wait([&impl, job](error_code error, int signal) {
    if (error) return;
    const Finally again{[&] { next_signal(impl, job); }};
    (*job)(signal);
  });
}

// Asio does not look whether the kernel took its own descriptors to be watched, and it may not
// have: it counts what all programs of a user watch. Without signals or timers a server would
// serve, and not end.
void check(Loop::Impl& impl) {
  bool timer_heard = false, signal_heard = false;
  asio::steady_timer timer(impl.context, std::chrono::milliseconds(0));
  timer.async_wait([&](error_code error) { timer_heard = !error; });
  sigset_t blocked;
  if (pthread_sigmask(SIG_BLOCK, nullptr, &blocked) != 0 || sigismember(&blocked, SIGCONT)) {
    signal_heard = true;
  } else {
    impl.signals.add(SIGCONT);
    impl.signals.async_wait([&](error_code error, int) { signal_heard = !error; });
    raise(SIGCONT);
  }
  // Mostly microseconds.
  impl.context.run_for(std::chrono::seconds(2));
  impl.context.restart();
  // Should this thread have slept for so long.
  impl.context.poll();
  impl.context.restart();
  impl.signals.clear();
  if (timer_heard && signal_heard) return;
  throw Error(
      ErrorKind::resource,
      "can't wait for signals and timers: the kernel is out of memory, or lets this user watch "
      "no more descriptors (fs.epoll.max_user_watches)");
}

}  // namespace

Loop::Loop() : impl_(std::make_unique<Impl>()) { check(*impl_); }
Loop::~Loop() = default;

void Loop::run(const std::function<void(const std::exception&)>& on_defect) {
  const auto guard = asio::make_work_guard(impl_->context);
  for (;;) {
    try {
      impl_->context.run();
      return;
    } catch (const std::exception& error) {
      if (!on_defect) throw;
      on_defect(error);
    }
  }
}

void Loop::stop() { impl_->context.stop(); }

void Loop::post(std::function<void()> job) { asio::post(impl_->context, std::move(job)); }

Loop::Timer Loop::after(std::chrono::milliseconds time, std::function<void()> job) {
  const auto alarm =
      std::make_shared<Alarm>(impl_->context, std::move(job), std::chrono::milliseconds(0));
  alarm->arm(time);
  return alarm;
}

Loop::Timer Loop::every(std::chrono::milliseconds time, std::function<void()> job) {
  const auto alarm = std::make_shared<Alarm>(impl_->context, std::move(job), time);
  alarm->arm(time);
  return alarm;
}

std::shared_ptr<void> Loop::when_readable(int fd, std::function<void()> job) {
  // For a file Asio reports no error, and never calls the job.
  const UniqueFd probe(epoll_create1(EPOLL_CLOEXEC));
  if (!probe) throw_sys("waiting for descriptor {}: epoll_create1", fd);
  epoll_event event{.events = EPOLLIN, .data = {}};
  if (epoll_ctl(probe.get(), EPOLL_CTL_ADD, fd, &event) != 0)
    throw_sys("waiting for descriptor {}: epoll_ctl", fd);
  const auto readable = std::make_shared<Readable>(impl_->context, fd, std::move(job));
  readable->wait();
  return readable;
}

void Loop::on_signal(const std::vector<int>& signals, std::function<void(int)> job) {
  for (const int signal : signals) impl_->signals.add(signal);
  next_signal(*impl_, std::make_shared<std::function<void(int)>>(std::move(job)));
}

}  // namespace brig::serve
