// What a call leaves for the next one, for its zygote and for the host: nothing. And what it finds of the
// host's: no secret of its environment, no descriptor.
#include <dirent.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>

#include <cstdio>
#include <fstream>
#include <random>

#include "sandbox_support.h"

namespace {

using namespace e2e;
using Texts = std::vector<std::string>;

// The tool leaves its marks if `leave`, and tells which marks it finds.
template <typename Callable>
void expect_no_trace(Callable callable, std::size_t least) {
  const auto box = sandbox(callable, {"leave"});
  const Json left = output_of(*box, {{"leave", true}});
  EXPECT_GE(left.size(), least) << "it left nothing that could be found: " << left;
  EXPECT_EQ(output_of(*box, {{"leave", false}}), Json::array());
}

// --- from call to call ---

TEST(SandboxLeak, FilesAreGoneWithTheirCall) {
  expect_no_trace(
      [](bool leave) {
        Texts found;
        const std::string home = getenv("HOME") ? getenv("HOME") : "";
        for (const std::string& directory :
             {std::string("/tmp"), std::string("/workspace"), home, std::string("/dev/shm"),
              std::string("/var/tmp"), std::string(".")}) {
          const std::string path = directory + "/brig-leak";
          if (leave) std::ofstream(path) << "mark";
          if (std::ifstream(path)) found.push_back(directory);
        }
        return found;
      },
      5);
}

TEST(SandboxLeak, FilesOfACallAreNotSeenByAnotherThatRuns) {
  const auto box = sandbox(
      [](bool leave) {
        int found = 0;
        for (const char* path : {"/tmp/brig-leak", "/workspace/brig-leak", "/dev/shm/brig-leak"}) {
          if (leave) std::ofstream(path) << "mark";
          found += std::ifstream(path).good();
        }
        if (leave) nap(1000);
        return found;
      },
      {"leave"});
  const auto watch = box->watch();
  auto first = box->call_async("tool", {{"leave", true}}, {"first", ""});
  ASSERT_TRUE(await(*watch, Event::Kind::output, "first"));
  EXPECT_EQ(output_of(*box, {{"leave", false}}), 0);
  EXPECT_EQ(first.wait_for(0s), std::future_status::timeout) << "they were not there together";
  EXPECT_EQ(first.get().output, 3);
}

TEST(SandboxLeak, SharedMemoryIsGoneWithItsCall) {
  expect_no_trace(
      [](bool leave) {
        Texts found;
        const int system_v = shmget(0x62726967, 4096, leave ? IPC_CREAT | 0666 : 0);
        if (system_v >= 0) found.emplace_back("System V");
        const int posix = shm_open("/brig-leak", leave ? O_CREAT | O_RDWR : O_RDWR, 0666);
        if (posix >= 0) found.emplace_back("POSIX");
        return found;
      },
      1);
}

int connect_to(const std::string& name, bool serve) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  const auto* at = reinterpret_cast<const sockaddr*>(&address);
  const int result = serve ? bind(fd, at, size) | listen(fd, 5) : connect(fd, at, size);
  return result == 0 ? 0 : errno;
}

TEST(SandboxLeak, SocketsOfACallAreNotReachedByAnother) {
  const auto box = sandbox(
      [](bool serve) {
        Texts reached;
        for (const std::string& name :
             {std::string("\0brig-leak", 10), std::string("/tmp/brig-socket"),
              std::string("/dev/shm/brig-socket")})
          if (connect_to(name, serve) == 0) reached.push_back(name.substr(1));
        if (serve) {
          // The server is there: this very call reaches it.
          if (connect_to(std::string("\0brig-leak", 10), false) != 0) reached.clear();
          nap(1000);
        }
        return reached;
      },
      {"serve"});
  const auto watch = box->watch();
  auto server = box->call_async("tool", {{"serve", true}}, {"server", ""});
  ASSERT_TRUE(await(*watch, Event::Kind::output, "server"));
  EXPECT_EQ(output_of(*box, {{"serve", false}}), Json::array());
  EXPECT_EQ(server.wait_for(0s), std::future_status::timeout);
  EXPECT_EQ(server.get().output.size(), 3u);
}

