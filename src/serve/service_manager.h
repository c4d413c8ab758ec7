// What systemd gives and wants: sockets that it listens on, and word of how things are.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"

namespace brig::serve {

// Those given by socket activation; none if there are none. They are then no longer offered to children.
std::vector<UniqueFd> inherited_sockets();
// Whether somebody wants to know.
bool has_manager();
// "READY=1" and the like; nothing happens where nobody wants to know.
void notify_manager(const std::string& state);

}  // namespace brig::serve
