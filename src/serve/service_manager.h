// The protocol with systemd: sockets that it passes on, and notifications of the server's state.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"

namespace brig::serve {

// The sockets of socket activation, if there are any. Child processes do not inherit them.
std::vector<UniqueFd> inherited_sockets();
// Whether a service manager wants notifications.
bool has_manager();
// Sends "READY=1" and the like; does nothing without a service manager.
void notify_manager(const std::string& state);

}  // namespace brig::serve