// Each line is what a process could change for its successors.
std::string state_of_process() {
  std::string text;
  const auto add = [&](const char* name, long value) {
    text += std::string(name) + "=" + std::to_string(value) + "\n";
  };
  for (char** each = environ; each && *each; ++each) text += std::string(*each) + "\n";
  struct sigaction action {};
  for (const int number : {SIGUSR1, SIGUSR2, SIGPIPE, SIGTERM, SIGCHLD, SIGINT}) {
    sigaction(number, nullptr, &action);
    add("handler", action.sa_handler == SIG_DFL ? 0 : 1);
  }
  sigset_t blocked;
  sigprocmask(SIG_SETMASK, nullptr, &blocked);
  for (int number = 1; number < 32; ++number) add("blocked", sigismember(&blocked, number));
  const mode_t mask = umask(0);
  umask(mask);
  add("umask", mask);
  char directory[4096] = "";
  text += std::string(getcwd(directory, sizeof directory) ? directory : "?") + "\n";
  add("nice", getpriority(PRIO_PROCESS, 0));
  rlimit limit{};
  for (const auto each : {RLIMIT_NOFILE, RLIMIT_CORE, RLIMIT_STACK, RLIMIT_FSIZE}) {
    getrlimit(each, &limit);
    add("limit", static_cast<long>(limit.rlim_cur));
  }
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  sched_getaffinity(0, sizeof cpus, &cpus);
  add("cpus", CPU_COUNT(&cpus));
  utsname name{};
  uname(&name);
  text += std::string(name.nodename) + " " + name.domainname + "\n";
  text += std::string("locale ") + setlocale(LC_ALL, nullptr) + "\n";
  return text;
}

void change_state() {
  setenv("LEAK", "1", 1);
  unsetenv("PATH");
  for (const int number : {SIGUSR1, SIGUSR2, SIGPIPE, SIGTERM, SIGCHLD, SIGINT})
    signal(number, SIG_IGN);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  umask(0);
  (void)!chdir("/tmp");
  (void)!nice(5);
  const rlimit low{100, 100};
  setrlimit(RLIMIT_NOFILE, &low);
  setrlimit(RLIMIT_FSIZE, &low);
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(0, &cpus);
  sched_setaffinity(0, sizeof cpus, &cpus);
  (void)!sethostname("leak", 4);
}

TEST(SandboxLeak, TheStateOfAProcessIsNotInherited) {
  signal(SIGPIPE, SIG_IGN);  // as Python does
  signal(SIGUSR1, [](int) {});
  sigset_t usr2, before;
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  sigprocmask(SIG_BLOCK, &usr2, &before);
  const auto box = sandbox(
      [](bool change) {
        if (change) change_state();
        return state_of_process();
      },
      {"change"});
  signal(SIGPIPE, SIG_DFL);
  signal(SIGUSR1, SIG_DFL);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  const std::string first = output_of(*box, {{"change", false}});
  EXPECT_EQ(first.find("handler=1"), std::string::npos) << "the host's handlers: " << first;
  EXPECT_EQ(first.find("blocked=1"), std::string::npos) << "the host's mask: " << first;
  const std::string changed = output_of(*box, {{"change", true}});
  EXPECT_TRUE(contains(changed, "LEAK=1") && contains(changed, "handler=1") &&
              contains(changed, "blocked=1") && contains(changed, "umask=0\n"))
      << "it changed nothing: " << changed;
  EXPECT_EQ(output_of(*box, {{"change", false}}), first);
}

