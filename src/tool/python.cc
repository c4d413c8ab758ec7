#include "tool/python.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "os/trusted_file.h"

extern "C" const char brig_python_begin[], brig_python_end[];
extern "C" const char brig_python_files_begin[], brig_python_files_end[];

namespace brig {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostHeldModule = 16 << 20;

// Runs before the first line of anybody else's code.
constexpr const char* kBoot =
    "import sys; sys.path.insert(0, '/proc/self/fd/7'); from brig._cell import main; main()";

bool is_program(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char magic[4] = {};
  return file && read(file.get(), magic, sizeof magic) == sizeof magic &&
         memcmp(magic,
                "\x7f"
                "ELF",
                4) == 0 &&
         access(path.c_str(), X_OK) == 0;
}

// Finds the interpreter in PATH. Skips scripts that look for an interpreter, such as pyenv's,
// because they would not find it in the jail.
std::string find_interpreter() {
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path ? path : "/usr/bin:/bin"; !rest.empty();) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const fs::path candidate = fs::path(rest.substr(0, colon)) / "python3";
    if (candidate.is_absolute() && is_program(candidate)) return candidate;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  throw Error(ErrorKind::config,
              "python: PATH has no python3 that is a program; install one, or name it with "
              "interpreter = \"/...\"");
}

bool is_below(const fs::path& path, const fs::path& top) {
  const auto [end, ignored] = std::mismatch(top.begin(), top.end(), path.begin(), path.end());
  return end == top.end();
}

// Whether every cell has this path.
bool is_system(const fs::path& path) {
  for (const char* top : {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"})
    if (is_below(path, top)) return true;
  return false;
}

// The path without symlinks, which do not exist in a cell. Empty if the file does not exist.
std::string real_path(const fs::path& path) {
  std::error_code error;
  const fs::path found = fs::canonical(path, error);
  return error ? "" : found.string();
}

// The paths that exist, each once, without those below another one.
std::vector<std::string> to_mount(std::vector<std::string> paths) {
  for (std::string& path : paths) path = real_path(path);
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> result;
  for (std::string& path : paths) {
    if (path.size() < 2 || is_system(path)) continue;
    if (!result.empty() && is_below(path, result.back())) continue;
    result.push_back(std::move(path));
  }
  return result;
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

// `home` in a virtual environment's pyvenv.cfg: where the interpreter is that it was made from.
std::string base_of_environment(const fs::path& directory) {
  std::ifstream file(directory / "pyvenv.cfg");
  std::string line;
  for (int i = 0; i < 100 && std::getline(file, line); ++i) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || trimmed(line.substr(0, equals)) != "home") continue;
    return trimmed(line.substr(equals + 1));
  }
  return "";
}

// Not the whole directory, because the one above could be somebody's home.
void add_parts(const fs::path& prefix, std::vector<std::string>& parts) {
  if (!prefix.has_relative_path()) return;
  for (const char* part : {"bin", "lib", "lib64", "pyvenv.cfg"}) parts.push_back(prefix / part);
}

// The parts of an interpreter: beside each of the links that lead to it, and at its environment's
// base.
std::vector<std::string> installation_of(const std::string& interpreter) {
  std::vector<std::string> parts;
  fs::path at = interpreter;
  std::error_code error;
  for (int links = 0; links < 40; ++links) {
    const fs::path prefix = at.parent_path().parent_path();
    add_parts(prefix, parts);
    if (const fs::path base = base_of_environment(prefix); base.is_absolute())
      add_parts(base.parent_path(), parts);
    const fs::path target = fs::read_symlink(at, error);
    if (error) break;
    at = (at.parent_path() / target).lexically_normal();
  }
  add_parts(fs::path(real_path(interpreter)).parent_path().parent_path(), parts);
  return parts;
}

// The first part of a module's name.
std::string top_of(const std::string& module) { return module.substr(0, module.find('.')); }

// Throws unless what is imported first, if it exists, is a file or a package that only trusted
// users can write. Holds the bytes of a file where cells may see that file alone.
void check_trusted_module(const fs::path& top, std::vector<std::shared_ptr<const HeldFile>>* held) {
  std::error_code error;
  if (fs::is_directory(top, error)) {
    check_trusted_directory(top, "python package");
    if (fs::exists(top / "__init__.py", error))
      (void)open_trusted({top / "__init__.py", "python module"});
  } else if (const std::string file = top.string() + ".py"; fs::exists(file, error)) {
    auto read = std::make_shared<HeldFile>();
    read->path = file;
    read->bytes = read_trusted({file, "python module"}, kMostHeldModule);
    if (held && read->bytes.size() <= kMostHeldModule) held->push_back(std::move(read));
  }
}

std::shared_ptr<PythonRuntime> make_runtime(const std::string& title,
                                            const std::string& interpreter,
                                            const std::vector<std::string>& read, const Json& spec,
                                            std::vector<std::shared_ptr<const HeldFile>> held) {
  static std::atomic<unsigned> made{0};
  if (!fs::path(interpreter).is_absolute() || !is_program(interpreter))
    throw_error(ErrorKind::config,
                "{}: interpreter {}: it is not a program; give the absolute path of a CPython",
                title, in_quotes(interpreter));
  auto payload = std::make_shared<Payload>();
  payload->title = title;
  // By the name that the user gave, a virtual environment's interpreter finds the environment. -I:
  // neither variables nor the start directory decide what is imported.
  const fs::path named = interpreter;
  payload->runtime_program = real_path(named);
  payload->runtime = {
      fs::path(real_path(named.parent_path())) / named.filename(), "-I", "-X", "utf8", "-c", kBoot};
  // Threads of these libraries would be lost in every copy, and the processors are for the calls to
  // share. What the linker does late, it would do in every copy. brig._cell removes these variables
  // from what tools see.
  for (const char* name :
       {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "LD_BIND_NOW"})
    payload->runtime_environment[name] = "1";
  payload->runtime_image = {brig_python_begin, brig_python_end};
  payload->runtime_files = {brig_python_files_begin, brig_python_files_end};
  payload->runtime_spec = spec.dump(-1, ' ', true, Json::error_handler_t::replace);
  auto runtime = std::make_shared<PythonRuntime>();
  runtime->key = fmt::format("python {}", ++made);
  std::vector<std::string> paths = installation_of(interpreter);
  paths.insert(paths.end(), read.begin(), read.end());
  runtime->read = to_mount(std::move(paths));
  payload->held = std::move(held);
  runtime->payload = std::move(payload);
  return runtime;
}

}  // namespace

