// brig::Json: arguments and results of tools are JSON values, held as nlohmann's. Objects keep the order of
// their members, which nlohmann::json does not; it turns into a Json and back where one is assigned.
#pragma once

#include <brig/ordered_map.h>

#include <nlohmann/json.hpp>

namespace brig {

using Json = nlohmann::basic_json<OrderedMap>;

}  // namespace brig

#ifdef BRIG_JSON_COMPILED  // brig's own files, which share one instance: it is half of what they'd compile
extern template class nlohmann::basic_json<brig::OrderedMap>;
#endif
