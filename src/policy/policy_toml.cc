#include "policy/policy_toml.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "os/trusted_file.h"
#include "policy/host_rule.h"
#include "policy/policy_fault.h"

namespace brig {
namespace {

using Names = TomlReader::Names;
constexpr std::array<std::string_view, 9> kFiles = {
    "read",           "write",  "hide",   "working_directory", "root", "read_optional",
    "write_optional", "noexec", "protect"};
constexpr std::array<std::string_view, 2> kNetwork = {"allow", "deny"};
constexpr std::array<std::string_view, 3> kEnvironment = {"passthrough", "set", "unset"};
constexpr std::array<std::string_view, 2> kSyscalls = {"allow", "deny"};
constexpr std::array<std::pair<std::string_view, Names>, 4> kTables = {
    {{"limits", kLimitKeys},
     {"files", kFiles},
     {"environment", kEnvironment},
     {"syscalls", kSyscalls}}};

bool has(Names names, std::string_view key) {
  return std::find(names.begin(), names.end(), key) != names.end();
}

template <typename T, typename Value>
void set(T& target, std::optional<Value> value) {
  if (value) target = std::move(*value);
}

// Reads one table into one policy. Remembers where each value stands, so that a fault from
// find_faults() can name the line.
class PolicyReader {
 public:
  PolicyReader(const PolicyPlace& place, const Policy& base, TomlFaults& faults)
      : place_(place), base_(base), policy_(base), reader_(faults) {}

  Policy read(const ConfigTable& top) {
    std::vector<std::string_view> known(kPolicyKeys.begin(), kPolicyKeys.end());
    if (place_.flat) known.insert(known.end(), kLimitKeys.begin(), kLimitKeys.end());
    for (const TomlEntry& entry :
         reader_.entries(top, place_.scope, known, [&](auto key) { return home(key, ""); })) {
      note(std::string(entry.key), entry);
      if (entry.key == "isolation") {
        set(policy_.isolation,
            choice<Isolation>(entry, {Isolation::jail, Isolation::landlock, Isolation::process}));
      } else if (entry.key == "network") {
        read_network(entry);
      } else if (entry.key == "room") {
        set(policy_.room, choice<Room>(entry, {Room::as_new, Room::fresh}));
      } else if (entry.key == "user") {
        set(policy_.user, user(entry));
      } else if (entry.key == "preset") {
        set(policy_.preset, strings(entry, "preset", "an array of names such as [\"node\"]"));
      } else if (!has(kPolicyKeys, entry.key)) {
        read_limit(top, entry);
      } else if (const auto* table =
                     reader_.table(entry, fmt::format("a table, [{}]", nested(entry.key)))) {
        if (entry.key == "limits")
          for (const TomlEntry& limit : entries(*table, "limits", kLimitKeys))
            read_limit(*table, limit);
        if (entry.key == "files") read_files(*table);
        if (entry.key == "environment") read_environment(*table);
        if (entry.key == "syscalls") read_syscalls(*table);
      }
    }
    const std::vector<PolicyFault> old = find_faults(base_);
    for (const PolicyFault& fault : find_faults(policy_))
      if (std::find(old.begin(), old.end(), fault) == old.end()) report(fault);
    return std::move(policy_);
  }

 private:
  // The name of a table in this file: "policy.limits" for "limits".
  std::string nested(std::string_view table) const {
    return place_.scope.table.empty() ? std::string(table)
                                      : fmt::format("{}.{}", place_.scope.table, table);
  }

  std::string home(std::string_view key, std::string_view here) const {
    for (const auto& [table, names] : kTables)
      if (table != here && has(names, key))
        return place_.flat && table == "limits" ? place_.scope.table : nested(table);
    return "";
  }

  std::vector<TomlEntry> entries(const ConfigTable& table, std::string_view name, Names known) {
    auto result =
        reader_.entries(table, {nested(name), fmt::format("{}{}.", place_.scope.prefix, name)},
                        known, [&](auto key) { return known.empty() ? "" : home(key, name); });
    if (name != "limits")
      for (const TomlEntry& entry : result) note(fmt::format("{}.{}", name, entry.key), entry);
    return result;
  }

  void note(std::string field, const TomlEntry& entry) {
    places_[std::move(field)] = {entry.line, entry.shown};
  }

