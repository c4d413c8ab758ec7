// What this process may do: for the choice of a way.
#pragma once

#include <cstdint>

namespace brig {

// Root with the rights to mount and to change ids, and with an id to spare. Root of most containers lacks one of
// those rights, and root of a user namespace often has no id but its own: there brig goes the way of an
// ordinary user. Throws if /proc can't be read.
bool has_root_rights();

// An id that no account has, and that even a host with 65536 ids has.
inline constexpr std::uint32_t kSpareId = 65533;

// Throws if there is no /proc: ids are mapped by it on the jail floor, and processes found by it on the others.
void require_proc();

// Whether these ids exist here, as users and as groups. Throws if /proc can't be read.
bool ids_are_mapped(std::uint32_t first, std::uint32_t count);

// Whether uid 0 here is uid 0 of the machine, and not one that a user namespace maps to another. RLIMIT_NPROC
// does not bind it.
bool is_the_machines_root();

}  // namespace brig
