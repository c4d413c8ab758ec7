#include <brig/policy.h>

#include "base/error.h"
#include "base/text.h"
#include "policy/listed_path.h"
#include "policy/paths.h"
#include "policy/policy_fault.h"
#include "policy/presets.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <map>

namespace brig {
namespace {

using Faults = std::vector<PolicyFault>;
using Reason = std::optional<std::string>;  // "reason; fix", or nothing wrong

constexpr std::size_t kMaxPaths = 1024;
constexpr std::size_t kMaxPathBytes = 4096;
constexpr std::size_t kMaxVariables = 4096;
constexpr std::size_t kMaxVariableBytes = 128_KiB;  // MAX_ARG_STRLEN: execve refuses a longer one
constexpr std::size_t kMaxSyscalls = 1024;
constexpr std::size_t kMaxPresets = 64;
constexpr std::uint32_t kMostUser =
    0x7FFFFFFF;  // what a signed number holds, in which many programs keep it
constexpr std::uint32_t kOverflowUser = 65534;  // what the kernel shows for ids that are not mapped
// "And up" ends here, so that no sum of limits can overflow.
constexpr std::uint64_t kNoEnd = 1024_GiB << 20;
constexpr std::uint64_t kDay = 24 * 3600 * 1000;
constexpr double kLeastCpus = 0.01;
constexpr double kMostCpus = 8192;  // the most that Linux can be built for

enum class Unit { ms, bytes, count };
struct LimitRange {
  std::string_view name;
  Unit unit;
  std::uint64_t least, most;
};
constexpr std::array<LimitRange, 11> kRanges = {{
    {"timeout", Unit::ms, 1, kDay},
    {"grace", Unit::ms, 0, 60'000},
    {"cpu_time", Unit::ms, 1, kDay},
    {"memory", Unit::bytes, 4_MiB, kNoEnd},
    {"processes", Unit::count, 1, 32'768},
    {"output", Unit::bytes, 0, 1_GiB},
    {"output_total", Unit::bytes, 0, kNoEnd},
    {"result", Unit::bytes, 1_KiB, 1_GiB},
    {"scratch", Unit::bytes, 64_KiB, kNoEnd},
    {"file_size", Unit::bytes, 0, kNoEnd},
    // Three streams, and one more for the loader to open its libraries with. The most is the
    // kernel's default of fs.nr_open.
    {"open_files", Unit::count, 16, 1'048'576},
}};

std::string in_unit(Unit unit, std::uint64_t value) {
  switch (unit) {
    case Unit::ms:
      return format_duration(std::chrono::milliseconds(static_cast<std::int64_t>(value)));
    case Unit::bytes: return format_size(value);
    case Unit::count: return fmt::format("{}", value);
  }
  return {};
}

void check_limit(Faults& faults, std::string_view name, std::uint64_t value) {
  for (const LimitRange& range : kRanges) {
    if (range.name != name || (value >= range.least && value <= range.most)) continue;
    faults.push_back(
        {fmt::format("limits.{}", name),
         {},
         fmt::format("{} is out of range; use {}", in_unit(range.unit, value), limit_range(name))});
  }
}

// A negative duration wraps to more than any range has, and in_unit() wraps it back.
void check_limit(Faults& faults, std::string_view name, std::chrono::milliseconds value) {
  check_limit(faults, name, static_cast<std::uint64_t>(value.count()));
}

void find_limit_faults(Faults& faults, const Limits& limits) {
  check_limit(faults, "timeout", limits.timeout);
  check_limit(faults, "grace", limits.grace);
  if (limits.cpu_time) check_limit(faults, "cpu_time", *limits.cpu_time);
  check_limit(faults, "memory", limits.memory);
  check_limit(faults, "processes", limits.processes);
  check_limit(faults, "output", limits.output);
  if (limits.output_total) check_limit(faults, "output_total", *limits.output_total);
  check_limit(faults, "result", limits.result);
  check_limit(faults, "scratch", limits.scratch);
  if (limits.file_size) check_limit(faults, "file_size", *limits.file_size);
  check_limit(faults, "open_files", limits.open_files);
  // Written so that NaN fails.
  if (limits.cpus && !(*limits.cpus >= kLeastCpus && *limits.cpus <= kMostCpus)) {
    faults.push_back(
        {"limits.cpus",
         {},
         fmt::format("{} is out of range; use {}", *limits.cpus, limit_range("cpus"))});
  }
}

// "/a//b/" is {"b", "a"}: a stack whose top is the next component.
std::vector<std::string> reversed_components(std::string_view path) {
  std::vector<std::string> result;
  while (!path.empty()) {
    const std::size_t slash = path.find_last_of('/');
    const std::size_t start = slash == std::string_view::npos ? 0 : slash + 1;
    if (start < path.size()) result.emplace_back(path.substr(start));
    path = path.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
  return result;
}

// What the text alone tells.
Reason path_text_fault(std::string_view path) {
  if (path.empty()) return "the path is empty; remove it or write one";
  if (path.size() > kMaxPathBytes) return fmt::format("longer than {} bytes", kMaxPathBytes);
  if (path.find('\0') != std::string_view::npos) return "a NUL byte is not allowed; remove it";
  if (path[0] != '/') return "not absolute; write the path from '/' on";
  for (const std::string& component : reversed_components(path)) {
    if (component == "..") return "'..' is not allowed; write the path without it";
    if (component == ".") return "'.' is not allowed; write the path without it";
  }
  return std::nullopt;
}

// Places that a cell has of its own, or that hold the host's kernel and devices.
Reason reserved_fault(std::string_view normal) {
  if (is_at_or_below(normal, "/proc")) {
    return "the cell has a /proc of its own, and the host's shows the host's processes; remove it";
  }
  if (is_at_or_below(normal, "/sys")) return "/sys controls the host's kernel; remove it";
  if (is_at_or_below(normal, "/dev")) {
    return "the cell has a minimal /dev of its own, and the host's holds its devices; remove it";
  }
  return std::nullopt;
}

Reason missing_fault(std::string_view path, const std::string& at, int error) {
  if (error == ENOENT && path.find_first_of("*?[") != std::string_view::npos) {
    return "no such path, and globs are not supported; list each path";
  }
  std::string reason = errno_text(error);
  if (at != normal_path(path)) reason += fmt::format(" at {}", in_quotes(at));
  if (error == ENOENT) reason += "; create it or remove it from the policy";
  if (error == ENOENT && path.find(':') != std::string_view::npos)
    reason += " (a place in the cell is written PATH:/PLACE)";
  return reason;
}

// Where a cell has its own, and no other path can be.
Reason workspace_fault(std::string_view normal) {
  if (normal == "/workspace")
    return "the cell has a private workspace there; list another path, or one below it";
  return std::nullopt;
}

// Walks a path one lstat at a time. A symlink on the way is refused, whoever owns it: a cell that may
// write where it stands could point it elsewhere, and so write the next cell's policy. The mount
// itself does not follow any either (root_builder.cc), which closes the race; this is for the words.
// `may_lack`: it need not be there.
Reason walk(std::string_view path, mode_t& mode, bool may_lack = false) {
  std::string here;
  mode = S_IFDIR;
  std::vector<std::string> ahead = reversed_components(path);
  while (!ahead.empty()) {
    here += '/' + ahead.back();
    ahead.pop_back();
    if (Reason reason = reserved_fault(here)) return reason;
    struct stat status;
    if (::lstat(here.c_str(), &status) != 0) {
      if (may_lack && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
      return missing_fault(path, here, errno);
    }
    mode = status.st_mode;
    if (!S_ISLNK(mode)) continue;
    const std::unique_ptr<char, decltype(&::free)> real(
        ::realpath(std::string(path).c_str(), nullptr), ::free);
    return fmt::format("{} is a symlink, and those are not followed; list the real path{} instead",
                       in_quotes(here), real ? " " + in_quotes(real.get()) : "");
  }
  return std::nullopt;
}

Reason root_fault(std::string_view field) {
  if (field == "files.read" || field == "files.read_optional")
    return "gives the whole host to the cell; list what is needed";
  if (field == "files.write" || field == "files.write_optional")
    return "lets the cell write everywhere; list what is needed";
  if (field == "files.hide") return "would hide everything; list what is to be hidden";
  return "is the host itself; leave it out to use the host's system directories";
}

// `mode` is set if nothing is wrong.
Reason host_path_fault(std::string_view field, std::string_view path, mode_t& mode,
                       bool may_lack = false) {
  if (Reason reason = path_text_fault(path)) return reason;
  if (normal_path(path) == "/") return root_fault(field);
  return walk(path, mode, may_lack);
}

void note(Faults& faults, std::string field, std::string item, std::string_view value,
          const Reason& reason) {
  if (reason)
    faults.push_back(
        {std::move(field), std::move(item), fmt::format("{}: {}", in_quotes(value), *reason)});
}

// A place that is not the path's own.
Reason place_fault(std::string_view place) {
  if (Reason reason = path_text_fault(place)) return reason;
  const std::string normal = normal_path(place);
  if (normal == "/") return "a path can't take the place of the cell's root; name a place below it";
  for (const std::string& name : reversed_components(normal))
    if (name.size() > NAME_MAX)
      return fmt::format("a name in it is longer than {} bytes", NAME_MAX);
  if (Reason reason = workspace_fault(normal)) return reason;
  for (const char* taken : {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc",
                            "/proc", "/sys", "/dev"})
    if (is_at_or_below(normal, taken))
      return fmt::format("the cell has the system's {} there; name another place", taken);
  if (normal.starts_with("/.brig")) return "brig uses that place itself; name another";
  return std::nullopt;
}

// One of files.read, files.write, or their optional forms.
Reason listed_fault(std::string_view field, const std::string& text, bool may_lack) {
  const ListedPath listed = listed_path(text);
  mode_t mode = 0;
  if (places_in(text) == 0) {
    if (Reason reason = host_path_fault(field, listed.path, mode, may_lack)) return reason;
    return workspace_fault(normal_path(listed.path));
  }
  if (places_in(text) > 1)
    return "there is more than one ':/' in it; write '\\:' for those that are part of a name";
  if (Reason reason = host_path_fault(field, listed.path, mode, may_lack)) return reason;
  // Somebody who may choose a name could mean another path by it than whoever lists it.
  struct stat status;
  if (::lstat((listed.path + ":" + listed.at).c_str(), &status) == 0)
    return "there is a path of that very name, too; write '\\:' for each ':' if you mean that one, "
           "or rename it";
  if (normal_path(listed.path) == normal_path(listed.at))
    return workspace_fault(normal_path(listed.path));
  return place_fault(listed.at);
}

// What is listed by itself is sound; whether all of it is, together.
void find_clashes(Faults& faults, const Files& files) {
  const std::vector<ListedEntry> entries = listed_entries(files);
  const bool any_moved = std::any_of(entries.begin(), entries.end(),
                                     [](const ListedEntry& each) { return each.is_moved(); });
  const auto each_listed = [&](const auto& body) {
    for (const auto& [field, list] : {std::pair{"files.write", &files.write},
                                      std::pair{"files.write_optional", &files.write_optional},
                                      std::pair{"files.read", &files.read},
                                      std::pair{"files.read_optional", &files.read_optional}})
      for (std::size_t i = 0; i < list->size(); ++i) {
        const ListedPath listed = listed_path((*list)[i]);
        const Reason reason = body(ListedEntry{normal_path(listed.path), normal_path(listed.at),
                                               std::string_view(field).starts_with("files.write")});
        note(faults, field, std::to_string(i), (*list)[i], reason);
      }
  };
  std::map<std::string, std::string> at;
  each_listed([&](const ListedEntry& entry) -> Reason {
    const auto [found, is_new] = at.emplace(entry.at, entry.path);
    if (is_new || found->second == entry.path) return std::nullopt;
    return fmt::format("{} is at that place already; name another", in_quotes(found->second));
  });
  each_listed([&](const ListedEntry& entry) -> Reason {
    for (const std::string& each : files.hide)
      if (const std::string hidden = normal_path(each);
          entry.path != hidden && is_at_or_below(entry.path, hidden))
        return fmt::format("files.hide hides it with {}; take one of the two out",
                           in_quotes(hidden));
    if (entry.writable || !any_moved) return std::nullopt;
    for (const std::string& place : places_of(entries, entry.path))
      if (const ListedEntry* over = entry_over(entries, place); over->writable)
        return fmt::format(
            "it can be written at {}, through {} of files.write; list it there, or name it in "
            "files.protect",
            in_quotes(place), in_quotes(over->path));
    return std::nullopt;
  });
}

// Of paths that are the host's, in a list whose paths may be anywhere in the cell.
Reason other_place_fault(const std::vector<ListedEntry>& entries, const std::string& path) {
  const ListedEntry* over = entry_over(entries, normal_path(path));
  if (!over || !over->is_moved()) return std::nullopt;
  return fmt::format(
      "at that place the cell sees the host's {}; name the path that it has on the host",
      in_quotes(behind(*over, normal_path(path))));
}

Reason noexec_fault(const std::vector<ListedEntry>& entries, const std::string& path) {
  if (Reason reason = path_text_fault(path)) return reason;
  const std::string normal = normal_path(path);
  if (std::any_of(entries.begin(), entries.end(),
                  [&](const ListedEntry& each) { return each.path == normal; })) {
    for (const std::string& place : places_of(entries, normal))
      if (const ListedEntry* over = entry_over(entries, place); over->executable)
        return fmt::format("it can be executed at {}, through {}; name that one, too",
                           in_quotes(place), in_quotes(over->path));
    return std::nullopt;
  }
  if (Reason reason = other_place_fault(entries, path)) return reason;
  return "files.read and files.write do not list it; list it there, too";
}

Reason protect_fault(const std::vector<ListedEntry>& entries, const std::string& path) {
  if (path == kProtectDefault) return std::nullopt;
  if (path.starts_with('@'))
    return fmt::format("not a list of names; use \"{}\", or an absolute path", kProtectDefault);
  mode_t mode = 0;
  const std::string normal = normal_path(path);
  if (Reason reason = path_text_fault(path)) return reason;
  if (Reason reason = other_place_fault(entries, path)) return reason;
  if (Reason reason = host_path_fault("files.protect", path, mode)) {
    if (reason->find(errno_text(ENOENT)) != std::string::npos)
      return "it does not exist, and a tool can't be kept from making it; create it, or list less "
             "in "
             "files.write";
    return reason;
  }
  bool is_writable = false;
  for (const ListedEntry& each : entries) {
    if (each.writable && each.path == normal)
      return "files.write lists it; list it in files.read instead";
    is_writable |= each.writable && is_at_or_below(normal, each.path);
  }
  if (!is_writable)
    return "no path of files.write is above it, so nothing can write there; remove it";
  return std::nullopt;
}

void find_file_faults(Faults& faults, const Files& files) {
  std::size_t count = 0;
  mode_t mode = 0;
  const std::size_t before = faults.size();
  const auto each = [&](const char* field, const std::vector<std::string>& list,
                        const auto& judge) {
    if (count > kMaxPaths) return;
    count += list.size();
    if (count > kMaxPaths) {
      faults.push_back(
          {field, {}, fmt::format("more than {} paths in all; list their directories", kMaxPaths)});
      return;
    }
    for (std::size_t i = 0; i < list.size(); ++i)
      note(faults, field, std::to_string(i), list[i], judge(list[i]));
  };
  const auto listed = [&](const char* field, const std::vector<std::string>& list, bool may_lack) {
    each(field, list, [&](const std::string& text) { return listed_fault(field, text, may_lack); });
  };
  listed("files.read", files.read, false);
  listed("files.write", files.write, false);
  each("files.hide", files.hide, [&](const std::string& path) {
    Reason reason = host_path_fault("files.hide", path, mode);
    return reason ? reason : workspace_fault(normal_path(path));
  });
  listed("files.read_optional", files.read_optional, true);
  listed("files.write_optional", files.write_optional, true);
  if (count > kMaxPaths) return;
  const std::vector<ListedEntry> entries = listed_entries(files);
  each("files.noexec", files.noexec,
       [&](const std::string& path) { return noexec_fault(entries, path); });
  each("files.protect", files.protect,
       [&](const std::string& path) { return protect_fault(entries, path); });
  // Only of paths that are sound themselves can one say more.
  if (faults.size() == before && !entries.empty()) {
    find_clashes(faults, files);
    for (std::size_t i = 0; i < files.hide.size(); ++i)
      note(faults, "files.hide", std::to_string(i), files.hide[i],
           other_place_fault(entries, files.hide[i]));
  }
  if (!files.working_directory.empty()) {
    note(faults, "files.working_directory", {}, files.working_directory,
         path_text_fault(files.working_directory));
  }
  if (!files.root.empty()) {
    Reason reason = host_path_fault("files.root", files.root, mode);
    if (!reason && !S_ISDIR(mode)) reason = "not a directory; name the one that holds usr";
    note(faults, "files.root", {}, files.root, reason);
  }
}

Reason variable_fault(std::string_view name, std::string_view value) {
  if (name.empty()) return "the name is empty; remove it or write one";
  if (name.find('=') != std::string_view::npos) return "'=' is not allowed in a name; remove it";
  if (name.find('\0') != std::string_view::npos) return "a NUL byte is not allowed; remove it";
  if (value.find('\0') != std::string_view::npos) {
    return "a NUL byte is not allowed in a value; remove it";
  }
  if (name.size() + value.size() + 2 > kMaxVariableBytes) {
    return fmt::format("longer than {}, the kernel's limit for one variable; shorten it",
                       format_size(kMaxVariableBytes));
  }
  return std::nullopt;
}

void find_environment_faults(Faults& faults, const Environment& environment) {
  const auto& [names, set, unset] = environment;
  if (names.size() > kMaxVariables || set.size() > kMaxVariables - names.size()) {
    faults.push_back({names.size() > set.size() ? "environment.passthrough" : "environment.set",
                      {},
                      fmt::format("more than {} variables in all; list fewer", kMaxVariables)});
    return;
  }
  if (unset.size() > kMaxVariables) {
    faults.push_back({"environment.unset",
                      {},
                      fmt::format("more than {} variables; list fewer", kMaxVariables)});
    return;
  }
  const auto name_fault = [](const std::string& name) {
    Reason reason = variable_fault(name, {});
    // A name may hold a star, but whoever writes AWS_* means a glob, and would miss it silently.
    if (!reason && name.find_first_of("*?") != std::string::npos)
      reason = "globs are not supported; list each name";
    return reason;
  };
  for (std::size_t i = 0; i < names.size(); ++i)
    note(faults, "environment.passthrough", std::to_string(i), names[i], name_fault(names[i]));
  for (const auto& [name, value] : set)
    note(faults, "environment.set", name, name, variable_fault(name, value));
  for (std::size_t i = 0; i < unset.size(); ++i)
    note(faults, "environment.unset", std::to_string(i), unset[i], name_fault(unset[i]));
}

void find_user_faults(Faults& faults, std::uint32_t user) {
  if (user <= kMostUser && user != kOverflowUser) return;
  faults.push_back(
      {"user",
       {},
       fmt::format("{} {}; use \"root\" or a number from 0 to {}", user,
                   user == kOverflowUser ? "stands for everyone else in a cell" : "is out of range",
                   kMostUser)});
}

void find_preset_faults(Faults& faults, const std::vector<std::string>& entries) {
  if (entries.size() > kMaxPresets) {
    faults.push_back({"preset", {}, fmt::format("more than {} names; list fewer", kMaxPresets)});
    return;
  }
  for (std::size_t i = 0; i < entries.size(); ++i)
    note(faults, "preset", std::to_string(i), entries[i], preset_fault(entries[i]));
}

// Whether the kernel has the call is for the filter's maker to say.
void find_syscall_faults(Faults& faults, const char* field, const std::vector<std::string>& names) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  if (names.size() > kMaxSyscalls) {
    faults.push_back({field, {}, fmt::format("more than {} names; list fewer", kMaxSyscalls)});
    return;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty() || names[i].find_first_not_of(kLetters) != std::string::npos) {
      note(faults, field, std::to_string(i), names[i],
           "not the name of a system call; write it as syscalls(2) does");
    }
  }
}

}  // namespace

const char* to_string(Network network) {
  switch (network) {
    case Network::none: return "none";
    case Network::loopback: return "loopback";
    case Network::host: return "host";
  }
  return "unknown";
}

const char* to_string(Isolation isolation) {
  switch (isolation) {
    case Isolation::jail: return "jail";
    case Isolation::landlock: return "landlock";
    case Isolation::process: return "process";
  }
  return "unknown";
}

std::string limit_range(std::string_view name) {
  for (const LimitRange& range : kRanges) {
    if (range.name != name) continue;
    return fmt::format("{} to {}", in_unit(range.unit, range.least),
                       in_unit(range.unit, range.most));
  }
  return fmt::format("{} to {}", kLeastCpus, kMostCpus);
}

std::vector<PolicyFault> find_faults(const Policy& policy) {
  Faults faults;
  find_limit_faults(faults, policy.limits);
  find_file_faults(faults, policy.files);
  // An enum can hold what no name stands for: a cast, or memory that was never set.
  if (to_string(policy.network) == std::string_view("unknown")) {
    faults.push_back({"network", {}, "not a Network; use none, loopback or host"});
  }
  find_environment_faults(faults, policy.environment);
  find_syscall_faults(faults, "syscalls.allow", policy.syscalls.allow);
  find_syscall_faults(faults, "syscalls.deny", policy.syscalls.deny);
  if (to_string(policy.isolation) == std::string_view("unknown")) {
    faults.push_back({"isolation", {}, "not an Isolation; use jail, landlock or process"});
  }
  if (policy.user) find_user_faults(faults, *policy.user);
  find_preset_faults(faults, policy.preset);
  return faults;
}

bool can_be_read(const std::string& path) {
  mode_t mode = 0;
  return !host_path_fault("files.read", path, mode);
}

void validate(const Policy& policy) {
  const Faults faults = find_faults(policy);
  if (!faults.empty()) {
    throw_error(ErrorKind::config, "policy: {}: {}", faults[0].field, faults[0].text);
  }
}

}  // namespace brig
