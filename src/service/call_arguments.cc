#include "service/call_arguments.h"

#include <fmt/format.h>

#include <climits>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/text.h"

namespace brig::serve {
namespace {

// The kernel's limit for one variable; and in all so much that words and variables fit into a
// request.
constexpr std::size_t kLargestVariable = 128 << 10, kMostVariables = std::size_t{1} << 20;

}  // namespace

Json timeout_schema(const char* what) {
  return {
      {"type", {"number", "string"}},
      {"exclusiveMinimum", 0},
      {"description",
       fmt::format("time limit for the {}, in seconds or as a text such as \"500ms\", at most the "
                   "limit of the tool; when the time is over the {} is ended, and what it has "
                   "written comes back",
                   what, what)}};
}

std::optional<std::chrono::milliseconds> taken_timeout(Json& arguments) {
  const auto found = arguments.find("timeout");
  if (found == arguments.end()) return {};
  const auto time = found->is_string() ? parse_duration(found->get_ref<const std::string&>())
                                       : duration_from_seconds(found->get<double>());
  if (!time)
    throw Error(ErrorKind::config,
                "timeout: give a number of seconds, or a text such as \"500ms\"");
  arguments.erase("timeout");
  return time;
}

Json env_schema() {
  return {{"type", "object"},
          {"description", "environment variables to set, by name, in addition to the cell's own"},
          {"maxProperties", 1000},
          {"additionalProperties", {{"type", "string"}}}};
}

std::map<std::string, std::string> env_of(const Json& arguments) {
  std::map<std::string, std::string> variables;
  const auto found = arguments.find("env");
  if (found == arguments.end()) return variables;
  std::size_t all = 0;
  for (const auto& [name, value] : found->items()) {
    const std::string& text = value.get_ref<const std::string&>();
    const auto refuse = [&name = name](const char* why) {
      throw_error(ErrorKind::config, "env: {}: {}", in_quotes(name), why);
    };
    if (name.empty()) throw Error(ErrorKind::config, "env: a variable has no name");
    if (name.find('=') != std::string::npos) refuse("a name can't hold '='");
    if (name.find('\0') != std::string::npos || text.find('\0') != std::string::npos)
      refuse("a NUL byte is not allowed");
    if (name.size() + text.size() + 2 > kLargestVariable)
      refuse("it is longer than 128 KiB, the kernel's limit for one variable; use a file");
    all += name.size() + text.size() + 2;
    variables.emplace(name, text);
  }
  if (all > kMostVariables)
    throw Error(ErrorKind::config, "env: the variables are longer than 1 MiB in all; use a file");
  return variables;
}

Json cwd_schema() {
  return {
      {"type", "string"},
      {"minLength", 1},
      {"description",
       "the directory to start in; a relative path begins in the workspace, where files are put"}};
}

std::string cwd_of(const Json& arguments) {
  const auto found = arguments.find("cwd");
  if (found == arguments.end()) return "";
  const std::string& path = found->get_ref<const std::string&>();
  if (path.empty()) throw Error(ErrorKind::config, "cwd: the path is empty");
  if (path.find('\0') != std::string::npos)
    throw Error(ErrorKind::config, "cwd: the path holds a NUL byte");
  if (path.size() >= PATH_MAX)
    throw_error(ErrorKind::config, "cwd: the path is longer than {} bytes", PATH_MAX - 1);
  return path;
}

std::vector<InputFile> files_of(const Json& arguments) {
  std::vector<InputFile> files;
  const auto found = arguments.find("files");
  if (found == arguments.end()) return files;
  for (const auto& [name, content] : found->items()) {
    InputFile file;
    // "a//./b" is taken for "a/b"; where a path leads out is for check_files() to see.
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

void check_that_all_can_be_made(std::span<const InputFile> files) {
  check_files(files);
  std::set<std::string_view> paths;
  for (const InputFile& file : files)
    if (!paths.insert(file.path).second)
      throw_error(ErrorKind::config, "files: {} is given twice", in_quotes(file.path));
  for (const std::string_view path : paths)
    for (std::size_t slash = path.find('/'); slash != std::string_view::npos;
         slash = path.find('/', slash + 1))
      if (paths.contains(path.substr(0, slash)))
        throw_error(ErrorKind::config, "files: {} lies below {}, which is a file, too",
                    in_quotes(path), in_quotes(path.substr(0, slash)));
}

}  // namespace brig::serve
