#include "mcp/mcp_builtin.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "service/python_displays.h"

namespace brig::serve {
namespace {

using Part = ResultContent::Part;

constexpr std::size_t kMostFilesShown = 32, kMostDisplaysShown = 32;

ResultContent::Text plain_text(std::string label, std::string name, std::string text) {
  ResultContent::Text made;
  made.label = std::move(label);
  made.name = std::move(name);
  made.text = std::move(text);
  return made;
}

void add_part(std::vector<Part>& parts, ResultContent::Text text) {
  parts.emplace_back().text = std::move(text);
}

ResultContent::Text stream_text(const char* label, const char* name, const Output& stream) {
  ResultContent::Text text = plain_text(label, name, "");
  text.stream = &stream;
  return text;
}

// A name for a resource, with an ending that suits its type.
std::string display_name(std::size_t number, std::string_view type) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kEndings = {
      {{"text/html", "html"},
       {"image/svg+xml", "svg"},
       {"image/png", "png"},
       {"image/jpeg", "jpg"},
       {"image/gif", "gif"},
       {"image/webp", "webp"},
       {"application/json", "json"}}};
  for (const auto& [each, ending] : kEndings)
    if (each == type) return fmt::format("display-{}.{}", number, ending);
  return fmt::format("display-{}", number);
}

// The forms of a display that a model can use: an image; or a text, and as resources a richer form
// of it and its data.
Part display_part(const Json& forms, std::size_t number) {
  Part part;
  const auto has = [&](const char* type) { return forms.contains(type); };
  for (const char* type : {"image/png", "image/jpeg", "image/webp", "image/gif"})
    if (has(type)) {
      part.image = {display_name(number, type), type, as_text(forms[type])};
      return part;
    }
  for (const char* type : {"text/markdown", "text/plain", "text/latex", "application/json"})
    if (!part.text && has(type)) {
      part.text = plain_text("", display_name(number, type), as_text(forms[type]));
      part.text->mime_type = type;
    }
  std::string rich;
  for (const char* type : {"text/html", "image/svg+xml"})
    if (rich.empty() && has(type)) rich = type;
  if (rich.empty() && !part.text && !forms.empty()) rich = forms.begin().key();
  const auto link = [&](const std::string& type) {
    part.links.push_back({display_name(number, type), type, as_text(forms[type])});
  };
  if (!rich.empty()) link(rich);
  const std::string data = "application/json";
  if (forms.contains(data) && data != rich && !(part.text && part.text->mime_type == data))
    link(data);
  return part;
}

struct Shown {
  std::string last;    // the text of what was displayed last, if nothing was written behind it
  bool value = false;  // forms of the value were among it
};

// What was written to stdout and what was displayed, in order. `pieces` holds what the parts refer
// to.
Shown add_shown(std::vector<Part>& parts, const Report& report, const Json& displays,
                bool name_stdout, std::vector<Output>& pieces) {
  std::vector<std::uint64_t> places;
  const std::size_t count = std::min(displays.size(), kMostDisplaysShown);
  for (std::size_t i = 0; i < count; ++i) places.push_back(displays[i]["at"].get<std::uint64_t>());
  pieces = pieces_of(report.out, places);
  Shown shown;
  bool labelled = !name_stdout;
  for (std::size_t i = 0; i <= count; ++i) {
    if (pieces[i].total > 0) {
      auto text =
          stream_text(std::exchange(labelled, true) ? "" : "stdout:\n", "stdout", pieces[i]);
      text.part_of = &report.out;
      add_part(parts, std::move(text));
      shown.last.clear();
    }
    if (i == count) break;
    parts.push_back(display_part(displays[i]["data"], i + 1));
    shown.last = parts.back().text ? parts.back().text->text : "";
    shown.value |= displays[i].contains("is_value");
  }
  if (displays.size() > count)
    add_part(parts,
             plain_text("", "displays",
                        fmt::format("[{} more displays are not shown]", displays.size() - count)));
  return shown;
}

const Json* list_in(const Json& output, const char* key) {
  if (!output.is_object()) return nullptr;
  const auto found = output.find(key);
  return found != output.end() && found->is_array() ? &*found : nullptr;
}

void add_images(ResultContent& content, const Json& images) {
  std::size_t shown = 0, more = 0;
  for (const Json& image : images) {
    const std::string *data = text_in(image, "data"), *type = text_in(image, "mime_type"),
                      *path = text_in(image, "path");
    if (!data || !type) continue;
    if (shown++ < kMostFilesShown)
      content.add_image(path ? *path : "image", *type, *data);
    else
      ++more;
  }
  if (more > 0) content.add_note(fmt::format("[{} more images are not shown]", more));
}

void add_files(ResultContent& content, const Json& output) {
  if (const Json* images = list_in(output, "images")) add_images(content, *images);
  if (const Json* files = list_in(output, "files")) {
    std::size_t shown = 0;
    for (const Json& file : *files)
      if (shown++ < kMostFilesShown) content.add_file(file);
  }
  if (const Json* more = list_in(output, "files_left_out"))
    for (const Json& each : *more)
      if (const std::string* why = text_in(each, "why"))
        content.add_note(fmt::format(
            "[{} not returned: {}]",
            each.value("count", 0u) == 1
                ? "1 more file of the workspace was"
                : fmt::format("{} more files of the workspace were", each.value("count", 0u)),
            *why));
}

}  // namespace

