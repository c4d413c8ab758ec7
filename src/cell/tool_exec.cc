// The tool before exec: waits for the one request, takes its place, and runs the program.
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "cell/helper.h"
#include "os/socket.h"

namespace brig::helper {
namespace {

alignas(8) char g_request[wire::kInlineRequest];
char* g_strings[wire::kMaxStrings + 2];

[[noreturn]] void tell(int socket, wire::Tag tag, int error) {
  wire::Message message{};
  message.tag = tag;
  message.error = error;
  send_packet(socket, &message, sizeof message, nullptr, 0);
  _exit(127);
}

// The program can't be run: the caller's doing.
[[noreturn]] void exec_failed(int socket, int error) {
  tell(socket, wire::Tag::exec_failed, error);
}

// It did not come to that: the machine's, or brig's own.
[[noreturn]] void request_failed(int socket, int error) {
  tell(socket, wire::Tag::request_failed, error);
}

// execvp's rules, over the cell's own PATH.
int exec_path(char** argv, char** envp) {
  const char* name = argv[0];
  if (!*name) return ENOENT;
  if (strchr(name, '/')) {
    execve(name, argv, envp);
    return errno;
  }
  const char* path = "/usr/local/bin:/usr/bin:/bin";
  for (char** variable = envp; *variable; ++variable)
    if (!strncmp(*variable, "PATH=", 5)) path = *variable + 5;
  bool denied = false;
  while (true) {
    const char* end = strchrnul(path, ':');
    char file[4096];
    const size_t size = static_cast<size_t>(end - path), length = strlen(name);
    // An empty entry would mean the working directory, which the model can write to: not searched.
    if (size && size + length + 2 <= sizeof file) {
      memcpy(file, path, size);
      file[size] = '/';
      memcpy(file + size + 1, name, length + 1);
      execve(file, argv, envp);
      if (errno == EACCES) denied = true;
      if (errno != ENOENT && errno != EACCES && errno != ENOTDIR && errno != ELOOP &&
          errno != ENAMETOOLONG)
        return errno;
    }
    if (!*end) return denied ? EACCES : ENOENT;
    path = end + 1;
  }
}

}  // namespace

void tool_main(const Plan& plan, int socket) {
  if (plan.floor != Floor::jail) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  setsid();
  // Pages that the request will touch are copied now, not while a caller waits.
  for (size_t at = 0; at < 2 * 4096; at += 4096) {
    *reinterpret_cast<volatile char*>(g_request + at) = 0;
    *reinterpret_cast<char* volatile*>(g_strings + at / sizeof(char*)) = nullptr;
  }
  const Packet packet = recv_packet(socket, g_request, sizeof g_request, 0);
  if (packet.size == 0) _exit(1);  // the host closed it: nobody waits for an answer
  if (packet.size < static_cast<ssize_t>(sizeof(wire::Request)))
    request_failed(socket, packet.size < 0 ? errno : EINVAL);
  const auto& request = *reinterpret_cast<const wire::Request*>(g_request);
  const unsigned expected = static_cast<unsigned>(3 + (request.size > wire::kInlineRequest));
  if (packet.cut || request.tag != wire::Tag::request || request.argc == 0 ||
      request.argc + request.envc > wire::kMaxStrings || request.size > wire::kMaxRequest ||
      packet.fd_count != static_cast<int>(expected))
    request_failed(socket, EINVAL);
  char* base = g_request;
  if (expected == 4) {
    void* block =
        mmap(nullptr, request.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, packet.fds[3], 0);
    if (block == MAP_FAILED) request_failed(socket, errno);
    base = static_cast<char*>(block);
  }
  char* at = base + sizeof(wire::Request);
  char* const end = base + request.size;
  char** out = g_strings;
  for (unsigned i = 0; i < request.argc + request.envc; ++i) {
    char* nul =
        at < end ? static_cast<char*>(memchr(at, '\0', static_cast<size_t>(end - at))) : nullptr;
    if (!nul) request_failed(socket, EINVAL);
    *out++ = at;
    at = nul + 1;
    if (i + 1 == request.argc) *out++ = nullptr;
  }
  *out = nullptr;
  for (int i = 0; i < 3; ++i)
    if (dup2(packet.fds[i], i) != i) request_failed(socket, errno);
  if (request.has_tty) ioctl(0, TIOCSCTTY, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  char** const envp = g_strings + request.argc + 1;
  int error = exec_path(g_strings, envp);
  exec_failed(socket, error);
}

}  // namespace brig::helper
