// The two syscall filters of a cell, as BPF programs made by libseccomp.
//
// The filter is put on once, by the zygote, and inherited for free. It allows what Linux 5.17 had,
// less what no tool needs, refuses everything newer and every foreign ABI (i386, x32), and still lets
// the zygote's own children mount and make namespaces. The lock filter is put on by each cell after
// its set-up: it refuses that too, and whatever is worth telling the operator, through a listener, so
// that the attempt is counted in the report.
//
// Neither can see behind pointers: paths and addresses are the business of mounts and Landlock.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace brig {

using FilterProgram = std::vector<std::uint64_t>;  // one sock_filter each

struct FilterRules {
  bool inet = false;         // AF_INET, AF_INET6 and route netlink sockets, else AF_UNIX only
  bool shares_host = false;  // no namespaces: refuses what reaches other processes of the user
  // No memory cgroup: new shared memory is asked of the listener, which counts it (see counted_calls).
  bool counts_memory = false;
  std::vector<std::string> allow;  // extra; only names for which may_allow() holds
  std::vector<std::string> deny;   // extra; EPERM
};

// Builds with libseccomp; a millisecond or two. Throws Error.
FilterProgram build_filter(const FilterRules& rules);
FilterProgram build_lock_filter(const FilterRules& rules);

// The same for rules without extras, made at build time: free.
std::span<const std::uint64_t> default_filter();
std::span<const std::uint64_t> default_lock_filter(bool inet, bool counts_memory = false);

bool is_syscall(const std::string& name);
// Refused by default and safe to give back: it does not undo another layer.
bool may_allow(const std::string& name);

// Every call but those that a cell itself needs to start.
bool may_deny(const std::string& name);

// The calls that a lock filter with counts_memory asks its listener for, and that it may let go on: none that
// these rules refuse.
std::vector<int> counted_calls(const FilterRules& rules);
// What one of them would add to the memory that no process' own limit covers: an upper bound in bytes. The
// arguments are the call's registers, so the tool can't change them before it goes on.
std::uint64_t counted_memory(int number, const std::uint64_t* arguments);

// What a listener reports: "mount", "socket(AF_INET)"; and the errno the tool gets.
std::string describe_refusal(int number, const std::uint64_t* arguments);
int refusal_errno(int number);

}  // namespace brig
