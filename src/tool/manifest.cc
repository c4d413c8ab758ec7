#include <brig/manifest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "os/trusted_file.h"
#include "policy/policy_toml.h"
#include "tool/manifest_command.h"
#include "tool/manifest_here.h"
#include "tool/python.h"

namespace brig {
namespace {

constexpr std::array<std::string_view, 5> kTop = {"policy", "command", "library", "python",
                                                  "run_python"};
constexpr std::array<std::string_view, 1> kRunPythonKeys = {"preload"};
constexpr std::array<std::string_view, 2> kLibrary = {"path", "policy"};
constexpr std::array<std::string_view, 4> kPython = {"module", "path", "interpreter", "policy"};
constexpr std::size_t kMaxCommands = 1000, kMaxLibraries = 100;

class ManifestReader {
 public:
  ManifestReader(const std::string& directory, TomlFaults& faults)
      : directory_(directory), reader_(faults) {}

  Manifest read(const ConfigTable& top) {
    const auto entries = reader_.entries(top, {}, kTop, [](std::string_view key) {
      const auto has = [&](const auto& names) {
        return std::find(names.begin(), names.end(), key) != names.end();
      };
      return has(kPolicyKeys) || has(kLimitKeys) ? "policy" : "";
    });
    // The policy comes first, wherever it stands: all others are made from it.
    for (const TomlEntry& entry : entries)
      if (entry.key == "policy")
        if (const auto* table = reader_.table(entry, "a table, [policy]"))
          manifest_.policy =
              read_policy(*table, {{"policy", "policy."}, entry.line, true}, {}, reader_.faults());
    for (const TomlEntry& entry : entries) {
      if (entry.key == "command")
        each(entry, kMaxCommands, [&](const ConfigTable& table, std::size_t line, std::size_t i) {
          read_command(table, line, i);
        });
      if (entry.key == "library")
        each(entry, kMaxLibraries, [&](const ConfigTable& table, std::size_t line, std::size_t) {
          read_library(table, line);
        });
      if (entry.key == "run_python")
        if (const auto* table = reader_.table(entry, "a table, [run_python]")) read_builtin(*table);
      if (entry.key == "python")
        each(entry, kMaxLibraries, [&](const ConfigTable& table, std::size_t line, std::size_t) {
          read_python(table, line);
        });
    }
    return std::move(manifest_);
  }

 private:
  template <typename Action>
  void each(const TomlEntry& entry, std::size_t most, const Action& action) {
    const ConfigArray* array = entry.node->as_array();
    if (array == nullptr) return reader_.expected(entry, fmt::format("tables, [[{}]]", entry.key));
    if (array->size() > most)
      return reader_.fault(entry, fmt::format("more than {}; use several manifests", most));
    for (std::size_t i = 0; i < array->size(); ++i) {
      const TomlEntry item = TomlReader::item(entry, i, (*array)[i]);
      if (const auto* table = reader_.table(item, fmt::format("a table, [[{}]]", entry.key)))
        action(*table, item.line, i + 1);
    }
  }

  void read_command(const ConfigTable& table, std::size_t line, std::size_t ordinal) {
    auto tool = brig::read_command(table, line, ordinal, manifest_.policy, reader_.faults());
    // Also for a command that has other mistakes.
    const std::string* name = table.string("name");
    if (name == nullptr) return;
    const auto [first, added] = names_.emplace(*name, line);
    if (!added) {
      const std::size_t at = table.find("name")->line;
      reader_.faults().add(at, fmt::format("command {}: the command on line {} has the same name",
                                           in_quotes(*name), first->second));
    } else if (tool && reader_.faults().count() == 0) {
      try {
        manifest_.tools.add(std::move(*tool));
      } catch (const Error& error) {
        reader_.faults().add(line, error.what());
      }
    }
  }

  void read_library(const ConfigTable& table, std::size_t line) {
    Toolbox::Library library;
    if (!table.contains("path")) reader_.faults().add(line, "library: has no path");
    for (const TomlEntry& entry : reader_.entries(table, {"library", "library: "}, kLibrary)) {
      if (entry.key == "path") {
        if (const auto path = reader_.string(entry, "a path")) library.path = found(entry, *path);
      } else if (const auto* given = reader_.table(entry, "a table such as { timeout = \"2s\" }")) {
        library.policy =
            read_policy(*given, {{"library.policy", "library: policy."}, entry.line, true},
                        manifest_.policy, reader_.faults());
      }
    }
    manifest_.tools.add_library(std::move(library.path), std::move(library.policy));
  }

