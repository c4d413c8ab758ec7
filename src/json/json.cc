// nlohmann's JSON, compiled once (brig/json.h says for whom).
#include <brig/json.h>

template class nlohmann::basic_json<brig::OrderedMap>;
