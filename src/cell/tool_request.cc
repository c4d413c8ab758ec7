#include "cell/tool_request.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "os/socket.h"

namespace brig::helper {
namespace {

alignas(8) char g_request[wire::kInlineRequest];
char* g_strings[wire::kMaxStrings + 2];

[[noreturn]] void request_failed(int socket, int error) {
  tell_failure(socket, wire::Tag::request_failed, error);
}

char* map(int socket, int file, size_t size) {
  void* block = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  if (block == MAP_FAILED) request_failed(socket, errno);
  return static_cast<char*>(block);
}

}  // namespace

void tell_failure(int socket, wire::Tag tag, int error) {
  wire::Message message{};
  message.tag = tag;
  message.error = error;
  send_packet(socket, &message, sizeof message, nullptr, 0);
  _exit(127);
}

ToolRequest await_request(const Plan& plan, int socket, bool is_function) {
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
  const bool large = request.size > wire::kInlineRequest;
  const int expected = 3 + is_function + large + (request.arguments_file != 0);
  if (packet.cut || request.tag != wire::Tag::request || request.argc == 0 ||
      request.argc + request.envc > wire::kMaxStrings ||
      (request.is_function != 0) != is_function || request.size > wire::kMaxRequest ||
      request.arguments_file > wire::kMaxArguments || packet.fd_count != expected)
    request_failed(socket, EINVAL);
  char* base = g_request;
  if (large) {
    base = map(socket, packet.fds[3 + is_function], request.size);
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
  size_t arguments_size = static_cast<size_t>(end - at);
  if (request.arguments_file) {
    arguments_size = request.arguments_file;
    at = map(socket, packet.fds[expected - 1], arguments_size);
  }
  for (int i = 0; i < 3; ++i)
    if (dup2(packet.fds[i], i) != i) request_failed(socket, errno);
  if (request.has_tty) ioctl(0, TIOCSCTTY, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  return {g_strings, g_strings + request.argc + 1, at, arguments_size,
          is_function ? packet.fds[3] : -1};
}

}  // namespace brig::helper