  void read_python(const ConfigTable& table, std::size_t line) {
    Toolbox::PythonModules modules;
    if (!table.contains("module")) reader_.faults().add(line, "python: has no module");
    if (!table.contains("path")) modules.python.home = directory_;
    for (const TomlEntry& entry : reader_.entries(table, {"python", "python: "}, kPython)) {
      if (entry.key == "policy") {
        if (const auto* given = reader_.table(entry, "a table such as { timeout = \"2s\" }"))
          modules.policy =
              read_policy(*given, {{"python.policy", "python: policy."}, entry.line, true},
                          manifest_.policy, reader_.faults());
        continue;
      }
      const auto text = reader_.string(
          entry, entry.key == "module" ? "the name of a module such as \"weather\"" : "a path");
      if (!text) continue;
      if (entry.key == "module") {
        modules.python.modules = {*text};
        if (!is_module_name(*text))
          reader_.fault(entry, fmt::format("{} is not the name of a module", in_quotes(*text)));
      }
      if (entry.key == "path") modules.python.path = {existing(entry, *text, S_IFDIR)};
      if (entry.key == "interpreter") modules.python.interpreter = existing(entry, *text, S_IFREG);
    }
    manifest_.tools.add_python(std::move(modules.python), std::move(modules.policy));
  }

  void read_builtin(const ConfigTable& table) {
    for (const TomlEntry& entry :
         reader_.entries(table, {"run_python", "run_python: "}, kRunPythonKeys)) {
      const ConfigArray* names = entry.node->as_array();
      if (names == nullptr) {
        reader_.expected(entry, "a list of modules such as [\"numpy\"]");
        continue;
      }
      for (std::size_t i = 0; i < names->size(); ++i) {
        const TomlEntry item = TomlReader::item(entry, i, (*names)[i]);
        const auto name = reader_.string(item, "the name of a module such as \"numpy\"");
        if (!name) continue;
        if (is_module_name(*name))
          manifest_.preload.push_back(*name);
        else
          reader_.fault(item, fmt::format("{} is not the name of a module", in_quotes(*name)));
      }
    }
  }

  // The absolute path of an existing file or directory; relative paths start at the manifest's
  // directory.
  std::string existing(const TomlEntry& entry, const std::string& path, mode_t kind) {
    if (path.empty() || path.find('\0') != std::string::npos) {
      reader_.expected(entry, "a path");
      return path;
    }
    std::string full = std::filesystem::path(directory_) / path;
    struct stat status;
    if (::stat(full.c_str(), &status) != 0)
      reader_.fault(entry, fmt::format("{}: {}", in_quotes(full), errno_text(errno)));
    else if ((status.st_mode & S_IFMT) != kind)
      reader_.fault(entry, fmt::format("{}: not a {}", in_quotes(full),
                                       kind == S_IFDIR ? "directory" : "regular file"));
    return full;
  }

  std::string found(const TomlEntry& entry, const std::string& path) {
    std::string full = existing(entry, path, S_IFREG);
    for (const Toolbox::Library& other : manifest_.tools.libraries())
      if (other.path == full)
        reader_.fault(entry, fmt::format("{}: it is listed twice", in_quotes(path)));
    return full;
  }

  const std::string& directory_;
  TomlReader reader_;
  Manifest manifest_;
  // With their lines.
  std::map<std::string, std::size_t> names_;
};

}  // namespace

Manifest manifest_from_toml(std::string_view text, const std::string& name,
                            const std::string& directory) {
  TomlFaults faults(name);
  Manifest manifest = ManifestReader(directory, faults).read(parse_toml(text, name, "manifest"));
  faults.throw_if_any();
  return manifest;
}

namespace {

Manifest read_manifest(const FileRequest& request) {
  const std::string text = read_trusted(request, kMaxTomlBytes);
  return manifest_from_toml(text, request.path,
                            std::filesystem::absolute(request.path).parent_path());
}

}  // namespace

Manifest manifest_from_toml_file(const std::string& path) {
  return read_manifest({path, "manifest"});
}

Manifest manifest_found_here() {
  return read_manifest({kManifestName, "manifest", Consent::found, kNamingIt});
}

}  // namespace brig