int g_counter = 0;
TEST(SandboxLeak, VariablesAreThoseOfTheZygote) {
  const auto box = sandbox([] {
    static int calls = 0;
    static thread_local int own = 0;
    static std::vector<int>* heap = new std::vector<int>;
    heap->push_back(1);
    return ++calls + ++own + ++g_counter + static_cast<int>(heap->size());
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(output_of(*box), 4);
  EXPECT_EQ(g_counter, 0);
}

TEST(SandboxLeak, RandomNumbersDifferFromCallToCall) {
  srand(1);
  srandom(1);
  const auto box = sandbox([] {
    std::random_device device;
    char name[] = "/tmp/XXXXXX";
    close(mkstemp(name));
    return std::map<std::string, std::string>{
        {"rand", std::to_string(rand()) + " " + std::to_string(rand())},
        {"random", std::to_string(random()) + " " + std::to_string(random())},
        {"arc4random", std::to_string(arc4random()) + " " + std::to_string(arc4random())},
        {"device", std::to_string(device()) + " " + std::to_string(device())},
        {"mkstemp", name},
    };
  });
  const Json first = output_of(*box), second = output_of(*box);
  for (const auto& [name, value] : first.items()) EXPECT_NE(value, second.at(name)) << name;
}

// Shared memory of the host's is the one kind that a copy of it shares.
TEST(SandboxLeak, SharedMemoryOfTheHostIsACopy) {
  constexpr std::size_t kSize = 1 << 20;
  const auto map = [](int flags, int fd) {
    return static_cast<volatile char*>(
        mmap(nullptr, kSize, PROT_READ | PROT_WRITE, flags | MAP_SHARED, fd, 0));
  };
  const int file = memfd_create("shared", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, kSize / 2), 0);  // the second half would be SIGBUS
  const std::vector<volatile char*> memory{map(MAP_ANONYMOUS, -1), map(0, file)};
  for (volatile char* each : memory) each[1] = 'h';
  const auto box = sandbox([memory] {
    std::string found;
    for (volatile char* each : memory) {
      found += each[0] ? each[0] : '-';
      found += each[1] ? each[1] : '-';
      each[0] = 't';
      each[5000] = 't';
    }
    return found;
  });
  EXPECT_EQ(output_of(*box), "-h-h");
  EXPECT_EQ(output_of(*box), "-h-h") << "what the first call wrote";
  for (volatile char* each : memory) EXPECT_EQ(each[0] + each[5000], 0) << "the host's was written";
  for (volatile char* each : memory) munmap(const_cast<char*>(each), kSize);
  close(file);
}

// --- the zygote ---

TEST(SandboxLeak, AToolCanNotHarmWhatItWasForkedFrom) {
  const auto box = sandbox([] {
    Texts done;
    const auto note = [&](const char* name, bool worked) {
      if (worked) done.emplace_back(name);
    };
    for (const pid_t pid : {1, getppid()}) {
      note("ptrace", ptrace(PTRACE_ATTACH, pid, nullptr, nullptr) == 0);
      note("seize", ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0);
      const std::string path = "/proc/" + std::to_string(pid);
      for (const char* name : {"/mem", "/environ", "/maps", "/fd/3", "/stack", "/syscall"}) {
        const int fd = open((path + name).c_str(), strcmp(name, "/mem") ? O_RDONLY : O_RDWR);
        char byte;
        note(name, fd >= 0 && read(fd, &byte, 1) > 0);
      }
      note("mem written", [&] {
        const int fd = open((path + "/mem").c_str(), O_RDWR);
        return fd >= 0 && pwrite(fd, "x", 1, reinterpret_cast<off_t>(&g_counter)) == 1;
      }());
      char byte = 'x';
      const iovec here{&byte, 1}, there{&g_counter, 1};
      note("process_vm_writev", process_vm_writev(pid, &here, 1, &there, 1, 0) == 1);
      note("process_vm_readv", process_vm_readv(pid, &here, 1, &there, 1, 0) == 1);
      const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
      for (int fd = 0; pidfd >= 0 && fd < 8; ++fd)
        note("pidfd_getfd", syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0);
    }
    return done;
  });
  const std::vector<pid_t> before = descendants_named(getpid(), "brig-zygote");
  EXPECT_EQ(output_of(*box), Json::array());
  EXPECT_EQ(output_of(*box), Json::array());
  // A keeper is called that too for a moment.
  EXPECT_TRUE(comes_true([&] { return descendants_named(getpid(), "brig-zygote") == before; }));
}

TEST(SandboxLeak, AToolThatKillsAllItCanIsAlone) {
  const auto box = sandbox(
      [](int pid, int signal) {
        kill(pid, signal);
        usleep(100'000);
        return 1;
      },
      {"pid", "signal"});
  const std::vector<pid_t> before = descendants_named(getpid(), "brig-zygote");
  const std::vector<pid_t> keepers = descendants_named(getpid(), "brig-keeper");
  for (const int pid : {1, -1})
    for (const int number :
         {SIGKILL, SIGSTOP, SIGTERM, SIGUSR1, SIGSEGV, SIGINT, SIGHUP, SIGCHLD}) {
      const ToolResult r = box->call("tool", {{"pid", pid}, {"signal", number}});
      // Never an excuse: a tool must not be able to make its failure look like brig's.
      EXPECT_NE(r.report.outcome, Outcome::internal)
          << "kill(" << pid << ", " << strsignal(number) << "): " << r.error;
      EXPECT_LT(r.duration, kSoon);
    }
  EXPECT_EQ(descendants_named(getpid(), "brig-zygote"), before);
  EXPECT_EQ(output_of(*box, {{"pid", 1}, {"signal", 0}}), 1);
}

// --- what a tool finds ---

TEST(SandboxLeak, AToolHasFourDescriptorsAndNoneIsASocket) {
  const int file = open("/etc/passwd", O_RDONLY);  // not even close-on-exec
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  ASSERT_GE(dup2(file, 200), 0);
  const auto box = sandbox([] {
    std::map<std::string, std::string> found;
    DIR* directory = opendir("/proc/self/fd");
    while (const dirent* entry = readdir(directory)) {
      if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(directory)) continue;
      char target[256] = "";
      (void)!readlinkat(dirfd(directory), entry->d_name, target, sizeof target - 1);
      found[entry->d_name] = std::string(target).substr(0, std::string(target).find(':'));
    }
    return found;
  });
  const Json expected{{"0", "/dev/null"}, {"1", "pipe"}, {"2", "pipe"}, {"255", "pipe"}};
  EXPECT_EQ(output_of(*box), expected);
  EXPECT_EQ(box->call_async("tool", {}).get().output, expected);
  for (const int fd : {file, pair[0], pair[1], 200}) close(fd);
}

TEST(SandboxLeak, DescriptorsThatTheHostOpensLaterAreNotInherited) {
  const auto box = sandbox([] {
    int count = 0;
    for (int fd = 0; fd < 256; ++fd) count += fcntl(fd, F_GETFD) >= 0;
    return count;
  });
  std::vector<int> opened;
  for (int i = 0; i < 20; ++i) opened.push_back(open("/etc/passwd", O_RDONLY));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(output_of(*box), 4);
  for (const int fd : opened) close(fd);
}

// A secret that is in this program nowhere as such: each character is masked, and found out one by one.
constexpr char kMasked[] = "rkfbqd,`j,pl,lt,jm,wkf,fmujqlmnfmw";
constexpr std::size_t kSecretSize = sizeof kMasked - 1;
volatile char g_mask = 3;
char secret_at(std::size_t i) { return static_cast<char>(kMasked[i] ^ g_mask); }
char g_variable[100] = "BRIG_TEST_SECRET=";

// putenv takes no copy: the one that is there is the environment's own.
void put_secret() {
  char* value = strchr(g_variable, '=') + 1;
  for (std::size_t i = 0; i < kSecretSize; ++i) value[i] = secret_at(i);
  putenv(g_variable);
}

bool is_secret(const char* text) {
  for (std::size_t i = 0; i < kSecretSize; ++i)
    if (text[i] != secret_at(i)) return false;
  return true;
}

bool holds_secret(const std::string& text) {
  for (std::size_t i = 0; i + kSecretSize <= text.size(); ++i)
    if (is_secret(text.data() + i)) return true;
  return contains(text, "BRIG_TEST_SECRET");
}

TEST(SandboxLeak, ASecretOfTheHostsEnvironmentIsNowhere) {
  put_secret();
  ASSERT_TRUE(holds_secret(getenv("BRIG_TEST_SECRET")));
  const auto box = sandbox([] {
    Texts found;
    const auto look = [&](const std::string& text, const char* where) {
      if (holds_secret(text)) found.emplace_back(where);
    };
    if (getenv("BRIG_TEST_SECRET")) found.emplace_back("getenv");
    look(g_variable + strlen("BRIG_TEST_SECRET="), "the variable itself");
    for (char** each = environ; each && *each; ++each) look(*each, "environ");
    for (const char* path : {"/proc/self/environ", "/proc/1/environ", "/proc/self/auxv"}) {
      std::ifstream file(path);
      look(std::string(std::istreambuf_iterator<char>(file), {}), path);
    }
    return found;
  });
  EXPECT_EQ(output_of(*box), Json::array());
  EXPECT_TRUE(holds_secret(getenv("BRIG_TEST_SECRET"))) << "the host's own was wiped";
  unsetenv("BRIG_TEST_SECRET");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// How often it is in memory, but for the buffer of the search itself.
int count_in_memory() {
  constexpr std::size_t kStep = 1 << 16;
  static char buffer[kStep + kSecretSize];
  int count = 0;
  std::ifstream maps("/proc/self/maps");
  const int mem = open("/proc/self/mem", O_RDONLY);
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    if (sscanf(line.c_str(), "%lx-%lx r", &begin, &end) != 2) continue;
    for (unsigned long at = begin; at < end; at += kStep) {
      const ssize_t got =
          pread(mem, buffer, std::min(sizeof buffer, end - at), static_cast<off_t>(at));
      for (ssize_t i = 0; i + static_cast<ssize_t>(kSecretSize) <= got; ++i) {
        const unsigned long where = at + static_cast<unsigned long>(i);
        const auto own = reinterpret_cast<unsigned long>(buffer);
        count += is_secret(buffer + i) && (where < own || where >= own + sizeof buffer);
      }
    }
  }
  close(mem);
  return count;
}

TEST(SandboxLeak, ASecretOfTheHostsEnvironmentIsNotInMemory) {
  put_secret();
  EXPECT_EQ(count_in_memory(), 1) << "the search would not find it";
  const auto box = sandbox(count_in_memory);
  EXPECT_EQ(output_of(*box), 0);
  unsetenv("BRIG_TEST_SECRET");
}
#endif

// A variable that the host has changed or removed is still where the kernel put it at its start.
TEST(SandboxLeak, TheEnvironmentThatTheHostWasStartedWithIsWiped) {
  const auto read_environ = [] {
    std::ifstream file("/proc/self/environ");
    std::string text(std::istreambuf_iterator<char>(file), {});
    std::erase(text, '\0');
    return text;
  };
  ASSERT_TRUE(contains(read_environ(), "PATH="));
  const std::string path = getenv("PATH");
  const Variable other("PATH", "/usr/bin:/bin");
  const auto box = sandbox(read_environ);
  EXPECT_EQ(output_of(*box), "");
  EXPECT_TRUE(contains(read_environ(), "PATH=" + path)) << "the host's own was wiped";
}

}  // namespace
