#include "serve/mcp_result.h"

#include <fmt/format.h>

#include "base/text.h"
#include "serve/event_json.h"
#include "serve/json_line.h"
#include "serve/mcp.h"
#include "serve/mcp_resources.h"
#include "serve/mcp_tool.h"
#include "tool/json_text.h"

namespace brig::serve {
namespace {

constexpr std::size_t kMostBlocks = 1000, kMostMeta = 64 << 10, kMostFilesTold = 32;
// A model looks at images of that size; larger ones are linked.
constexpr std::size_t kLargestInline = std::size_t{1} << 20;
constexpr std::size_t kLongestType = 100, kAroundImage = 200;

Json text_block(std::string text) { return {{"type", "text"}, {"text", std::move(text)}}; }

const std::string* text_in(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? &found->get_ref<const std::string&>()
                                                     : nullptr;
}

bool is_block(const Json& block) {
  const std::string* type = text_in(block, "type");
  if (!type) return false;
  if (*type == "text") return text_in(block, "text");
  if (*type == "image" || *type == "audio")
    return text_in(block, "mimeType") && text_in(block, "data") &&
           base64_decoded(*text_in(block, "data")).has_value();
  if (*type == "resource_link") return text_in(block, "uri") && text_in(block, "name");
  if (*type != "resource") return false;
  const auto resource = block.find("resource");
  return resource != block.end() && text_in(*resource, "uri") &&
         (text_in(*resource, "text") || text_in(*resource, "blob"));
}

// An output that is MCP content already: {"content": [blocks]}, with "structuredContent" and "_meta" at most.
bool is_content(const Json& output) {
  if (!output.is_object()) return false;
  const auto blocks = output.find("content");
  if (blocks == output.end() || !blocks->is_array() || blocks->empty() ||
      blocks->size() > kMostBlocks)
    return false;
  for (const auto& [key, value] : output.items())
    if (key != "content" && !((key == "structuredContent" || key == "_meta") && value.is_object()))
      return false;
  for (const Json& block : *blocks)
    if (!is_block(block)) return false;
  return true;
}

std::string as_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  std::string fault;
  return json_text(value, fault).value_or("null");
}

// The content of one result, as it grows. What does not fit is kept and linked, or told: nothing goes in silence.
class ResultContent {
 public:
  explicit ResultContent(const McpView& view) : view_(view) {}

  // A text of the result; its room is decided when all are known.
  struct Text {
    std::string label;  // "stderr:\n"
    std::string name;   // of the resource that has all of it
    const Output* stream = nullptr;
    std::string text;
    std::string mime_type = "text/plain";
    bool link = true;  // if it is cut
  };
  void add_texts(std::vector<Text> texts) {
    std::vector<std::size_t> sizes;
    sizes.reserve(texts.size());
    for (const Text& each : texts)
      sizes.push_back(each.stream ? each.stream->bytes.size() : each.text.size());
    const auto shares = shares_of(sizes, left_);
    Json links = Json::array();
    for (std::size_t i = 0; i < texts.size(); ++i) {
      Text& each = texts[i];
      left_ -= shares[i];
      Excerpt excerpt =
          each.stream ? excerpt_of(*each.stream, shares[i]) : excerpt_of(each.text, shares[i]);
      blocks_.push_back(text_block(each.label + excerpt.text));
      if (excerpt.shows_all || !each.link) continue;
      std::string all = each.stream ? kept_of(*each.stream) : std::move(each.text);
      std::string type =
          each.stream && !is_valid_utf8(all) ? "application/octet-stream" : each.mime_type;
      link(each.name, std::move(type), std::move(all), links);
    }
    for (Json& each : links) blocks_.push_back(std::move(each));
  }

  void add_image(const std::string& name, std::string type, std::string data) {
    if (type.size() > kLongestType) return note(name, data.size());
    if (data.size() <= kLargestInline / 3 * 4 && take(data.size() + kAroundImage))
      blocks_.push_back(
          {{"type", "image"}, {"data", std::move(data)}, {"mimeType", std::move(type)}});
    else if (auto bytes = base64_decoded(data))
      link(name, std::move(type), std::move(*bytes), blocks_);
  }

