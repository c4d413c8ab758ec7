#include "service/trace.h"

#include <algorithm>
#include <string_view>

#include "base/random.h"

namespace brig::serve {
namespace {

bool is_id(std::string_view text, std::size_t size) {
  return text.size() == size && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

bool is_zero(std::string_view text) { return text.find_first_not_of('0') == std::string::npos; }

}  // namespace

Trace Trace::from(const std::string* traceparent) {
  Trace trace;
  trace.span_id = random_hex(8);
  if (traceparent) {
    // "00-<trace>-<parent>-<flags>"; a later version may have more behind it.
    const std::string_view text = *traceparent;
    const bool shaped = text.size() >= 55 && text[2] == '-' && text[35] == '-' && text[52] == '-';
    if (shaped) {
      const std::string_view version = text.substr(0, 2), id = text.substr(3, 32),
                             parent = text.substr(36, 16), flags = text.substr(53, 2);
      const bool ends = text.size() == 55 || (version != "00" && text[55] == '-');
      if (is_id(version, 2) && version != "ff" && ends && is_id(id, 32) && !is_zero(id) &&
          is_id(parent, 16) && !is_zero(parent) && is_id(flags, 2)) {
        trace.trace_id = id;
        trace.parent_id = parent;
        trace.flags = flags;
        return trace;
      }
    }
  }
  trace.trace_id = random_hex(16);
  return trace;
}

std::string Trace::traceparent() const { return "00-" + trace_id + "-" + span_id + "-" + flags; }

}  // namespace brig::serve
