#include "policy/presets.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "policy/listed_path.h"
#include "policy/paths.h"
#include "policy/policy_fault.h"

namespace brig {
namespace {

constexpr std::string_view kShared = ":shared", kCache = "{cache}";

// Not listed, because they hold tokens and passwords: ~/.npmrc, ~/.cargo/credentials.toml and
// config.toml, ~/.m2/settings.xml, ~/.gitconfig, ~/.config/git and pip's configuration; and
// ~/.npm/_logs, which holds what was typed. This function is long because it is one table.
std::vector<Preset> make_presets() {
  return {
      {.name = "node",
       .what = "Node.js and npm: versions of nvm, Volta and fnm; npm's cache",
       .read = {"~/.nvm/versions", "~/.volta", "~/.local/share/fnm"},
       .caches = {"~/.npm/_cacache/content-v2", "~/.npm/_cacache/index-v5"},
       .passthrough = {},
       .set = {{"npm_config_update_notifier", "false"}},
       .offline = {{"npm_config_offline", "true"}, {"npm_config_audit", "false"}},
       .shared = {{"npm_config_cache", "{cache}"}},
       .limits = "--timeout 2m --memory 1G --scratch 512M"},
      {.name = "python",
       .what = "Python and pip: versions of pyenv and uv",
       .read = {"~/.pyenv", "~/.local/share/uv/python"},
       .caches = {},
       .passthrough = {},
       .set = {{"PIP_DISABLE_PIP_VERSION_CHECK", "1"}, {"PIP_NO_INPUT", "1"}},
       .offline = {{"PIP_NO_INDEX", "1"}, {"UV_OFFLINE", "1"}},
       .shared = {{"PIP_CACHE_DIR", "{cache}/pip"}, {"UV_CACHE_DIR", "{cache}/uv"}},
       .limits = "--timeout 2m --scratch 256M"},
      {.name = "rust",
       .what = "rustc and cargo: toolchains of rustup; downloaded crates",
       .read = {"~/.rustup", "~/.cargo/bin"},
       .caches = {"~/.cargo/registry", "~/.cargo/git"},
       .passthrough = {},
       .set = {},
       .offline = {{"CARGO_NET_OFFLINE", "true"}},
       .shared = {{"CARGO_HOME", "{cache}"}},
       .limits = "--timeout 5m --memory 2G --scratch 1G"},
      {.name = "go",
       .what = "Go: downloaded modules; versions in ~/sdk",
       .read = {"~/sdk"},
       .caches = {"~/go/pkg/mod"},
       .passthrough = {},
       .set = {{"GOTOOLCHAIN", "local"}},
       .offline = {{"GOPROXY", "off"}},
       .shared = {{"GOMODCACHE", "{cache}/mod"}, {"GOCACHE", "{cache}/build"}},
       .limits = "--timeout 5m --memory 1G --scratch 512M"},
      {.name = "java",
       .what = "Java and Maven: versions of SDKMAN; Maven's repository",
       .read = {"~/.sdkman/candidates"},
       .caches = {"~/.m2/repository"},
       .passthrough = {"JAVA_HOME"},
       .set = {},
       .offline = {},
       .shared = {{"MAVEN_OPTS", "-Dmaven.repo.local={cache}/m2"},
                  {"GRADLE_USER_HOME", "{cache}/gradle"}},
       .limits = "--timeout 2m --memory 1G --scratch 256M"},
      {.name = "git",
       .what = "git: repositories of any owner, no prompts, a committer",
       .read = {},
       .caches = {},
       .passthrough = {"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME",
                       "GIT_COMMITTER_EMAIL"},
       // In a cell of root's, a listed path has another owner. The cell is the boundary, not git's
       // check.
       .set = {{"GIT_CONFIG_COUNT", "1"},
               {"GIT_CONFIG_KEY_0", "safe.directory"},
               {"GIT_CONFIG_VALUE_0", "*"},
               {"GIT_TERMINAL_PROMPT", "0"},
               {"GIT_OPTIONAL_LOCKS", "0"},
               {"EMAIL", "brig@localhost"}},
       .offline = {},
       .shared = {},
       .limits = ""},
  };
}

struct Asked {
  std::string name;
  bool shared = false;
};

Asked asked_of(std::string_view entry) {
  const bool shared = entry.ends_with(kShared);
  if (shared) entry.remove_suffix(kShared.size());
  return {std::string(entry), shared};
}

const Preset* find_preset(const std::string& name) {
  const std::vector<Preset>& all = presets();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Preset& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

// Returns the variable's value if it is an absolute path, or "".
std::string directory_in(const char* variable) {
  const char* value = std::getenv(variable);
  return value && value[0] == '/' ? normal_path(value) : "";
}

std::string in_home(const std::string& path) {
  if (!path.starts_with("~/")) return path;
  const std::string home = directory_in("HOME");
  return home.empty() ? "" : normal_path(home + path.substr(1));
}

// Returns where the cache of "NAME:shared" is, or "" if this user has no place for one.
std::string cache_of(const std::string& name) {
  std::string base = directory_in("XDG_CACHE_HOME");
  if (base.empty()) base = in_home("~/.cache");
  return base.empty() ? "" : normal_path(fmt::format("{}/brig/presets/{}", base, name));
}

// Returns whether the cell already has it at the host's place.
bool is_covered(const std::string& path, const std::vector<std::string>& listed) {
  return std::any_of(listed.begin(), listed.end(), [&](const std::string& each) {
    return places_in(each) == 0 && is_at_or_below(path, normal_path(listed_path(each).path));
  });
}

bool is_hidden(const std::string& path, const std::vector<std::string>& hide) {
  return std::any_of(hide.begin(), hide.end(), [&](const std::string& each) {
    return is_at_or_below(path, normal_path(each));
  });
}

bool holds(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// Settings of the policy itself, which take precedence over presets.
class Merger {
 public:
  explicit Merger(const Policy& own) : own_(own), policy_(own) { policy_.preset.clear(); }

  void add(const Preset& preset, bool shared) {
    // The process floor shows all files anyway.
    if (own_.isolation != Isolation::process)
      for (const std::string& each : preset.read) read(in_home(each));
    if (own_.isolation != Isolation::process && own_.network != Network::host && !shared)
      for (const std::string& each : preset.caches) read(in_home(each));
    for (const std::string& name : preset.passthrough)
      if (!names(name) && !holds(policy_.environment.passthrough, name))
        policy_.environment.passthrough.push_back(name);
    set(preset.set, "");
    if (own_.network != Network::host) set(preset.offline, "");
    if (shared) share(preset);
  }

  Policy take() { return std::move(policy_); }

 private:
  bool names(const std::string& variable) const {
    const Environment& own = own_.environment;
    return own.set.contains(variable) || holds(own.passthrough, variable) ||
           holds(own.unset, variable);
  }

  void set(const std::map<std::string, std::string>& variables, const std::string& cache) {
    for (const auto& [name, value] : variables) {
      if (names(name)) continue;
      std::string text = value;
      if (const std::size_t at = text.find(kCache); at != std::string::npos)
        text.replace(at, kCache.size(), cache);
      policy_.environment.set[name] = std::move(text);
    }
  }

  void read(const std::string& path) {
    const Files& own = own_.files;
    if (path.empty() || is_covered(path, policy_.files.read) || is_covered(path, own.write) ||
        is_covered(path, own.read_optional) || is_covered(path, own.write_optional) ||
        is_hidden(path, own.hide) || !can_be_read(path))
      return;
    policy_.files.read.push_back(listed_text(path));
  }

  void share(const Preset& preset) {
    const std::string cache = cache_of(preset.name);
    set(preset.shared, cache);
    if (!is_covered(cache, policy_.files.write)) policy_.files.write.push_back(listed_text(cache));
  }

  const Policy& own_;
  Policy policy_;
};

// The directory is made and owned by this user alone, so nobody else can have put anything into it.
// Each part is made in the directory that was opened before it, so a link that somebody puts in the
// way has no effect.
void make_cache(const std::string& name) {
  const std::string path = cache_of(name);
  UniqueFd made(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (std::size_t begin = 1, end = 0; end != std::string::npos; begin = end + 1) {
    end = path.find('/', begin);
    const std::string part = path.substr(begin, end - begin), prefix = path.substr(0, end);
    if (mkdirat(made.get(), part.c_str(), 0700) != 0 && errno != EEXIST && errno != EROFS &&
        errno != EACCES)
      throw_sys("policy: preset: making the cache of '{}{}': mkdir '{}'", name, kShared, prefix);
    UniqueFd next(openat(made.get(), part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat info;
    if (!next || fstat(next.get(), &info) != 0)
      throw_sys("policy: preset: opening the cache of '{}{}' '{}'", name, kShared, prefix);
    if (S_ISLNK(info.st_mode))
      throw_error(ErrorKind::config,
                  "policy: preset: the cache of '{}{}': '{}' is a symlink; set XDG_CACHE_HOME to "
                  "the path that is meant",
                  name, kShared, prefix);
    made = std::move(next);
  }
  struct stat info;
  if (fstat(made.get(), &info) != 0 || !S_ISDIR(info.st_mode))
    throw_error(ErrorKind::config, "policy: preset: the cache of '{}{}': '{}' is not a directory",
                name, kShared, path);
  if (info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    throw_error(ErrorKind::permission,
                "policy: preset: the cache of '{}{}', '{}', is not trusted: it belongs to another "
                "user, or others can write to it. Remove it; brig makes a new one",
                name, kShared, path);
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> kPresets = make_presets();
  return kPresets;
}

std::optional<std::string> preset_fault(const std::string& entry) {
  const Asked asked = asked_of(entry);
  const Preset* preset = find_preset(asked.name);
  if (preset && asked.shared && preset->shared.empty())
    return fmt::format("has no cache to share; write '{}'", asked.name);
  if (preset && asked.shared && cache_of(asked.name).empty())
    return fmt::format(
        "needs HOME or XDG_CACHE_HOME as the place of its cache; set one, or write '{}'",
        asked.name);
  if (preset) return std::nullopt;
  std::vector<std::string_view> known;
  for (const Preset& each : presets()) known.emplace_back(each.name);
  if (entry.find(':') != std::string::npos && find_preset(entry.substr(0, entry.find(':'))))
    return fmt::format("after a preset's name, only '{}' is allowed", kShared);
  const auto near = nearest(asked.name, known);
  return near ? fmt::format("there is no such preset; did you mean '{}'?", *near)
              : fmt::format("there is no such preset; known presets: {}", fmt::join(known, ", "));
}

Policy with_presets(Policy policy) {
  if (policy.preset.empty()) return policy;
  Merger merger(policy);
  for (const std::string& entry : policy.preset) {
    if (const auto fault = preset_fault(entry))
      throw_error(ErrorKind::config, "policy: preset: {}: {}", in_quotes(entry), *fault);
    const Asked asked = asked_of(entry);
    merger.add(*find_preset(asked.name), asked.shared);
  }
  return merger.take();
}

Policy whole_policy(Policy policy) {
  validate(policy);
  if (policy.preset.empty()) return policy;
  for (const std::string& entry : policy.preset) {
    const Asked asked = asked_of(entry);
    if (!asked.shared) continue;
    if (policy.isolation == Isolation::process)
      throw_error(ErrorKind::unsupported,
                  "preset: '{}' needs a floor that can give a cell a path to write; use isolation "
                  "= \"jail\" or \"landlock\", or write '{}'",
                  entry, asked.name);
    make_cache(asked.name);
  }
  Policy whole = with_presets(std::move(policy));
  validate(whole);
  return whole;
}

}  // namespace brig
