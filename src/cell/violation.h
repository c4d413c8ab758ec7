// What a report says of things that a cell tried and was refused: one maker for each code.
#pragma once

#include <brig/policy.h>
#include <brig/report.h>

#include <cstdint>
#include <string>

namespace brig {

// A system call that the filter refused, by the name that describe_refusal() gives it.
Violation refused_call(const std::string& what, std::uint64_t count, Network network,
                       const Syscalls& syscalls);
// The kernel's out-of-memory killer ended processes of the cell.
Violation killed_for_memory(std::uint64_t count, std::uint64_t memory);
// The host refused more shared memory.
Violation refused_memory(std::uint64_t count, std::uint64_t memory);
// A process was refused, as a cgroup counts it.
Violation refused_process(std::uint64_t count, std::uint32_t processes);
// By what the program said: nothing counts these.
Violation may_lack_memory(std::uint64_t memory);
Violation may_lack_process(std::uint32_t processes);
Violation may_lack_scratch(std::uint64_t scratch);
// A path that the command named, by the view of its cell (see CellView).
// `key`: what would give it, files.read or files.write; null: nothing can.
Violation not_in_cell(std::string path, const char* key);
// `real`: the host's path, where the cell sees it at another place.
Violation read_only(std::string path, bool can_be_given, const std::string& real = {});
Violation hidden(std::string path);
// Of files.protect, and of files.noexec.
Violation kept(std::string path);
Violation not_executable(std::string path);
// A path of the host's that the cell has at `place`.
Violation elsewhere(std::string path, const std::string& place);
// Of files.protect "@default": it was not there when the call began, and is now.
Violation appeared(std::string path);

}  // namespace brig
