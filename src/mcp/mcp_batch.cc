// JSON-RPC batches, which the protocol had in 2025-03-26 and dropped in the next version. A server
// of that version must accept them; it need not send any. They are accepted only in sessions of
// that version, so that no other version has two ways to send a request.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "json/json_line.h"
#include "mcp/mcp.h"

namespace brig::serve {
namespace {

// Each request of a batch counts as a call against the caller's rate, like any other. This bounds
// what one line can ask for.
constexpr std::size_t kMostInBatch = 100;
// The bytes of the answers of one batch, which are kept until the last one is there; and how many
// batches of one caller may wait for that.
constexpr std::size_t kMostAnswers = std::size_t{4} << 20, kMostBatches = 16;

// The answers of a batch, until the last has come.
class BatchAnswers {
 public:
  BatchAnswers(McpReplyPtr to, CallerPtr caller)
      : reply(std::move(to)), caller_(std::move(caller)) {
    ++caller_->holds.batches;
  }
  ~BatchAnswers() { --caller_->holds.batches; }
  BatchAnswers(const BatchAnswers&) = delete;
  BatchAnswers& operator=(const BatchAnswers&) = delete;

  void add(const Json& id, std::string_view line) {
    if (line.size() > kMostAnswers - std::min(lines_.size(), kMostAnswers)) {
      const Json fault = rpc::error(id, rpc::kInternal,
                                    "The answers of this batch are too large together. Send this "
                                    "request by itself.");
      return append(json_line(fault));
    }
    append(line);
  }
  void one_less() {
    if (--open > 0) return;
    if (lines_.empty()) return reply->close();
    reply->answer_text(nullptr, "[" + std::exchange(lines_, "") + "]");
  }

  const McpReplyPtr reply;
  // Requests without an answer, and the reading of the batch.
  std::size_t open = 1;

 private:
  void append(std::string_view line) {
    if (!lines_.empty()) lines_ += ',';
    lines_ += line;
  }

  const CallerPtr caller_;
  std::string lines_;
};

class BatchPart final : public McpReply {
 public:
  explicit BatchPart(std::shared_ptr<BatchAnswers> batch) : batch_(std::move(batch)) {}
  void notify(const Json& message) override { batch_->reply->notify(message); }
  bool can_notify() const override { return batch_->reply->can_notify(); }
  void answer_text(const Json& id, std::string line, unsigned) override {
    if (std::exchange(over_, true)) return;
    batch_->add(id, line);
    batch_->one_less();
  }
  void close() override {
    if (!std::exchange(over_, true)) batch_->one_less();
  }

 private:
  const std::shared_ptr<BatchAnswers> batch_;
  bool over_ = false;
};

}  // namespace

std::optional<Json> batch_fault(const Json& messages, const McpSession* session) {
  if (!session || session->version != kWithBatches) return shape_fault(messages);
  if (messages.empty()) return rpc::error(nullptr, rpc::kInvalidRequest, "The batch is empty.");
  if (messages.size() > kMostInBatch)
    return rpc::error(
        nullptr, rpc::kInvalidRequest,
        fmt::format("The batch has {} messages; send at most {}.", messages.size(), kMostInBatch));
  if (session->caller->holds.batches >= kMostBatches)
    return rpc::error(nullptr, rpc::kInvalidRequest,
                      "Too many batches wait for their answers. Send the requests one by one.");
  return {};
}

bool Mcp::batch(Json messages, const McpOrigin& origin, const McpReplyPtr& reply) {
  const auto batch = std::make_shared<BatchAnswers>(reply, origin.caller);
  const auto add = [&](const Json& fault) {
    batch->add(fault.value("id", Json()), json_line(fault));
  };
  bool asks = false;
  for (Json& message : messages) {
    if (auto wrong = shape_fault(message)) {
      asks = true;
      add(*wrong);
      continue;
    }
    // An answer, to nothing that was asked.
    if (!message.contains("method")) continue;
    if (!message.contains("id")) {
      notification(message, origin);
      continue;
    }
    asks = true;
    if (message["method"] == "initialize") {
      add(rpc::error(message["id"], rpc::kInvalidRequest,
                     "Send initialize by itself, not in a batch."));
      continue;
    }
    ++batch->open;
    const McpEra era = era_of(message);
    request(std::move(message), era, origin, std::make_shared<BatchPart>(batch));
  }
  if (asks) batch->one_less();
  return asks;
}

}  // namespace brig::serve
