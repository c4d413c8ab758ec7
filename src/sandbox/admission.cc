#include "sandbox/admission.h"

#include <algorithm>
#include <utility>

#include "base/fair_share.h"

namespace brig {

std::uint64_t Admission::enter(const Caller& caller, Clock::time_point deadline, Decide decide,
                               const void* owner) {
  std::unique_lock lock(mutex_);
  const std::uint64_t ticket = next_ticket_++;
  Verdict verdict;
  if (!waiting_.contains(caller.name) && may_run(caller.name, caller.shares)) {
    begin(caller.name);
    verdict = Verdict::admitted;
  } else if (!may_wait(caller.name)) {
    verdict = Verdict::overloaded;
  } else {
    std::deque<Entry>& line = waiting_[caller.name];
    if (line.empty()) turns_.push_back(caller.name);
    line.push_back({ticket, caller.shares, deadline, std::move(decide), owner});
    ++waiting_count_;
    return ticket;
  }
  lock.unlock();
  decide(verdict);
  return ticket;
}

// Call this, and the next two, under the lock.
bool Admission::may_wait(const std::string& caller) const {
  if (caller.empty()) return waiting_count_ < queue_;
  const auto own = waiting_.find(caller);
  return is_fair(own == waiting_.end() ? 0 : own->second.size(), 1, waiting_count_, queue_);
}

bool Admission::may_run(const std::string& caller, bool shares) const {
  if (!shares) return running_ < concurrency_;
  const auto own = running_of_.find(caller);
  return is_fair(own == running_of_.end() ? 0 : own->second, 1, running_, concurrency_);
}

void Admission::begin(const std::string& caller) {
  ++running_;
  if (!caller.empty()) ++running_of_[caller];
}

bool Admission::try_enter(const Caller& caller) {
  const std::lock_guard lock(mutex_);
  if (waiting_.contains(caller.name) || !may_run(caller.name, caller.shares)) return false;
  begin(caller.name);
  return true;
}

// Passes over a caller that has its share; it keeps its turn.
bool Admission::next(Decide& decide) {
  const std::lock_guard lock(mutex_);
  const auto turn = std::ranges::find_if(turns_, [&](const std::string& caller) {
    return may_run(caller, waiting_.at(caller).front().shares);
  });
  if (turn == turns_.end()) return false;
  const std::string caller = std::move(*turn);
  turns_.erase(turn);
  const auto line = waiting_.find(caller);
  decide = std::move(line->second.front().decide);
  line->second.pop_front();
  --waiting_count_;
  if (line->second.empty())
    waiting_.erase(line);
  else
    turns_.push_back(caller);
  begin(caller);
  return true;
}

void Admission::leave(const Caller& caller) {
  {
    const std::lock_guard lock(mutex_);
    --running_;
    if (const auto own = running_of_.find(caller.name);
        own != running_of_.end() && --own->second == 0)
      running_of_.erase(own);
  }
  for (Decide decide; next(decide);) decide(Verdict::admitted);
}

template <typename Predicate>
std::deque<Admission::Decide> Admission::take_if(Predicate predicate, bool all) {
  std::deque<Decide> taken;
  const std::lock_guard lock(mutex_);
  for (auto line = waiting_.begin(); line != waiting_.end() && (all || taken.empty());) {
    std::deque<Entry>& entries = line->second;
    for (auto entry = entries.begin(); entry != entries.end() && (all || taken.empty());) {
      if (!predicate(*entry)) {
        ++entry;
        continue;
      }
      taken.push_back(std::move(entry->decide));
      entry = entries.erase(entry);
      --waiting_count_;
    }
    if (entries.empty()) {
      std::erase(turns_, line->first);
      line = waiting_.erase(line);
    } else {
      ++line;
    }
  }
  return taken;
}

bool Admission::cancel(std::uint64_t ticket) {
  auto taken = take_if([&](const Entry& entry) { return entry.ticket == ticket; }, false);
  for (const Decide& decide : taken) decide(Verdict::cancelled);
  return !taken.empty();
}

Admission::Clock::time_point Admission::expire(Clock::time_point now) {
  Clock::time_point soonest = Clock::time_point::max();
  const auto late = take_if(
      [&](const Entry& entry) {
        if (entry.deadline <= now) return true;
        soonest = std::min(soonest, entry.deadline);
        return false;
      },
      true);
  for (const Decide& decide : late) decide(Verdict::timeout);
  return soonest;
}

void Admission::close(const void* owner) {
  for (const Decide& decide :
       take_if([&](const Entry& entry) { return entry.owner == owner; }, true))
    decide(Verdict::cancelled);
}

unsigned Admission::running() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

unsigned Admission::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_count_;
}

}  // namespace brig
