#include "http/http_exchange.h"

#include <fmt/format.h>

#include <algorithm>

namespace brig::serve {
namespace {

// A value that could end its line would begin another header.
std::string_view one_line(std::string_view value) {
  return value.substr(0,
                      std::min(value.find_first_of(std::string_view("\r\n\0", 3)), value.size()));
}

}  // namespace

std::string HttpExchange::head_of(const Response& response,
                                  std::optional<std::size_t> length) const {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_of(response.status));
  if (!response.type.empty() && response.status != 204 && response.status != 304)
    head += fmt::format("Content-Type: {}\r\n", one_line(response.type));
  for (const auto* list : {&response.headers, &headers})
    for (const Header& each : *list)
      head += fmt::format("{}: {}\r\n", each.name, one_line(each.value));
  head += fmt::format("Date: {}\r\n", http_date());
  head += "X-Content-Type-Options: nosniff\r\n";
  if (length && response.status != 204 && response.status != 304)
    head += fmt::format("Content-Length: {}\r\n", *length);
  else if (!length && !old)
    head += "Transfer-Encoding: chunked\r\n";
  if (!keep_alive)
    head += "Connection: close\r\n";
  else if (old)
    head += "Connection: keep-alive\r\n";
  return head + "\r\n";
}

void HttpExchange::respond(Response response) {
  if (begun_) return;
  begun_ = answered_ = true;
  const auto let_go = std::exchange(gone_, nullptr);
  const auto connection = connection_.lock();
  if (!connection) return;
  connection->answers({&request, caller.get(), response.status, response.problem, response.noted});
  std::string text = head_of(response, response.body.size());
  if (head_only || response.status == 204) response.body.clear();
  if (response.body.size() < 16 * 1024) {
    connection->send(text + response.body);
  } else {
    connection->send(std::move(text));
    connection->send(std::move(response.body));
  }
  room = Share();
  own_room = Share();
  connection->answered();
}

void HttpExchange::begin(Response head) {
  if (begun_) return;
  begun_ = true;
  // Only the end of the connection tells the end of the answer.
  if (old) keep_alive = false;
  const auto connection = connection_.lock();
  if (!connection) return;
  connection->answers({&request, caller.get(), head.status, head.problem, head.noted});
  connection->send(head_of(head, {}));
  if (head_only) {
    answered_ = true;
    connection->answered();
  }
}

void HttpExchange::write(std::string_view piece) {
  if (!begun_ || answered_ || piece.empty() || head_only) return;
  const auto connection = connection_.lock();
  if (!connection) return;
  if (connection->unsent() > unsent_limit_) return connection->drop();
  connection->send(old ? std::string(piece) : fmt::format("{:x}\r\n{}\r\n", piece.size(), piece));
}

void HttpExchange::end() {
  if (!begun_ || answered_) return;
  answered_ = true;
  const auto let_go = std::exchange(gone_, nullptr);
  room = Share();
  own_room = Share();
  const auto connection = connection_.lock();
  if (!connection) return;
  if (!old && !head_only) connection->send("0\r\n\r\n");
  connection->answered();
}

}  // namespace brig::serve
