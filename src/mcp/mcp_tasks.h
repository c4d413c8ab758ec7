// Tasks of MCP: calls that are jobs (service/jobs.h), in the form of the two eras. In 2026-07-28
// they are the extension io.modelcontextprotocol/tasks: the server makes a task of a call that
// takes long, if the client declares the extension. In 2025-11-25 they are part of the protocol:
// the client asks for one. See docs/decisions/034-mcp-tasks-are-jobs.md.
#pragma once

#include <brig/json.h>

#include <chrono>
#include <optional>
#include <string>

#include "service/jobs.h"

namespace brig::serve {

inline constexpr const char* kTasksExtension = "io.modelcontextprotocol/tasks";

// If a client declares the extension, a call that has not ended after this time is answered with a
// task. Most calls end sooner and are answered in one round trip.
inline constexpr std::chrono::milliseconds kTaskPatience{500};

// Whether the capabilities of a client, in a request of 2026-07-28, have the extension. Null: there
// are none.
bool declares_tasks(const Json* client_capabilities);

// What `params.task` of a tools/call of 2025-11-25 asks for.
struct TaskWish {
  // 0: as long as the server likes.
  std::chrono::milliseconds kept{0};
};
// Nothing if it is malformed.
std::optional<TaskWish> task_wish_of(const Json& task);

// The task in the form of tasks/get, without the result of one that is done.
Json task_json(const std::string& id, const Job& job, std::chrono::steady_clock::time_point now);

}  // namespace brig::serve