bool is_module_name(const std::string& name) {
  bool first = true;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '.' ? first : !(c == '_' || byte >= 0x80 || (first ? isalpha(byte) : isalnum(byte))))
      return false;
    first = c == '.';
  }
  return !first && name.size() <= 255 && is_valid_utf8(name);
}

std::shared_ptr<const PythonRuntime> python_runtime(const std::string& title,
                                                    const std::string& interpreter,
                                                    const std::vector<std::string>& read,
                                                    const Json& spec) {
  return make_runtime(title, interpreter, read, spec, {});
}

std::vector<std::string> python_directories(const Python& python) {
  std::vector<std::string> found = python.path;
  if (!python.home.empty()) found.push_back(python.home);
  return found;
}

std::vector<std::string> python_sources(const Python& python) {
  std::vector<std::string> found;
  std::error_code error;
  for (const fs::path directory : python_directories(python))
    for (const std::string& module : python.modules) {
      const fs::path top = directory / top_of(module), file = top.string() + ".py";
      if (fs::is_directory(top, error)) found.push_back(top);
      if (fs::exists(file, error)) found.push_back(file);
    }
  return found;
}

std::shared_ptr<const PythonRuntime> python_runtime(const Python& python) {
  if (python.modules.empty()) throw Error(ErrorKind::config, "python: it lists no module");
  for (const std::string& module : python.modules)
    if (!is_module_name(module))
      throw_error(ErrorKind::config, "python: {} is not the name of a module", in_quotes(module));
  for (const std::string& path : python.path) {
    std::error_code error;
    if (!fs::path(path).is_absolute() || !fs::is_directory(path, error))
      throw_error(ErrorKind::config, "python: path {}: it is not a directory", in_quotes(path));
    check_trusted_directory(path, "python path");
  }
  for (const std::string& module : python.preload)
    if (!is_module_name(module))
      throw_error(ErrorKind::config, "preload: {} is not the name of a module", in_quotes(module));
  std::vector<std::string> search, read = python.path;
  for (const std::string& path : python.path) search.push_back(real_path(path));
  if (!python.home.empty()) {
    const std::string home = real_path(python.home);
    search.push_back(home);
    for (const std::string& module : python.modules) {
      const fs::path top = fs::path(home) / top_of(module);
      read.push_back(top);
      read.push_back(top.string() + ".py");
    }
  }
  std::vector<std::shared_ptr<const HeldFile>> held;
  const std::string alone = python.home.empty() ? "" : search.back();
  for (const std::string& directory : search)
    for (const std::string& module : python.modules)
      check_trusted_module(fs::path(directory) / top_of(module),
                           directory == alone ? &held : nullptr);
  return make_runtime("python module " + in_quotes(python.modules[0]),
                      python.interpreter.empty() ? find_interpreter() : python.interpreter, read,
                      {{"path", search}, {"preload", python.preload}, {"discover", python.modules}},
                      std::move(held));
}

}  // namespace brig
