// JSON-RPC batches, which the protocol had in 2025-03-26 and took back in the next version. A server of that version must take
// them; it need not send any. They are taken in sessions of that version alone, so that no other has a second way to say a thing.
#include <fmt/format.h>

#include "base/text.h"
#include "serve/mcp.h"

namespace brig::serve {
namespace {

// Each request of a batch is a call like any other, and counts as one against a caller's rate; this bounds what one line can ask.
constexpr std::size_t kMostInBatch = 100;

// The answers of a batch, until the last has come.
struct BatchAnswers {
  McpReplyPtr reply;
  Json answers = Json::array();
  std::size_t open = 1;  // requests without an answer, and the reading of the batch

  void one_less() {
    if (--open > 0) return;
    if (answers.empty()) return reply->close();
    reply->answer(answers);
  }
};

class BatchPart final : public McpReply {
 public:
  explicit BatchPart(std::shared_ptr<BatchAnswers> batch) : batch_(std::move(batch)) {}
  void notify(const Json& message) override { batch_->reply->notify(message); }
  bool can_notify() const override { return batch_->reply->can_notify(); }
  void answer(const Json& message, unsigned) override {
    if (std::exchange(over_, true)) return;
    batch_->answers.push_back(message);
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
  return {};
}

bool Mcp::batch(Json messages, const McpOrigin& origin, const McpReplyPtr& reply) {
  const auto batch = std::make_shared<BatchAnswers>();
  batch->reply = reply;
  bool asks = false;
  for (Json& message : messages) {
    if (auto wrong = shape_fault(message)) {
      asks = true;
      batch->answers.push_back(std::move(*wrong));
      continue;
    }
    if (!message.contains("method")) continue;  // an answer, to nothing that was asked
    if (!message.contains("id")) {
      notification(message, origin);
      continue;
    }
    asks = true;
    if (message["method"] == "initialize") {
      batch->answers.push_back(rpc::error(message["id"], rpc::kInvalidRequest,
                                          "Send initialize by itself, not in a batch."));
      continue;
    }
    ++batch->open;
    request(std::move(message), origin, std::make_shared<BatchPart>(batch));
  }
  if (asks) batch->one_less();
  return asks;
}

}  // namespace brig::serve
