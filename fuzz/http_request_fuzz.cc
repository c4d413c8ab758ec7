// Raw bytes to an HttpServer, over a socket: whole, and in pieces, which must make no difference. The first byte says how
// large the pieces are. What gets through is looked at by all that looks at requests.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <charconv>

#include "base/fd.h"
#include "http/http_server.h"
#include "http/loop.h"
#include "serve/gate.h"
#include "service.h"
#include "service/problem.h"
#include "support.h"

using namespace brig;
using fuzz::promise;

namespace {

constexpr std::size_t kBody = 4096, kHeader = 2048;
constexpr const char* kToken = "0123456789abcdef";

// A server, made once, and what it was asked.
class Target {
 public:
  Target()
      : server_(
            loop_, {}, [this](const serve::ExchangePtr& each) { handle(each); }, limits()) {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    UniqueFd listener(fd);
    // An abstract name that the kernel makes up.
    address_.sun_family = AF_UNIX;
    size_ = sizeof(sa_family_t);
    auto* const address = reinterpret_cast<sockaddr*>(&address_);
    promise(bind(fd, address, size_) == 0 && listen(fd, 8) == 0, "listen");
    size_ = sizeof address_;
    promise(getsockname(fd, address, &size_) == 0, "getsockname");
    server_.listen(std::move(listener));
  }

  // What it answered; `asked` has what came through.
  std::string send_in_pieces(std::string_view bytes, std::size_t piece) {
    asked.clear();
    UniqueFd client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    promise(connect(client.get(), reinterpret_cast<sockaddr*>(&address_), size_) == 0, "connect");
    std::string answers;
    while (!bytes.empty()) {
      const std::string_view now = bytes.substr(0, piece);
      bytes.remove_prefix(now.size());
      if (send(client.get(), now.data(), now.size(), MSG_NOSIGNAL) < 0) break;  // it has closed
      fuzz::settle(loop_);
      receive(client, answers);
    }
    fuzz::settle(loop_);
    receive(client, answers);
    client.reset();
    fuzz::settle(loop_);
    promise(server_.counts().connections == 0, "a client that left is forgotten");
    return answers;
  }

  std::vector<std::string> asked;

 private:
  static serve::HttpLimits limits() {
    serve::HttpLimits limits;
    limits.header = kHeader;
    limits.body = kBody;
    limits.bodies = std::size_t{1} << 20;
    return limits;
  }

  static void receive(const UniqueFd& client, std::string& answers) {
    std::array<char, 65536> chunk;
    for (ssize_t size; (size = recv(client.get(), chunk.data(), chunk.size(), 0)) > 0;)
      answers.append(chunk.data(), static_cast<std::size_t>(size));
  }

  void handle(const serve::ExchangePtr& exchange) {
    const serve::Request& request = exchange->request;
    std::string all = request.method + " " + request.path + "?" + request.query + "\n";
    for (const serve::Header& each : request.headers) {
      promise(each.name.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ \t:\r\n") == each.name.npos,
              "a header's name is a lower-case token", each.name);
      promise(each.value.find_first_of(std::string_view("\r\n\0", 3)) == each.value.npos,
              "a header's value is one line", each.value);
      if (each.name == "transfer-encoding")
        promise(each.value.size() == 7, "an encoding that is not \"chunked\" is not passed over",
                each.value);
      all += each.name + ": " + each.value + "\n";
    }
    promise(request.count("transfer-encoding") + request.count("content-length") <= 1 ||
                request.count("transfer-encoding") == 0,
            "one length", all);
    promise(request.count("host") <= 1, "one host", all);
    promise(request.path.starts_with('/'), "a path is one", all);
    promise(request.body.size() <= kBody, "a body is not larger than may be");
    asked.push_back(all + "\n" + request.body);

    (void)request.accepts("text/event-stream");
    (void)request.parameter("query");
    (void)serve::percent_decoded(request.path);
    if (!gate_.admit(*exchange) || !gate_.identify(*exchange)) return;
    const auto body = serve::body_of(*exchange);
    if (!body) return;
    if (!request.accepts("text/event-stream"))
      return exchange->respond(serve::json_response(*body));
    exchange->begin({});
    exchange->write("data: ");
    exchange->write(body->dump());
    exchange->end();
  }

  serve::Loop loop_;
  serve::Tokens tokens_ = serve::Tokens::from_text(kToken, "tokens");
  serve::Gate gate_{{{"example.org"}, {"https://example.org"}}, tokens_};
  serve::HttpServer server_;
  sockaddr_un address_{};
  socklen_t size_ = 0;
};

// Answers are read as strictly as requests; those to HEAD, which have a length and no body, are not read on.
void check_answers(std::string_view answers, bool may_be_cut) {
  while (!answers.empty()) {
    promise(answers.starts_with("HTTP/1.1 "), "an answer begins where the last one ended", answers);
    const std::size_t end = answers.find("\r\n\r\n");
    promise(end != answers.npos, "an answer has a head", answers);
    const std::string_view head = answers.substr(0, end + 2);
    answers.remove_prefix(end + 4);
    if (head.starts_with("HTTP/1.1 100")) continue;
    constexpr std::string_view kLength = "\r\nContent-Length: ";
    if (const std::size_t at = head.find(kLength); at != head.npos) {
      std::size_t length = 0;
      const char* const digits = head.data() + at + kLength.size();
      std::from_chars(digits, head.data() + head.size(), length);
      if (may_be_cut) return;
      promise(length <= answers.size(), "an answer is as long as it says", answers);
      answers.remove_prefix(length);
    } else {
      return;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto* const target = new Target;
  if (size < 1 || size > 32 * 1024) return 0;
  const std::string_view bytes = fuzz::text_of(data + 1, size - 1);
  const std::string answers = target->send_in_pieces(bytes, bytes.size());
  const std::vector<std::string> asked = target->asked;
  bool has_head = false;
  for (const std::string& each : asked) has_head = has_head || each.starts_with("HEAD ");
  check_answers(answers, has_head);
  // In at most 64 pieces: each takes a turn of the loop.
  const std::size_t piece = std::max<std::size_t>(1 + data[0] % 64, bytes.size() / 64 + 1);
  (void)target->send_in_pieces(bytes, piece);
  // What is longer than a head may be is refused sooner if it comes in pieces.
  if (bytes.size() <= kHeader && target->asked != asked) {
    for (const auto& list : {asked, target->asked}) {
      std::fprintf(stderr, "--- %zu requests\n", list.size());
      for (const std::string& each : list) std::fprintf(stderr, "%s\n---\n", each.c_str());
    }
    promise(false, "in pieces or whole, it is the same");
  }
  return 0;
}
