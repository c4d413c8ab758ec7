// What code has displayed: values with their forms by MIME type, and how much of stdout was written
// before each. They come from the cell, and are checked and bounded here: malformed displays, and
// forms that do not match their type, are left out and counted.
#pragma once

#include <brig/json.h>

#include <cstdint>
#include <string_view>

namespace brig::serve {

inline constexpr std::size_t kMostDisplays = 100, kMostForms = 16;

// Moves "displays" and "displays_left_out" of a cell's answer into an output: [{"at", "data":
// {type: form}}], in the order in which they were displayed. `at` is between 0 and `written` and
// never decreases; "is_value" is true if these are forms of the value. A form is a string, the
// base64 of an image (png, jpeg, gif, webp), or, for application/json, any value.
void add_displays(Json& output, Json& answer, std::uint64_t written);

// Whether it is a type and a subtype, without parameters.
bool is_mime_type(std::string_view text);
// Whether it is the type of an image whose form is base64.
bool is_picture(std::string_view mime_type);

}  // namespace brig::serve
