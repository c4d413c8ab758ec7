#include "tool/library.h"

#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "cell/helper_image.h"
#include "os/trusted_file.h"
#include "tool/json_text.h"

extern "C" const char brig_loader_begin[];
extern "C" const char brig_loader_end[];

namespace brig {
namespace {

constexpr std::size_t kMaxTools = 10'000;

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
  (void)open_trusted({real.string(), "library"});
  return real.string();
}

std::shared_ptr<const Payload> library_payload(const std::string& path) {
  auto payload = std::make_shared<Payload>();
  payload->title = "library " + in_quotes(path);
  payload->library = path;
  return payload;
}

std::vector<Tool> tools_of(const Answer& catalog, const Tool& any, const std::string& title) {
  std::string fault;
  const auto list = catalog.kind == Answer::Kind::result ? json_from(catalog.bytes, fault)
                                                         : std::optional<Json>();
  if (!list || !list->is_array() || list->size() > kMaxTools)
    throw_error(ErrorKind::config, "{}: its list of tools can't be read {}", title, fault);
  std::vector<Tool> tools;
  for (const Json& each : *list) {
    if (!each.is_object())
      throw_error(ErrorKind::config, "{}: its list of tools can't be read", title);
    Tool tool = any;
    tool.name = words(each, "name");
    tool.description = words(each, "description");
    tool.input_schema = each.value("input_schema", Json());
    if (each.contains("output_schema")) tool.output_schema = each["output_schema"];
    tool.options.coerce = flag(each, "coerce", true);
    tool.options.annotations = {flag(each, "read_only", false), flag(each, "destructive", true),
                                flag(each, "idempotent", false), flag(each, "open_world", true)};
    tools.push_back(std::move(tool));
  }
  return tools;
}

}  // namespace brig
