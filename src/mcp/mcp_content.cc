#include "mcp/mcp_content.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "json/json_line.h"
#include "json/json_text.h"
#include "mcp/image_size.h"
#include "service/resources.h"

namespace brig::serve {
namespace {

// Images up to this size are shown to the model; larger ones are linked. Services of models refuse
// an image of more pixels on a side, and with it the whole conversation. As in _left_files.py.
constexpr std::size_t kLargestInline = std::size_t{1} << 20;
constexpr std::uint32_t kMostSide = 8000;
constexpr std::size_t kImageHead = std::size_t{1} << 16;
constexpr std::size_t kLongestType = 100, kAroundImage = 200;

void note(const std::string& name, const std::string& size, const std::string& why, Json& into) {
  into.push_back(
      text_block(fmt::format("[{}, {}: {}]", in_quotes(excerpt_of(name, 200).text), size, why)));
}

constexpr const char* kTooLarge = "too large to keep";

bool is_shown(const std::string& data) {
  if (data.size() > kLargestInline / 3 * 4) return false;
  const auto head = base64_decoded(std::string_view(data).substr(0, kImageHead / 3 * 4));
  if (!head) return true;
  const ImageSize size = image_size(*head);
  return std::max(size.width, size.height) <= kMostSide;
}

}  // namespace

Json text_block(std::string text) { return {{"type", "text"}, {"text", std::move(text)}}; }

const std::string* text_in(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? &found->get_ref<const std::string&>()
                                                     : nullptr;
}

std::string as_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  std::string fault;
  return json_text(value, fault).value_or("null");
}

void ResultContent::add_excerpt(Text& text, std::size_t most, Json& links) {
  left_ -= most;
  Excerpt excerpt = text.stream ? excerpt_of(*text.stream, most) : excerpt_of(text.text, most);
  blocks_.push_back(text_block(text.label + excerpt.text));
  if (text.message) message_is_shown_ = excerpt.shows_all;
  if (excerpt.shows_all || !text.link || (text.part_of && text.part_of == linked_)) return;
  const Output* stream = text.part_of ? text.part_of : text.stream;
  if (text.part_of) linked_ = text.part_of;
  std::string all = stream ? kept_of(*stream) : std::move(text.text);
  std::string type = stream && !is_valid_utf8(all) ? "application/octet-stream" : text.mime_type;
  link(text.name, std::move(type), std::move(all), links);
}

void ResultContent::add_parts(std::vector<Part> parts) {
  std::vector<std::size_t> sizes;
  sizes.reserve(parts.size());
  for (const Part& each : parts)
    sizes.push_back(!each.text          ? 0
                    : each.text->stream ? each.text->stream->bytes.size()
                                        : each.text->text.size());
  const auto shares = shares_of(sizes, left_);
  Json links = Json::array();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Part& each = parts[i];
    if (each.image)
      add_image(each.image->name, std::move(each.image->mime_type), std::move(each.image->bytes));
    if (each.text) add_excerpt(*each.text, shares[i], links);
    for (Resource& more : each.links)
      link(more.name, std::move(more.mime_type), std::move(more.bytes));
  }
  for (Json& each : links) blocks_.push_back(std::move(each));
}

void ResultContent::add_text(Text text) {
  std::vector<Part> one(1);
  one[0].text = std::move(text);
  add_parts(std::move(one));
}

void ResultContent::add_image(const std::string& name, std::string type, std::string data) {
  if (type.size() > kLongestType) return note(name, format_size(data.size()), kTooLarge, blocks_);
  if (is_shown(data) && take(data.size() + kAroundImage))
    blocks_.push_back(
        {{"type", "image"}, {"data", std::move(data)}, {"mimeType", std::move(type)}});
  else if (auto bytes = base64_decoded(data))
    link(name, std::move(type), std::move(*bytes), blocks_);
}

void ResultContent::add_file(const Json& file) {
  const std::string* path = text_in(file, "path");
  if (!path) return;
  const auto bytes = file.find("bytes");
  if (bytes == file.end() || !bytes->is_binary()) {
    const auto size = file.find("size");
    const bool known = size != file.end() && size->is_number_unsigned();
    const std::string* why = text_in(file, "left_out");
    return note(*path, format_size(known ? size->get<std::uint64_t>() : 0), why ? *why : kTooLarge,
                blocks_);
  }
  const auto& binary = bytes->get_binary();
  std::string content(binary.begin(), binary.end());
  std::string type = mime_type_of(*path, content);
  link(*path, std::move(type), std::move(content), blocks_);
}

void ResultContent::add_block(Json block) {
  const std::string type = block["type"].get<std::string>();
  if (type == "text") {
    Text text;
    text.name = "text";
    text.text = std::exchange(block["text"].get_ref<std::string&>(), "");
    if (text.text.size() > left_ || !take(json_line(block).size()))
      return add_text(std::move(text));
    left_ -= text.text.size();
    block["text"] = std::move(text.text);
    blocks_.push_back(std::move(block));
    return;
  }
  const bool known = type == "resource_link" ? view_.has_links
                     : type == "audio"       ? view_.has_audio
                                             : true;
  if (known && take(json_line(block).size())) {
    blocks_.push_back(std::move(block));
  } else if (type == "resource_link") {
    blocks_.push_back(text_block(
        fmt::format("[resource {}: {}]",
                    in_quotes(excerpt_of(block["name"].get_ref<const std::string&>(), 200).text),
                    excerpt_of(block["uri"].get_ref<const std::string&>(), 1000).text)));
  } else {
    Json& holder = type == "resource" ? block["resource"] : block;
    const char* key = type == "resource" ? (holder.contains("blob") ? "blob" : "text") : "data";
    std::string data = holder[key].get<std::string>();
    auto bytes = std::string(key) == "text" ? std::optional(std::move(data)) : base64_decoded(data);
    const std::string* mime = text_in(holder, "mimeType");
    link(type, mime && mime->size() < 200 ? *mime : "application/octet-stream",
         bytes ? std::move(*bytes) : std::string(), blocks_);
  }
}

bool ResultContent::take(std::size_t bytes) {
  if (bytes > beside_) return false;
  beside_ -= bytes;
  return true;
}

bool ResultContent::link(const std::string& name, std::string mime_type, std::string bytes,
                         Json& into) {
  const std::size_t size = bytes.size();
  Json kept = view_.keep(name, std::move(mime_type), std::move(bytes));
  if (kept.is_null()) {
    note(name, format_size(size), kTooLarge, into);
    return false;
  }
  if (view_.has_links) {
    kept["type"] = "resource_link";
    into.push_back(std::move(kept));
  } else {
    into.push_back(
        text_block(fmt::format("[{}, {}: resource {}]", in_quotes(excerpt_of(name, 200).text),
                               format_size(size), kept["uri"].get<std::string>())));
  }
  return true;
}

}  // namespace brig::serve
