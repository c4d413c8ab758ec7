#include "policy/environment.h"

#include <brig/seed.h>

#include <unistd.h>

#include <array>
#include <set>
#include <string_view>

namespace brig {
namespace {

constexpr std::array<std::string_view, 10> kSafe = {"PATH",  "HOME",   "USER",     "LANG",   "TERM",
                                                    "SHELL", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ"};

}  // namespace

std::map<std::string, std::string> cell_environment(const Environment& environment,
                                                    const char* const* host_environ) {
  std::set<std::string_view> wanted(kSafe.begin(), kSafe.end());
  wanted.insert(environment.passthrough.begin(), environment.passthrough.end());

  std::map<std::string, std::string> result;
  for (const char* const* entry = host_environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    const std::string_view name = text.substr(0, equals);
    // emplace: the first of two entries with one name counts.
    if (wanted.contains(name)) result.emplace(name, text.substr(equals + 1));
  }
  for (const auto& [name, value] : environment.set) result[name] = value;
  for (const std::string& name : environment.unset) result.erase(name);
  return result;
}

std::map<std::string, std::string> build_safe_env(const std::vector<std::string>& passthrough,
                                                  const std::map<std::string, std::string>& extra) {
  return cell_environment({passthrough, extra, {}}, ::environ);
}

}  // namespace brig
