#include <brig/sandbox.h>

#include <algorithm>
#include <set>
#include <thread>

#include "base/error.h"
#include "sandbox/sandbox_impl.h"

namespace brig {
namespace {

SandboxOptions checked(SandboxOptions options) {
  if (options.concurrency == 0)
    options.concurrency = 2 * std::max(1u, std::thread::hardware_concurrency());
  if (options.concurrency > 10'000)
    throw Error(ErrorKind::config, "sandbox: concurrency must be at most 10000");
  if (options.queue > 1'000'000)
    throw Error(ErrorKind::config, "sandbox: queue must be at most 1000000");
  if (options.ready_max < options.ready_min || options.ready_max > 1024)
    throw Error(ErrorKind::config, "sandbox: ready_max must be from ready_min to 1024");
  return options;
}

}  // namespace

Sandbox::Impl::Impl(Toolbox tools, Policy policy, SandboxOptions options)
    : options_(checked(options.beside ? as_beside(options) : options)),
      admission_(options.beside
                     ? options.beside->impl_->admission_
                     : std::make_shared<Admission>(options_.concurrency, options_.queue)),
      policy_(std::move(policy)) {
  validate(policy_);
  load_all(tools);
  thread_ = OwnThread([this] { work(); });
}

SandboxOptions Sandbox::Impl::as_beside(SandboxOptions options) {
  const SandboxOptions& other = options.beside->impl_->options_;
  options.concurrency = other.concurrency;
  options.queue = other.queue;
  options.beside = nullptr;
  return options;
}

Sandbox::Impl::~Impl() {
  admission_->close(this);
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, call] : calls_) stop(*call, false);
    stopping_ = true;
    wake_.notify_all();
  }
  // Its last job is the end of the last call.
  thread_.join();
  watchers_.end();
}

void Sandbox::Impl::later(std::function<void()> job, bool is_long) {
  // Without that thread, other jobs wait for it.
  if (is_long && long_jobs_.post(job)) return;
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
  wake_.notify_all();
}

void Sandbox::Impl::work() {
  std::unique_lock lock(mutex_);
  Clock::time_point until = Clock::time_point::max();
  for (;;) {
    const auto ready = [&] {
      return !jobs_.empty() || deadlines_ || (stopping_ && calls_.empty() && deciding_ == 0);
    };
    if (until == Clock::time_point::max())
      wake_.wait(lock, ready);
    else
      wake_.wait_until(lock, until, ready);
    if (jobs_.empty() && stopping_ && calls_.empty() && deciding_ == 0) return;
    deadlines_ = false;
    std::deque<std::function<void()>> jobs;
    jobs.swap(jobs_);
    lock.unlock();
    for (std::function<void()>& job : jobs) {
      job();
      // It may hold a Warden, which must be destroyed here and not under the lock.
      job = nullptr;
    }
    until = admission_->expire(Clock::now());
    lock.lock();
  }
}

Sandbox::Sandbox(Toolbox tools, Policy policy, SandboxOptions options)
    : impl_(std::make_unique<Impl>(std::move(tools), std::move(policy), options)) {}
Sandbox::~Sandbox() = default;

std::vector<std::shared_ptr<const Tool>> Sandbox::list_tools(const std::string& query) const {
  std::vector<std::shared_ptr<const Tool>> list;
  const std::lock_guard lock(impl_->mutex_);
  for (const auto& [name, prepared] : impl_->prepared_)
    if (matches(*prepared->tool, query)) list.push_back(prepared->tool);
  return list;
}

ToolResult Sandbox::call(const std::string& tool, Json arguments, CallOptions options) {
  ToolResult result;
  const auto call = impl_->begin(tool, std::move(arguments), std::move(options), result);
  return call ? impl_->call(call) : result;
}

ToolResult Sandbox::call(const std::string& tool, Json arguments, std::string call_id) {
  return call(tool, std::move(arguments), CallOptions{.call_id = std::move(call_id)});
}

std::future<ToolResult> Sandbox::call_async(const std::string& tool, Json arguments,
                                            CallOptions options) {
  const auto promise = std::make_shared<std::promise<ToolResult>>();
  call_async(tool, std::move(arguments), std::move(options),
             [promise](ToolResult result) { promise->set_value(std::move(result)); });
  return promise->get_future();
}

void Sandbox::call_async(const std::string& tool, Json arguments, CallOptions options,
                         std::function<void(ToolResult)> on_done) {
  ToolResult result;
  const auto call = impl_->begin(tool, std::move(arguments), std::move(options), result);
  if (!call) return on_done(std::move(result));
  call->on_done = std::move(on_done);
  impl_->call_async(call);
}

bool Sandbox::cancel(const std::string& call_id, bool at_once) {
  return impl_->cancel(call_id, at_once);
}
std::shared_ptr<Watch> Sandbox::watch(std::size_t buffer) { return impl_->watchers_.watch(buffer); }
std::shared_ptr<void> Sandbox::watch(std::function<void(const Event&)> callback,
                                     std::size_t buffer) {
  return impl_->watchers_.watch(std::move(callback), buffer);
}

SandboxState Sandbox::state() const {
  SandboxState state;
  state.running = impl_->admission_->running();
  state.waiting = impl_->admission_->waiting();
  // Tools share them.
  std::set<const Warden*> seen;
  const std::lock_guard lock(impl_->mutex_);
  for (const auto& [name, prepared] : impl_->prepared_)
    if (seen.insert(prepared->warden.get()).second) state.ready += prepared->warden->ready();
  return state;
}

std::vector<std::string> Sandbox::sources() const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->sources_;
}

void Sandbox::set_policy(Policy policy) { impl_->set_policy(std::move(policy)); }

}  // namespace brig
