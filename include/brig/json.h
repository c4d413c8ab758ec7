// brig::Json: the type of a tool's arguments and results, an instance of nlohmann's basic_json. Its
// objects keep the order of their members, which those of nlohmann::json do not. A nlohmann::json
// converts to a brig::Json and back by assignment.
#pragma once

#include <brig/ordered_map.h>

#include <nlohmann/json.hpp>

namespace brig {

using Json = nlohmann::basic_json<OrderedMap>;

}  // namespace brig

// brig's own files share one compiled instance, which halves the time that they take to compile.
#ifdef BRIG_JSON_COMPILED
extern template class nlohmann::basic_json<brig::OrderedMap>;
#endif
