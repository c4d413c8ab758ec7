#include <brig/manifest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "cell/policy_toml.h"
#include "tool/manifest_command.h"

namespace brig {
namespace {

constexpr std::array<std::string_view, 3> kTop = {"policy", "command", "library"};
constexpr std::array<std::string_view, 2> kLibrary = {"path", "policy"};
constexpr std::size_t kMaxCommands = 1000, kMaxLibraries = 100;

class ManifestReader {
 public:
  ManifestReader(const std::string& directory, TomlFaults& faults)
      : directory_(directory), reader_(faults) {}

  Manifest read(const toml::table& top) {
    const auto entries = reader_.entries(top, {}, kTop, [](std::string_view key) {
      const auto has = [&](const auto& names) {
        return std::find(names.begin(), names.end(), key) != names.end();
      };
      return has(kPolicyKeys) || has(kLimitKeys) ? "policy" : "";
    });
    // First, wherever it stands: all others are made from it.
    for (const TomlEntry& entry : entries)
      if (entry.key == "policy")
        if (const auto* table = reader_.table(entry, "a table, [policy]"))
          manifest_.policy =
              read_policy(*table, {{"policy", "policy."}, entry.line, true}, {}, reader_.faults());
    for (const TomlEntry& entry : entries) {
      if (entry.key == "command")
        each(entry, kMaxCommands, [&](const toml::table& table, std::size_t line, std::size_t i) {
          read_command(table, line, i);
        });
      if (entry.key == "library")
        each(entry, kMaxLibraries, [&](const toml::table& table, std::size_t line, std::size_t) {
          read_library(table, line);
        });
    }
    return std::move(manifest_);
  }

 private:
  template <typename Action>
  void each(const TomlEntry& entry, std::size_t most, const Action& action) {
    const toml::array* array = entry.node->as_array();
    if (array == nullptr) return reader_.expected(entry, fmt::format("tables, [[{}]]", entry.key));
    if (array->size() > most)
      return reader_.fault(entry, fmt::format("more than {}; use several manifests", most));
    for (std::size_t i = 0; i < array->size(); ++i) {
      const TomlEntry item = TomlReader::item(entry, i, (*array)[i]);
      if (const auto* table = reader_.table(item, fmt::format("a table, [[{}]]", entry.key)))
        action(*table, item.line, i + 1);
    }
  }

  void read_command(const toml::table& table, std::size_t line, std::size_t ordinal) {
    auto tool = brig::read_command(table, line, ordinal, manifest_.policy, reader_.faults());
    // Of one that is wrong elsewhere, too.
    const auto* name = table["name"].as_string();
    if (name == nullptr) return;
    const auto [first, added] = names_.emplace(name->get(), line);
    if (!added) {
      const std::size_t at = table.find("name")->first.source().begin.line;
      reader_.faults().add(at, fmt::format("command {}: the one of line {} has that name",
                                           in_quotes(name->get()), first->second));
    } else if (tool && reader_.faults().count() == 0) {
      try {
        manifest_.tools.add(std::move(*tool));
      } catch (const Error& error) {
        reader_.faults().add(line, error.what());
      }
    }
  }

  void read_library(const toml::table& table, std::size_t line) {
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

  std::string found(const TomlEntry& entry, const std::string& path) {
    if (path.empty() || path.find('\0') != std::string::npos) {
      reader_.expected(entry, "a path");
      return path;
    }
    std::string full = std::filesystem::path(directory_) / path;
    struct stat status;
    if (::stat(full.c_str(), &status) != 0)
      reader_.fault(entry, fmt::format("{}: {}", in_quotes(full), errno_text(errno)));
    else if (!S_ISREG(status.st_mode))
      reader_.fault(entry, fmt::format("{}: not a regular file", in_quotes(full)));
    for (const Toolbox::Library& other : manifest_.tools.libraries())
      if (other.path == full)
        reader_.fault(entry, fmt::format("{}: is there already", in_quotes(path)));
    return full;
  }

  const std::string& directory_;
  TomlReader reader_;
  Manifest manifest_;
  std::map<std::string, std::size_t> names_;  // and their lines
};

}  // namespace

Manifest manifest_from_toml(std::string_view text, const std::string& name,
                            const std::string& directory) {
  TomlFaults faults(name);
  Manifest manifest = ManifestReader(directory, faults).read(parse_toml(text, name, "manifest"));
  faults.throw_if_any();
  return manifest;
}

Manifest manifest_from_toml_file(const std::string& path) {
  const std::string text = read_toml_file(path, "manifest");
  return manifest_from_toml(text, path, std::filesystem::absolute(path).parent_path());
}

}  // namespace brig
