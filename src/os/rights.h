// What this process may do. brig chooses by it how to build cells.
#pragma once

#include <cstdint>

namespace brig {

// Whether this process is root, may mount and change ids, and has a spare id. Root of most
// containers lacks one of those rights, and root of a user namespace often has only its own id;
// there brig works as it does for an ordinary user. Throws Error if /proc can't be read.
bool has_root_rights();

// An id that no account has, and that exists even on a host with 65536 ids.
inline constexpr std::uint32_t kSpareId = 65533;

// Throws Error if there is no /proc: brig maps ids through it on the jail floor, and finds
// processes through it on the other floors.
void require_proc();

// Whether these ids exist here, as users and as groups. Throws Error if /proc can't be read.
bool ids_are_mapped(std::uint32_t first, std::uint32_t count);

// Whether uid 0 here is uid 0 of the machine, and not mapped to another by a user namespace.
// RLIMIT_NPROC does not bind the machine's root.
bool is_the_machines_root();

}  // namespace brig
