// The way out of a cell whose tool may reach named hosts: sockets in the cell's own network
// namespace, made before the cell is locked and sent to the host, whose proxy serves them. Nothing
// of the proxy is in the cell, and the descriptor on which a connection arrives says whose it is.
#pragma once

#include "helper/failure.h"
#include "wire/plan.h"

namespace brig::helper {

// Makes every address of the internet one of the loopback interface, so that a connection to any of
// them ends at a listener here, or is refused at once. Then makes the sockets and sends them: first
// the datagram socket for the DNS, then a listener for each port of the plan, in several packets of
// wire::Tag::way_out if need be. Does nothing if the plan has no ports.
bool open_way_out(const Plan& plan, int socket, Failure& failure);

}  // namespace brig::helper
