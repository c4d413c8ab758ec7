// What code has displayed: values with their forms by MIME type, and how much of stdout was written before each. They come from the cell,
// and are checked and bounded here: what is no display, or a form that is not what its type says, is left out, and counted.
#pragma once

#include <brig/json.h>

#include <cstdint>
#include <string_view>

namespace brig::serve {

inline constexpr std::size_t kMostDisplays = 100, kMostForms = 16;

// Takes "displays" and "displays_left_out" of a cell's answer into an output: [{"at", "data": {type: form}}], in the order in which they were
// displayed, `at` between 0 and `written` and never falling; "is_value": true, if they are forms of the value. A form is a string, base64 of an image (png, jpeg, gif, webp), or of
// application/json any value.
void add_displays(Json& output, Json& answer, std::uint64_t written);

// Whether it is a type and a subtype, without parameters.
bool is_mime_type(std::string_view text);
// Of images that are given as base64.
bool is_picture(std::string_view mime_type);

}  // namespace brig::serve