  void add_file(const Json& file) {
    const std::string* path = text_in(file, "path");
    if (!path) return;
    auto bytes = file.contains("bytes") && file["bytes"].is_binary()
                     ? std::optional(std::string(file["bytes"].get_binary().begin(),
                                                 file["bytes"].get_binary().end()))
                 : text_in(file, "data") ? base64_decoded(*text_in(file, "data"))
                                         : std::nullopt;
    if (!bytes) {
      const auto size = file.find("size");
      const bool known = size != file.end() && size->is_number_unsigned();
      return note(*path, known ? size->get<std::uint64_t>() : 0);
    }
    std::string type = mime_type_of(*path, *bytes);
    link(*path, std::move(type), std::move(*bytes), blocks_);
  }

  // A block that a tool has made.
  void add_block(Json block) {
    const std::string type = block["type"].get<std::string>();
    if (type == "text") {
      Text text;
      text.name = "text";
      text.text = std::exchange(block["text"].get_ref<std::string&>(), "");
      if (text.text.size() > left_ || !take(json_line(block).size()))
        return add_texts({std::move(text)});
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
      auto bytes =
          std::string(key) == "text" ? std::optional(std::move(data)) : base64_decoded(data);
      const std::string* mime = text_in(holder, "mimeType");
      link(type, mime && mime->size() < 200 ? *mime : "application/octet-stream",
           bytes ? std::move(*bytes) : std::string(), blocks_);
    }
  }

