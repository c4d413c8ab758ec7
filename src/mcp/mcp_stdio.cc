#include "mcp/mcp_stdio.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "json/json_line.h"
#include "json/json_text.h"

namespace brig::serve {
namespace {

constexpr std::size_t kLongestLine = std::size_t{64} << 20, kMostUnsent = std::size_t{256} << 20;

int non_blocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags >= 0) fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  return flags;
}

}  // namespace

class McpStdio::Reply final : public McpReply {
 public:
  explicit Reply(McpStdio& stdio) : stdio_(stdio) {}
  void notify(const Json& message) override {
    if (!over_ && stdio_.unsent_.size() <= kMostUntaken) stdio_.write(message);
  }
  void answer_text(const Json&, std::string line, unsigned) override {
    if (!std::exchange(over_, true)) stdio_.write_line(line);
  }
  void close() override { over_ = true; }

 private:
  McpStdio& stdio_;
  bool over_ = false;
};

McpStdio::McpStdio(Mcp& mcp, CallerPtr caller, int in, int out, std::function<void()> on_end)
    : mcp_(mcp),
      in_(in),
      out_(out),
      in_flags_(non_blocking(in)),
      out_flags_(non_blocking(out)),
      on_end_(std::move(on_end)) {
  origin_.caller = std::move(caller);
  origin_.peer = "stdio";
  origin_.session = std::make_shared<McpSession>();
  origin_.session->caller = origin_.caller;
  // Only after a handshake: in the stateless era the server sends nothing that a client has not
  // asked for.
  tools_ = mcp_.service().on_tools_changed([this] {
    if (origin_.session->ready)
      write(rpc::notification("notifications/tools/list_changed", Json::object()));
  });
  // A file is always readable, and epoll does not accept files.
  try {
    readable_ = mcp_.loop().when_readable(in_, [this] { read(); });
  } catch (const std::exception&) {
    readable_ = mcp_.loop().every(std::chrono::milliseconds(1), [this] { read(); });
  }
}

McpStdio::~McpStdio() {
  // Another process, such as a shell, may use the same descriptions.
  if (in_flags_ >= 0) fcntl(in_, F_SETFL, in_flags_);
  if (out_flags_ >= 0) fcntl(out_, F_SETFL, out_flags_);
}

void McpStdio::end() {
  readable_.reset();
  if (auto job = std::exchange(on_end_, nullptr)) mcp_.loop().post(std::move(job));
}

void McpStdio::read() {
  char chunk[65536];
  const ssize_t size = ::read(in_, chunk, sizeof chunk);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) {
    if (!line_.empty()) take(std::exchange(line_, ""));
    return end();
  }
  std::string_view rest(chunk, static_cast<std::size_t>(size));
  while (!rest.empty()) {
    const std::size_t newline = rest.find('\n');
    if (!too_long_) line_.append(rest.substr(0, newline));
    if (line_.size() > kLongestLine) {
      too_long_ = true;
      line_.clear();
      line_.shrink_to_fit();
    }
    if (newline == std::string::npos) return;
    rest.remove_prefix(newline + 1);
    if (std::exchange(too_long_, false))
      write(rpc::error(nullptr, rpc::kInvalidRequest, "a message is longer than 64 MiB"));
    else
      take(std::exchange(line_, ""));
  }
}

void McpStdio::take(std::string line) {
  if (line.ends_with('\r')) line.pop_back();
  if (line.empty()) return;
  std::string fault;
  auto message = json_taken_from(std::move(line), fault);
  if (!message) return write(rpc::error(nullptr, rpc::kParse, json_refusal("not JSON: ", fault)));
  if (message->is_array()) {
    if (const auto wrong = batch_fault(*message, origin_.session.get())) return write(*wrong);
    mcp_.batch(std::move(*message), origin_, std::make_shared<Reply>(*this));
    return;
  }
  if (const auto wrong = shape_fault(*message)) return write(*wrong);
  // An answer, though the server asked nothing.
  if (!message->contains("method")) return;
  if (!message->contains("id")) return mcp_.notification(*message, origin_);
  const McpEra era = era_of(*message);
  mcp_.request(std::move(*message), era, origin_, std::make_shared<Reply>(*this));
}

void McpStdio::write(const Json& message) { write_line(json_line(message)); }

void McpStdio::write_line(const std::string& line) {
  unsent_ += line;
  unsent_ += '\n';
  // The client does not read.
  if (unsent_.size() > kMostUnsent) return end();
  flush();
}

void McpStdio::flush() {
  std::size_t done = 0;
  while (done < unsent_.size()) {
    const ssize_t size = ::write(out_, unsent_.data() + done, unsent_.size() - done);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno != EAGAIN) return end();
    if (size < 0) break;
    done += static_cast<std::size_t>(size);
  }
  unsent_.erase(0, done);
  retry_.reset();
  if (!unsent_.empty())
    retry_ = mcp_.loop().after(std::chrono::milliseconds(5), [this] { flush(); });
}

}  // namespace brig::serve
