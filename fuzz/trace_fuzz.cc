// The header traceparent.
#include "service/trace.h"

#include "support.h"

using namespace brig;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  const auto trace = serve::Trace::from(&text);
  const std::string told = trace.traceparent();
  fuzz::promise(told.size() == 55, "a traceparent has 55 characters", told);
  if (!trace.parent_id.empty())
    fuzz::promise(text.find(trace.trace_id + "-" + trace.parent_id) == 3,
                  "goes on with the caller's", text);
  const auto next = serve::Trace::from(&told);
  fuzz::promise(next.trace_id == trace.trace_id && next.parent_id == trace.span_id &&
                    next.flags == trace.flags,
                "what it tells is what it reads", told);
  return 0;
}
