#include "service/refusal_log.h"

#include "base/time_text.h"

namespace brig::serve {
namespace {

// Without the port, of which a stranger has many.
std::string address_in(const std::string& peer) { return peer.substr(0, peer.rfind(':')); }

}  // namespace

RefusalLog::RefusalLog(Loop& loop, Write write) : write_(std::move(write)) {
  timer_ = loop.every(std::chrono::seconds(1), [this] { flush(); });
}

RefusalLog::~RefusalLog() { flush(); }

void RefusalLog::note(const std::string& caller, const std::string& peer, const Json& line) {
  const bool known = !caller.empty();
  std::string who = known ? caller : address_in(peer);
  if (!known && !strangers_.contains(who) && strangers_.size() >= kAddresses) who = "";
  Count& count = (known ? callers_ : strangers_)[who];
  if (count.lines >= kOfOne || (!known && strangers_lines_ >= kOfStrangers)) {
    ++count.more;
    return;
  }
  ++count.lines;
  if (!known) ++strangers_lines_;
  write_(line);
}

void RefusalLog::flush() {
  for (const auto& [name, count] : callers_) write_rest("caller", name, count);
  for (const auto& [address, count] : strangers_) write_rest("peer", address, count);
  callers_.clear();
  strangers_.clear();
  strangers_lines_ = 0;
}

void RefusalLog::write_rest(const char* key, const std::string& who, const Count& count) {
  if (count.more == 0) return;
  write_({{"event", "refused_more"},
          {"at", time_text(std::chrono::system_clock::now())},
          {key, who.empty() ? "others" : who},
          {"count", count.more}});
}

}  // namespace brig::serve
