// Policy: all that a call may use. A value type: copy it, change a member, compare two of them.
// The defaults are safe: no network, no file of the user's, 30 seconds, 512 MiB.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace brig {

inline namespace literals {
constexpr std::uint64_t operator""_KiB(unsigned long long n) { return n << 10; }
constexpr std::uint64_t operator""_MiB(unsigned long long n) { return n << 20; }
constexpr std::uint64_t operator""_GiB(unsigned long long n) { return n << 30; }
}  // namespace literals

struct Limits {
  // From the request to the end of the tool; time in a queue counts. 1 ms to 24 h.
  std::chrono::milliseconds timeout{30'000};
  // Between SIGTERM and SIGKILL when the timeout is over or the call is cancelled. 0 to 60 s.
  std::chrono::milliseconds grace{500};
  // CPU time of the whole tree. Unset: `timeout` alone bounds it.
  std::optional<std::chrono::milliseconds> cpu_time;
  // Memory of the whole tree, including tmpfs and shared memory. 4 MiB and up. Where there is no
  // usable cgroup, the limit holds for the private memory of each process and for the shared memory
  // of the tree, and the report says so (memory:per_process).
  std::uint64_t memory = 512_MiB;
  // Processes and threads alive at once. 1 to 32768.
  std::uint32_t processes = 128;
  // Bytes kept of stdout, and as many of stderr: the first half and the last half. brig reads and
  // counts the rest, and drops it. 0 to 1 GiB.
  std::uint64_t output = 100_KiB;
  // Bytes that the tool may write to stdout and stderr together. A tool that writes more is stopped
  // (Outcome::output_limit). Unset: no bound; only the kept part costs memory.
  std::optional<std::uint64_t> output_total;
  // Bytes of a function's result, as JSON. 1 KiB to 1 GiB. A larger result ends the call
  // (Outcome::output_limit), and so does one whose values would take more of the host's memory than
  // 64 MiB and twice its size.
  std::uint64_t result = 16_MiB;
  // Size of the private file system behind /tmp, /dev/shm, HOME and the workspace. 64 KiB and up.
  std::uint64_t scratch = 64_MiB;
  // Largest file that a tool may write. Unset: `scratch` bounds the files in the scratch space, and
  // nothing bounds those below writable paths.
  std::optional<std::uint64_t> file_size;
  // Per process; 16 and up.
  std::uint32_t open_files = 256;
  // Seconds of CPU time per second, 0.01 and up: 1.5 is one and a half CPUs. Unset: the whole
  // machine. Needs a cgroup.
  std::optional<double> cpus;
  // For Network::proxy. Connections open at once; 1 to 4096. One more is refused.
  std::uint32_t connections = 64;
  // Bytes that all connections together may send, and receive. Unset: no bound. A connection that
  // would go past it is closed.
  std::optional<std::uint64_t> upload, download;
  // How long one connection may last. Unset: as long as its call.
  std::optional<std::chrono::milliseconds> connection_time;
  // True: run() asks for a cgroup from the user's systemd, where that is what limits the whole tree,
  // even if memory, processes, cpu_time and cpus are the defaults. It asks in any case if one of
  // them is not; a Runner and a Sandbox always ask. policy_from_toml() sets this if it reads one.
  bool named = false;

  bool operator==(const Limits&) const = default;
};

// Limits for one call, narrower than the policy's. Unset: the policy's holds. A call that asks for
// more than the policy allows is refused.
struct CallLimits {
  std::optional<std::chrono::milliseconds> timeout, cpu_time;
  std::optional<std::uint64_t> memory;
  std::optional<std::uint32_t> processes;
  std::optional<std::uint64_t> output, output_total;
};

// Paths are absolute and, unless a list says otherwise, exist. Paths with "..", globs or NUL bytes
// are refused. The tool sees a path at the same place; "/srv/data:/data" shows the host's /srv/data
// at /data instead. A ':' before a '/' that is part of a name is written "\:".
//
// If two entries name the same place, the one that only allows reading wins. `hide`, `noexec` and
// `protect` name paths of the host, and hold at every place that shows them.
struct Files {
  // Readable and executable, with everything below.
  std::vector<std::string> read;
  // Writable too. New files belong to the owner of the directory.
  std::vector<std::string> write;
  // Empty for the tool, even below a path that is listed above.
  std::vector<std::string> hide;
  // A directory inside the cell. Empty: the private workspace, /workspace.
  std::string working_directory;
  // A directory of the host that replaces the host's system directories. Empty: the host's.
  std::string root;
  // As `read` and `write`, except that a path that does not exist is left out. brig looks once,
  // when the Runner, Sandbox or run() is made; a path that appears later is not in the cells.
  std::vector<std::string> read_optional, write_optional;
  // Paths from the lists above. Nothing below them can be executed or mapped as code.
  std::vector<std::string> noexec;
  // Paths below a writable one that stay read-only. "@default" stands for every name in
  // protected_names() that exists directly below a directory of `write` when a call begins: files
  // that tools of the host run or obey without being asked.
  std::vector<std::string> protect;

