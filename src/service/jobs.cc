#include "service/jobs.h"

#include <algorithm>

#include "base/fair_share.h"
#include "base/random.h"
#include "base/text.h"
#include "base/time_text.h"
#include "json/json_line.h"
#include "service/excerpt.h"

namespace brig::serve {
namespace {

constexpr std::size_t kLongestMessage = 1024;

bool is_api_job_for(const Job& job, const Caller& caller) {
  return job.kind == JobKind::api && (caller.admin || job.caller.get() == &caller);
}

}  // namespace

Jobs::Jobs(Loop& loop, Service& service, JobLimits limits)
    : loop_(loop), service_(service), limits_(limits) {
  timer_ = loop.every(std::chrono::seconds(1), [this] { expire(); });
}

Refusal Jobs::no_room() {
  return {503, "too-many-jobs", "too many jobs are kept; delete some, or try again later",
          std::chrono::seconds(10)};
}

std::variant<std::string, Refusal> Jobs::submit(CallRequest request, std::size_t size) {
  if (!has_room(*request.caller, size)) return no_room();
  Job job;
  job.tool = request.tool;
  job.size = size;
  job.caller = request.caller;
  // The id is known once the call is accepted; no event of the call comes before that.
  const auto id = std::make_shared<std::string>();
  CallObserver observer;
  observer.on_event = [this, id](const Event& event) { receive(*id, event); };
  observer.on_done = [this, id](const ToolResult& result) { finish(*id, {to_json(result)}); };
  auto started = service_.start(std::move(request), std::move(observer));
  if (auto* refusal = std::get_if<Refusal>(&started)) return std::move(*refusal);
  job.call = std::get<AcceptedCall>(std::move(started));
  *id = add(std::move(job));
  return *id;
}

std::optional<std::string> Jobs::adopt(Job job) {
  if (!has_room(*job.caller, job.size)) return {};
  return add(std::move(job));
}

std::string Jobs::add(Job job) {
  std::string id = (job.kind == JobKind::api ? "j" : "t") + random_hex(16);
  job.created = job.changed = std::chrono::system_clock::now();
  job.began = std::chrono::steady_clock::now();
  job.kept = job.kept.count() > 0 ? std::min(job.kept, limits_.kept) : limits_.kept;
  arguments_ += job.size;
  job.caller->holds.arguments += job.size;
  ++job.caller->holds.jobs;
  jobs_.emplace(id, std::move(job));
  return id;
}

void Jobs::receive(const std::string& id, const Event& event) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  Job& job = found->second;
  if (event.kind == Event::Kind::started) job.status = Job::Status::running;
  if (event.kind == Event::Kind::progress && !event.text.empty() && is_valid_utf8(event.text)) {
    job.message = excerpt_of(event.text, kLongestMessage).text;
    job.changed = std::chrono::system_clock::now();
  }
}

void Jobs::finish(const std::string& id, End end) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  Job& done = found->second;
  done.status = Job::Status::done;
  arguments_ -= done.size;
  done.caller->holds.arguments -= done.size;
  done.was_cancelled = end.was_cancelled;
  done.has_failed = end.has_failed;
  done.message = excerpt_of(end.message, kLongestMessage).text;
  done.result = std::move(end.result);
  // What is counted is what is held.
  done.result.shrink_to_fit();
  done.changed = std::chrono::system_clock::now();
  done.ended = std::chrono::steady_clock::now();
  bytes_ += done.result.size();
  done.caller->holds.results += done.result.size();
  done_[done.caller].push_back(id);
  expiries_.emplace(done.ended + done.kept, id);
  for (const std::uint64_t each : std::exchange(done.waiting, {})) wake(each);
  expire();
}

// A running call is never ended to make room.
bool Jobs::has_room(const Caller& caller, std::size_t size) {
  if (caller.alone) return jobs_.size() < limits_.count && arguments_ + size <= limits_.arguments;
  const auto is_fair_count = [&] {
    return is_fair(caller.holds.jobs, 1, jobs_.size(), limits_.count);
  };
  while (!is_fair_count()) {
    const auto other = [&](const Caller& each) {
      return each.holds.jobs > caller.holds.jobs + 1 ? each.holds.jobs : 0;
    };
    if (!forget_oldest_of(other)) return false;
  }
  return is_fair(caller.holds.arguments, size, arguments_, limits_.arguments);
}

