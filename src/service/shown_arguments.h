// How much of a call's arguments the audit log and the console show. The operator decides.
#pragma once

#include <brig/json.h>

#include <optional>
#include <string_view>

namespace brig::serve {

enum class ArgumentsShown { off, redacted, full };

// "off", "redacted", "full"
std::optional<ArgumentsShown> arguments_shown_of(std::string_view word);
const char* to_string(ArgumentsShown how);

// Null if nothing is to be shown. Redacted: names, types and sizes, no values, and only as much of
// a large structure as a person reads. Full: everything, if it is at most `most` bytes as JSON;
// otherwise it is redacted. `most` bounds both.
Json shown_arguments(const Json& arguments, ArgumentsShown how, std::size_t most);

}  // namespace brig::serve
