// SchemaPlace: where in a value a check is at work. Private to schema*.cc.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/text.h"

namespace brig {

// One link of a chain on the stack, from the value itself inwards. It becomes text only for a
// fault: names come from the caller and can be as long as a whole request, and a text for each
// value below a long name once took 2.6 GB and hours.
class SchemaPlace {
 public:
  SchemaPlace() = default;
  // The links refer to each other and to the name; the caller keeps both alive.
  SchemaPlace(const SchemaPlace& above, std::string_view name) : above_(&above), name_(name) {}
  SchemaPlace(const SchemaPlace& above, std::size_t index) : above_(&above), index_(index) {}

  // The JSON Pointer. A long name is cut with "...".
  std::string pointer() const {
    if (!above_) return {};
    std::string text = above_->pointer() + "/";
    if (!name_.data()) return text + std::to_string(index_);
    std::string_view shown = name_.substr(0, kLongestName);
    if (shown.size() < name_.size()) shown.remove_suffix(utf8_cut_at_end(shown));
    for (const char c : shown) {
      if (c == '~' || c == '/')
        text += c == '~' ? "~0" : "~1";
      else
        text += c;
    }
    return shown.size() < name_.size() ? text + "..." : text;
  }

 private:
  static constexpr std::size_t kLongestName = 200;
  // Null: the value itself.
  const SchemaPlace* above_ = nullptr;
  std::string_view name_;
  std::size_t index_ = 0;
};

}  // namespace brig
