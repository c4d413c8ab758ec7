// Trace: the place of a call in its caller's trace (W3C Trace Context).
#pragma once

#include <string>

namespace brig::serve {

struct Trace {
  std::string trace_id;   // 32 hex digits
  std::string parent_id;  // 16, of the caller's span; empty: the trace begins here
  std::string span_id;    // 16, of this call
  std::string flags = "00";

  // Continues the caller's trace, or begins a new one if `traceparent` is null or malformed.
  static Trace from(const std::string* traceparent);
  // The header for the next server: this call's span is the parent.
  std::string traceparent() const;
};

}  // namespace brig::serve
