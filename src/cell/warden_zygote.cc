// How a Warden starts its zygote, hears it, retires it for another one, and notices its end.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "cell/warden.h"
#include "os/socket.h"

namespace brig {

using std::chrono::milliseconds;
using wire::Message;
using wire::Tag;

namespace {

constexpr milliseconds kHung{5000};  // a cell takes one millisecond, or at worst a hundred

}  // namespace

void Warden::start_zygote() try {
  ++zygote_;
  HelperProcess::Started started = helper_->spawn(origin_);
  HelperProcess::Planned planned = std::move(started).work_out(policy_, false);
  // The settings are the same for every zygote of this policy, and calls refer to them. They are
  // written once, before there are calls.
  if (settings_.enforced.empty()) {
    settings_ = call_settings(policy_, helper_->plan, false);
    settings_.functions = origin_.functions();
    settings_.shows_workspace = origin_.shows_workspace;
  } else if (settings_.enforced != helper_->plan.enforced) {
    throw_error(ErrorKind::resource,
                "brig can no longer enforce this Runner's limits ({}); make a new Runner",
                helper_->cgroups.why_not);
  }
  std::move(planned).send_plan();
  proven_ = false;
  watch(helper_->socket.get(), {Topic::Kind::janitor, zygote_});
} catch (...) {
  helper_->stop();  // a half-started helper would pass for a running one and never be tried again
  throw;
}

// The zygote shares this memory and could change it, so its content is copied once and then read.
Answer Warden::read_catalog(std::string& doing) const {
  AnswerReader reader(kMaxCatalog);
  const auto note = [&](double, std::string_view what) { doing = what; };
  std::string bytes(64 * 1024, '\0');
  for (off_t at = 0; at < kMaxCatalog;) {
    const ssize_t size = pread(helper_->catalog.get(), bytes.data(), bytes.size(), at);
    if (size <= 0 || !reader.feed({bytes.data(), static_cast<std::size_t>(size)}, note)) break;
    at += size;
  }
  return reader.take();
}

void Warden::stop_zygote() {
  std::deque<ReadyCell> unused;
  {
    const std::lock_guard lock(mutex_);
    unused.swap(ready_);
    std::erase_if(slots_, [&](const auto& slot) { return !is_retired(slot.second); });
    std::erase_if(gone_in_use_, [&](unsigned id) { return !slots_.contains(id); });
  }
  retired_.clear();
  free_ids_.clear();
  making_ = 0;
  helper_->stop();
}

// A name that must be protected now exists, and only a new zygote can protect it. Calls that run in
// this zygote go on; all new cells come from the next one.
void Warden::retire_zygote() {
  std::vector<unsigned> unused;
  bool is_used = false;
  for (const auto& entry : slots_) {
    const Slot& slot = entry.second;
    if (is_retired(slot)) continue;
    const std::lock_guard lock(mutex_);
    const bool has_call = (slot.state == Slot::State::ready || slot.state == Slot::State::busy) &&
                          std::none_of(ready_.begin(), ready_.end(),
                                       [&](const ReadyCell& cell) { return cell.slot == slot.id; });
    if (has_call)
      is_used = true;
    else
      unused.push_back(slot.id);
  }
  for (const unsigned id : unused) lose_slot(id);
  if (!is_used) {
    stop_zygote();
  } else {
    // The old zygote's janitor removes what is left of its cgroups, and its ids are not reused.
    retired_.clear();
    free_ids_.clear();
    retired_zygotes_.emplace(zygote_++, std::exchange(helper_, std::make_unique<HelperProcess>()));
  }
  retry_at_ = Clock::now();
}

void Warden::stop_retired() {
  std::erase_if(retired_zygotes_, [&](const auto& each) {
    return std::none_of(slots_.begin(), slots_.end(),
                        [&](const auto& slot) { return slot.second.zygote == each.first; });
  });
}

// The first cell has to wait for what the zygote loads.
milliseconds Warden::hung_after() const {
  const milliseconds patience = set_up_patience(policy_);
  return proven_ ? std::min(kHung, patience) : patience;
}

void Warden::on_janitor(unsigned zygote) {
  if (zygote != zygote_) {
    const auto retired = retired_zygotes_.find(zygote);
    Message ignored;
    if (retired == retired_zygotes_.end()) return;
    const ssize_t size =
        recv_packet(retired->second->socket.get(), &ignored, sizeof ignored, MSG_DONTWAIT).size;
    if (size == sizeof ignored || (size < 0 && errno == EAGAIN)) return;
    std::vector<unsigned> ids;
    for (const auto& [id, slot] : slots_)
      if (slot.zygote == zygote) ids.push_back(id);
    for (const unsigned id : ids) lose_slot(id);
    return;
  }
  moved_ = Clock::now();
  Message message;
  Packet packet = recv_packet(helper_->socket.get(), &message, sizeof message, MSG_DONTWAIT);
  if (packet.size < 0 && errno == EAGAIN) return;
  if (packet.size == sizeof message) {
    if (message.tag == Tag::failed && message.stage == wire::Stage::cgroup)
      lose_slot(message.index);
    else if (message.tag == Tag::failed)
      set_up_failed(failure_text(helper_->plan.plan(), message.stage, message.error, message.index),
                    failure_kind(message.stage, message.error));
    const auto slot = slots_.find(message.index);
    if (message.tag == Tag::slot_refreshed && slot != slots_.end() &&
        slot->second.state == Slot::State::refreshing) {
      slot->second.generation = static_cast<unsigned>(message.status);
      slot->second.entrance = std::move(packet.fds[0]);
      auto next =
          std::make_shared<SlotCgroup>(helper_->cgroups, slot->second.id, slot->second.generation);
      if (slot->second.cgroup) next->follow(*slot->second.cgroup);
      slot->second.cgroup = std::move(next);
      slot->second.state = Slot::State::idle;
    }
    return;
  }
  lose_zygote();
}

void Warden::lose_zygote() {
  std::vector<unsigned> ids;
  for (const auto& [id, slot] : slots_)
    if (!is_retired(slot)) ids.push_back(id);
  for (const unsigned id : ids) lose_slot(id);
  {
    const std::lock_guard lock(mutex_);
    // Only slots of retired zygotes are left, and all of these have a call.
    busy_ = static_cast<unsigned>(slots_.size());
  }
  stop_zygote();
  // This counts as one loss, however many cells went with it.
  ++lost_zygotes_;
  if (failures_ < kMaxFailures) failures_ = 0;
  if (lost_zygotes_ >= 3 || !thread_.joinable()) {
    failures_ = kMaxFailures;
    set_up_failed("the zygote ended", ErrorKind::internal);
  }
  // Retry at once the first time; if that fails too, wait, so that this is no tight loop.
  retry_at_ = Clock::now() + (lost_zygotes_ > 1 ? kRetry : milliseconds(0));
}

}  // namespace brig