std::vector<Output> pieces_of(const Output& stream, const std::vector<std::uint64_t>& places) {
  const std::string_view all = stream.bytes;
  const std::size_t cut = stream.truncated ? std::min(stream.cut, all.size()) : all.size();
  const std::uint64_t gap = stream.truncated ? stream.total - all.size() : 0;
  std::vector<Output> pieces(places.size() + 1);
  // It is shown as one note: the displays come after it.
  if (!is_valid_utf8(all)) {
    pieces[0] = stream;
    return pieces;
  }
  // Where in `bytes` a place is.
  const auto index_of = [&](std::uint64_t place) {
    if (place < cut) return static_cast<std::size_t>(place);
    if (gap == 0) return all.size();
    return place <= cut + gap ? cut : std::min<std::size_t>(place - gap, all.size());
  };
  std::size_t from = 0;
  bool before_gap = gap > 0;
  for (std::size_t i = 0; i <= places.size(); ++i) {
    std::size_t to = i < places.size() ? std::max(from, index_of(places[i])) : all.size();
    // Not in the middle of a character. (At the gap there is none.)
    if (to < all.size() && to != cut) to -= utf8_cut_at_end(all.substr(from, to - from));
    Output& piece = pieces[i];
    piece.bytes = all.substr(from, to - from);
    piece.total = piece.bytes.size();
    // The gap belongs to the piece that ends at it or behind it, if its end was a place of the
    // stream behind its beginning.
    if (before_gap && (i == places.size() || (to >= cut && places[i] > cut))) {
      before_gap = false;
      piece.truncated = true;
      piece.cut = cut - from;
      piece.total += gap;
    }
    from = to;
  }
  return pieces;
}

std::vector<Part> failure_parts(ToolResult& result) {
  const Report& report = result.report;
  // The rest of a command's error is the beginning of its stderr, which comes below.
  const bool twice = report.outcome == Outcome::exit && report.err.total > 0;
  std::vector<Part> parts;
  add_part(parts, plain_text(fmt::format("{}: ", to_string(report.outcome)), "error",
                             twice && !report.message.empty() ? report.message : result.error));
  // The error begins with the message, unless it is the tool's own words: those mention no
  // violation.
  parts.back().text->message = parts.back().text->text.starts_with(report.message);
  if (!result.traceback.empty())
    add_part(parts, plain_text("", "traceback", std::move(result.traceback)));
  return parts;
}

void add_stream_parts(std::vector<Part>& parts, const Report& report, bool name_stdout) {
  if (report.out.total > 0)
    add_part(parts, stream_text(name_stdout ? "stdout:\n" : "", "stdout", report.out));
  if (report.err.total > 0) add_part(parts, stream_text("stderr:\n", "stderr", report.err));
}

void add_builtin(ResultContent& content, ToolResult& result) {
  const Json& output = result.output;
  std::vector<Part> parts;
  if (!result.ok()) parts = failure_parts(result);
  Shown shown;
  std::vector<Output> pieces;
  if (const Json* displays = list_in(output, "displays")) {
    shown = add_shown(parts, result.report, *displays, !result.ok(), pieces);
    if (result.report.err.total > 0)
      add_part(parts, stream_text("stderr:\n", "stderr", result.report.err));
  } else {
    add_stream_parts(parts, result.report, !result.ok());
  }
  if (const auto value = output.is_object() ? output.find("value") : output.end();
      output.is_object() && value != output.end() && !value->is_null()) {
    auto text = plain_text(parts.empty() ? "" : "value:\n", "value", as_text(*value));
    text.mime_type = value->is_string() ? "text/plain" : "application/json";
    // Not if it stands there already, as what was displayed last or as an image.
    if (!shown.value && (shown.last.empty() || text.text != shown.last))
      add_part(parts, std::move(text));
  }
  content.add_parts(std::move(parts));
  if (output.is_object())
    if (const auto more = output.find("displays_left_out");
        more != output.end() && more->is_number_unsigned())
      content.add_note(fmt::format("[{} more displays were not kept]", more->get<std::uint64_t>()));
  add_files(content, output);
  if (content.empty()) content.add_note("[no output]");
}

}  // namespace brig::serve
