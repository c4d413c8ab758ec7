#include "service/history.h"

#include <algorithm>

namespace brig::serve {

void History::add(const CallerPtr& caller, std::string text) {
  text.shrink_to_fit();
  if (text.size() > limits_.bytes) return;
  Own& own = of_[caller];
  own.bytes += text.size();
  bytes_ += text.size();
  ++count_;
  own.entries.push_back({next_++, std::move(text)});
  while (count_ > limits_.count || bytes_ > limits_.bytes) forget_one();
}

void History::forget_one() {
  // Finds the caller with the most calls, or with the most bytes if those are too many.
  const bool by_bytes = bytes_ > limits_.bytes;
  const auto most = std::ranges::max_element(of_, {}, [&](const auto& each) {
    return by_bytes ? each.second.bytes : each.second.entries.size();
  });
  Own& own = most->second;
  const std::size_t size = own.entries.front().text.size();
  own.entries.pop_front();
  own.bytes -= size;
  bytes_ -= size;
  --count_;
  if (own.entries.empty()) of_.erase(most);
}

std::string History::list(const CallerPtr& caller, std::size_t most) const {
  std::vector<const Entry*> all;
  for (const auto& [whose, own] : of_)
    if (caller->admin || whose == caller)
      for (const Entry& each : own.entries) all.push_back(&each);
  std::ranges::sort(all, std::ranges::greater(), [](const Entry* each) { return each->number; });
  if (all.size() > most) all.resize(most);
  std::string text = "[";
  for (const Entry* each : all) text.append(text.size() > 1 ? "," : "").append(each->text);
  return text + "]";
}

void History::forget(const Caller& caller) {
  const auto found =
      std::ranges::find_if(of_, [&](const auto& each) { return each.first.get() == &caller; });
  if (found == of_.end()) return;
  bytes_ -= found->second.bytes;
  count_ -= found->second.entries.size();
  of_.erase(found);
}

}  // namespace brig::serve