  void out_of_range(const TomlEntry& entry, std::string_view value) {
    reader_.fault(entry,
                  fmt::format("{} is out of range; use {}", value,
                              limit_range(entry.key == "wall_time" ? "timeout" : entry.key)));
  }

  // Accepts the names that to_string gives.
  template <typename Enum>
  std::optional<Enum> choice(const TomlEntry& entry, std::initializer_list<Enum> values) {
    std::vector<std::string_view> names;
    const std::string* text = entry.node->as_string();
    for (const Enum value : values) {
      names.emplace_back(to_string(value));
      if (text != nullptr && *text == names.back()) return value;
    }
    std::string what = fmt::format("one of \"{}\"", fmt::join(names, "\", \""));
    if (text == nullptr) {
      reader_.expected(entry, what);
      return std::nullopt;
    }
    const auto near = nearest(*text, names);
    reader_.fault(entry, fmt::format("expected {}, got {}{}", what, in_quotes(*text),
                                     near ? fmt::format("; did you mean \"{}\"?", *near) : ""));
    return std::nullopt;
  }

  std::optional<std::uint32_t> user(const TomlEntry& entry) {
    if (const auto* text = entry.node->as_string())
      if (const auto id = parse_user(*text)) return id;
    const auto* number = entry.node->as_integer();
    if (number == nullptr) {
      reader_.expected(entry, "\"root\" or a number such as 1000");
      return std::nullopt;
    }
    if (*number >= 0 && *number <= std::numeric_limits<std::uint32_t>::max())
      return static_cast<std::uint32_t>(*number);
    reader_.fault(entry,
                  fmt::format("{} is not a user id; use \"root\" or a number, 0 or more", *number));
    return std::nullopt;
  }

  std::optional<std::uint64_t> size(const TomlEntry& entry) {
    if (const auto* number = entry.node->as_integer()) {
      if (*number >= 0) return static_cast<std::uint64_t>(*number);
      out_of_range(entry, fmt::format("{}", *number));
      return std::nullopt;
    }
    if (const auto* text = entry.node->as_string()) {
      if (const auto bytes = parse_size(*text)) return *bytes;
    }
    reader_.expected(entry, "a size such as \"512M\" or \"1.5G\"");
    return std::nullopt;
  }

  std::optional<std::chrono::milliseconds> duration(const TomlEntry& entry) {
    std::optional<double> seconds;
    if (const auto* number = entry.node->as_integer()) {
      seconds = static_cast<double>(*number);
    }
    if (const auto* number = entry.node->as_real()) seconds = *number;
    if (seconds) {
      if (const auto result = duration_from_seconds(*seconds)) return *result;
      out_of_range(entry, fmt::format("{} s", *seconds));
      return std::nullopt;
    }
    if (const auto* text = entry.node->as_string()) {
      if (const auto result = parse_duration(*text)) return *result;
    }
    reader_.expected(entry, "a duration such as \"30s\"");
    return std::nullopt;
  }

  std::optional<std::uint32_t> count(const TomlEntry& entry) {
    const auto* number = entry.node->as_integer();
    if (number == nullptr) {
      reader_.expected(entry, "a whole number such as 64");
      return std::nullopt;
    }
    if (*number < 0 || *number > std::numeric_limits<std::uint32_t>::max()) {
      out_of_range(entry, fmt::format("{}", *number));
      return std::nullopt;
    }
    return static_cast<std::uint32_t>(*number);
  }

  std::optional<double> number(const TomlEntry& entry) {
    if (const auto* whole = entry.node->as_integer()) return static_cast<double>(*whole);
    if (const auto* real = entry.node->as_real()) return *real;
    reader_.expected(entry, "a number such as 1.5");
    return std::nullopt;
  }

  std::optional<std::vector<std::string>> strings(const TomlEntry& entry, const std::string& field,
                                                  std::string_view what) {
    if (const ConfigArray* array = entry.node->as_array())
      for (std::size_t i = 0; i < array->size(); ++i)
        places_[fmt::format("{}[{}]", field, i)] = {(*array)[i].line, entry.shown};
    return reader_.strings(entry, what);
  }

