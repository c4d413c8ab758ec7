// brig::Json: arguments and results of tools are JSON values, held as nlohmann's.
#pragma once

#include <nlohmann/json.hpp>

namespace brig {

using Json = nlohmann::json;

}  // namespace brig
