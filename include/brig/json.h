// brig::Json: arguments and results of tools are JSON values, held as nlohmann's.
#pragma once

#include <nlohmann/json.hpp>

namespace brig {

using Json = nlohmann::json;

}  // namespace brig

#ifdef BRIG_JSON_COMPILED  // brig's own files, which share one instance: it is half of what they'd compile
extern template class nlohmann::basic_json<>;
#endif
