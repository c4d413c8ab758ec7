#include "serve/run_command.h"

#include <chrono>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "serve/builtin.h"
#include "serve/caller.h"
#include "tool/command_maker.h"

namespace brig::serve {
namespace {

constexpr std::size_t kMostImages = 8, kLargestImage = std::size_t{4} << 20, kTypeBytes = 16;
constexpr std::size_t kMostFiles = 16, kLargestFile = std::size_t{8} << 20,
                      kMostBytes = std::size_t{16} << 20;
constexpr std::chrono::seconds kLongestLook{1};

// Of what is there, by its first bytes: a name proves nothing.
std::string image_type(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return "image/png";
  if (bytes.starts_with("\xff\xd8\xff")) return "image/jpeg";
  if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")) return "image/gif";
  if (bytes.size() > 12 && bytes.starts_with("RIFF") && bytes.substr(8, 4) == "WEBP")
    return "image/webp";
  return "";
}

// Files that were given, as they were: what comes back is what the command has made or changed.
using GivenFiles = std::map<std::string, Digest>;

bool is_given(const GivenFiles& given, const std::string& path, const std::string& bytes) {
  const auto found = given.find(path);
  return found != given.end() && found->second == sha256(bytes);
}

// What programs keep for themselves: .git, .cache, __pycache__.
bool is_private(const std::string& path) {
  for (const auto& part : std::filesystem::path(path))
    if (part.native().starts_with('.') || part == "__pycache__" || part == "node_modules")
      return true;
  return false;
}

// Images that a client can show, and the other files; of those that are too large or too many, that they are there.
void add_left(Json& output, const Workspace& workspace, const GivenFiles& given) {
  const auto until = std::chrono::steady_clock::now() + kLongestLook;
  Json images = Json::array(), files = Json::array();
  std::size_t left = kMostBytes, left_out = 0;
  for (const Workspace::File& file : workspace.files(until)) {
    if (is_private(file.path)) continue;
    const bool late = std::chrono::steady_clock::now() >= until;
    if (late || (images.size() == kMostImages && files.size() == kMostFiles)) {
      left_out += !given.contains(file.path);
      continue;
    }
    const auto head = workspace.read(file.path, kTypeBytes);
    const std::string type = head ? image_type(*head) : "";
    const bool image = !type.empty() && file.size <= kLargestImage && images.size() < kMostImages;
    if (!image && files.size() == kMostFiles) {
      left_out += !given.contains(file.path);
      continue;
    }
    if (!image && (file.size > kLargestFile || file.size > left)) {
      files.push_back({{"path", file.path}, {"size", file.size}});
      continue;
    }
    auto bytes = workspace.read(file.path, image ? kLargestImage : kLargestFile);
    if (!bytes || is_given(given, file.path, *bytes)) continue;
    if (image) {
      images.push_back({{"path", file.path}, {"mime_type", type}, {"data", base64(*bytes)}});
      continue;
    }
    left -= std::min(left, bytes->size());
    files.push_back(
        {{"path", file.path},
         {"size", bytes->size()},
         {"bytes", Json::binary(std::vector<std::uint8_t>(bytes->begin(), bytes->end()))}});
  }
  if (!images.empty()) output["images"] = std::move(images);
  if (!files.empty()) output["files"] = std::move(files);
  if (left_out > 0) output["files_left_out"] = left_out;
}

std::vector<InputFile> files_of(const Json& arguments) {
  std::vector<InputFile> files;
  const auto found = arguments.find("files");
  if (found == arguments.end()) return files;
  for (const auto& [name, content] : found->items()) {
    InputFile file;
    // "a//./b" is taken for "a/b"; where a path leads out is for stow_files() to see.
    file.path = std::filesystem::path(name).lexically_normal();
    if (content.is_string()) {
      file.bytes = content.get<std::string>();
    } else {
      auto decoded = base64_decoded(content.at("base64").get_ref<const std::string&>());
      if (!decoded) throw_error(ErrorKind::config, "files: {} is not base64", in_quotes(name));
      file.bytes = std::move(*decoded);
    }
    files.push_back(std::move(file));
  }
  return files;
}

MadeCommand make(const Json& arguments) {
  MadeCommand made;
  const bool line = arguments.contains("command");
  if (line == arguments.contains("argv"))
    throw Error(ErrorKind::config,
                "give either \"argv\", a list of words, or \"command\", a shell line");
  if (line)
    made.command = Command::shell(arguments["command"].get<std::string>());
  else
    made.command.argv = arguments["argv"].get<std::vector<std::string>>();
  if (const auto input = arguments.find("stdin"); input != arguments.end())
    made.command.stdin_bytes = input->get<std::string>();
  made.files = files_of(arguments);
  GivenFiles given;
  for (const InputFile& file : made.files) given.emplace(file.path, sha256(file.bytes));
  made.output = [given = std::move(given)](const Report& report, const Workspace* workspace) {
    Json output{{"exit_code", 0}};
    add_streams(output, report);
    if (workspace) add_left(output, *workspace, given);
    return output;
  };
  return made;
}

// A path, and its text, or its bytes as {"base64": ...}.
Json files_schema() {
  return Json::parse(R"({
    "type": "object", "description": "files to put into the workspace first, by relative path",
    "maxProperties": 1000,
    "additionalProperties": {"anyOf": [
      {"type": "string"},
      {"type": "object", "properties": {"base64": {"type": "string"}}, "required": ["base64"],
       "additionalProperties": false}]}})");
}

}  // namespace

Tool run_command_tool() {
  Tool tool;
  tool.name = kRunCommand;
  tool.description =
      "Runs a command in a fresh, isolated cell. Give either argv (a list of words) or command (a "
      "line for /bin/sh). Nothing of it is left afterwards but what the policy lets it write.";
  tool.input_schema = Json::parse(R"({
    "type": "object", "additionalProperties": false,
    "properties": {
      "argv": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 10000,
               "description": "the program and its arguments; no shell"},
      "command": {"type": "string", "description": "a line for /bin/sh -c, in place of argv"},
      "stdin": {"type": "string", "description": "what the command reads from its standard input"}
    }})");
  tool.input_schema["properties"]["files"] = files_schema();
  tool.options.annotations = {
      .read_only = false, .destructive = false, .idempotent = false, .open_world = false};
  tool.options.coerce = false;
  tool.maker = std::make_shared<const CommandMaker>(CommandMaker{make});
  return tool;
}

}  // namespace brig::serve
