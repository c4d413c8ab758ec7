#include "serve/run_command.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "os/memfd.h"

namespace brig::serve {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostImages = 8, kLargestImage = std::size_t{4} << 20, kMostSeen = 2000;

// Of what is there, by its first bytes: a name proves nothing.
std::string image_type(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return "image/png";
  if (bytes.starts_with("\xff\xd8\xff")) return "image/jpeg";
  if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")) return "image/gif";
  if (bytes.size() > 12 && bytes.starts_with("RIFF") && bytes.substr(8, 4) == "WEBP")
    return "image/webp";
  return "";
}

void write_files(const Json& files, std::set<fs::path>& given) {
  for (const auto& [name, content] : files.items()) {
    const fs::path path = fs::path(name).lexically_normal();
    if (name.empty() || path.is_absolute() || path.begin()->string() == ".." || path == "." ||
        !path.has_filename() || name.find('\0') != std::string::npos)
      throw std::invalid_argument("files: '" + name + "' is not a path inside the workspace");
    std::string bytes;
    if (content.is_string()) {
      bytes = content.get<std::string>();
    } else {
      auto decoded = base64_decoded(content.at("base64").get<std::string>());
      if (!decoded) throw std::invalid_argument("files: '" + name + "' is not base64");
      bytes = std::move(*decoded);
    }
    if (path.has_parent_path()) fs::create_directories(path.parent_path());
    std::ofstream file(path, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) throw std::runtime_error("files: '" + name + "' could not be written");
    given.insert(path);
  }
}

Json images_in(const fs::path& top, const std::set<fs::path>& given) {
  std::vector<fs::path> found;
  std::size_t seen = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator
           each(top, fs::directory_options::skip_permission_denied, error),
       end;
       !error && each != end && seen < kMostSeen; each.increment(error), ++seen) {
    if (each->is_symlink(error) || !each->is_regular_file(error)) continue;
    const fs::path path = each->path().lexically_relative(top);
    if (!given.contains(path)) found.push_back(path);
  }
  std::sort(found.begin(), found.end());
  Json images = Json::array();
  for (const fs::path& path : found) {
    if (images.size() == kMostImages) break;
    const std::uintmax_t size = fs::file_size(top / path, error);
    if (error || size > kLargestImage || !is_valid_utf8(path.native())) continue;
    std::ifstream file(top / path, std::ios::binary);
    std::string bytes(16, '\0');
    file.read(bytes.data(), 16);
    bytes.resize(static_cast<std::size_t>(file.gcount()));
    const std::string type = image_type(bytes);
    if (type.empty()) continue;
    file.clear();
    bytes.resize(static_cast<std::size_t>(size));
    file.seekg(0);
    file.read(bytes.data(), static_cast<std::streamsize>(size));
    if (file.gcount() != static_cast<std::streamsize>(size)) continue;
    images.push_back({{"path", path.native()}, {"mime_type", type}, {"data", base64(bytes)}});
  }
  return images;
}

UniqueFd input_of(const Json& arguments) {
  const auto found = arguments.find("stdin");
  if (found == arguments.end()) return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const auto& text = found->get_ref<const std::string&>();
  UniqueFd file = make_memfd("stdin");
  if (!file || !fill_and_seal(file.get(), text)) throw_sys("stdin: writing a memfd");
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

// Inside the cell, whose process 2 this is; the command is its child, so that what it left can be looked at.
Json run(const Json& arguments) {
  std::vector<std::string> words;
  const bool line = arguments.contains("command");
  if (line == arguments.contains("argv"))
    throw std::invalid_argument(
        "give either \"argv\", a list of words, or \"command\", a shell line");
  if (line)
    words = {"/bin/sh", "-c", arguments["command"].get<std::string>()};
  else
    words = arguments["argv"].get<std::vector<std::string>>();
  if (words[0].empty()) throw std::invalid_argument("argv: the first word, the program, is empty");
  std::vector<char*> argv;
  for (std::string& word : words) {
    if (word.find('\0') != std::string::npos)
      throw std::invalid_argument("a word holds a NUL character, which no command can receive");
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);

  std::set<fs::path> given;
  if (const auto files = arguments.find("files"); files != arguments.end())
    write_files(*files, given);
  const UniqueFd input = input_of(arguments);
  // The command has the same id: by /proc it could otherwise open the pipe of the result, and say how it ended.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  int failure[2];
  if (!input || pipe2(failure, O_CLOEXEC) != 0) throw_sys("pipe2");
  const UniqueFd told(failure[0]);
  UniqueFd teller(failure[1]);
  const pid_t child = fork();
  if (child < 0) throw_sys("fork");
  if (child == 0) {
    dup2(input.get(), STDIN_FILENO);
    execvp(argv[0], argv.data());
    const int error = errno;
    (void)!write(teller.get(), &error, sizeof error);
    _exit(127);
  }
  teller.reset();
  int status = 0, error = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (read(told.get(), &error, sizeof error) == sizeof error)
    return {{"not_run", fmt::format("{}: {}", in_quotes(words[0]), errno_text(error))}};
  Json answer;
  if (WIFSIGNALED(status))
    answer["signal"] = WTERMSIG(status);
  else
    answer["exit_code"] = WEXITSTATUS(status);
  if (Json images = images_in(fs::current_path(), given); !images.empty())
    answer["images"] = std::move(images);
  return answer;
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
  tool.name = "run_command";
  tool.description =
      "Runs a command in a fresh, isolated cell: no network, an empty workspace as the working "
      "directory, nothing of the host but its programs. Give either argv (a list of words) or "
      "command (a line for /bin/sh). Nothing is left of it afterwards.";
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
  tool.call = [](const Json& arguments) -> Json {
    try {
      return run(arguments);
    } catch (const std::invalid_argument& error) {
      return {{"not_run", error.what()}};
    }
  };
  return tool;
}

}  // namespace brig::serve
