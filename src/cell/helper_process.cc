#include "cell/helper_process.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "cell/helper_image.h"
#include "os/memfd.h"
#include "os/socket.h"
#include "os/sys.h"
#include "os/user_scope.h"

namespace brig {
namespace {

UniqueFd sealed(const std::vector<std::byte>& block) {
  UniqueFd file = make_memfd("brig-plan");
  if (!file ||
      !fill_and_seal(file.get(), {reinterpret_cast<const char*>(block.data()), block.size()}))
    throw_sys("plan: writing a memfd{}", file_limit_hint());
  return file;
}

// It has a fixed size, so that a library can't fill the host's memory through it.
UniqueFd make_catalog() {
  UniqueFd file = make_memfd("brig-catalog");
  if (!file || ftruncate(file.get(), kMaxCatalog) != 0 ||
      fcntl(file.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
    throw_sys("starting the helper: making a memfd");
  return file;
}

// The tool's id owns it, so that the tool can open /dev/stdout.
bool make_pipe(const Plan& plan, unsigned slot, UniqueFd& reader, UniqueFd& writer) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  reader.reset(ends[0]);
  writer.reset(ends[1]);
  if (plan.as_root && fchown(ends[1], plan.host_uid + slot_id(plan, slot),
                             plan.host_gid + slot_id(plan, slot)) != 0)
    return false;
  return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

}  // namespace

bool names_limit_of_tree(const Limits& limits) {
  const Limits usual;
  return limits.named || limits.memory != usual.memory || limits.processes != usual.processes ||
         limits.cpus || limits.cpu_time;
}

std::string scope_manager(const Policy& policy, bool single) {
  return single && !names_limit_of_tree(policy.limits) ? "" : user_manager_socket();
}

bool send_or_ended(int socket, const wire::Message& message, const int* fds, int count) {
  // ECONNRESET comes once where the other end still had something to read.
  return send_packet(socket, &message, sizeof message, fds, count) || errno == EPIPE ||
         errno == ECONNRESET;
}

HelperProcess::Started HelperProcess::spawn(const Origin& origin) {
  const UniqueFd self(sys::pidfd_open(getpid()));
  int pair[2];
  if (!self || !packet_pair(pair)) throw_sys("starting the helper: pidfd_open, socketpair");
  socket.reset(pair[0]);
  const UniqueFd theirs(pair[1]);
  if (origin.host_copy) {
    janitor = origin.host_copy->start(theirs.get(), self.get());
    return {*this, origin};
  }
  const int fds[] = {theirs.get(), self.get()};
  const UniqueFd helper = origin.loader ? UniqueFd() : helper_image();
  starting = std::make_unique<CleanSpawn>(origin.loader ? origin.loader->get() : helper.get(),
                                          "brig-helper", fds);
  return {*this, origin};
}

HelperProcess::Planned HelperProcess::Started::work_out(const Policy& policy, bool single) && {
  CgroupLimits limits;
  limits.memory = policy.limits.memory;
  limits.processes = policy.limits.processes + (single ? kOwnTasksSingle : kOwnTasks);
  limits.cpus = policy.limits.cpus;
  // So that a single call can have less than the policy's.
  limits.count_cpu =
      origin_.functions() || origin_.shows_workspace || policy.limits.cpu_time.has_value();
  limits.single = single;
  CgroupLayout& cgroups = helper_.cgroups;
  cgroups = make_cgroups(limits);
  // The janitor lives in the scope, with everything that it starts from now on. The host stays
  // where it is.
  if (const std::string manager = scope_manager(policy, single);
      !cgroups.memory && cgroups.unified_memory && !manager.empty()) {
    CgroupLayout scoped = make_scope_cgroups(
        limits, manager, helper_.starting ? helper_.starting->pid() : helper_.janitor.pid());
    if (scoped.memory)
      cgroups = std::move(scoped);
    else
      cgroups.why_not += "; " + scoped.why_not;
  }
  helper_.plan = build_plan(policy, cgroups, single, origin_.payload ? *origin_.payload : Payload(),
                            origin_.shows_workspace);
  helper_.as_made = std::make_shared<const AsMade>(AsMade{helper_.plan.view, helper_.plan.missing});
  if (origin_.payload) helper_.catalog = make_catalog();
  return Planned(helper_);
}

void HelperProcess::Planned::send_plan(int cell_socket) && {
  const UniqueFd block = sealed(helper_.plan.block);
  wire::Message message{};
  message.tag = wire::Tag::plan;
  const int fds[] = {block.get(), helper_.catalog.get()};
  if ((cell_socket >= 0 && !send_or_ended(cell_socket, message, fds, 1)) ||
      !send_or_ended(helper_.socket.get(), message, fds, helper_.catalog ? 2 : 1))
    throw_sys("starting the helper: sending the plan");
  helper_.cgroups.release();
  if (helper_.starting) helper_.janitor = helper_.starting->take();
  helper_.starting.reset();
}

void HelperProcess::hang_up() {
  // Sent explicitly: a child that the host has forked holds a copy of the descriptor, so closing
  // alone might not be noticed.
  if (socket) shutdown(socket.get(), SHUT_RDWR);
}

void HelperProcess::stop() {
  hang_up();
  socket.reset();
  starting.reset();
  janitor.wait(10'000);
  const bool cleaned = janitor.ended_well();
  janitor = Child();
  // A janitor that was killed or never started could not do its part.
  if (!cleaned) {
    cgroups.sweep();
    if (!plan.scratch_directory.empty()) {
      std::error_code ignored;
      std::filesystem::remove_all(plan.scratch_directory, ignored);
    }
  }
  cgroups = CgroupLayout();
  plan.scratch_directory.clear();
}

CallSettings call_settings(const Policy& policy, const BuiltPlan& plan, bool single) {
  CallSettings settings;
  settings.limits = policy.limits;
  settings.own_tasks = single ? kOwnTasksSingle : kOwnTasks;
  settings.counts_memory = plan.counts_memory;
  settings.asked_for_no_scope = single && !names_limit_of_tree(policy.limits);
  settings.counted_calls = plan.counted_calls;
  settings.counts_processes = plan.counts_processes;
  settings.network = policy.network;
  settings.egress = plan.egress;
  settings.syscalls = policy.syscalls;
  settings.init_exposed = policy.isolation != Isolation::jail;
  settings.keeps_room = plan.plan().keeps_room != 0;
  const auto is_set = [&](const std::string& name) {
    return policy.environment.set.contains(name);
  };
  for (const auto& [name, value] : plan.environment) {
    // Without mounts, these two name the cell's own directory, which each call adds.
    if (!plan.scratch_directory.empty() && (name == "TMPDIR" || name == "HOME") && !is_set(name))
      continue;
    settings.environment.append(name).append("=").append(value).push_back('\0');
    ++settings.variables;
  }
  const std::vector<std::string>& unset = policy.environment.unset;
  for (const char* name : {"TMPDIR", "HOME"})
    if (!is_set(name) && std::find(unset.begin(), unset.end(), name) == unset.end())
      settings.scratch_variables.emplace_back(name);
  settings.enforced = plan.enforced;
  return settings;
}

std::chrono::milliseconds set_up_patience(const Policy& policy) {
  using std::chrono::milliseconds;
  // The minimum is for a machine with twenty times as much to do as it has CPUs: there an
  // interpreter that imports its modules took more than 3 s.
  return std::clamp<milliseconds>(policy.limits.timeout, milliseconds(10'000),
                                  milliseconds(60'000));
}

std::string out_of_patience(std::chrono::milliseconds patience) {
  return fmt::format(
      "no cell could be made within {} ms; is a listed path on a file system that does not answer?",
      patience.count());
}

void make_pipes(const Plan& plan, bool functions, ReadyCell& cell) {
  cell.null.reset(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!cell.null) throw_sys("opening /dev/null");
  if (!make_pipe(plan, cell.slot, cell.out_read, cell.out_write) ||
      !make_pipe(plan, cell.slot, cell.err_read, cell.err_write) ||
      (functions && !make_pipe(plan, cell.slot, cell.answer_read, cell.answer_write)))
    throw_sys("pipes for a cell's output");
}

}  // namespace brig
