// The bodies of what the escape tests share.
#include "escape.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/un.h>

#include <cstddef>
#include <fstream>

namespace escape {

bool has_cgroups() {
  static const bool has = [] {
    if (is_root()) return true;
    for (const brig::Layer& layer : brig::probe().layers)
      if (layer.name == "cgroup_memory") return layer.present;
    return false;
  }();
  return has;
}

std::string guests() {
  const char* directory = getenv("BRIG_GUESTS");
  return directory ? directory : "";
}

std::optional<std::uint32_t> inside() {
  const char* user = getenv("BRIG_CELL_USER");
  return user ? std::optional(static_cast<std::uint32_t>(atoi(user))) : std::nullopt;
}

bool has_words() {
  const char* words = getenv("BRIG_CELL_WORDS");
  return words && std::string(words) == "1";
}

// In the lists of optional paths, since tests give the others anew.
void add_words(brig::Policy& policy) {
  if (!has_words()) return;
  static const HostDirectory host;
  static const std::string elsewhere = host.make("elsewhere"), data = host.make("data"),
                           writable = host.make("writable");
  static const std::string kept = [] {
    write_file(elsewhere + "/file", "elsewhere\n");
    write_file(data + "/program", "#!/bin/sh\necho ran\n");
    chmod((data + "/program").c_str(), 0755);
    write_file(writable + "/kept", "as it was\n");
    return writable + "/kept";
  }();
  for (const std::string& path : {elsewhere + ":/opt/brig-words", data, host / "missing"})
    policy.files.read_optional.push_back(path);
  policy.files.noexec.push_back(data);
  policy.files.write_optional.push_back(writable);
  policy.files.protect.push_back(kept);
  policy.preset = {"git"};
  policy.environment.unset.insert(policy.environment.unset.end(), {"LC_CTYPE", "BRIG_WORDS"});
}

void for_lower_floors(brig::Policy& policy) {
  policy.user.reset();
  if (!has_words()) return;
  for (auto* list : {&policy.files.read_optional, &policy.files.write_optional,
                     &policy.files.noexec, &policy.files.protect})
    list->clear();
}

brig::Policy policy() {
  brig::Policy policy;
  policy.files.read = {guests()};
  policy.limits.timeout = milliseconds(20'000);
  policy.user = inside();
  add_words(policy);
  return policy;
}

brig::Command guest(std::vector<std::string> argv) {
  brig::Command command;
  argv[0] = guests() + "/" + argv[0];
  command.argv = std::move(argv);
  return command;
}

std::string describe(const brig::Report& report) {
  return std::string(to_string(report.outcome)) + ": " + report.message + "\n" + report.out.bytes +
         report.err.bytes;
}

namespace {

// Words of a guest for which something went wrong.
constexpr const char* kBadWords[] = {": SUCCEEDED", ": FAILED", ": BROKEN", ": WRONG ERROR",
                                     ": PRESENT"};

}  // namespace

bool went_wrong(const brig::Report& report) {
  return std::any_of(std::begin(kBadWords), std::end(kBadWords), [&](const char* word) {
    return report.out.bytes.find(word) != std::string::npos;
  });
}

brig::Report attack(const std::vector<std::string>& argv, const brig::Policy& policy) {
  brig::Report pooled = brig::Runner(policy, {.ready = 1}).run(guest(argv));
  if (went_wrong(pooled)) return pooled;
  brig::Report single = brig::run(guest(argv), policy);
  EXPECT_STREQ(to_string(pooled.outcome), to_string(single.outcome))
      << "Runner: " << describe(pooled) << "\nrun(): " << describe(single);
  return single;
}

bool has_line(const brig::Report& report, const std::string& start) {
  return ("\n" + report.out.bytes).find("\n" + start) != std::string::npos;
}

void expect_refused(const brig::Report& report, const std::vector<std::string>& names) {
  EXPECT_TRUE(report.ok() && !went_wrong(report)) << describe(report);
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names)
    EXPECT_TRUE(has_line(report, name + ": refused") || has_line(report, name + ": holds") ||
                has_line(report, name + ": works"))
        << "no refused attempt '" << name << "'";
}

bool enforces(const brig::Report& report, const std::string& prefix) {
  return std::any_of(report.enforced.begin(), report.enforced.end(),
                     [&](const std::string& layer) { return layer.starts_with(prefix); });
}

std::uint64_t violations(const brig::Report& report, const std::string& kind,
                         const std::string& what) {
  std::uint64_t count = 0;
  for (const brig::Violation& each : report.violations)
    if (each.code.starts_with(kind + ".") && each.what == what) count += each.count;
  return count;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  ASSERT_TRUE(file.good()) << path;
}

bool exists(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0;
}

mode_t mode_of(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 ? info.st_mode : 0;
}

HostDirectory::HostDirectory() {
  char name[] = "/tmp/brig-escape-XXXXXX";
  if (mkdtemp(name)) path_ = name;
  chmod(name, 0755);
}

HostDirectory::~HostDirectory() {
  if (!path_.empty())
    (void)!system(("chmod -R u+rwx " + path_ + " 2>/dev/null; rm -rf " + path_).c_str());
}

std::string HostDirectory::make(const std::string& name) const {
  const std::string path = path_ + "/" + name;
  mkdir(path.c_str(), 0755);
  return path;
}

std::string HostDirectory::set_id_files() const {
  const std::string list = path_ + "/.set-id";
  (void)!system(("find " + path_ + " -perm /6000 > " + list).c_str());
  std::string found = read_file(list);
  unlink(list.c_str());
  return found;
}

int in_private_mounts(const std::function<bool()>& body) {
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    if (unshare(CLONE_NEWNS | (uid ? CLONE_NEWUSER : 0)) != 0) _exit(77);
    if (uid) {
      std::ofstream("/proc/self/setgroups") << "deny";
      std::ofstream("/proc/self/uid_map") << uid << " " << uid << " 1";
      std::ofstream("/proc/self/gid_map") << gid << " " << gid << " 1";
    }
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) _exit(77);
    bool ok = false;
    try {
      ok = body();
    } catch (const std::exception& error) {
      fprintf(stderr, "%s\n", error.what());
    }
    fflush(nullptr);
    _exit(ok && !::testing::Test::HasFailure() ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

void with_own_mounts(const std::function<void()>& body) {
  if (!is_root()) {
    body();
    return;
  }
  const int result = in_private_mounts([&] {
    body();
    return true;
  });
  BRIG_NEEDS(result != 77, "no mount namespace could be made for the test");
  EXPECT_EQ(result, 0) << "what failed is said above";
}

std::string mount_table() { return is_root() ? read_file("/proc/self/mountinfo") : ""; }

namespace {

int g_victims_answers = -1;

// Says back the number that came with the signal.
void answer_as_victim(int, siginfo_t* info, void*) {
  const int number = info->si_value.sival_int;
  (void)!write(g_victims_answers, &number, sizeof number);
}

// The next number from a victim; -1 if it has ended, or says nothing for long.
int next_answer(int fd) {
  pollfd wait{fd, POLLIN, 0};
  int number = -1;
  return poll(&wait, 1, 15'000) == 1 && read(fd, &number, sizeof number) == sizeof number ? number
                                                                                          : -1;
}

}  // namespace

Victim::Victim() : pid_(-1), answers_(-1) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  answers_ = ends[0];
  pid_ = fork();
  if (pid_ == 0) {
    setpgid(0, 0);
    alarm(120);
    g_victims_answers = ends[1];
    struct sigaction action {};
    action.sa_sigaction = answer_as_victim;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGRTMIN, &action, nullptr);
    const int ready = 0;
    (void)!write(ends[1], &ready, sizeof ready);
    for (;;) pause();
  }
  close(ends[1]);
  EXPECT_EQ(next_answer(answers_), 0) << "no victim could be made";
}

Victim::~Victim() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (answers_ >= 0) close(answers_);
}

