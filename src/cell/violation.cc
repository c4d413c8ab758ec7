#include "cell/violation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "egress/rules.h"
#include "policy/listed_path.h"
#include "policy/seccomp.h"

namespace brig {
namespace {

// As a TOML string: what JSON writes is one, and keeps every path readable.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

// "syscalls.deny = ["ptrace"]"
std::string list_of(const char* key, const std::string& item) {
  return fmt::format("{} = [{}]", key, quoted(item));
}

// "limits.memory = "512M"": sizes as a policy file has them.
std::string size_line(const char* key, std::uint64_t size) {
  constexpr const char* kUnits[] = {"", "K", "M", "G", "T", "P", "E"};
  unsigned unit = 0;
  while (unit < 6 && size >= 1024 && size % 1024 == 0) size /= 1024, ++unit;
  return fmt::format("{} = \"{}{}\"", key, size, kUnits[unit]);
}

bool is_network(const std::string& what) {
  return what == "socket(AF_INET)" || what == "socket(AF_INET6)";
}

// Of a limit, `key`, as the kernel tells it.
Violation of_limit(const char* code, const char* what, const char* key, std::string rule,
                   std::uint64_t count) {
  return {.code = code,
          .what = what,
          .rule = std::move(rule),
          .grant = key,
          .retry = Retry::after_grant,
          .count = count};
}

Violation uncertain(Violation violation) {
  violation.certain = false;
  return violation;
}

// Of a path, by the view of its cell. `grant`: what would allow it, if anything would.
Violation of_path(const char* code, const char* what, std::string path, std::string rule,
                  std::string grant = {}) {
  const Retry retry = grant.empty() ? Retry::never : Retry::after_grant;
  return uncertain({.code = code,
                    .what = what,
                    .target = std::move(path),
                    .rule = std::move(rule),
                    .grant = std::move(grant),
                    .retry = retry});
}

}  // namespace

const char* to_string(Retry retry) {
  switch (retry) {
    case Retry::never: return "never";
    case Retry::after_grant: return "after_grant";
    case Retry::may_help: return "may_help";
  }
  return "never";
}

void add_refused_connections(std::vector<Violation>& violations,
                             const std::vector<Connection>& connections) {
  constexpr std::size_t kMost = 32;
  std::map<std::pair<std::string, std::uint16_t>, Violation> found;
  for (const Connection& each : connections) {
    if (each.verdict != Connection::Verdict::denied) continue;
    const auto place = std::pair(each.host, each.port);
    if (const auto known = found.find(place); known != found.end()) {
      ++known->second.count;
      continue;
    }
    if (found.size() >= kMost) continue;
    const bool is_v6 = each.host.find(':') != std::string::npos;
    const std::string host = fmt::format("{}{}{}", is_v6 ? "[" : "", each.host, is_v6 ? "]" : "");
    Violation violation;
    violation.code = "network.refused";
    violation.what = each.port ? "connect" : "look up";
    violation.target = each.port ? fmt::format("{}:{}", host, each.port) : host;
    violation.rule = each.reason;
    // A host that a rule forbids, or that is not where its name says, takes more than one line.
    const std::string entry = each.port ? violation.target : host + ":443";
    if (each.rule.empty() && each.reason == egress::kNoRule && egress::can_be_allowed(entry)) {
      violation.grant = list_of("network.allow", entry);
      violation.retry = Retry::after_grant;
    }
    found.emplace(place, std::move(violation));
  }
  for (auto& [place, violation] : found) violations.push_back(std::move(violation));
}

Violation too_many_connections(std::uint64_t count, std::uint32_t connections) {
  return of_limit("connections.refused", "refused a connection", "limits.connections",
                  fmt::format("limits.connections = {}", connections), count);
}

Violation refused_call(const std::string& what, std::uint64_t count, const Network& network,
                       const Syscalls& syscalls) {
  Violation violation;
  violation.what = what;
  violation.count = count;
  const std::string name = what.substr(0, what.find('('));
  const auto& denied = syscalls.deny;
  if (std::find(denied.begin(), denied.end(), name) != denied.end()) {
    violation.code = "syscall.refused";
    violation.rule = list_of("syscalls.deny", name);
    violation.retry = Retry::never;
  } else if (is_network(what)) {
    violation.code = "network.refused";
    violation.rule = fmt::format("network = \"{}\"", to_string(network.mode));
    violation.grant = "network = \"loopback\"";
    violation.retry = Retry::after_grant;
  } else {
    violation.code = "syscall.refused";
    violation.rule = "the system calls that are refused by default";
    if (name == what && may_allow(name)) {
      violation.grant = list_of("syscalls.allow", name);
      violation.retry = Retry::after_grant;
    }
  }
  return violation;
}

Violation killed_for_memory(std::uint64_t count, std::uint64_t memory) {
  return of_limit("memory.killed", "killed by the out-of-memory killer", "limits.memory",
                  size_line("limits.memory", memory), count);
}

Violation refused_memory(std::uint64_t count, std::uint64_t memory) {
  return of_limit("memory.refused", "refused more shared memory", "limits.memory",
                  size_line("limits.memory", memory), count);
}

Violation refused_process(std::uint64_t count, std::uint32_t processes) {
  return of_limit("processes.refused", "refused a new process", "limits.processes",
                  fmt::format("limits.processes = {}", processes), count);
}

Violation may_lack_memory(std::uint64_t memory) {
  return uncertain(of_limit("memory.refused", "may have been refused memory", "limits.memory",
                            size_line("limits.memory", memory), 1));
}

Violation lacks_address_space(std::uint64_t memory, bool may_have_scope) {
  const std::string limit = size_line("limits.memory", memory);
  return uncertain({.code = "memory.refused",
                    .what = "may have been refused the address space that a sanitizer reserves",
                    .rule = limit,
                    .grant = may_have_scope ? limit : "",
                    .retry = may_have_scope ? Retry::after_grant : Retry::never});
}

Violation may_lack_process(std::uint32_t processes) {
  return uncertain(of_limit("processes.refused", "may have been refused a process or thread",
                            "limits.processes", fmt::format("limits.processes = {}", processes),
                            1));
}

Violation may_lack_shared_process() {
  return uncertain({.code = "processes.refused",
                    .what = "may have been refused a process or thread",
                    .rule = "the machine's limit for this user, whose other programs count too",
                    .retry = Retry::may_help});
}

Violation may_lack_scratch(std::uint64_t scratch) {
  return uncertain(of_limit("scratch.full", "may have filled its scratch space", "limits.scratch",
                            size_line("limits.scratch", scratch), 1));
}

Violation not_in_cell(std::string path, const char* key) {
  std::string grant = key ? list_of(key, listed_text(path)) : "";
  return of_path("file.not_in_cell", "named a path that is not in the cell", std::move(path),
                 "files.read and files.write do not list it", std::move(grant));
}

Violation read_only(std::string path, bool can_be_given, const std::string& real) {
  constexpr const char *kCode = "file.read_only", *kWhat = "could not write to a path";
  if (!can_be_given) return of_path(kCode, kWhat, std::move(path), "the system is read-only");
  std::string grant =
      list_of("files.write", real.empty() ? listed_text(path) : listed_text(real, path));
  return of_path(kCode, kWhat, std::move(path), "files.read lists it, files.write does not",
                 std::move(grant));
}

Violation hidden(std::string path) {
  return of_path("file.hidden", "named a path that is hidden", std::move(path),
                 "files.hide lists it, or a directory above it");
}

Violation kept(std::string path) {
  return of_path("file.protected", "could not write to a path", std::move(path),
                 "files.protect keeps it, or a directory above it, as it is");
}

Violation not_executable(std::string path) {
  return of_path("file.not_executable", "may have tried to execute a path", std::move(path),
                 "files.noexec lists it, or a directory above it");
}

Violation elsewhere(std::string path, const std::string& place) {
  return of_path("file.elsewhere", "named a path of the host's", std::move(path),
                 fmt::format("the cell has it at {}", in_quotes(place)));
}

Violation appeared(std::string path) {
  return of_path("file.appeared", "may have made a path that other programs follow",
                 std::move(path), "files.protect = [\"@default\"] keeps only what exists");
}

std::string sentence(const Violation& violation) {
  const std::string& code = violation.code;
  const std::string target = in_quotes(violation.target);
  const auto raise = [&] { return fmt::format("; raise {}", violation.grant); };
  if (code == "network.refused" && !violation.target.empty())
    return violation.grant.empty()
               ? fmt::format("it could not reach {}: {}", target, violation.rule)
               : fmt::format("it could not reach {}: {}; {} allows it", target, violation.rule,
                             violation.grant);
  if (code == "connections.refused")
    return fmt::format("connections were refused at {}{}", violation.rule, raise());
  if (code == "network.refused")
    return fmt::format(
        "it tried to use the network, which {} forbids; network.allow gives it the hosts that it "
        "lists, network = \"loopback\" 127.0.0.1 of its own, network = \"host\" the "
        "machine's whole network",
        violation.rule);
  if (code == "file.not_in_cell")
    return violation.grant.empty()
               ? fmt::format("{} is not in the cell, and can't be given to it", target)
               : fmt::format("{} is not in the cell; if it exists, {} gives it", target,
                             violation.grant);
  if (code == "file.read_only")
    return violation.grant.empty()
               ? fmt::format("{} can't be written to: {}", target, violation.rule)
               : fmt::format("{} is read-only in the cell; {} lets it write there", target,
                             violation.grant);
  if (code == "file.protected")
    return fmt::format("{} can't be changed: {}", target, violation.rule);
  if (code == "file.not_executable")
    return fmt::format("nothing at {} can be executed: {}", target, violation.rule);
  if (code == "file.elsewhere")
    return fmt::format("{} is not in the cell at that place: {}", target, violation.rule);
  if (code == "file.appeared")
    return fmt::format(
        "{} was not there when the call began, and is now: look at it before a program of the "
        "host's follows it",
        target);
  if (code == "file.hidden") return fmt::format("{} is hidden from the cell by files.hide", target);
  if (code == "memory.killed")
    return fmt::format("processes of it were killed at {}{}", violation.rule, raise());
  if (code == "memory.refused" && violation.grant == violation.rule)
    return fmt::format(
        "it seems to reserve terabytes of address space, as sanitizers do, which it can only have "
        "in a cgroup for memory: name {}, and brig asks your systemd for one",
        violation.grant);
  if (code == "memory.refused" && violation.grant.empty())
    return fmt::format(
        "it seems to reserve terabytes of address space, as sanitizers do, which no {} can give it "
        "where brig has no cgroup for memory: run it where brig has one, such as a systemd user "
        "session (see `brig doctor`), or without the sanitizer",
        violation.rule.substr(0, violation.rule.find(' ')));
  if (code == "memory.refused" && violation.certain)
    return fmt::format("it was refused more shared memory than {}{}", violation.rule, raise());
  if (code == "memory.refused")
    return fmt::format("it may have run out of memory, {}{}", violation.rule, raise());
  if (code == "processes.refused" && violation.grant.empty())
    return fmt::format(
        "it may have been refused a process or thread by {}; try again when fewer run",
        violation.rule);
  if (code == "processes.refused")
    return violation.certain
               ? fmt::format("it was refused more processes than {}{}", violation.rule, raise())
               : fmt::format("it may have been refused a process or thread, {}{}", violation.rule,
                             raise());
  if (code == "scratch.full")
    return fmt::format("it may have filled its private file space, {}{}", violation.rule, raise());
  const std::string times = violation.count > 1 ? fmt::format(" ({} times)", violation.count) : "";
  if (!violation.grant.empty())
    return fmt::format("it was refused the system call {}{}; {} gives it back", violation.what,
                       times, violation.grant);
  return fmt::format("it was refused the system call {}{}, which {}", violation.what, times,
                     violation.rule.starts_with("syscalls.deny") ? violation.rule + " forbids"
                                                                 : "no policy allows");
}

}  // namespace brig
