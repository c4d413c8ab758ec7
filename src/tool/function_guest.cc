#include "tool/function_guest.h"

#include <brig/progress.h>
#include <cxxabi.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <mutex>
#include <optional>
#include <span>
#include <typeinfo>
#include <vector>

#include "base/text.h"
#include "cell/answer.h"
#include "helper/guest.h"
#include "json/json_line.h"
#include "json/json_text.h"
#include "os/read.h"
#include "os/write.h"

namespace brig {
namespace {

const Functions* g_functions = nullptr;
int g_answer = -1;
// Threads of a tool may report progress at once.
std::mutex g_sending;

// Sends a frame. The first of the pieces is room for the header.
void send_frame(FrameKind kind, std::span<std::string_view> pieces) {
  FrameHeader header{kind, 0};
  for (const std::string_view piece : pieces.subspan(1))
    header.size += static_cast<std::uint32_t>(piece.size());
  pieces[0] = {reinterpret_cast<const char*>(&header), sizeof header};
  // Room for much of the frame at once, if the kernel grants it. Otherwise writer and reader wake
  // each other for every 64 KiB.
  constexpr int kPipe = 64 * 1024, kLargePipe = 1 << 20;
  if (header.size > kPipe) fcntl(g_answer, F_SETPIPE_SZ, kLargePipe);
  const std::lock_guard lock(g_sending);
  // If this fails, nobody listens any more.
  (void)write_all(g_answer, pieces);
}

// What the tool printed belongs to its call.
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
  const std::string text = json_line(error);
  std::string_view frame[] = {{}, text};
  send_frame(FrameKind::error, frame);
}

std::string readable(const char* mangled) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(mangled, nullptr, nullptr, &status), std::free);
  return name ? name.get() : mangled;
}

void answer(const Tool& tool, std::string_view text, int gaps) {
  Json value;
  std::optional<JsonPieces> result;
  try {
    std::string fault;
    GapFiller filler;
    if (gaps >= 0)
      filler = [gaps](std::string& string, std::size_t size) {
        return append_from(gaps, string, size);
      };
    std::optional<Json> arguments;
    try {
      arguments = json_from(text, fault, filler);
    } catch (const std::bad_alloc&) {
      return send_error("std::bad_alloc",
                        "the arguments do not fit into the memory that the tool may use; raise "
                        "limits.memory");
    }
    // The tool must not have it.
    if (gaps >= 0) close(gaps);
    if (!arguments)
      return send_error("InvalidArguments", json_refusal("the arguments are not JSON: ", fault));
    value = tool.call(std::move(*arguments));
    result = json_pieces(value, fault);
    if (!result) return send_error("InvalidResult", "the result holds " + fault);
  } catch (const abi::__forced_unwind&) {
    flush_output();
    // The tool ended its thread. Above it are only frames of the host.
    _exit(0);
  } catch (const std::exception& error) {
    return send_error(readable(typeid(error).name()), error.what());
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    return send_error(type ? readable(type->name()) : "unknown", "");
  }
  if (result->size() > UINT32_MAX)
    return send_error("InvalidResult", "the result is larger than 4 GiB");
  flush_output();
  std::vector<std::string_view> frame = result->list();
  frame.insert(frame.begin(), std::string_view());
  send_frame(FrameKind::result, frame);
}

[[noreturn]] void run_function(const char* name, const char* arguments, std::size_t size, int gaps,
                               int answer_fd) {
  g_answer = answer_fd;
  const auto found = g_functions->find(name);
  if (found == g_functions->end())
    send_error("UnknownTool", "this cell has no such function");
  else
    answer(*found->second, {arguments, size}, gaps);
  // Destructors and atexit handlers belong to the host, whose copy this process is, so they do not
  // run.
  _exit(0);
}

// A call without a tool. It touches the code and the memory that every call needs: the first write
// to a page makes a copy, and this way nobody waits for that.
void rehearse() {
  volatile char stack[16 * 1024];
  for (std::size_t i = 0; i < sizeof stack; i += 1024) stack[i] = 0;
  Tool nothing;
  nothing.call = [](Json value) { return value; };
  // The answer goes nowhere, because there is no pipe yet.
  constexpr std::string_view kText = R"({"a": [1, 2.5, "text", null, true], "b": {"c": "d"}})";
  answer(nothing, kText, -1);
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
  std::string_view frame[] = {
      {}, {reinterpret_cast<const char*>(&fraction), sizeof fraction}, message};
  send_frame(FrameKind::progress, frame);
}

}  // namespace brig
