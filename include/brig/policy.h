// Policy: all that a call may use. A value type: copy it, change a field, compare two of them.
// The defaults are safe: no network, no file of the user's, 30 seconds, 512 MiB.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
  // Between SIGTERM and SIGKILL when the wall time is over or the call is cancelled. 0 to 60 s.
  std::chrono::milliseconds grace{500};
  // CPU time of the tree. Unset: bounded by timeout alone.
  std::optional<std::chrono::milliseconds> cpu_time;
  // Memory of the whole tree, tmpfs and shared memory included. Without a usable cgroup it is the
  // private memory of each process, and the shared memory of the tree, and the report says so
  // (memory:per_process). 4 MiB and up.
  std::uint64_t memory = 512_MiB;
  // Processes and threads alive at once. 1 to 32768.
  std::uint32_t processes = 64;
  // Bytes kept of stdout, and as many of stderr: the first and the last half. The rest is read,
  // counted and dropped. 0 to 1 GiB.
  std::uint64_t output = 100_KiB;
  // Bytes the tool may write to stdout and stderr together before it is stopped (output_limit).
  // Unset: it may write on; nothing but the kept part costs memory.
  std::optional<std::uint64_t> output_total;
  // Bytes of a function's result, as JSON. A larger one ends the call (output_limit), and so does one whose
  // values would take more of the host's memory than 64 MiB and twice its size. 1 KiB to 1 GiB.
  std::uint64_t result = 16_MiB;
  // Size of the private file system behind /tmp, /dev/shm, HOME and the workspace. 64 KiB and up.
  std::uint64_t scratch = 64_MiB;
  // Largest file a tool may write. Unset: scratch bounds its own files, writable paths are unbounded.
  std::optional<std::uint64_t> file_size;
  std::uint32_t open_files = 256;  // per process; 16 and up
  // CPUs' worth of time per second, 0.01 and up. Unset: all of the machine. Needs a cgroup.
  std::optional<double> cpus;

  bool operator==(const Limits&) const = default;
};

// Less than a policy's limits, for one call. Unset: as the policy has it. More than that is refused.
struct CallLimits {
  std::optional<std::chrono::milliseconds> timeout, cpu_time;
  std::optional<std::uint64_t> memory;
  std::optional<std::uint32_t> processes;
  std::optional<std::uint64_t> output, output_total;
};

// Paths are absolute and exist; "..", globs and NUL are refused. The tool sees each at the same place, or, where it is
// written "/srv/data:/data", the host's /srv/data at /data. A ':' before a '/' that is part of a name is written "\:".
// `hide`, `noexec` and `protect` name paths of the host, and hold at every place that shows them.
struct Files {
  std::vector<std::string> read;   // readable and executable, with all below
  std::vector<std::string> write;  // writable too; new files belong to the directory's owner
  std::vector<std::string> hide;   // seen as empty, even below a path listed above
  std::string working_directory;   // inside the cell; empty: the private workspace, /workspace
  std::string
      root;  // a directory that takes the place of the host's system directories; empty: the host's
  // As `read` and `write`, but one that is missing is left out. Looked for once, when the Runner, Sandbox or run() is made:
  // what appears later is not in its cells.
  std::vector<std::string> read_optional, write_optional;
  // Of the paths listed above, those below which nothing can be executed, or mapped as code.
  std::vector<std::string> noexec;
  // Paths below a writable one that stay read-only. "@default": what tools of the host run or obey unasked (protected_names()),
  // as far as it exists directly below each directory of `write` when a call begins.
  std::vector<std::string> protect;

  bool operator==(const Files&) const = default;
};

enum class Network {
  none,      // no interface, no address family but AF_UNIX
  loopback,  // 127.0.0.1 and ::1 of the cell itself
  host,      // the host's network, unfiltered: a weakening, only ever by name
};

struct Environment {
  std::vector<std::string> passthrough;    // names copied from the host if set there
  std::map<std::string, std::string> set;  // added last; wins
  // Names that a tool does not find, whatever else names them: not of the safe list either.
  std::vector<std::string> unset;

  bool operator==(const Environment&) const = default;
};

// Names as in syscalls(2). `allow` can return a call to the cell that the default refuses, except
// those that would undo the jail; `deny` always wins and gives EPERM.
struct Syscalls {
  std::vector<std::string> allow;
  std::vector<std::string> deny;

  bool operator==(const Syscalls&) const = default;
};

// The least a call accepts. What can't be had is an error at construction, never a weaker run.
enum class Isolation {
  jail,      // every layer
  landlock,  // no namespaces: Landlock, seccomp, rlimits, tree kill
  process,   // a fresh process, clean environment, rlimits, tree kill
};

struct Policy {
  Limits limits;
  Files files;
  Network network = Network::none;
  Environment environment;
  Syscalls syscalls;
  Isolation isolation = Isolation::jail;
  // The user and group that a tool is inside its own user namespace; jail only. Unset: 1000. 0 looks like root and
  // can do nothing more. 65534, which stands for everyone else there, is refused.
  std::optional<std::uint32_t> user;
  // Names of presets (preset.h): "node", or "node:shared". What they list is added when a cell is made.
  std::vector<std::string> preset;

  bool operator==(const Policy&) const = default;
};

// The names that "@default" of files.protect stands for: ".git/hooks", ".envrc", ...
std::span<const std::string_view> protected_names();

const char* to_string(Network network);
const char* to_string(Isolation isolation);

// Throws Error(config) that names the first field that is out of range, malformed or missing on disk.
// Runner and run() call it; call it early to fail early.
void validate(const Policy& policy);

// Parses a policy file. Error(config) tells all that is wrong, one per line: "file:line: what is wrong",
// with the nearest known key for an unknown one. `name` stands in the messages. The result is validated.
//   isolation = "jail"      network = "none"      user = "root"      preset = ["node"]
//   [limits]  timeout = "30s"  memory = "512M"  ...   (the fields above, by name)
//   [files]   read = [...]  write = [...]  hide = [...]  working_directory = "..."  root = "..."
//             read_optional = [...]  write_optional = [...]  noexec = [...]  protect = [...]
//   [environment]  passthrough = [...]  set = { KEY = "value" }  unset = [...]
//   [syscalls]     allow = [...]  deny = [...]
Policy policy_from_toml(std::string_view text, const std::string& name = "policy");
// `path` may be a pipe, too: /dev/fd/N, /dev/stdin, a FIFO. An empty one is refused, and one that has not ended
// after 30 s.
Policy policy_from_toml_file(const std::string& path);

}  // namespace brig
