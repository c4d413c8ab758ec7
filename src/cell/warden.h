// Warden: owns a zygote, its slots and the pool of ready cells, and drives the calls of run_async.
// It is a loop over one epoll, step() by step(), in a thread of its own. The thread that calls
// run() drives that call itself and needs the warden only for its cell.
#pragma once

#include <brig/runner.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/own_thread.h"
#include "cell/call.h"
#include "cell/helper_process.h"

namespace brig {

class Warden {
 public:
  // Throws Error if a cell can't be made.
  Warden(Policy policy, RunnerOptions options, Origin origin = {});
  ~Warden();
  Warden(const Warden&) = delete;
  Warden& operator=(const Warden&) = delete;

  using Done = std::function<void(CellResult)>;
  CellResult run(CellRequest request, const OutputCallback& on_output);
  std::uint64_t submit(CellRequest request, OutputCallback on_output, Done on_done);
  bool cancel(std::uint64_t id, bool at_once = false);
  unsigned ready() const;
  // What the zygote has loaded: a result that lists it, or an error.
  const Answer& catalog() const { return catalog_; }
  // The settings of all its calls.
  const CallSettings& settings() const { return settings_; }
  // Whether the caller is inside one of the warden's callbacks.
  bool is_own_thread() const { return thread_.is_this(); }

 private:
  // What a descriptor in the epoll set belongs to. The kernel keeps it as 64 bits: 4, 57 and 3.
  struct Topic {
    enum class Kind : std::uint8_t { wake, janitor, slot, cell, call } kind;
    std::uint64_t id = 0;  // Of the slot or the call.
    unsigned source = 0;   // Of a call.
    std::uint64_t bits() const { return static_cast<std::uint64_t>(kind) << 60 | id << 3 | source; }
    static Topic of(std::uint64_t bits) {
      return {static_cast<Kind>(bits >> 60), bits << 4 >> 7, static_cast<unsigned>(bits & 7)};
    }
  };

  static constexpr std::chrono::milliseconds kRetry{100};
  // How long more cells than needed may stay ready.
  static constexpr std::chrono::seconds kPatience{2};
  // How many cells are made at once. More would only compete.
  static constexpr unsigned kMaxMaking = 8;
  // How many failures in a row make waiting calls fail: more than the cells that one dead zygote
  // takes along.
  static constexpr unsigned kMaxFailures = 2 * kMaxMaking + 3;

  // A keeper, its cgroups, and the cell that it is making or has made.
  struct Slot {
    unsigned id = 0;
    unsigned zygote = 0;
    // renewing: its call is over, and its room may serve another one.
    enum class State { idle, making, ready, busy, renewing, refreshing } state = State::idle;
    std::uint64_t birth = 0;
    UniqueFd socket;
    std::shared_ptr<SlotCgroup> cgroup;
    unsigned generation = 0;
    UniqueFd entrance;  // Of a new cgroup that the keeper enters next.
    ReadyCell cell;     // While it is being made or renewed.
  };
  struct AsyncCall {
    std::unique_ptr<Call> call;
    Done on_done;
    UniqueFd cancel_fd;
    Clock::time_point timer{};
    bool waiting = true;  // For a cell.
  };
  // A caller that waits for a cell: a thread in run(), or an async call. First come, first served.
  struct Waiter {
    std::uint64_t call = 0;  // 0: a thread.
    std::string owner;
    // For a thread: signalled when there is a cell or a failure.
    UniqueFd arrived;
    std::optional<ReadyCell> cell;
    std::string failure;
  };