bool Victim::alive() const {
  static int asked = 0;
  sigval number{};
  number.sival_int = ++asked;
  if (pid_ <= 0 || sigqueue(pid_, SIGRTMIN, number) != 0) return false;
  for (int answer; (answer = next_answer(answers_)) >= 0;)
    if (answer == number.sival_int) return true;
  return false;
}

std::vector<pid_t> processes_with(const std::string& marker) {
  std::vector<pid_t> found;
  DIR* proc = opendir("/proc");
  while (const dirent* entry = proc ? readdir(proc) : nullptr) {
    const pid_t pid = static_cast<pid_t>(strtol(entry->d_name, nullptr, 10));
    if (pid > 0 && read_file("/proc/" + std::string(entry->d_name) + "/cmdline").find(marker) !=
                       std::string::npos)
      found.push_back(pid);
  }
  if (proc) closedir(proc);
  return found;
}

void expect_gone(const std::string& marker, const brig::Report& report,
                 const brig::Limits& limits) {
  SCOPED_TRACE(describe(report));
  const auto stuck = limits.timeout + limits.grace + std::chrono::seconds(6);
  const int waits = report.usage.wall >= stuck ? 1500 : 0;
  for (int i = 0; i < waits && !processes_with(marker).empty(); ++i) usleep(10'000);
  EXPECT_EQ(processes_with(marker).size(), 0u);
}

std::string unique_marker(const char* what) {
  static int counter = 0;
  return "brig-marker-" + std::to_string(getpid()) + "-" + what + "-" + std::to_string(counter++);
}

Witness Witness::local(const std::string& name, int type) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path, sizeof address.sun_path - 1);
  socklen_t size = sizeof address;
  if (name[0] == '@') {
    address.sun_path[0] = '\0';
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  }
  Witness witness(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), type);
  EXPECT_EQ(bind(witness.fd_, reinterpret_cast<sockaddr*>(&address), size), 0) << strerror(errno);
  if (type != SOCK_DGRAM) {
    EXPECT_EQ(listen(witness.fd_, 8), 0);
  }
  if (name[0] != '@') chmod(name.c_str(), 0777);
  return witness;
}

Witness::~Witness() {
  if (fd_ >= 0) close(fd_);
}

int Witness::port() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

bool Witness::reached() const {
  if (type_ != SOCK_DGRAM) {
    const int peer = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer >= 0) close(peer);
    return peer >= 0;
  }
  char byte;
  return recv(fd_, &byte, 1, MSG_DONTWAIT) >= 0;
}

Witness Witness::inet(int type) {
  Witness witness(socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), type);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(bind(witness.fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  if (type == SOCK_STREAM) {
    EXPECT_EQ(listen(witness.fd_, 8), 0);
  }
  return witness;
}

}  // namespace escape
