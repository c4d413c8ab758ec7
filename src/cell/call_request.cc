// What the host sends to a cell: its equipment, and the one request.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "cell/call.h"
#include "cell/call_stdin.h"
#include "os/memfd.h"
#include "os/socket.h"
#include "os/write.h"

namespace brig {
namespace {

UniqueFd file_of(const char* name, std::span<const std::string_view> pieces) {
  UniqueFd file = make_memfd(name);
  if (!file || !fill_and_seal(file.get(), pieces))
    throw_sys("{}: writing a memfd{}", name, file_limit_hint());
  // /dev/stdin must open for the tool's id too.
  (void)!fchmod(file.get(), 0444);
  // An open file description of its own, read-only, at offset 0.
  UniqueFd reader(open(fmt::format("/proc/self/fd/{}", file.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!reader) throw_sys("{}: reopening the memfd", name);
  return reader;
}

UniqueFd file_of(const char* name, std::string_view bytes) { return file_of(name, {&bytes, 1}); }

std::uint32_t size_of(std::span<const std::string_view> pieces) {
  std::size_t size = 0;
  for (const std::string_view piece : pieces) size += piece.size();
  if (size > wire::kMaxArguments)
    throw Error(ErrorKind::config,
                "the arguments are larger than 1 GiB; pass the path of a file instead");
  return static_cast<std::uint32_t>(size);
}

// The reading end of a pipe that already holds all of the pieces. Empty if the kernel grants no
// such pipe: it limits the size of one pipe, and of all pipes of a user. A memfd's memory takes
// three times as long.
UniqueFd pipe_of(std::span<const std::string_view> pieces, std::uint32_t size) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return {};
  UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  const int room = fcntl(writer.get(), F_SETPIPE_SZ, size);
  if (room < 0 || static_cast<std::uint32_t>(room) < size || !write_all(writer.get(), pieces))
    return {};
  return reader;
}

// Adds the "NAME=value" strings of a cell. Returns how many.
std::uint32_t add_environment(const CallSettings& settings, const ReadyCell& cell,
                              std::string& strings) {
  strings += settings.environment;
  if (cell.scratch.empty()) return settings.variables;
  for (const std::string& name : settings.scratch_variables)
    strings.append(name).append("=").append(cell.scratch).push_back('\0');
  return settings.variables + static_cast<std::uint32_t>(settings.scratch_variables.size());
}

// The same, with the request's own variables in place of those with the same names.
std::uint32_t add_environment(const CallSettings& settings, const ReadyCell& cell,
                              const CellRequest& request, std::string& strings) {
  if (request.variables.empty()) return add_environment(settings, cell, strings);
  std::string before;
  std::uint32_t count = add_environment(settings, cell, before);
  for (std::size_t at = 0; at < before.size();) {
    const std::string_view variable = before.c_str() + at;
    at += variable.size() + 1;
    if (request.variables.contains(std::string(variable.substr(0, variable.find('=')))))
      --count;
    else
      strings.append(variable).push_back('\0');
  }
  for (const auto& [name, value] : request.variables)
    strings.append(name).append("=").append(value).push_back('\0');
  return count + static_cast<std::uint32_t>(request.variables.size());
}

// Sends the strings in the packet or in a memfd beside it. `last`: one more descriptor behind that,
// or -1.
bool send_strings(int socket, std::string& strings, wire::Request request, int* fds, int count,
                  int last) {
  UniqueFd large;
  request.size = static_cast<std::uint32_t>(strings.size());
  std::memcpy(strings.data(), &request, sizeof request);
  std::size_t packet = strings.size();
  if (packet > wire::kInlineRequest) {
    large = file_of("request", strings);
    fds[count++] = large.get();
    packet = sizeof request;
  }
  if (last >= 0) fds[count++] = last;
  return send_packet(socket, strings.data(), packet, fds, count);
}

}  // namespace

void stow_arguments(CellRequest& request, std::span<const std::string_view> pieces) {
  const std::uint32_t size = size_of(pieces);
  std::string& text = request.arguments.emplace();
  if (size > wire::kInlineArguments) {
    request.arguments_file = file_of("arguments", pieces);
    request.arguments_size = size;
  } else {
    for (const std::string_view piece : pieces) text += piece;
  }
}

void stow_outline(CellRequest& request, std::string outline,
                  std::span<const std::string_view> runs) {
  request.arguments_size = size_of(runs);
  request.arguments = std::move(outline);
  request.arguments_file = pipe_of(runs, request.arguments_size);
  if (!request.arguments_file) request.arguments_file = file_of("arguments", runs);
}

namespace {

// Whether the path can only make or name something below where it starts.
bool is_inside(std::string_view path) {
  if (path.empty() || path.size() >= wire::kMaxFilePath) return false;
  if (path.find('\0') != std::string_view::npos) return false;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view component = path.substr(at, end - at);
    if (component.empty() || component == "." || component == ".." || component.size() > 255)
      return false;
    at = end + 1;
  }
  return true;
}

}  // namespace

void check_files(std::span<const InputFile> files) {
  if (files.size() > wire::kMaxFiles)
    throw_error(ErrorKind::config, "files: the call has {}, and the most is {}", files.size(),
                wire::kMaxFiles);
  std::uint64_t size = 0;
  for (const InputFile& file : files) {
    if (!is_inside(file.path))
      throw_error(ErrorKind::config, "files: {} is not a path inside the workspace",
                  in_quotes(file.path));
    size += file.bytes.size();
  }
  if (size > wire::kMaxFileBytes)
    throw Error(ErrorKind::config, "files: they are larger than 1 GiB in total");
}

void stow_files(CellRequest& request, std::span<const InputFile> files) {
  if (files.empty()) return;
  check_files(files);
  // All of them first, because pieces refer to them.
  std::vector<wire::FileHeader> headers;
  for (const InputFile& file : files) {
    headers.push_back({file.bytes.size(), static_cast<std::uint32_t>(file.path.size() + 1), 0});
    request.file_names.push_back(file.path);
  }
  std::vector<std::string_view> pieces;
  for (std::size_t i = 0; i < files.size(); ++i) {
    pieces.emplace_back(reinterpret_cast<const char*>(&headers[i]), sizeof headers[i]);
    pieces.emplace_back(files[i].path.c_str(), files[i].path.size() + 1);
    pieces.emplace_back(files[i].bytes);
  }
  request.files = file_of("files", pieces);
}

std::string Call::defect(const CellRequest& request, bool single) {
  const Command& command = request.command;
  if (command.argv.empty()) return "the command has no program: argv is empty";
  if (command.argv[0].empty()) return "the command has no program: argv[0] is empty";
  std::size_t size = 0;
  for (const std::string& each : command.argv) {
    if (each.find('\0') != std::string::npos)
      return "an argument holds a NUL byte, which no command can receive";
    if (each.size() >= 128 * 1024)
      return "an argument is longer than 128 KiB, which Linux refuses; pass it on stdin";
    size += each.size() + 1;
  }
  if (command.argv.size() > wire::kMaxStrings / 2 || size > wire::kMaxRequest / 2)
    return "the arguments are longer than 2 MiB in total, which Linux refuses; pass them on stdin";
  if (command.stdin_fd >= 0)
    if (std::string fault = stdin_defect(command.stdin_fd); !fault.empty()) return fault;
  for (const int number : command.ignored_signals)
    if (number < 1 || number > 64 || number == SIGKILL || number == SIGSTOP)
      return fmt::format("signal {} can't be ignored", number);
  if (command.on_terminal && !single)
    return "only a single call in a jail can have a terminal of its own; pass a terminal of the "
           "host";
  if (command.tty_fd >= 0 && !isatty(command.tty_fd))
    return fmt::format("tty: descriptor {} is not a terminal", command.tty_fd);
  return "";
}

std::string Call::narrow() {
  const CallLimits& own = request_.limits;
  if (own.cpu_time && !(cell_.cgroup && cell_.cgroup->counts_cpu()))
    return "cpu_time can't be narrowed for one call here, because no cgroup counts CPU time. Set "
           "cpu_time in the policy, or run brig where it can make cgroups";
  if (!own.memory && !own.processes) return "";
  if (!cell_.cgroup)
    return "memory and processes can't be narrowed for one call here: that needs a cgroup. "
           "`brig doctor` shows how to get one";
  std::optional<std::uint64_t> tasks;
  if (own.processes) tasks = *own.processes + settings_.own_tasks;
  if (cell_.cgroup->narrow(own.memory, tasks)) return "";
  return fmt::format("the limits of this call could not be set: {}", errno_text(errno));
}

bool send_equipment(const CallSettings& settings, ReadyCell& cell) {
  std::string strings(sizeof(wire::Request), '\0');
  wire::Request request{};
  request.tag = wire::Tag::equip;
  request.envc = add_environment(settings, cell, strings);
  int fds[kMaxPacketFds] = {cell.null.get(), cell.out_write.get(), cell.err_write.get(),
                            cell.answer_write.get()};
  const bool sent = send_strings(cell.socket.get(), strings, request, fds, 4, -1);
  cell.out_write.reset();
  cell.err_write.reset();
  cell.answer_write.reset();
  return sent;
}

// An init that stays until the host hangs up reports that its tool is gone, instead of ending
// itself.
bool Call::died_waiting() const {
  char byte;
  return settings_.shows_workspace &&
         recv(cell_.socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

bool Call::send_request() {
  if (request_.arguments) return send_function();
  if (died_waiting()) return false;
  const Command& command = request_.command;
  std::string strings;
  strings.reserve(sizeof(wire::Request) + 1024 + settings_.environment.size());
  strings.resize(sizeof(wire::Request));
  for (const std::string& each : command.argv) strings.append(each).push_back('\0');
  wire::Request request{};
  request.tag = wire::Tag::request;
  request.argc = static_cast<std::uint32_t>(command.argv.size());
  request.envc = add_environment(settings_, cell_, request_, strings);
  if (!request_.directory.empty()) strings.append(request_.directory).push_back('\0');
  request.has_tty = command.tty_fd >= 0;
  request.files = static_cast<std::uint32_t>(request_.file_names.size());

  for (const int number : command.ignored_signals) request.ignored |= 1ull << (number - 1);

  UniqueFd input;
  int fds[kMaxPacketFds] = {cell_.null.get(), cell_.out_write.get(), cell_.err_write.get()};
  if (command.tty_fd >= 0) {
    fds[0] = fds[1] = fds[2] = command.tty_fd;
  } else if (command.stdin_fd >= 0) {
    fds[0] = give_stdin(input);
  } else if (command.stdin_bytes) {
    input = file_of("stdin", *command.stdin_bytes);
    fds[0] = input.get();
  }
  if (command.join_output) fds[2] = fds[1];
  if (!send_strings(cell_.socket.get(), strings, request, fds, 3, request_.files.get())) {
    throw_unless_cell_gone();
    return false;
  }
  request_.files.reset();
  cell_.out_write.reset();
  cell_.err_write.reset();
  return true;
}

// Called after a failed send, which is not an error if the cell has ended.
void Call::throw_unless_cell_gone() {
  if (errno != EPIPE && errno != ECONNRESET) throw_sys("sending the request to the cell");
}

bool Call::send_function() {
  if (died_waiting()) return false;
  std::string strings(sizeof(wire::Request), '\0');
  strings.append(request_.command.argv[0]).push_back('\0');
  strings += *request_.arguments;
  wire::Request request{};
  request.tag = wire::Tag::request;
  request.argc = 1;
  request.arguments_file = request_.arguments_size;
  int fds[kMaxPacketFds];
  if (!send_strings(cell_.socket.get(), strings, request, fds, 0, request_.arguments_file.get())) {
    throw_unless_cell_gone();
    return false;
  }
  request_.arguments_file.reset();
  return true;
}

}  // namespace brig
