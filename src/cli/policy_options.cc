#include "cli/policy_options.h"

#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "policy/option_words.h"

namespace brig::cli {
namespace {

[[noreturn]] void bad(const char* option, const std::string& value, const char* expected) {
  throw_error(ErrorKind::config, "{}: '{}' is not {}", option, value, expected);
}

}  // namespace

void set_size(const char* option, const std::string& value, std::uint64_t& target) {
  const auto size = parse_size(value);
  if (!size) bad(option, value, "a size such as 512M or 1.5G");
  target = *size;
}

std::chrono::milliseconds duration_of(const char* option, const std::string& value) {
  const auto duration = parse_duration(value);
  if (!duration) bad(option, value, "a duration such as 10s, 500ms or 2m");
  return *duration;
}

std::string absolute(const std::string& path) {
  std::string full = path;
  if (path.empty() || path[0] != '/') {
    const std::unique_ptr<char, decltype(&free)> here(get_current_dir_name(), free);
    if (!here) throw_sys("getting the current directory");
    full = std::string(here.get()) + "/" + path;
  }
  std::string result;
  std::size_t at = 0;
  while (at < full.size()) {
    const std::size_t slash = std::min(full.find('/', at), full.size());
    const std::string part = full.substr(at, slash - at);
    if (!part.empty() && part != ".") result += "/" + part;
    at = slash + 1;
  }
  return result.empty() ? "/" : result;
}

Policy policy_of_file(const std::string& name) {
  return policy_from_toml_file(name == "-" ? "/dev/stdin" : name);
}

const char* WordOptions::given() const {
  if (!preset.empty()) return "--preset";
  if (!unset.empty()) return "--unset";
  return user.empty() ? nullptr : "--user";
}

void WordOptions::apply(Policy& policy) const {
  if (!user.empty()) {
    policy.user = parse_user(user);
    if (!policy.user) bad("--user", user, "\"root\" or a number such as 1000");
  }
  const auto add = [](std::vector<std::string>& list, const std::vector<std::string>& more) {
    list.insert(list.end(), more.begin(), more.end());
  };
  add(policy.environment.unset, unset);
  add(policy.preset, preset);
}

void add_word_options(CLI::App& app, WordOptions& options) {
  const auto list = [&](const char* name, std::vector<std::string>& target, const char* help) {
    app.add_option(name, target, help)->type_name("NAME")->expected(1)->take_all();
  };
  list("--preset", options.preset,
       "Add what a toolchain needs: node, python, rust, go, java or git (repeatable; see brig "
       "presets)");
  list("--unset", options.unset, "Remove variable NAME (repeatable)");
  app.add_option("--user", options.user, "User id inside the cell: root or a number [1000]")
      ->type_name("ID");
}

const char* PolicyOptions::given() const {
  if (!policy_file.empty()) return "--policy";
  if (const char* path = paths.given()) return path;
  if (const char* option = network.given()) return option;
  if (!memory.empty()) return "--memory";
  if (!timeout.empty()) return "--timeout";
  return words.given();
}

Policy PolicyOptions::policy() const {
  if (policy_file == "-")
    throw_error(ErrorKind::config,
                "--policy -: standard input carries MCP; name a file, or a pipe as /dev/fd/N");
  Policy policy = policy_file.empty() ? Policy{} : policy_of_file(policy_file);
  words.apply(policy);
  if (!timeout.empty()) policy.limits.timeout = duration_of("--timeout", timeout);
  if (!memory.empty()) {
    set_size("--memory", memory, policy.limits.memory);
    policy.limits.named = true;
  }
  paths.add_to(policy.files);
  network.apply(policy);
  return policy;
}

std::string PolicyOptions::in_own_words(std::string_view text) const {
  static constexpr std::string_view kOwn[] = {
      "--read",    "--write",    "--read-optional",   "--write-optional", "--noexec",
      "--protect", "--net",      "--allow",           "--deny",           "--connections",
      "--upload",  "--download", "--connection-time", "--timeout",        "--unset",
      "--memory",  "--user",     "--preset"};
  return given() ? in_option_words(text, kOwn) : std::string(text);
}

void add_policy_options(CLI::App& app, PolicyOptions& options) {
  app.add_option("--policy", options.policy_file,
                 "Policy file (TOML) for run_command and run_python; the options below add to it")
      ->type_name("FILE");
  add_path_options(app, options.paths);
  add_network_options(app, options.network);
  add_word_options(app, options.words);
  app.add_option("--memory", options.memory, "Memory limit of a call [512M]")->type_name("SIZE");
  app.add_option("--timeout", options.timeout, "Time limit of a call [30s]")->type_name("TIME");
}

}  // namespace brig::cli
