// MCP: the body of the input, a message per line, through stdin and stdout; and each message, with the headers of the input,
// over HTTP, where what the first `initialize` gave is the session of who says "mcp-session-id: mine".
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "json/json_text.h"
#include "mcp/mcp_http.h"
#include "mcp/mcp_stdio.h"
#include "service.h"
#include "support.h"

using namespace brig;
using fuzz::promise;

namespace {

void check_message(std::string_view text) {
  std::string fault;
  const auto message = json_from(text, fault);
  promise(message && message->is_object(), "a message is an object", text);
  promise(message->value("jsonrpc", "") == "2.0", "of JSON-RPC 2.0", text);
  promise(message->contains("method") || message->contains("result") != message->contains("error"),
          "that tells, or has a result or an error", text);
}

void over_stdio(fuzz::Quiet& quiet, std::string_view lines) {
  int ends[2];
  promise(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
  const UniqueFd in(ends[0]);
  UniqueFd client(ends[1]);
  const UniqueFd out(memfd_create("out", MFD_CLOEXEC));
  const auto sent = send(client.get(), lines.data(), lines.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  promise(lines.empty() || sent == static_cast<ssize_t>(lines.size()), "the input fits");
  client.reset();
  {
    bool over = false;
    serve::Jobs jobs(quiet.loop, quiet.service);
    serve::Mcp mcp(quiet.loop, quiet.service, jobs);
    serve::McpStdio stdio(mcp, quiet.caller, in.get(), out.get(), [&] { over = true; });
    fuzz::settle(quiet.loop);
    promise(over, "the end of the input is the end");
  }
  fuzz::settle(quiet.loop);
  std::string written(static_cast<std::size_t>(lseek(out.get(), 0, SEEK_END)), '\0');
  promise(
      pread(out.get(), written.data(), written.size(), 0) == static_cast<ssize_t>(written.size()),
      "pread");
  promise(written.empty() || written.ends_with('\n'), "a message is a line", written);
  for (std::string_view rest = written; !rest.empty();) check_message(fuzz::take(rest, '\n'));
}

void over_http(fuzz::Quiet& quiet, serve::Request request) {
  serve::Jobs jobs(quiet.loop, quiet.service);
  serve::Mcp mcp(quiet.loop, quiet.service, jobs);
  serve::McpHttp http(mcp);
  std::string session = "none";
  std::vector<std::shared_ptr<fuzz::FakeExchange>> exchanges;
  const std::string body = std::move(request.body);
  for (std::string_view lines = body; exchanges.size() < 16;) {
    const auto exchange = exchanges.emplace_back(std::make_shared<fuzz::FakeExchange>());
    exchange->request = request;
    exchange->request.body = fuzz::take(lines, '\n');
    for (serve::Header& each : exchange->request.headers)
      if (each.name == "mcp-session-id" && each.value == "mine") each.value = session;
    http.handle(exchange, quiet.caller);
    fuzz::settle(quiet.loop);
    const serve::Response& answer = exchange->answer;
    for (const serve::Header& each : answer.headers)
      if (each.name == "Mcp-Session-Id") session = each.value;
    promise(exchange->begun() && answer.status < 500, "no input is the server's fault",
            answer.body);
    if (answer.type == "application/json") check_message(answer.body);
    if (lines.empty()) break;
  }
  for (const auto& each : exchanges) each->leave();
  fuzz::settle(quiet.loop);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 64 * 1024) return 0;  // what a socket holds
  auto& quiet = fuzz::Quiet::get();
  serve::Request request = fuzz::request_from(fuzz::text_of(data, size));
  over_stdio(quiet, request.body);
  over_http(quiet, std::move(request));
  promise(quiet.service.calls(*quiet.caller).empty(), "no call is left");
  return 0;
}