bool Jobs::forget_oldest_of(const std::function<std::size_t(const Caller&)>& measure) {
  std::size_t most = 0;
  auto whose = done_.end();
  for (auto each = done_.begin(); each != done_.end(); ++each)
    if (const std::size_t has = measure(*each->first); has > most) {
      most = has;
      whose = each;
    }
  if (whose == done_.end()) return false;
  forget(jobs_.find(whose->second.front()));
  return true;
}

Json Jobs::json_of(const std::string& id, const Job& job) {
  static constexpr const char* kStatus[] = {"queued", "running", "done"};
  return {{"id", id},
          {"tool", job.tool},
          {"call_id", job.call.call_id},
          {"status", kStatus[static_cast<int>(job.status)]},
          {"created_at", time_text(job.created)}};
}

// The result is text already: parsing it at every request would take many times as much memory.
std::optional<std::string> Jobs::find(const std::string& id, const Caller& caller) const {
  if (!has(id, caller)) return {};
  const Job& job = jobs_.at(id);
  std::string text = json_line(json_of(id, job));
  if (job.status != Job::Status::done) return text;
  constexpr std::string_view kResult = ",\"result\":";
  text.reserve(text.size() + kResult.size() + job.result.size());
  text.pop_back();
  return text.append(kResult).append(job.result) + "}";
}

bool Jobs::has(const std::string& id, const Caller& caller) const {
  const auto found = jobs_.find(id);
  return found != jobs_.end() && is_api_job_for(found->second, caller);
}

std::vector<Json> Jobs::list(const Caller& caller) const {
  std::vector<Json> list;
  // Without their results, which may be large.
  for (const auto& [id, job] : jobs_)
    if (is_api_job_for(job, caller)) list.push_back(json_of(id, job));
  return list;
}

const Job* Jobs::look(const std::string& id, JobKind kind, const Caller& caller) const {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.kind != kind || found->second.caller.get() != &caller)
    return nullptr;
  return &found->second;
}

void Jobs::end(const std::string& id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.status == Job::Status::done) return;
  found->second.asked_to_end = true;
  found->second.changed = std::chrono::system_clock::now();
  service_.cancel(found->second.call.number);
}

std::uint64_t Jobs::wait(const std::string& id, std::chrono::milliseconds time,
                         std::function<void()> job) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.status == Job::Status::done || time.count() <= 0) {
    job();
    return 0;
  }
  const std::uint64_t key = next_wait_++;
  found->second.waiting.push_back(key);
  waits_[key] = {std::move(job), loop_.after(time, [this, id, key] {
                   const auto waited = jobs_.find(id);
                   if (waited != jobs_.end()) std::erase(waited->second.waiting, key);
                   wake(key);
                 })};
  return key;
}

void Jobs::stop_waiting(const std::string& id, std::uint64_t key) {
  const auto found = jobs_.find(id);
  if (found != jobs_.end()) std::erase(found->second.waiting, key);
  waits_.erase(key);
}

void Jobs::wake_oldest(const std::string& id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.waiting.empty()) return;
  std::vector<std::uint64_t>& waiting = found->second.waiting;
  const std::uint64_t oldest = waiting.front();
  waiting.erase(waiting.begin());
  wake(oldest);
}

void Jobs::wake(std::uint64_t key) {
  const auto found = waits_.find(key);
  if (found == waits_.end()) return;
  const Wait wait = std::move(found->second);
  waits_.erase(found);
  wait.job();
}

Jobs::Removal Jobs::remove(const std::string& id, const Caller& caller) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || !is_api_job_for(found->second, caller)) return Removal::none;
  if (found->second.status != Job::Status::done) {
    service_.cancel(found->second.call.number);
    return Removal::cancelled;
  }
  forget(found);
  return Removal::forgotten;
}

// One that is done.
void Jobs::forget(std::map<std::string, Job>::iterator job) {
  Caller& caller = *job->second.caller;
  const auto done = done_.find(job->second.caller);
  done->second.erase(std::find(done->second.begin(), done->second.end(), job->first));
  if (done->second.empty()) done_.erase(done);
  expiries_.erase({job->second.ended + job->second.kept, job->first});
  bytes_ -= job->second.result.size();
  caller.holds.results -= job->second.result.size();
  --caller.holds.jobs;
  jobs_.erase(job);
}

void Jobs::expire() {
  const auto now = std::chrono::steady_clock::now();
  while (!expiries_.empty() && expiries_.begin()->first <= now)
    forget(jobs_.find(expiries_.begin()->second));
  while (bytes_ > limits_.bytes &&
         forget_oldest_of([](const Caller& each) { return each.holds.results; })) {
  }
}

}  // namespace brig::serve
