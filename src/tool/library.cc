#include "tool/library.h"

#include <atomic>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "cell/helper_image.h"
#include "json/json_text.h"
#include "os/trusted_file.h"
#include "tool/tool_formats.h"

extern "C" const char brig_loader_begin[];
extern "C" const char brig_loader_end[];

namespace brig {
namespace {

constexpr std::size_t kMaxTools = 10'000, kMaxFiles = 2000, kMostHeldLibrary = 256 << 20;

bool flag(const Json& json, const char* name, bool otherwise) {
  const auto found = json.find(name);
  return found != json.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

std::string words(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

std::shared_ptr<UniqueFd> loader_image() {
  return std::make_shared<UniqueFd>(
      executable("brig-loader", {brig_loader_begin, brig_loader_end}));
}

std::string library_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error)
    throw_error(ErrorKind::config, "library {}: {}", in_quotes(path), errno_text(error.value()));
  if (!std::filesystem::is_regular_file(real, error))
    throw_error(ErrorKind::config, "library {}: it is not a file", in_quotes(path));
  return real.string();
}

LoadedLibrary load_library(const std::string& path) {
  static std::atomic<unsigned> made{0};
  auto payload = std::make_shared<Payload>();
  payload->title = "library " + in_quotes(path);
  payload->library = path;
  auto held = std::make_shared<HeldFile>();
  held->path = path;
  held->bytes = read_trusted({path, "library"}, kMostHeldLibrary);
  if (held->bytes.size() <= kMostHeldLibrary) payload->held.push_back(std::move(held));
  return {fmt::format("library {}, {}", path, ++made), std::move(payload)};
}

namespace {

// The list in a catalog, which is an array of tools or {"tools": [...], "files": [...]}.
std::optional<Json> list_in(const Answer& catalog, const char* name, std::string& fault) {
  if (catalog.kind != Answer::Kind::result) return std::nullopt;
  std::optional<Json> list = json_from(catalog.bytes, fault);
  if (list && list->is_object()) list = list->value(name, Json());
  return list && list->is_array() ? list : std::nullopt;
}

}  // namespace

std::vector<std::string> files_of(const Answer& catalog) {
  std::vector<std::string> files;
  std::string fault;
  if (const auto list = list_in(catalog, "files", fault))
    for (const Json& each : *list)
      if (each.is_string() && files.size() < kMaxFiles &&
          std::filesystem::path(each.get_ref<const std::string&>()).is_absolute() &&
          each.get_ref<const std::string&>().find('\0') == std::string::npos)
        files.push_back(each.get<std::string>());
  return files;
}

std::vector<Tool> tools_of(const Answer& catalog, const Tool& any, const std::string& title) {
  std::string fault;
  const auto list = list_in(catalog, "tools", fault);
  if (!list || list->size() > kMaxTools)
    throw_error(ErrorKind::config, "{}: its list of tools can't be read {}", title, fault);
  std::vector<Tool> tools;
  for (const Json& each : *list) {
    if (!each.is_object())
      throw_error(ErrorKind::config, "{}: its list of tools can't be read", title);
    Tool tool = any;
    tool.name = words(each, "name");
    tool.description = words(each, "description");
    tool.input_schema = each.value("input_schema", Json());
    if (const auto schema = each.find("output_schema"); schema != each.end() && !schema->is_null())
      tool.output_schema = *schema;
    tool.options.coerce = flag(each, "coerce", true);
    tool.options.annotations = read_annotations(each, flag);
    tools.push_back(std::move(tool));
  }
  return tools;
}

}  // namespace brig
