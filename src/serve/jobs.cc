#include "serve/jobs.h"

#include "base/random.h"
#include "serve/event_json.h"
#include "tool/json_text.h"

namespace brig::serve {

Jobs::Jobs(Loop& loop, Service& service, JobLimits limits)
    : loop_(loop), service_(service), limits_(limits) {
  timer_ = loop.every(std::chrono::seconds(1), [this] { expire(); });
}

std::variant<std::string, Refusal> Jobs::submit(Order order, std::size_t size) {
  if (jobs_.size() >= limits_.count || arguments_ + size > limits_.arguments)
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
    done.result = to_json(result);
    done.ended = std::chrono::steady_clock::now();
    bytes_ += done.result.size();
    done_.push_back(id);
    for (const std::uint64_t each : std::exchange(done.waiting, {})) wake(each);
    expire();
  };
  auto started = service_.start(std::move(order), std::move(hearing));
  if (auto* refusal = std::get_if<Refusal>(&started)) return std::move(*refusal);
  job.call = std::get<Taken>(std::move(started));
  arguments_ += size;
  jobs_.emplace(id, std::move(job));
  return id;
}

bool Jobs::is_of(const Job& job, const Caller& caller) const {
  return caller.admin || job.caller.get() == &caller;
}

Json Jobs::json_of(const std::string& id, const Job& job, bool with_result) {
  static constexpr const char* kStatus[] = {"queued", "running", "done"};
  Json json{{"id", id},
            {"tool", job.tool},
            {"call_id", job.call.call_id},
            {"status", kStatus[static_cast<int>(job.status)]},
            {"created_at", seconds_of(job.created)}};
  std::string fault;
  if (with_result && job.status == Job::Status::done)
    json["result"] = json_from(job.result, fault).value_or(Json());
  return json;
}

std::optional<Json> Jobs::find(const std::string& id, const Caller& caller) const {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || !is_of(found->second, caller)) return {};
  return json_of(id, found->second, true);
}

std::vector<Json> Jobs::list(const Caller& caller) const {
  std::vector<Json> list;
  // Without their results, which may be large.
  for (const auto& [id, job] : jobs_)
    if (is_of(job, caller)) list.push_back(json_of(id, job, false));
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
  done_.remove(id);
  forget(found);
  return Removal::forgotten;
}

void Jobs::forget(std::map<std::string, Job>::iterator job) {
  bytes_ -= job->second.result.size();
  jobs_.erase(job);
}

void Jobs::expire() {
  const auto old = std::chrono::steady_clock::now() - limits_.kept;
  while (!done_.empty()) {
    const auto oldest = jobs_.find(done_.front());
    if (oldest != jobs_.end()) {
      if (oldest->second.ended > old && bytes_ <= limits_.bytes) return;
      forget(oldest);
    }
    done_.pop_front();
  }
}

}  // namespace brig::serve
