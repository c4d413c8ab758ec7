// Trace: where a call stands in its caller's trace (W3C Trace Context).
#pragma once

#include <string>

namespace brig::serve {

struct Trace {
  std::string trace_id;   // 32 hex digits
  std::string parent_id;  // 16, of the caller's span; empty: the trace begins here
  std::string span_id;    // 16, of this call
  std::string flags = "00";

  // Goes on with the caller's trace, or begins one if there is none or it is malformed. Null: none.
  static Trace from(const std::string* traceparent);
  // For those further down: this call's span as the parent.
  std::string traceparent() const;
};

}  // namespace brig::serve
