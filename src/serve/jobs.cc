#include "serve/jobs.h"

#include <algorithm>

#include "base/fair_share.h"
#include "base/random.h"
#include "base/time_text.h"
#include "serve/json_line.h"

namespace brig::serve {

Jobs::Jobs(Loop& loop, Service& service, JobLimits limits)
    : loop_(loop), service_(service), limits_(limits) {
  timer_ = loop.every(std::chrono::seconds(1), [this] { expire(); });
}

std::variant<std::string, Refusal> Jobs::submit(Order order, std::size_t size) {
  if (!has_room(*order.caller, size))
    return Refusal{503, "too-many-jobs", "too many jobs are kept; forget some, or try again later",
                   std::chrono::seconds(10)};
  const std::string id = "j" + random_hex(16);
  Job job;
  job.tool = order.tool;
  job.size = size;
  job.caller = order.caller;
  job.created = std::chrono::system_clock::now();
  Hearing hearing;
  hearing.on_event = [this, id](const Event& event) {
    const auto found = jobs_.find(id);
    if (event.kind == Event::Kind::started && found != jobs_.end())
      found->second.status = Job::Status::running;
  };
  hearing.on_done = [this, id](const ToolResult& result) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) return;
    Job& done = found->second;
    done.status = Job::Status::done;
    arguments_ -= done.size;
    done.caller->holds.arguments -= done.size;
    done.result = to_json(result);
    done.result.shrink_to_fit();  // what is counted is what is held
    done.ended = std::chrono::steady_clock::now();
    bytes_ += done.result.size();
    done.caller->holds.results += done.result.size();
    done_[done.caller].push_back(id);
    for (const std::uint64_t each : std::exchange(done.waiting, {})) wake(each);
    expire();
  };
  auto started = service_.start(std::move(order), std::move(hearing));
  if (auto* refusal = std::get_if<Refusal>(&started)) return std::move(*refusal);
  job.call = std::get<Taken>(std::move(started));
  arguments_ += size;
  job.caller->holds.arguments += size;
  ++job.caller->holds.jobs;
  jobs_.emplace(id, std::move(job));
  return id;
}

// Results that are kept make room for a caller that has fewer jobs than theirs has; a call that runs never does.
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

bool Jobs::is_of(const Job& job, const Caller& caller) const {
  return caller.admin || job.caller.get() == &caller;
}

Json Jobs::json_of(const std::string& id, const Job& job) {
  static constexpr const char* kStatus[] = {"queued", "running", "done"};
  return {{"id", id},
          {"tool", job.tool},
          {"call_id", job.call.call_id},
          {"status", kStatus[static_cast<int>(job.status)]},
          {"created_at", time_text(job.created)}};
}

// The result is text already: its values would take many times as much, each time that somebody asks.
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
  return found != jobs_.end() && is_of(found->second, caller);
}

std::vector<Json> Jobs::list(const Caller& caller) const {
  std::vector<Json> list;
  // Without their results, which may be large.
  for (const auto& [id, job] : jobs_)
    if (is_of(job, caller)) list.push_back(json_of(id, job));
  return list;
}

void Jobs::wait(const std::string& id, std::chrono::milliseconds time, std::function<void()> job) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.status == Job::Status::done || time.count() <= 0)
    return job();
  const std::uint64_t key = next_wait_++;
  found->second.waiting.push_back(key);
  waits_[key] = {std::move(job), loop_.after(time, [this, id, key] {
                   const auto waited = jobs_.find(id);
                   if (waited != jobs_.end()) std::erase(waited->second.waiting, key);
                   wake(key);
                 })};
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
  if (found == jobs_.end() || !is_of(found->second, caller)) return Removal::none;
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
  bytes_ -= job->second.result.size();
  caller.holds.results -= job->second.result.size();
  --caller.holds.jobs;
  jobs_.erase(job);
}

void Jobs::expire() {
  const auto old = std::chrono::steady_clock::now() - limits_.kept;
  std::vector<std::string> late;
  for (const auto& [caller, ids] : done_)
    for (const std::string& id : ids) {
      if (jobs_.at(id).ended > old) break;
      late.push_back(id);
    }
  for (const std::string& id : late) forget(jobs_.find(id));
  while (bytes_ > limits_.bytes &&
         forget_oldest_of([](const Caller& each) { return each.holds.results; })) {
  }
}

}  // namespace brig::serve
