#include "service/python_displays.h"

#include <algorithm>

#include "base/text.h"
#include "service/left_files.h"
#include "service/output_room.h"

namespace brig::serve {
namespace {

constexpr std::size_t kMostDisplayText = std::size_t{12} << 20, kLongestMimeType = 100;
constexpr std::uint64_t kMostLeftOut = 1'000'000'000;

bool is_json(std::string_view type) {
  return type == "application/json" ||
         (type.starts_with("application/") && type.ends_with("+json"));
}

// The size of a form as text; nothing if it may not be shown.
std::optional<std::size_t> size_of_form(const std::string& type, Json& form) {
  if (is_picture(type)) {
    if (!form.is_string()) return {};
    std::string& text = form.get_ref<std::string&>();
    // As encoders break lines.
    std::erase_if(text, [](char c) { return c == '\n' || c == '\r'; });
    const auto bytes = base64_decoded(text);
    if (!bytes || image_type(*bytes) != type) return {};
  } else if (!form.is_string() && !is_json(type)) {
    return {};
  }
  return text_size(form);
}

// The forms whose content matches their type, as far as there is room for them.
Json checked_forms(Json& data, std::size_t& room) {
  Json forms = Json::object();
  std::size_t all = 0;
  for (auto& [type, form] : data.items()) {
    if (forms.size() == kMostForms) break;
    if (!is_mime_type(type)) continue;
    const auto size = size_of_form(type, form);
    if (!size || all + *size > room) continue;
    all += *size + type.size();
    forms[type] = std::move(form);
  }
  room -= std::min(room, all);
  return forms;
}

}  // namespace

bool is_mime_type(std::string_view text) {
  constexpr std::string_view kMarks = "!#$&^_.+-";
  const std::size_t slash = text.find('/');
  if (text.size() > kLongestMimeType || slash == std::string_view::npos || slash == 0 ||
      slash + 1 == text.size())
    return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (i != slash && !letter && kMarks.find(c) == std::string_view::npos) return false;
  }
  return true;
}

bool is_picture(std::string_view type) {
  return type == "image/png" || type == "image/jpeg" || type == "image/gif" || type == "image/webp";
}

void add_displays(Json& output, Json& answer, std::uint64_t written) {
  std::uint64_t left_out = 0;
  if (const auto more = answer.find("displays_left_out");
      more != answer.end() && more->is_number_unsigned())
    left_out = std::min(more->get<std::uint64_t>(), kMostLeftOut);
  const auto found = answer.find("displays");
  Json displays = Json::array();
  std::size_t room = std::min(kMostDisplayText, room_in(output));
  std::uint64_t last = 0;
  if (found != answer.end() && found->is_array())
    for (Json& each : *found) {
      const auto data = each.is_object() ? each.find("data") : each.end();
      if (displays.size() == kMostDisplays || !each.is_object() || data == each.end() ||
          !data->is_object()) {
        ++left_out;
        continue;
      }
      Json forms = checked_forms(*data, room);
      if (forms.empty()) {
        ++left_out;
        continue;
      }
      const auto at = each.find("at");
      const std::uint64_t place = at != each.end() && at->is_number_unsigned()
                                      ? std::min(at->get<std::uint64_t>(), written)
                                      : written;
      last = std::max(last, place);
      displays.push_back({{"at", last}, {"data", std::move(forms)}});
      if (const auto mark = each.find("is_value"); mark != each.end() && *mark == true)
        displays.back()["is_value"] = true;
    }
  if (!displays.empty()) output["displays"] = std::move(displays);
  if (left_out > 0) output["displays_left_out"] = left_out;
}

}  // namespace brig::serve