  bool operator==(const Files&) const = default;
};

// What a tool reaches of the network: policy.network = Network::loopback, or
// policy.network = Network::to({"api.github.com", "*.pypi.org:443", "10.2.0.0/16:5432"}).
struct Network {
  enum Mode : std::uint8_t {
    // No interface, and no address family except AF_UNIX.
    none,
    // 127.0.0.1 and ::1 of the cell itself.
    loopback,
    // The hosts in `allow`, through a proxy in the host process; and loopback.
    proxy,
    // The host's network, unfiltered. This weakens the cell, so no default or preset ever selects
    // it.
    host,
  };
  Mode mode = none;
  // For `proxy`. "api.github.com:443" is one host, "*.pypi.org" every host below pypi.org, and
  // "10.2.0.0/16:5432" or "[2001:db8::1]:443" are addresses. Without a port: 443. A name never
  // leads to an address of a private network or of this machine, unless an entry lists that address
  // too. At most 256 entries and 64 ports.
  std::vector<std::string> allow;
  // The same, and wins over `allow`. Without a port: every port.
  std::vector<std::string> deny;

  Network() = default;
  Network(Mode value) : mode(value) {}  // NOLINT(google-explicit-constructor): reads as a value
  [[nodiscard]] static Network to(std::vector<std::string> allow,
                                  std::vector<std::string> deny = {}) {
    Network network(proxy);
    network.allow = std::move(allow);
    network.deny = std::move(deny);
    return network;
  }

  bool operator==(const Network&) const = default;
};

// Which rule decides a variable: the last of these that names it: the safe list, `passthrough`,
// `set`, `unset`.
struct Environment {
  // Names of variables that are copied from the host if the host has them.
  std::vector<std::string> passthrough;
  // Variables with their values.
  std::map<std::string, std::string> set;
  // Names that the tool does not find, even those of the safe list.
  std::vector<std::string> unset;

  bool operator==(const Environment&) const = default;
};

// Names as in syscalls(2).
struct Syscalls {
  // System calls that the default refuses and the cell gets back, except those that would undo the
  // jail.
  std::vector<std::string> allow;
  // System calls that fail with EPERM. A name in both lists is denied.
  std::vector<std::string> deny;

  bool operator==(const Syscalls&) const = default;
};

// The weakest isolation that a call accepts. If this machine can't provide it, construction throws;
// brig never runs a call with less.
enum class Isolation {
  // Every layer.
  jail,
  // No namespaces: Landlock, seccomp, rlimits and the end of the whole process tree.
  landlock,
  // A fresh process with a clean environment, rlimits and the end of the whole process tree.
  process,
};

// What the cells of a Runner, a Sandbox or a server stand in. brig::run() always makes a fresh one.
enum class Room {
  // The room of an earlier call of the same caller, if the kernel itself shows that the call left
  // nothing in it; otherwise a fresh one. Faster under load.
  as_new,
  // New namespaces, mounts and locks for every cell.
  fresh,
};

struct Policy {
  Limits limits;
  Files files;
  Network network;
  Environment environment;
  Syscalls syscalls;
  Isolation isolation = Isolation::jail;
  Room room = Room::as_new;
  // The user and group id that a tool has inside its own user namespace; jail only. Unset: 1000.
  // With 0 a tool looks like root and can do nothing more. 65534 is refused: there it stands for
  // every other user.
  std::optional<std::uint32_t> user;
  // Names of presets (preset.h), such as "node" or "node:shared". What they list is added when a
  // cell is made. The policy's own members win over a preset's.
  std::vector<std::string> preset;

  bool operator==(const Policy&) const = default;
};

// The names that "@default" of files.protect stands for: ".git/hooks", ".envrc", ...
[[nodiscard]] std::span<const std::string_view> protected_names();

// The name as a policy file has it: "loopback", "jail".
[[nodiscard]] const char* to_string(Network::Mode mode);
[[nodiscard]] const char* to_string(Isolation isolation);
[[nodiscard]] const char* to_string(Room room);

// Throws Error(config) that names the first member that is out of range, malformed or missing on
// disk. Runner and run() call it themselves; call it to find a mistake before that. Reads the disk
// and changes nothing. Thread-safe.
void validate(const Policy& policy);

// Parses and validates a policy file. Throws Error(config) with every mistake, one per line:
// "file:line: what is wrong", and for an unknown key the nearest known one. `name` stands for the
// file in the messages.
//   isolation = "jail"   network = "none"   user = "root"   preset = ["node"]   room = "as_new"
//   [network] allow = ["api.github.com:443"]  deny = [...]   (instead of network = "...")
//   [limits]  timeout = "30s"  memory = "512M"  ...   (the members above, by name)
//   [files]   read = [...]  write = [...]  hide = [...]  working_directory = "..."  root = "..."
//             read_optional = [...]  write_optional = [...]  noexec = [...]  protect = [...]
//   [environment]  passthrough = [...]  set = { KEY = "value" }  unset = [...]
//   [syscalls]     allow = [...]  deny = [...]
[[nodiscard]] Policy policy_from_toml(std::string_view text, const std::string& name = "policy");
// The same for a file. `path` may also be a pipe: /dev/fd/N, /dev/stdin or a FIFO. Throws Error for
// an empty file, for a pipe that has not ended after 30 s, and for a file that others than its
// owner can write.
[[nodiscard]] Policy policy_from_toml_file(const std::string& path);

}  // namespace brig
