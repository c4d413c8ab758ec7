// The content of one result of MCP, as it grows: text, images, links. What does not fit is kept and linked, or told: nothing goes in
// silence.
#pragma once

#include <brig/json.h>
#include <brig/report.h>

#include <optional>
#include <string>
#include <vector>

#include "mcp/mcp_result.h"

namespace brig::serve {

Json text_block(std::string text);
// A member that is a string, or null.
const std::string* text_in(const Json& object, const char* key);
// A string itself; anything else as JSON.
std::string as_text(const Json& value);

class ResultContent {
 public:
  explicit ResultContent(const McpView& view) : view_(view) {}

  // A text of the result; its room is decided when all are known.
  struct Text {
    std::string label = {};  // "stderr:\n"
    std::string name = {};   // of the resource that has all of it
    const Output* stream = nullptr;
    std::string text = {};
    std::string mime_type = "text/plain";
    bool link = true;      // if it is cut
    bool message = false;  // the report's
    // A part of that stream: if it is cut, that is linked, once.
    const Output* part_of = nullptr;
  };
  struct Resource {
    std::string name, mime_type, bytes;
  };
  // Of several that come in this order: an image, or a text, and what belongs to it.
  struct Part {
    std::optional<Text> text = {};
    std::optional<Resource> image = {};  // its bytes as base64
    std::optional<Resource> link = {};
  };
  void add_parts(std::vector<Part> parts);
  void add_text(Text text);

  void add_image(const std::string& name, std::string type, std::string data);
  // An entry of "files", as left_files.h has it.
  void add_file(const Json& file);
  // A block that a tool has made.
  void add_block(Json block);
  void add_note(std::string text) { blocks_.push_back(text_block(std::move(text))); }

  // Room beside the text.
  bool take(std::size_t bytes);
  // False: it could not be kept, and a text says so.
  bool link(const std::string& name, std::string mime_type, std::string bytes) {
    return link(name, std::move(mime_type), std::move(bytes), blocks_);
  }

  bool empty() const { return blocks_.empty(); }
  // Whether it has the report's message, all of it.
  bool message_is_shown() const { return message_is_shown_; }
  Json taken() { return std::move(blocks_); }

 private:
  bool link(const std::string& name, std::string mime_type, std::string bytes, Json& into);
  void add_excerpt(Text& text, std::size_t most, Json& links);

  const McpView& view_;
  std::size_t left_ = view_.text, beside_ = kMostBesideText;
  const Output* linked_ = nullptr;  // parts of it were cut
  bool message_is_shown_ = false;
  Json blocks_ = Json::array();
};

}  // namespace brig::serve
