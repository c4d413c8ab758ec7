#include "egress/proxy.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <mutex>

#include "base/error.h"

namespace brig::egress {

std::shared_ptr<Proxy> Proxy::shared() {
  static std::mutex mutex;
  static std::weak_ptr<Proxy> current;
  static pid_t owner = 0;
  const std::lock_guard lock(mutex);
  // In a copy of the process that has it there is no thread to serve anybody.
  std::shared_ptr<Proxy> proxy = owner == getpid() ? current.lock() : nullptr;
  if (!proxy) try {
      proxy.reset(new Proxy);
      current = proxy;
      owner = getpid();
    } catch (const boost::system::system_error& error) {
      throw Error(ErrorKind::resource, std::string("network: the proxy's loop: ") + error.what());
    }
  return proxy;
}

Proxy::Proxy() : work_(loop_.get_executor()) {
  keep_spare();
  // Signals are for the host's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = OwnThread([this] { serve(); });
  } catch (const std::system_error& error) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw Error(ErrorKind::resource,
                std::string("network: starting the proxy's thread: ") + error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Proxy::keep_spare() { spare_.reset(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

void Proxy::serve() {
  // Without memory for one connection, the others go on.
  for (bool over = false; !over;) try {
      loop_.run();
      over = true;
    } catch (const std::exception&) {
    }
}

Proxy::~Proxy() {
  // Everything that was posted is still done; then the loop has no work.
  work_.reset();
  boost::asio::post(loop_, [this] { resolver_.stop(); });
  thread_.join();
}

}  // namespace brig::egress
