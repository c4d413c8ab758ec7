// The content of one MCP result, as it grows: text, images, links. What does not fit is kept as a
// resource and linked, or a note says that it is missing: nothing is dropped in silence.
#pragma once

#include <brig/json.h>
#include <brig/report.h>

#include <optional>
#include <string>
#include <vector>

#include "mcp/mcp_result.h"

namespace brig::serve {

Json text_block(std::string text);
// The member of that name if it is a string, or null.
const std::string* text_in(const Json& object, const char* key);
// A string as it is; any other value as JSON.
std::string as_text(const Json& value);

class ResultContent {
 public:
  explicit ResultContent(const McpView& view) : view_(view) {}

  // A text of the result. How much of it is shown is decided when all texts are known.
  struct Text {
    std::string label = {};  // "stderr:\n"
    std::string name = {};   // of the resource that has all of it
    const Output* stream = nullptr;
    std::string text = {};
    std::string mime_type = "text/plain";
    bool link = true;      // if it is cut
    bool message = false;  // the report's
    // The stream of which this is a part: if the part is cut, the whole stream is linked, once.
    const Output* part_of = nullptr;
  };
  struct Resource {
    std::string name, mime_type, bytes;
  };
  // One of several parts, in order: an image, or a text with the resources that belong to it.
  struct Part {
    std::optional<Text> text = {};
    // Its bytes as base64.
    std::optional<Resource> image = {};
    std::vector<Resource> links = {};
  };
  void add_parts(std::vector<Part> parts);
  void add_text(Text text);

  void add_image(const std::string& name, std::string type, std::string data);
  // An entry of "files", as left_files.h has it.
  void add_file(const Json& file);
  // A block that a tool has made.
  void add_block(Json block);
  void add_note(std::string text) { blocks_.push_back(text_block(std::move(text))); }

  // Takes room beside the text; false if there is not enough.
  bool take(std::size_t bytes);
  // Keeps a resource and links it. False: it could not be kept, and a text says so.
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
  // Parts of it were cut.
  const Output* linked_ = nullptr;
  bool message_is_shown_ = false;
  Json blocks_ = Json::array();
};

}  // namespace brig::serve
