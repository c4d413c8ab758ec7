// The two syscall filters of a cell, as BPF programs made by libseccomp.
//
// The zygote loads the first filter once, and all cells inherit it for free. It allows what Linux
// 5.17 had, except what no tool needs. It refuses everything newer and every foreign ABI (i386,
// x32), and still lets the zygote's own children mount and make namespaces. Each cell loads the
// second one, the lock filter, after its set-up. It refuses those calls too, and it passes refusals
// that an operator should know of to a listener, so that the report counts them.
//
// Neither filter can see behind pointers: mounts and Landlock take care of paths and addresses.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace brig {

using FilterProgram = std::vector<std::uint64_t>;  // One sock_filter each.

struct FilterRules {
  // Allows AF_INET, AF_INET6 and route netlink sockets. Otherwise AF_UNIX only.
  bool inet = false;
  // There are no namespaces: refuses calls that reach other processes of the user.
  bool shares_host = false;
  // The room may serve another cell after this one: the listener hears of calls by which a
  // descriptor could leave the cell (see may_hand_out), and a tool can't change its init's limits
  // or scheduling, which the next tool would inherit.
  bool keeps_room = false;
  // There is no memory cgroup: the listener decides about new shared memory and counts it (see
  // counted_calls).
  bool counts_memory = false;
  // Calls to allow in addition. Only names for which may_allow() is true.
  std::vector<std::string> allow;
  // Calls to refuse in addition, with EPERM.
  std::vector<std::string> deny;
};

// Builds the filters with libseccomp, in a millisecond or two. Throws Error.
FilterProgram build_filter(const FilterRules& rules);
FilterProgram build_lock_filter(const FilterRules& rules);

// The same for rules without additions. Made at build time, so they cost nothing.
std::span<const std::uint64_t> default_filter();
std::span<const std::uint64_t> default_lock_filter(bool inet, bool counts_memory = false,
                                                   bool keeps_room = false);

bool is_syscall(const std::string& name);
// Whether the default refuses the call and it is safe to allow: it does not undo another layer.
bool may_allow(const std::string& name);

// True for every call except those that a cell itself needs to start.
bool may_deny(const std::string& name);

// The calls for which a lock filter with counts_memory asks its listener, which may let them go on.
// Calls that these rules refuse are not among them.
std::vector<int> counted_calls(const FilterRules& rules);
// An upper bound, in bytes, of what such a call adds to the memory that no process's own limit
// covers. The arguments are the call's registers, so the tool can't change them before the call
// goes on.
std::uint64_t counted_memory(int number, const std::uint64_t* arguments);

// Whether this is a call about which the listener is asked because of keeps_room. It goes on, but a
// descriptor may leave the cell from now on. Without a network that takes a unix socket which is
// connected to one outside, or which can send without being connected (connect, and socket and
// socketpair of datagrams): nothing outside can connect to a socket inside.
bool may_hand_out(int number, const std::uint64_t* arguments);

// What a listener reports, such as "mount" or "socket(AF_INET)", and the errno that the tool gets.
std::string describe_refusal(int number, const std::uint64_t* arguments);
int refusal_errno(int number);

}  // namespace brig