  void add_note(std::string text) { blocks_.push_back(text_block(std::move(text))); }
  // Room beside the text.
  bool take(std::size_t bytes) {
    if (bytes > beside_) return false;
    beside_ -= bytes;
    return true;
  }
  // False: it could not be kept, and a text says so.
  bool link(const std::string& name, std::string mime_type, std::string bytes, Json& into) {
    const std::size_t size = bytes.size();
    Json kept = view_.keep(name, std::move(mime_type), std::move(bytes));
    if (kept.is_null()) {
      note(name, size, into);
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
  bool link(const std::string& name, std::string mime_type, std::string bytes) {
    return link(name, std::move(mime_type), std::move(bytes), blocks_);
  }

  bool empty() const { return blocks_.empty(); }
  Json taken() { return std::move(blocks_); }

 private:
  void note(const std::string& name, std::uint64_t size) { note(name, size, blocks_); }
  static void note(const std::string& name, std::uint64_t size, Json& into) {
    into.push_back(text_block(fmt::format(
        "[{}, {}: too large to keep]", in_quotes(excerpt_of(name, 200).text), format_size(size))));
  }

  const McpView& view_;
  std::size_t left_ = view_.text, beside_ = kMostBesideText;
  Json blocks_ = Json::array();
};

void add_streams_to(std::vector<ResultContent::Text>& texts, const Report& report,
                    bool name_stdout) {
  if (report.out.total > 0)
    texts.push_back({.label = name_stdout ? "stdout:\n" : "",
                     .name = "stdout",
                     .stream = &report.out,
                     .text = {}});
  if (report.err.total > 0)
    texts.push_back({.label = "stderr:\n", .name = "stderr", .stream = &report.err, .text = {}});
}

void add_failure(ResultContent& content, ToolResult& result) {
  const Report& report = result.report;
  // Of a command's error the rest is the beginning of its stderr, which comes below.
  const bool twice = report.outcome == Outcome::exit && report.err.total > 0;
  std::vector<ResultContent::Text> texts;
  texts.push_back({.label = fmt::format("{}: ", to_string(report.outcome)),
                   .name = "error",
                   .text = twice && !report.message.empty() ? report.message : result.error});
  if (!result.traceback.empty())
    texts.push_back({.label = "", .name = "traceback", .text = std::move(result.traceback)});
  add_streams_to(texts, report, true);
  content.add_texts(std::move(texts));
}

void add_images(ResultContent& content, Json& images) {
  std::size_t told = 0, more = 0;
  for (Json& image : images) {
    const std::string *data = text_in(image, "data"), *type = text_in(image, "mime_type"),
                      *path = text_in(image, "path");
    if (!data || !type) continue;
    if (told++ < kMostFilesTold)
      content.add_image(path ? *path : "image", *type, *data);
    else
      ++more;
  }
  if (more > 0) content.add_note(fmt::format("[{} more images are not shown]", more));
}

// run_command and run_python: text alone. A copy of it as structured content would be all that some clients show, and for others
// the same thing twice.
void add_builtin(ResultContent& content, ToolResult& result) {
  Json& output = result.output;
  std::vector<ResultContent::Text> texts;
  add_streams_to(texts, result.report, false);
  if (const auto value = output.find("value"); value != output.end() && !value->is_null())
    texts.push_back({.label = texts.empty() ? "" : "value:\n",
                     .name = "value",
                     .text = as_text(*value),
                     .mime_type = value->is_string() ? "text/plain" : "application/json"});
  content.add_texts(std::move(texts));
  if (auto images = output.find("images"); images != output.end() && images->is_array())
    add_images(content, *images);
  if (const auto files = output.find("files"); files != output.end() && files->is_array()) {
    std::size_t told = 0;
    for (const Json& file : *files)
      if (told++ < kMostFilesTold) content.add_file(file);
  }
  if (const auto more = output.find("files_left_out");
      more != output.end() && more->is_number_unsigned())
    content.add_note(
        fmt::format("[{} more files of the workspace are not kept]", more->get<std::uint64_t>()));
  if (content.empty()) content.add_note("[no output]");
}

void add_value(ResultContent& content, Json& answer, ToolResult& result, const Tool* tool,
               const McpView& view) {
  const bool declared = tool && tool->output_schema && view.has_links;
  std::string text = as_text(result.output);
  const bool fits = !declared || content.take(text.size());
  if (!fits) {
    answer["isError"] = true;
    content.add_note(fmt::format(
        "The result is {}, more than one message may hold ({}). It is kept as a resource for ten "
        "minutes; read it in parts, or ask the tool for less.",
        format_size(text.size()), format_size(kMostBesideText)));
    content.link("result", result.output.is_string() ? "text/plain" : "application/json",
                 std::move(text));
    return;
  }
  if (text.empty()) text = "[an empty text]";
  content.add_texts({{.label = "",
                      .name = "result",
                      .text = std::move(text),
                      .mime_type = result.output.is_string() ? "text/plain" : "application/json",
                      .link = !declared}});
  if (!declared) return;
  if (!is_object_schema(*tool->output_schema) && !view.modern)
    answer["structuredContent"] = {{"result", std::move(result.output)}};
  else
    answer["structuredContent"] = std::move(result.output);
}

void add_content(ResultContent& content, Json& answer, Json& meta, Json output,
                 const McpView& view) {
  auto structured = output.find("structuredContent");
  if (view.has_links && structured != output.end()) {
    if (content.take(json_line(*structured).size()))
      answer["structuredContent"] = std::move(*structured);
    else
      content.link("structuredContent", "application/json", json_line(*structured));
  }
  for (Json& block : output["content"]) content.add_block(std::move(block));
  if (const auto own = output.find("_meta"); own != output.end()) {
    if (json_line(*own).size() > kMostMeta)
      return content.add_note("[_meta of the tool is too large and left out]");
    for (const auto& [key, value] : own->items())
      if (!key.starts_with("brig/")) meta[key] = value;  // those are the server's word
  }
}

}  // namespace

McpView McpView::of_version(std::string_view version) {
  McpView view;
  view.modern = version == kModern;
  view.has_links = version >= "2025-06-18";
  view.has_audio = version >= "2025-03-26";
  return view;
}

Json mcp_result(ToolResult result, const Tool* tool, bool builtin, const McpView& view) {
  Json answer = Json::object();
  Json meta{{"brig/outcome", to_string(result.report.outcome)},
            {"brig/duration_ms", milliseconds_of(result.duration)},
            {"brig/call_id", result.call_id}};
  if (result.report.exit_code) meta["brig/exit_code"] = *result.report.exit_code;
  ResultContent content(view);
  if (!result.ok) {
    answer["isError"] = true;
    add_failure(content, result);
  } else if (builtin) {
    add_builtin(content, result);
  } else if (is_content(result.output)) {
    add_content(content, answer, meta, std::move(result.output), view);
  } else {
    add_value(content, answer, result, tool, view);
  }
  // What the tool coped with is listed in _meta, and is not in the way of its result.
  if (const auto lines = violation_lines(result.report); !result.ok && !lines.empty()) {
    std::string text = "violations:";
    for (const std::string& each : lines) text += "\n- " + each;
    content.add_note(std::move(text));
  }
  if (!result.report.violations.empty())
    meta["brig/violations"] = data_of(result.report.violations);
  answer["content"] = content.taken();
  answer["_meta"] = std::move(meta);
  return answer;
}

}  // namespace brig::serve
