// Names that events had before 0.2. They stand beside the new ones until 0.3 (decision 047).
#pragma once

#include <brig/json.h>

namespace brig::serve {

inline void add_old_names(Json& event) {
  if (const auto bytes = event.find("text_base64"); bytes != event.end()) {
    Json old = *bytes;
    event["base64"] = std::move(old);
  }
  if (const auto usage = event.find("usage"); usage != event.end()) {
    Json old = (*usage)["memory_peak_bytes"];
    (*usage)["memory_peak"] = std::move(old);
  }
}

}  // namespace brig::serve