  // `table` is the one that the entry stands in.
  void read_limit(const ConfigTable& table, const TomlEntry& entry) {
    const bool old_name = entry.key == "wall_time";
    const std::string field = fmt::format("limits.{}", old_name ? "timeout" : entry.key);
    const std::string before = entry.shown.substr(0, entry.shown.size() - entry.key.size());
    if (old_name && table.contains("timeout"))
      return reader_.fault(entry,
                           fmt::format("is the old name of {}timeout; keep that one", before));
    // A limit may stand directly in the policy or in [limits], but only once.
    if (const auto other = places_.find(field); other != places_.end())
      return reader_.fault(entry,
                           fmt::format("is another name of {}; keep one", other->second.shown));
    note(field, entry);
    Limits& limits = policy_.limits;
    if (field == "limits.timeout") set(limits.timeout, duration(entry));
    if (entry.key == "grace") set(limits.grace, duration(entry));
    if (entry.key == "cpu_time") set(limits.cpu_time, duration(entry));
    if (entry.key == "memory") set(limits.memory, size(entry));
    if (entry.key == "processes") set(limits.processes, count(entry));
    if (entry.key == "output") set(limits.output, size(entry));
    if (entry.key == "output_total") set(limits.output_total, size(entry));
    if (entry.key == "result") set(limits.result, size(entry));
    if (entry.key == "scratch") set(limits.scratch, size(entry));
    if (entry.key == "file_size") set(limits.file_size, size(entry));
    if (entry.key == "open_files") set(limits.open_files, count(entry));
    if (entry.key == "cpus") set(limits.cpus, number(entry));
    if (entry.key == "connections") set(limits.connections, count(entry));
    if (entry.key == "upload") set(limits.upload, size(entry));
    if (entry.key == "download") set(limits.download, size(entry));
    if (entry.key == "connection_time") set(limits.connection_time, duration(entry));
    for (const char* of_the_tree : {"cpu_time", "memory", "processes", "cpus"})
      limits.named = limits.named || entry.key == of_the_tree;
  }

  // An empty path would mean the default, which may be wider than what the author meant.
  std::optional<std::string> path(const TomlEntry& entry) {
    std::optional<std::string> path = reader_.string(entry, "a path");
    if (path && path->empty()) reader_.fault(entry, "is empty; leave it out for the default");
    return path;
  }

  void read_files(const ConfigTable& table) {
    constexpr std::string_view kWhat = "an array of paths such as [\"/opt/data\"]";
    Files& files = policy_.files;
    for (const TomlEntry& entry : entries(table, "files", kFiles)) {
      if (entry.key == "read") set(files.read, strings(entry, "files.read", kWhat));
      if (entry.key == "write") set(files.write, strings(entry, "files.write", kWhat));
      if (entry.key == "hide") set(files.hide, strings(entry, "files.hide", kWhat));
      if (entry.key == "read_optional")
        set(files.read_optional, strings(entry, "files.read_optional", kWhat));
      if (entry.key == "write_optional")
        set(files.write_optional, strings(entry, "files.write_optional", kWhat));
      if (entry.key == "noexec") set(files.noexec, strings(entry, "files.noexec", kWhat));
      if (entry.key == "protect") set(files.protect, strings(entry, "files.protect", kWhat));
      if (entry.key == "working_directory") set(files.working_directory, path(entry));
      if (entry.key == "root") set(files.root, path(entry));
    }
  }

  // What to say of hosts that don't stand in a table; "" if these are none.
  static std::string why_no_mode(const ConfigNode& node) {
    constexpr std::string_view kExample = "network = { allow = [\"api.github.com:443\"] }";
    if (node.as_array() != nullptr) return fmt::format("hosts stand in a table: {}", kExample);
    const std::string* text = node.as_string();
    if (text == nullptr) return "";
    if (*text == to_string(Network::proxy))
      return fmt::format("\"proxy\" needs the hosts: {}", kExample);
    if (text->find_first_of(".:") == std::string::npos) return "";
    std::string fault;
    return parse_host_rule(*text, RuleList::allow, fault)
               ? fmt::format(
                     "{} is a host; hosts stand in a table: network = {{ allow = [\"{}\"] }}",
                     in_quotes(*text), *text)
               : fmt::format("{} is no mode; hosts stand in a table: {}", in_quotes(*text),
                             kExample);
  }

