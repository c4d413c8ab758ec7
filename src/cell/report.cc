#include <brig/report.h>

namespace brig {

const char* to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok: return "ok";
    case Outcome::tool_error: return "tool_error";
    case Outcome::exit: return "exit";
    case Outcome::signal: return "signal";
    case Outcome::timeout: return "timeout";
    case Outcome::memory_limit: return "memory_limit";
    case Outcome::output_limit: return "output_limit";
    case Outcome::process_limit: return "process_limit";
    case Outcome::denied: return "denied";
    case Outcome::cancelled: return "cancelled";
    case Outcome::invalid_arguments: return "invalid_arguments";
    case Outcome::unknown_tool: return "unknown_tool";
    case Outcome::overloaded: return "overloaded";
    case Outcome::internal: return "internal";
  }
  return "internal";
}

const char* to_string(Connection::Verdict verdict) {
  switch (verdict) {
    case Connection::Verdict::allowed: return "allowed";
    case Connection::Verdict::denied: return "denied";
    case Connection::Verdict::failed: return "failed";
  }
  return "failed";
}

}  // namespace brig