  void start_zygote();
  Answer read_catalog(std::string& doing) const;
  void stop_zygote();
  void retire_zygote();
  void stop_retired();
  bool is_retired(const Slot& slot) const { return slot.zygote != zygote_; }
  void loop();
  // Handles what has happened. Waits at most until `until`.
  void step(Clock::time_point until);
  void on_janitor(unsigned zygote);
  void on_slot(unsigned id);
  void on_made_cell(unsigned id);
  void equip(Slot& slot);
  void on_call(std::uint64_t id, Call::Source source);
  void on_timers();
  void refill();
  void give_up_a_room();
  std::size_t most_slots() const {
    return options_.max_cells + std::max(options_.ready, options_.ready_max);
  }
  void missed();  // A call found no cell ready.
  bool shrink();
  bool are_too_many(unsigned ready, unsigned spare);
  bool grow();  // False if the janitor is gone.
  void make_cell(Slot& slot);
  void drop_cell(Slot& slot);  // The cell that the slot is making.
  void discard_cell(Slot& slot);
  void cell_gone(Slot& slot);
  void finish_gone();
  void let_go(unsigned slot, Call& call, CellResult& result);
  void release(unsigned slot, ReadyCell remains, Call::RoomAfter after = Call::RoomAfter::goes);
  void take_back_rooms();
  void on_old_room(Slot& slot);
  void renew(Slot& slot);
  void make_ready(Slot& slot);
  bool is_stale(const ReadyCell& cell) const;
  void refuse_cell(ReadyCell cell);
  // These need the lock. The first one finds a cell that this caller may have.
  std::deque<ReadyCell>::iterator find_cell(const std::string& owner);
  ReadyCell hand_over(const std::deque<ReadyCell>::iterator& cell);
  void lose_slot(unsigned id);
  void lose_zygote();
  std::chrono::milliseconds hung_after() const;
  void set_up_failed(const std::string& message, ErrorKind kind);
  void hand_out();
  AsyncCall* find_call(std::uint64_t id);
  void start_async(std::uint64_t id, AsyncCall& call, ReadyCell cell);
  void update_async(std::uint64_t id, AsyncCall& call);
  void finish_async(std::uint64_t id);
  void watch_cancel_fd(std::uint64_t id, AsyncCall& async);
  void drop_cancel_fd(AsyncCall& async);
  void leave_queue(std::uint64_t id, AsyncCall& async, Outcome outcome, const char* message);
  // Waits for a cell until the call's deadline, or until the call is cancelled.
  std::optional<ReadyCell> take_cell(Call& call, Outcome& outcome, std::string& message);
  void watch(int fd, Topic topic, std::uint32_t events = 1 /* EPOLLIN */);
  void wake() const;

  const Policy policy_;
  const RunnerOptions options_;
  const Origin origin_;
  CallSettings settings_;
  Answer catalog_;

  // Guards everything below, except what only the stepping thread touches.
  mutable std::mutex mutex_;
  std::deque<ReadyCell> ready_;
  std::deque<std::shared_ptr<Waiter>> waiters_;
  std::map<std::uint64_t, AsyncCall> calls_;
  std::set<std::pair<Clock::time_point, std::uint64_t>> timers_;
  // Which call, and whether at once.
  std::vector<std::pair<std::uint64_t, bool>> cancels_;
  std::uint64_t next_call_ = 1;
  // How many cells to keep ready: options_.ready to ready_max.
  unsigned target_ = 0;
  // When fewer will do, unless a call finds none before that.
  Clock::time_point shrink_at_{};
  unsigned busy_ = 0;               // Cells that were handed out and are not gone yet.
  std::set<unsigned> in_use_;       // Slots whose call is not over.
  std::set<unsigned> gone_in_use_;  // Of these, the slots whose cell is gone.
  // Remains of calls that are over. The stepping thread closes them.
  std::vector<ReadyCell> remains_;
  // Rooms of calls that are over, which may serve another one; and whether their init has said so.
  struct RoomBack {
    ReadyCell cell;
    bool is_as_new;
  };
  std::vector<RoomBack> rooms_back_;
  // The cells of this zygote do not protect files that exist by now.
  unsigned stale_zygote_ = 0;
  // Who asked last, and whether there was ever another one.
  std::optional<std::string> last_owner_;
  bool has_owners_ = false;
  bool stopping_ = false;

  // Only the stepping thread uses these.
  UniqueFd epoll_, wake_;
  std::unique_ptr<HelperProcess> helper_ = std::make_unique<HelperProcess>();
  unsigned zygote_ = 0;  // The number of helper_, counted from 1.
  // Zygotes in which calls still run, and none is started any more.
  std::map<unsigned, std::unique_ptr<HelperProcess>> retired_zygotes_;
  std::map<unsigned, Slot> slots_;
  std::vector<std::pair<unsigned, std::shared_ptr<SlotCgroup>>> retired_;
  std::deque<unsigned> free_ids_;
  unsigned next_slot_ = 0;
  unsigned making_ = 0, renewing_ = 0;
  std::uint64_t next_birth_ = 1;
  // Since when there are more cells ready than are wanted.
  Clock::time_point too_many_since_{};
  // When the helper was last heard from, or first asked.
  Clock::time_point moved_{};
  bool proven_ = false;        // This zygote has made a cell.
  unsigned failures_ = 0;      // In a row.
  unsigned lost_zygotes_ = 0;  // In a row.
  Clock::time_point retry_at_{};
  std::optional<Error> failure_;
  OwnThread thread_;
};

}  // namespace brig
