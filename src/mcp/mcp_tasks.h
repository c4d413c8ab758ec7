// Tasks of MCP: calls that are jobs (serve/jobs.h), as the two eras tell of them. In 2026-07-28 they are the extension
// io.modelcontextprotocol/tasks: the server makes a task of a call that takes long, if the client declares the extension. In 2025-11-25 they are part of
// the protocol: the client asks for one. See docs/decisions/034-mcp-tasks-are-jobs.md.
#pragma once

#include <brig/json.h>

#include <chrono>
#include <optional>
#include <string>

#include "service/jobs.h"

namespace brig::serve {

inline constexpr const char* kTasksExtension = "io.modelcontextprotocol/tasks";

// A call of a client that declares the extension is answered with a task if it has not ended by then: most calls end sooner, and are
// answered in one round trip.
inline constexpr std::chrono::milliseconds kTaskPatience{500};

// The capabilities of a client, in a request of 2026-07-28; null: there are none.
bool declares_tasks(const Json* client_capabilities);

// What `params.task` of a tools/call of 2025-11-25 asks for.
struct TaskWish {
  std::chrono::milliseconds kept{0};  // 0: as long as the server likes
};
// Nothing if it is malformed.
std::optional<TaskWish> task_wish_of(const Json& task);

// The task, as tasks/get has it, but for the result of one that is done.
Json task_told(const std::string& id, const Job& job, std::chrono::steady_clock::time_point now);

}  // namespace brig::serve
