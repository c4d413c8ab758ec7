// The entries of a report about what a cell tried and was refused: one function for each code.
#pragma once

#include <brig/policy.h>
#include <brig/report.h>

#include <cstdint>
#include <string>
#include <vector>

namespace brig {

// One for each host and port that was denied.
void add_refused_connections(std::vector<Violation>& violations,
                             const std::vector<Connection>& connections);
Violation too_many_connections(std::uint64_t count, std::uint32_t connections);
// The filter refused a system call. `what` is its name from describe_refusal().
Violation refused_call(const std::string& what, std::uint64_t count, const Network& network,
                       const Syscalls& syscalls);
// The kernel's out-of-memory killer ended processes of the cell.
Violation killed_for_memory(std::uint64_t count, std::uint64_t memory);
// The host refused more shared memory.
Violation refused_memory(std::uint64_t count, std::uint64_t memory);
// The kernel refused a process, as a cgroup counts it.
Violation refused_process(std::uint64_t count, std::uint32_t processes);
// Concluded from what the program printed, because nothing counts this.
Violation may_lack_memory(std::uint64_t memory);
// A sanitizer could not reserve what it needs to start. No policy gives that without a cgroup.
// `may_have_scope`: naming the limit is enough to get one.
Violation lacks_address_space(std::uint64_t memory, bool may_have_scope);
Violation may_lack_process(std::uint32_t processes);
// The same where brig sets no limit of its own: the user's, which other programs use up, too.
Violation may_lack_shared_process();
Violation may_lack_scratch(std::uint64_t scratch);
// The command named a path that is not in its cell (see CellView). `key`: the key that would give
// it, files.read or files.write. Null: nothing can.
Violation not_in_cell(std::string path, const char* key);
// `real`: the host's path, where the cell sees it at another place.
Violation read_only(std::string path, bool can_be_given, const std::string& real = {});
Violation hidden(std::string path);
// The path is kept by files.protect, or by files.noexec.
Violation kept(std::string path);
Violation not_executable(std::string path);
// The cell has the host's path at `place`.
Violation elsewhere(std::string path, const std::string& place);
// A name of files.protect "@default" did not exist when the call began, and does now.
Violation appeared(std::string path);

}  // namespace brig
