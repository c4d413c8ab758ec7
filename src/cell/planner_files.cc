// Files on the floors without mounts, and Landlock on those that have it.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "cell/planner.h"
#include "cell/root_layout.h"
#include "os/sys.h"
#include "policy/listed_path.h"
#include "policy/paths.h"

namespace brig {
namespace {

constexpr std::uint64_t kRead = sys::kFsExecute | sys::kFsReadFile | sys::kFsReadDir;
constexpr std::uint64_t kWrite = kRead | sys::kFsWriteFile | sys::kFsRemoveDir |
                                 sys::kFsRemoveFile | sys::kFsMakeDir | sys::kFsMakeReg |
                                 sys::kFsMakeSock | sys::kFsMakeFifo | sys::kFsMakeSym |
                                 sys::kFsRefer | sys::kFsTruncate;
constexpr std::uint64_t kDeviceUse =
    sys::kFsReadFile | sys::kFsWriteFile | sys::kFsReadDir | sys::kFsTruncate | sys::kFsIoctlDev;

constexpr const char* kSystemPlaces[] = {"/usr",   "/bin",   "/sbin",   "/lib",
                                         "/lib32", "/lib64", "/libx32", "/proc"};
// The jail writes its own versions of these files; the other floors need the host's.
constexpr const char* kHostFiles[] = {"/etc/passwd", "/etc/group", "/etc/hosts",
                                      "/etc/nsswitch.conf"};

}  // namespace

void Planner::directories() {
  refuse_what_needs_the_jail();
  refuse_places();
  private_directory();
  enforce("capabilities");
}

void Planner::refuse_what_needs_the_jail() const {
  if (policy_.user)
    throw_error(ErrorKind::unsupported,
                "user: an id of the cell's own needs the jail floor (a user namespace); use "
                "isolation = \"jail\", or leave it out");
  if (policy_.network.mode == Network::proxy)
    throw_error(ErrorKind::unsupported,
                "network: a list of hosts needs the jail floor (a network namespace); use "
                "isolation = \"jail\", or network \"none\" or \"host\"");
  if (policy_.network == Network::loopback)
    throw_error(ErrorKind::unsupported,
                "network: 'loopback' needs the jail floor (a network namespace); use isolation = "
                "\"jail\", or network \"none\" or \"host\"");
  if (policy_.isolation == Isolation::process && policy_.network == Network::none)
    throw_error(ErrorKind::unsupported,
                "network: the process floor can't take the network away; use isolation = "
                "\"jail\" or \"landlock\", or say network = \"host\"");
  if (!policy_.files.root.empty() || !policy_.files.hide.empty())
    throw_error(ErrorKind::unsupported,
                "files: 'root' and 'hide' need the jail floor (mounts); use isolation = \"jail\"");
  if (!policy_.files.noexec.empty() || !policy_.files.protect.empty())
    throw_error(
        ErrorKind::unsupported,
        "files: 'noexec' and 'protect' need the jail floor (mounts); use isolation = \"jail\"");
  if (policy_.isolation == Isolation::process &&
      (!policy_.files.read.empty() || !policy_.files.write.empty()))
    throw_error(ErrorKind::unsupported,
                "files: the process floor can't restrict files, so 'read' and 'write' mean "
                "nothing there; use isolation = \"jail\" or \"landlock\"");
}

void Planner::refuse_places() const {
  const std::vector<ListedEntry> entries = listed_entries(policy_.files);
  for (const ListedEntry& each : entries)
    if (each.is_moved())
      throw_error(ErrorKind::unsupported,
                  "files.{}: '{}' can't be at another place, '{}', without mounts; use isolation = "
                  "\"jail\", or list it without a place",
                  each.writable ? "write" : "read", each.path, each.at);
  for (const ListedEntry& each : entries)
    for (const ListedEntry& writable : entries)
      if (!each.writable && writable.writable && is_at_or_below(each.path, writable.path))
        throw_error(ErrorKind::unsupported,
                    "files.read: '{}' lies below '{}' of files.write, and Landlock can't take a "
                    "right away below; use isolation = \"jail\", or list them apart",
                    each.path, writable.path);
}

void Planner::private_directory() {
  const char* parent = std::getenv("TMPDIR");
  std::string path = std::string(parent && parent[0] == '/' ? parent : "/tmp") + "/brig-XXXXXX";
  if (!mkdtemp(path.data()))
    throw_sys("making a private directory (set TMPDIR to one that can be written to) '{}'", path);
  built_.scratch_directory = path;
  // Use a descriptor: a user who may rename in that directory could have put a link in its place.
  const UniqueFd made(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info;
  if (!made || fstat(made.get(), &info) != 0 || info.st_uid != geteuid())
    throw_error(ErrorKind::permission,
                "making a private directory: '{}' was replaced; set TMPDIR to a directory where "
                "no other user can rename it",
                path);
  if (plan_.as_root && fchown(made.get(), plan_.host_uid, plan_.host_gid) != 0)
    throw_sys("chown '{}'", path);
  plan_.scratch_directory = writer_.text(path);
  // The variables of tools come with each call; these are only for the imports of a runtime.
  if (!payload_.runtime.empty()) load_directory_ = path + "/load";
  if (!load_directory_.empty()) plan_.load_scratch = writer_.text(load_directory_);
}

void Planner::landlock() {
  if (policy_.isolation == Isolation::process || !landlock_version()) return;
  if (is_jail()) {
    // Everything that is mounted may be read: Landlock is here to prevent changes.
    landlock_rule("/", kRead, false);
    if (cgroups_.memory)
      landlock_rule("/dev", kDeviceUse, false);
    else
      landlock_devices();
    for (const std::string& path : writable_) landlock_rule(path, kWrite, false);
  } else {
    landlock_of_host();
  }
  landlock_of_listed();
  plan_.landlock_rules = writer_.list(landlock_rules_);
  enforce(fmt::format("landlock_abi_{}", plan_.landlock_abi));
  if (plan_.landlock_abi >= 6) enforce("landlock_scope");
}

// Returns false if the kernel has no Landlock and the floor does not need it.
bool Planner::landlock_version() {
  const int abi = sys::landlock_abi();
  if (abi < 1) {
    if (policy_.isolation == Isolation::landlock)
      throw_error(ErrorKind::unsupported,
                  "landlock: this kernel has none ({}); it needs Linux 5.13 or newer with "
                  "\"landlock\" in the lsm= boot parameter",
                  errno_text(errno));
    return false;
  }
  plan_.landlock_abi = static_cast<std::uint32_t>(abi);
  std::uint64_t handled = (sys::kFsMakeSym << 1) - 1;
  if (abi >= 2) handled |= sys::kFsRefer;
  if (abi >= 3) handled |= sys::kFsTruncate;
  if (abi >= 5) handled |= sys::kFsIoctlDev;
  plan_.landlock_fs = handled;
  if (abi >= 4 && policy_.network == Network::none)
    plan_.landlock_net = sys::kNetBindTcp | sys::kNetConnectTcp;
  if (abi >= 6) plan_.landlock_scoped = sys::kScopeAbstractUnix | sys::kScopeSignal;
  return true;
}

void Planner::landlock_rule(const std::string& path, std::uint64_t access, bool optional,
                            bool follow) {
  landlock_rules_.push_back({path.empty() ? 0 : writer_.text(path),
                             (optional ? kRuleOptional : 0) | (follow ? kRuleFollow : 0),
                             access & plan_.landlock_fs});
}

void Planner::landlock_devices() {
  for (const char* path : {"/dev/null", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"})
    landlock_rule(path, kDeviceUse, true);
  // In the jail /dev/pts is the cell's own; on the other floors it would be the host's.
  if (policy_.isolation == Isolation::jail) landlock_rule("/dev/pts", kDeviceUse, true);
  // Opened for writing, /dev/zero gives shared memory, which only a cgroup counts.
  landlock_rule("/dev/zero", cgroups_.memory ? kDeviceUse : kDeviceUse & ~sys::kFsWriteFile, true);
}

// Allows what a cell needs of the host's own files.
void Planner::landlock_of_host() {
  for (const char* path : kSystemPlaces) landlock_rule(path, kRead, true);
  for (const std::string& path : shared_etc()) landlock_rule(path, kRead, true);
  for (const char* path : kHostFiles) landlock_rule(path, kRead, true);
  if (policy_.network == Network::host) landlock_rule("/etc/resolv.conf", kRead, true);
  landlock_devices();
  landlock_rule("", kWrite, false);
  for (const char* path : kSystemPlaces) built_.view.system.emplace_back(path);
  built_.view.system.emplace_back("/dev");
  for (const std::string& path : shared_etc()) built_.view.system.push_back(path);
  for (const char* path : kHostFiles) built_.view.system.emplace_back(path);
}

void Planner::landlock_of_listed() {
  // In the jail a rule names the place in the cell, where it finds what is mounted. A place below a
  // writable one needs no rule, and would be looked up by names that tools can change.
  const std::vector<ListedEntry> entries = listed_entries(policy_.files);
  for (const ListedEntry& each : entries) {
    const ListedEntry* over =
        entry_over(entries, std::string_view(each.at).substr(0, each.at.rfind('/')));
    if (each.writable ? over && over->writable : policy_.isolation == Isolation::jail) continue;
    // Places that are not below another listed one are the jail's own, or links that it has made.
    landlock_rule(each.at, each.writable ? kWrite : kRead, false,
                  policy_.isolation == Isolation::jail && !over);
  }
}

}  // namespace brig
