#include "cell/root_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>

#include "base/error.h"
#include "cell/git_config.h"
#include "os/open_below.h"
#include "policy/listed_path.h"
#include "policy/paths.h"

namespace brig {
namespace {

constexpr const char* kSystem[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

// A cell sees only what programs need of /etc: hosts keep passwords and keys there. Small files are
// copied into the root, which saves making and removing a mount. Each file in the list was
// reviewed: a rule such as "what links of /usr lead to" would show /etc/environment and maven's
// settings.xml, which hold tokens and passwords. `make test-matrix` finds links that lead nowhere.
constexpr const char* kEtcFiles[] = {"/etc/localtime", "/etc/timezone", "/etc/ssl/openssl.cnf",
                                     "/etc/protocols", "/etc/services", "/etc/os-release"};
// Files of packages that many machines do not have. Only existing files become steps, at about 15
// us each. (Mounts would take longer, and every cell of a zygote gets a copy of each mount.)
constexpr const char* kPackagesFiles[] = {"/etc/mime.types",
                                          "/etc/locale.alias",
                                          "/etc/matplotlibrc",
                                          "/etc/groff/man.local",
                                          "/etc/groff/mdoc.local",
                                          "/etc/maven/m2.conf",
                                          "/etc/maven/logging/simplelogger.properties"};
constexpr const char* kEtcMounts[] = {
    "/etc/ld.so.cache",  "/etc/alternatives",    "/etc/ssl/certs", "/etc/pki/tls/certs",
    "/etc/pki/ca-trust", "/etc/crypto-policies", "/etc/fonts"};

struct Device {
  const char* path;
  unsigned number;  // major << 8 | minor
};
constexpr Device kDevices[] = {{"/dev/null", 0x103},    {"/dev/zero", 0x105},
                               {"/dev/full", 0x107},    {"/dev/random", 0x108},
                               {"/dev/urandom", 0x109}, {"/dev/tty", 0x500}};

std::string link_target(int dir, const char* name) {
  char buffer[PATH_MAX];
  const ssize_t size = readlinkat(dir, name, buffer, sizeof buffer);
  return size > 0 ? std::string(buffer, static_cast<std::size_t>(size)) : "";
}

// Leaves out what does not exist or may not be looked at. Any other error (no descriptor, a bad
// disk) must not pass for that: every cell of this Runner would lack the file, and say that it does
// not exist.
void left_out_or_throw(const std::string& path) {
  if (errno != ENOENT && errno != ENOTDIR && errno != EACCES && errno != EPERM && errno != ELOOP)
    throw_sys("the cell's root: looking at '{}'", path);
}

using Directory = std::unique_ptr<DIR, decltype([](DIR* stream) { closedir(stream); })>;

std::vector<std::string> names_in(const Directory& directory, const std::string& path) {
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = readdir(directory.get())) names.emplace_back(entry->d_name);
  if (errno != 0) throw_sys("the cell's root: reading '{}'", path);
  return names;
}

// Adds one entry of the system directories or of files.root, `name` in `dir`.
void add_system(RootLayout& layout, int dir, const char* name, const std::string& source,
                const std::string& target, std::uint32_t flags) {
  struct stat info;
  if (fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return left_out_or_throw(source);
  if (S_ISLNK(info.st_mode))
    layout.steps.push_back({RootOp::symlink, link_target(dir, name), target});
  else if (S_ISDIR(info.st_mode) || S_ISREG(info.st_mode))
    layout.steps.push_back({RootOp::bind, source, target, kBindOptional | flags});
}

bool is_there(const char* path) {
  if (access(path, F_OK) == 0) return true;
  left_out_or_throw(path);
  return false;
}

// Debian's Java keeps files in /etc/java-<version> that it can't start without.
std::vector<std::string> java_directories() {
  std::vector<std::string> found;
  // /etc is long, and is read for every cell.
  if (!is_there("/usr/lib/jvm")) return found;
  const Directory etc(opendir("/etc"));
  if (!etc) {
    left_out_or_throw("/etc");
    return found;
  }
  for (const std::string& name : names_in(etc, "/etc"))
    if (name.starts_with("java-")) found.push_back("/etc/" + name);
  return found;
}

}  // namespace

std::vector<std::string> shared_etc() {
  std::vector<std::string> paths(std::begin(kEtcFiles), std::end(kEtcFiles));
  paths.insert(paths.end(), std::begin(kPackagesFiles), std::end(kPackagesFiles));
  paths.insert(paths.end(), std::begin(kEtcMounts), std::end(kEtcMounts));
  for (std::string& path : java_directories()) paths.push_back(std::move(path));
  return paths;
}

bool var_tmp_is_a_link(const Policy& policy, const std::vector<ListedEntry>& entries) {
  return policy.files.root.empty() &&
         std::none_of(entries.begin(), entries.end(),
                      [](const ListedEntry& each) { return is_at_or_below(each.at, "/var/tmp"); });
}

UniqueFd open_listed(const std::string& path, int flags, const char* field) {
  UniqueFd fd(open_below(AT_FDCWD, path.c_str(), {.flags = flags}));
  if (!fd) throw_sys("policy: {}: opening '{}'", field, path);
  return fd;
}

void add_root_directory(RootLayout& layout, const std::string& root) {
  UniqueFd opened = open_listed(root, O_RDONLY | O_DIRECTORY, "files.root");
  const Directory stream(fdopendir(opened.get()));
  if (!stream) throw_sys("policy: files.root: opening '{}'", root);
  // The stream owns it now.
  const int dir = opened.release();
  std::vector<std::string> names = names_in(stream, root);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    // The cell has its own versions of these.
    if (name == "." || name == ".." || name == "proc" || name == "sys" || name == "dev" ||
        name == "tmp" || "/" + name == kWorkspace)
      continue;
    add_system(layout, dir, name.c_str(), root + "/" + name, "/" + name, 0);
  }
}

void add_host_system(RootLayout& layout, const Policy& policy, const std::string& home,
                     const std::vector<ListedEntry>& entries, bool as_root) {
  for (const char* path : kSystem) add_system(layout, AT_FDCWD, path, path, path, kBindFollow);
  for (const char* path : kEtcFiles) layout.steps.push_back({RootOp::copy, path, path});
  for (const char* path : kPackagesFiles)
    if (is_there(path)) layout.steps.push_back({RootOp::copy, path, path});
  for (const char* path : kEtcMounts)
    if (is_there(path))
      layout.steps.push_back({RootOp::bind, path, path, kBindOptional | kBindFollow});
  for (const std::string& path : java_directories())
    layout.steps.push_back({RootOp::bind, path, path, kBindOptional | kBindFollow});
  const auto file = [&](const char* path, std::string content) {
    layout.steps.push_back({RootOp::file, std::move(content), path});
  };
  const std::uint32_t user = policy.user.value_or(kCellId), other = user == 0 ? kCellId : user;
  file("/etc/passwd",
       fmt::format("root:x:0:0:root:{}\nbrig:x:{}:{}:brig:{}:/bin/sh\n"
                   "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
                   user == 0 ? home + ":/bin/sh" : "/:/usr/sbin/nologin", other, other, home));
  file("/etc/group", fmt::format("root:x:0:\nbrig:x:{}:\nnogroup:x:65534:\n", other));
  file("/etc/hosts", "127.0.0.1 localhost brig\n::1 localhost\n");
  file("/etc/hostname", "brig\n");
  file("/etc/nsswitch.conf",
       "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n");
  if (as_root) file("/etc/gitconfig", git_config(policy.files, entries));
  if (policy.network.mode == Network::proxy)
    file("/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:5 attempts:2\n");
  if (policy.network == Network::host)
    layout.steps.push_back({RootOp::copy, "/etc/resolv.conf", "/etc/resolv.conf"});
  layout.steps.push_back({RootOp::directory, "", "/var"});
  if (var_tmp_is_a_link(policy, entries))
    layout.steps.push_back({RootOp::symlink, "/tmp", "/var/tmp"});
  layout.steps.push_back({RootOp::directory, "", "/run"});
}

void add_devices(RootLayout& layout) {
  layout.steps.push_back({RootOp::directory, "", "/dev"});
  for (const Device& device : kDevices)
    layout.steps.push_back({RootOp::bind, device.path, device.path, kBindDevice, device.number});
  for (const auto& [target, name] : {std::pair{"/proc/self/fd", "/dev/fd"},
                                     {"/proc/self/fd/0", "/dev/stdin"},
                                     {"/proc/self/fd/1", "/dev/stdout"},
                                     {"/proc/self/fd/2", "/dev/stderr"}})
    layout.steps.push_back({RootOp::symlink, target, name});
  layout.steps.push_back({RootOp::directory, "", "/dev/shm"});
  layout.steps.push_back({RootOp::directory, "", "/dev/pts"});
  layout.steps.push_back({RootOp::symlink, "pts/ptmx", "/dev/ptmx"});
}

}  // namespace brig
