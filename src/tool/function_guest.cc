#include "tool/function_guest.h"

#include <brig/progress.h>
#include <cxxabi.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <mutex>
#include <optional>
#include <typeinfo>

#include "base/text.h"
#include "cell/answer.h"
#include "cell/guest.h"
#include "tool/json_text.h"

namespace brig {
namespace {

const Functions* g_functions = nullptr;
int g_answer = -1;
std::mutex g_sending;  // threads of a tool may tell progress at once

void send_frame(FrameKind kind, std::string_view first, std::string_view second = {}) {
  const FrameHeader header{kind, static_cast<std::uint32_t>(first.size() + second.size())};
  iovec parts[] = {{const_cast<FrameHeader*>(&header), sizeof header},
                   {const_cast<char*>(first.data()), first.size()},
                   {const_cast<char*>(second.data()), second.size()}};
  const std::lock_guard lock(g_sending);
  iovec* next = parts;
  int left = 3;
  while (left > 0) {
    const ssize_t size = writev(g_answer, next, left);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return;  // nobody listens any more
    for (auto rest = static_cast<std::size_t>(size); left > 0;) {
      const std::size_t step = std::min(rest, next->iov_len);
      next->iov_base = static_cast<char*>(next->iov_base) + step;
      next->iov_len -= step;
      rest -= step;
      if (next->iov_len) break;
      ++next;
      --left;
    }
  }
}

// What was printed belongs to the call.
void flush_output() {
  std::cout.flush();
  std::clog.flush();
  std::fflush(nullptr);
}

void send_error(const std::string& type, std::string message) {
  constexpr std::size_t kMaxMessage = 16 * 1024;
  if (message.size() > kMaxMessage) message.resize(kMaxMessage);
  flush_output();
  const Json error{{"type", type}, {"message", message}};
  send_frame(FrameKind::error, error.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string readable(const char* mangled) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(mangled, nullptr, nullptr, &status), std::free);
  return name ? name.get() : mangled;
}

void answer(const Tool& tool, std::string_view text) {
  std::optional<std::string> result;
  try {
    std::string fault;
    std::optional<Json> arguments = json_from(text, fault);
    if (!arguments) return send_error("InvalidArguments", "the arguments are not JSON: " + fault);
    result = json_text(tool.call(std::move(*arguments)), fault);
    if (!result) return send_error("InvalidResult", "the result holds " + fault);
  } catch (const abi::__forced_unwind&) {
    flush_output();
    _exit(0);  // the tool ended its thread; above it are only frames of the host's
  } catch (const std::exception& error) {
    return send_error(readable(typeid(error).name()), error.what());
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    return send_error(type ? readable(type->name()) : "unknown", "");
  }
  if (result->size() > UINT32_MAX)
    return send_error("InvalidResult", "the result is larger than 4 GiB");
  flush_output();
  send_frame(FrameKind::result, *result);
}

[[noreturn]] void run_function(const char* name, const char* arguments, std::size_t size,
                               int answer_fd) {
  g_answer = answer_fd;
  const auto found = g_functions->find(name);
  if (found == g_functions->end())
    send_error("UnknownTool", "this zygote has no such function");
  else
    answer(*found->second, {arguments, size});
  // Destructors and atexit handlers are the host's, whose copy this is: they do not run.
  _exit(0);
}

// A call without a tool: it touches the code and the memory that every call needs, which is a copy to be
// made on the first write, while nobody waits.
void rehearse() {
  volatile char stack[16 * 1024];
  for (std::size_t i = 0; i < sizeof stack; i += 1024) stack[i] = 0;
  Tool nothing;
  nothing.call = [](Json value) { return value; };
  // The answer goes nowhere: there is no pipe yet.
  constexpr std::string_view kText = R"({"a": [1, 2.5, "text", null, true], "b": {"c": "d"}})";
  answer(nothing, kText);
  if (g_functions->find("") != g_functions->end()) abort();
}

}  // namespace

void serve_functions(const Functions& functions) {
  g_functions = &functions;
  g_guest.rehearse = rehearse;
  g_guest.run = run_function;
}

void progress(double fraction, std::string_view message) {
  if (g_answer < 0) return;
  if (constexpr std::size_t kMost = kMaxProgress - sizeof fraction; message.size() > kMost) {
    message = message.substr(0, kMost);
    message.remove_suffix(utf8_cut_at_end(message));
  }
  send_frame(FrameKind::progress, {reinterpret_cast<const char*>(&fraction), sizeof fraction},
             message);
}

}  // namespace brig