  // network = "loopback", or a table of hosts.
  void read_network(const TomlEntry& entry) {
    constexpr std::string_view kWhat = "an array of hosts such as [\"api.github.com:443\"]";
    const ConfigTable* table = entry.node->as_table();
    if (table == nullptr) {
      if (const std::string fault = why_no_mode(*entry.node); !fault.empty())
        return reader_.fault(entry, fault);
      if (const auto mode =
              choice<Network::Mode>(entry, {Network::none, Network::loopback, Network::host}))
        policy_.network = *mode;
      return;
    }
    // As every table, it is merged key by key: a tool's own hosts do not lose the manifest's `deny`.
    Network network = policy_.network;
    if (network.mode != Network::proxy) network = Network::proxy;
    bool are_read = true;
    for (const TomlEntry& list : entries(*table, "network", kNetwork)) {
      auto hosts = strings(list, fmt::format("network.{}", list.key), kWhat);
      are_read = are_read && hosts;
      set(list.key == "allow" ? network.allow : network.deny, std::move(hosts));
    }
    // A list that could not be read is not an empty one.
    if (are_read) policy_.network = std::move(network);
  }

  void read_environment(const ConfigTable& table) {
    for (const TomlEntry& entry : entries(table, "environment", kEnvironment)) {
      if (entry.key == "passthrough") {
        set(policy_.environment.passthrough,
            strings(entry, "environment.passthrough", "an array of names such as [\"API_URL\"]"));
      } else if (entry.key == "unset") {
        set(policy_.environment.unset,
            strings(entry, "environment.unset", "an array of names such as [\"LANG\"]"));
      } else if (const ConfigTable* given =
                     reader_.table(entry, "a table such as { KEY = \"value\" }")) {
        for (const TomlEntry& variable : entries(*given, "environment.set", {}))
          if (auto value = reader_.string(variable, "a string; write the value in quotes"))
            policy_.environment.set[std::string(variable.key)] = std::move(*value);
      }
    }
  }

  void read_syscalls(const ConfigTable& table) {
    constexpr std::string_view kWhat = "an array of names such as [\"ptrace\"]";
    for (const TomlEntry& entry : entries(table, "syscalls", kSyscalls)) {
      auto& names = entry.key == "allow" ? policy_.syscalls.allow : policy_.syscalls.deny;
      set(names, strings(entry, fmt::format("syscalls.{}", entry.key), kWhat));
    }
  }

  void report(const PolicyFault& fault) {
    auto place = places_.end();
    if (!fault.item.empty()) {
      place = places_.find(fmt::format("{}[{}]", fault.field, fault.item));
      if (place == places_.end()) {
        place = places_.find(fmt::format("{}.{}", fault.field, fault.item));
      }
    }
    if (place == places_.end()) place = places_.find(fault.field);
    // A list that is missing: the line of its table.
    if (place == places_.end() && fault.field == "network.allow") place = places_.find("network");
    const std::string field = place_.scope.prefix + fault.field;
    // A fault only together with the base's values, such as too many of something.
    if (place == places_.end()) {
      reader_.faults().add(place_.line, fmt::format("{}: {}", field, fault.text));
      return;
    }
    const bool exact = fault.item.empty() && place->first == fault.field;
    const std::string& shown = exact ? place->second.shown : field;
    reader_.faults().add(place->second.line, fmt::format("{}: {}", shown, fault.text));
  }

  struct Place {
    std::size_t line;
    std::string shown;  // The field as the file spells it.
  };
  const PolicyPlace& place_;
  const Policy& base_;
  Policy policy_;
  TomlReader reader_;
  std::map<std::string, Place> places_;
};

}  // namespace

Policy read_policy(const ConfigTable& table, const PolicyPlace& place, const Policy& base,
                   TomlFaults& faults) {
  return PolicyReader(place, base, faults).read(table);
}

Policy policy_from_toml(std::string_view text, const std::string& name) {
  TomlFaults faults(name);
  Policy policy = read_policy(parse_toml(text, name, "policy"), {}, {}, faults);
  faults.throw_if_any();
  return policy;
}

Policy policy_from_toml_file(const std::string& path) {
  return policy_from_toml(
      read_trusted({.path = path, .what = "policy", .may_be_pipe = true}, kMaxTomlBytes), path);
}

}  // namespace brig
