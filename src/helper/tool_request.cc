#include "helper/tool_request.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "helper/helper.h"
#include "os/socket.h"

namespace brig::helper {
namespace {

alignas(8) char g_first[wire::kInlineRequest];   // A command's request, or equipment.
alignas(8) char g_second[wire::kInlineRequest];  // A function's request.
char* g_strings[wire::kMaxStrings + 2];

[[noreturn]] void request_failed(int socket, int error) {
  tell_failure(socket, wire::Tag::request_failed, error);
}

char* map(int socket, int file, size_t size) {
  void* block = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  if (block == MAP_FAILED) request_failed(socket, errno);
  close(file);
  return static_cast<char*>(block);
}

struct Taken {
  const wire::Request* header;
  Packet packet;
  char* rest;  // What follows the strings.
  size_t rest_size;
  int gaps;  // The descriptor for the gaps.
};

// Waits for a request with this tag and so many descriptors. Puts its strings into `strings`: argv,
// a null, the environment, a null.
Taken take(int socket, wire::Tag tag, int descriptors, char* buffer, char** strings,
           unsigned most_strings) {
  Taken taken{};
  taken.packet = recv_packet(socket, buffer, wire::kInlineRequest, 0);
  Packet& packet = taken.packet;
  if (packet.size == 0) _exit(1);  // The host has closed the socket: nobody waits for an answer.
  if (packet.size < static_cast<ssize_t>(sizeof(wire::Request)))
    request_failed(socket, packet.size < 0 ? errno : EINVAL);
  const auto& request = *reinterpret_cast<const wire::Request*>(buffer);
  taken.header = &request;
  const bool large = request.size > wire::kInlineRequest;
  const int expected = descriptors + large + (request.arguments_file != 0) + (request.files != 0);
  if (packet.cut || request.tag != tag || request.argc > most_strings ||
      request.envc > most_strings - request.argc || request.size < sizeof request ||
      request.size > wire::kMaxRequest || request.arguments_file > wire::kMaxArguments ||
      request.files > wire::kMaxFiles || (request.files && request.arguments_file) ||
      (!large && packet.size != static_cast<ssize_t>(request.size)) || packet.fd_count != expected)
    request_failed(socket, EINVAL);
  char* base = large ? map(socket, packet.fds[descriptors].release(), request.size) : buffer;
  char* at = base + sizeof request;
  char* const end = base + request.size;
  for (unsigned i = 0; i <= request.argc + request.envc; ++i) {
    if (i == request.argc) *strings++ = nullptr;
    if (i == request.argc + request.envc) break;
    char* nul =
        at < end ? static_cast<char*>(memchr(at, '\0', static_cast<size_t>(end - at))) : nullptr;
    if (!nul) request_failed(socket, EINVAL);
    *strings++ = at;
    at = nul + 1;
  }
  *strings = nullptr;
  taken.rest = at;
  taken.rest_size = static_cast<size_t>(end - at);
  taken.gaps = -1;
  if (request.arguments_file && taken.rest_size) {
    taken.gaps = packet.fds[expected - 1].release();
  } else if (request.arguments_file) {
    taken.rest = map(socket, packet.fds[expected - 1].release(), request.arguments_file);
    taken.rest_size = request.arguments_file;
  }
  return taken;
}

// What a new process does before it gets a request.
void begin(const Plan& plan) {
  if (plan.floor != Floor::jail) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  setsid();
  // Copies the pages that the request will touch now, and not while a caller waits.
  for (size_t at = 0; at < 2 * 4096; at += 4096) {
    *reinterpret_cast<volatile char*>(g_first + at) = 0;
    *reinterpret_cast<char* volatile*>(g_strings + at / sizeof(char*)) = nullptr;
  }
}

void set_streams(int socket, UniqueFd* fds) {
  for (int i = 0; i < 3; ++i) {
    if (dup2(fds[i].get(), i) != i) request_failed(socket, errno);
    if (fds[i].get() <= 2) fds[i].release();  // In place already.
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

void tell_failure(int socket, wire::Tag tag, int error, unsigned index) {
  wire::Message message{};
  message.tag = tag;
  message.error = error;
  message.index = index;
  send_packet(socket, &message, sizeof message, nullptr, 0);
  _exit(127);
}

CommandRequest await_command(const Plan& plan, int socket) {
  begin(plan);
  Taken taken = take(socket, wire::Tag::request, 3, g_first, g_strings, wire::kMaxStrings);
  if (taken.header->argc == 0) request_failed(socket, EINVAL);
  if (const unsigned count = taken.header->files) {
    UniqueFd& block = taken.packet.fds[taken.packet.fd_count - 1];
    unsigned index = 0;
    if (!put_files(block.get(), count, &index))
      tell_failure(socket, wire::Tag::files_failed, errno, index);
    block.reset();
  }
  if (const size_t size = taken.rest_size) {  // The directory to start in. All files are in place.
    if (strnlen(taken.rest, size) != size - 1) request_failed(socket, EINVAL);
    if (chdir(taken.rest) != 0) tell_failure(socket, wire::Tag::directory_failed, errno);
  }
  set_streams(socket, taken.packet.fds);
  if (taken.header->has_tty) ioctl(0, TIOCSCTTY, 0);
  for (int number = 1; number <= 64; ++number)
    if (taken.header->ignored >> (number - 1) & 1) signal(number, SIG_IGN);
  unsigned guard = 0;
  if (!guards_hold(plan, &guard)) request_failed(socket, errno);
  return {g_strings, g_strings + taken.header->argc + 1};
}

Equipment await_equipment(const Plan& plan, int socket) {
  begin(plan);
  Taken taken = take(socket, wire::Tag::equip, 4, g_first, g_strings, wire::kMaxStrings);
  if (taken.header->argc != 0) request_failed(socket, EINVAL);
  set_streams(socket, taken.packet.fds);
  return {g_strings + 1, taken.packet.fds[3].release()};
}

FunctionRequest await_function(int socket) {
  char* strings[4];
  for (size_t at = 0; at < 2 * 4096; at += 4096)
    *reinterpret_cast<volatile char*>(g_second + at) = 0;
  const Taken taken = take(socket, wire::Tag::request, 0, g_second, strings, 1);
  if (taken.header->argc != 1) request_failed(socket, EINVAL);
  return {strings[0], taken.rest, taken.rest_size, taken.gaps};
}

}  // namespace brig::helper
