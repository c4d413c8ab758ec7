// Answers the DNS questions of a cell. Every name has an address that stands for it; whether the
// tool may reach it is decided when it connects, so that a denial can be explained. Nothing is
// looked up for a question: a name that is asked for can carry data out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "egress/cell.h"

namespace brig::egress {

// The answer to one message; empty: there is none.
std::vector<std::uint8_t> answer_to(std::span<const std::uint8_t> message, Cell& cell);

// Answers what waits on the socket, at most some of it in one turn.
void answer_datagrams(int socket, Cell& cell);

}  // namespace brig::egress
