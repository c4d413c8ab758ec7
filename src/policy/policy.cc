#include <brig/policy.h>

#include <array>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "policy/fault_list.h"
#include "policy/host_rule.h"
#include "policy/presets.h"

namespace brig {
namespace {

constexpr std::size_t kMaxVariables = 4096;
constexpr std::size_t kMaxVariableBytes = 128_KiB;  // MAX_ARG_STRLEN: execve refuses a longer one
constexpr std::size_t kMaxSyscalls = 1024;
constexpr std::size_t kMaxPresets = 64;
constexpr std::size_t kMaxHostRules = 256;
// Each is a listener in every cell.
constexpr std::size_t kMaxPorts = 64;
constexpr std::uint32_t kMostUser =
    0x7FFFFFFF;  // the most that a signed number holds; many programs keep ids in one
constexpr std::uint32_t kOverflowUser = 65534;  // what the kernel shows for ids that are not mapped
// Limits without an upper bound end here, so that no sum of limits can overflow.
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
constexpr std::array<LimitRange, 15> kRanges = {{
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
    // Three for the streams, one for the loader to open its libraries with. The maximum is the
    // kernel's default of fs.nr_open.
    {"open_files", Unit::count, 16, 1'048'576},
    {"connections", Unit::count, 1, 4096},
    {"upload", Unit::bytes, 0, kNoEnd},
    {"download", Unit::bytes, 0, kNoEnd},
    {"connection_time", Unit::ms, 1, kDay},
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

// A negative duration wraps to a value above every range, and in_unit() wraps it back.
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
  check_limit(faults, "connections", limits.connections);
  if (limits.upload) check_limit(faults, "upload", *limits.upload);
  if (limits.download) check_limit(faults, "download", *limits.download);
  if (limits.connection_time) check_limit(faults, "connection_time", *limits.connection_time);
  // The comparison is written so that NaN fails.
  if (limits.cpus && !(*limits.cpus >= kLeastCpus && *limits.cpus <= kMostCpus)) {
    faults.push_back(
        {"limits.cpus",
         {},
         fmt::format("{} is out of range; use {}", *limits.cpus, limit_range("cpus"))});
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
    // A name may contain a star, but whoever writes AWS_* means a glob, and would otherwise not
    // notice that it matches nothing.
    if (!reason && name.find_first_of("*?") != std::string::npos)
      reason = "globs are not supported; list each name";
    return reason;
  };
  for (std::size_t i = 0; i < names.size(); ++i)
    note_fault(faults, "environment.passthrough", std::to_string(i), names[i],
               name_fault(names[i]));
  for (const auto& [name, value] : set)
    note_fault(faults, "environment.set", name, name, variable_fault(name, value));
  for (std::size_t i = 0; i < unset.size(); ++i)
    note_fault(faults, "environment.unset", std::to_string(i), unset[i], name_fault(unset[i]));
}

void find_user_faults(Faults& faults, std::uint32_t user) {
  if (user <= kMostUser && user != kOverflowUser) return;
  faults.push_back(
      {"user",
       {},
       fmt::format("{} {}; use \"root\" or a number from 0 to {}", user,
                   user == kOverflowUser ? "is reserved: in a cell it stands for all other users"
                                         : "is out of range",
                   kMostUser)});
}

void find_preset_faults(Faults& faults, const std::vector<std::string>& entries) {
  if (entries.size() > kMaxPresets) {
    faults.push_back({"preset", {}, fmt::format("more than {} names; list fewer", kMaxPresets)});
    return;
  }
  for (std::size_t i = 0; i < entries.size(); ++i)
    note_fault(faults, "preset", std::to_string(i), entries[i], preset_fault(entries[i]));
}

void find_network_faults(Faults& faults, const Network& network) {
  // An enum can hold a value without a name, from a cast or from uninitialised memory.
  if (to_string(network.mode) == std::string_view("unknown")) {
    faults.push_back({"network", {}, "not a Network; use none, loopback, proxy or host"});
    return;
  }
  if (network.mode != Network::proxy) {
    for (const auto& [field, list] :
         {std::pair{"network.allow", &network.allow}, std::pair{"network.deny", &network.deny}})
      if (!list->empty())
        faults.push_back({field,
                          {},
                          fmt::format("has no effect with network = \"{}\"; use Network::to(), or "
                                      "leave the list out",
                                      to_string(network.mode))});
    return;
  }
  if (network.allow.empty())
    faults.push_back({"network.allow", {}, "is empty; list a host, or use network = \"none\""});
  if (network.allow.size() > kMaxHostRules || network.deny.size() > kMaxHostRules) {
    faults.push_back({network.allow.size() > kMaxHostRules ? "network.allow" : "network.deny",
                      {},
                      fmt::format("more than {} entries; list fewer", kMaxHostRules)});
    return;
  }
  std::vector<HostRule> deny;
  std::set<std::uint16_t> ports;
  std::string fault;
  for (std::size_t i = 0; i < network.deny.size(); ++i) {
    if (auto rule = parse_host_rule(network.deny[i], RuleList::deny, fault))
      deny.push_back(std::move(*rule));
    else
      note_fault(faults, "network.deny", std::to_string(i), network.deny[i], fault);
  }
  for (std::size_t i = 0; i < network.allow.size(); ++i) {
    const auto rule = parse_host_rule(network.allow[i], RuleList::allow, fault);
    if (rule) {
      fault = why_without_effect(*rule, deny);
      ports.insert(rule->port);
    }
    if (!fault.empty())
      note_fault(faults, "network.allow", std::to_string(i), network.allow[i], fault);
    fault.clear();
  }
  if (ports.size() > kMaxPorts)
    faults.push_back(
        {"network.allow",
         {},
         fmt::format("names {} ports; a cell can have at most {}", ports.size(), kMaxPorts)});
}

// This checks the spelling only. The filter's builder checks whether the kernel has the call.
void find_syscall_faults(Faults& faults, const char* field, const std::vector<std::string>& names) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  if (names.size() > kMaxSyscalls) {
    faults.push_back({field, {}, fmt::format("more than {} names; list fewer", kMaxSyscalls)});
    return;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty() || names[i].find_first_not_of(kLetters) != std::string::npos) {
      note_fault(faults, field, std::to_string(i), names[i],
                 "not the name of a system call; write it as syscalls(2) does");
    }
  }
}

}  // namespace

const char* to_string(Network::Mode mode) {
  switch (mode) {
    case Network::none: return "none";
    case Network::loopback: return "loopback";
    case Network::proxy: return "proxy";
    case Network::host: return "host";
  }
  return "unknown";
}

const char* to_string(Room room) {
  switch (room) {
    case Room::as_new: return "as_new";
    case Room::fresh: return "fresh";
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
  find_network_faults(faults, policy.network);
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

void validate(const Policy& policy) {
  const Faults faults = find_faults(policy);
  if (!faults.empty()) {
    throw_error(ErrorKind::config, "policy: {}: {}", faults[0].field, faults[0].text);
  }
}

}  // namespace brig
