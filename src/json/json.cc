// nlohmann's JSON, compiled once for brig's own files (see brig/json.h).
#include <brig/json.h>

template class nlohmann::basic_json<brig::OrderedMap>;
