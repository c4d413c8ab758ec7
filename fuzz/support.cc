#include "support.h"

#include <algorithm>

#include "json/json_text.h"

namespace brig::fuzz {

std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

serve::Request request_from(std::string_view text) {
  serve::Request request;
  std::string_view line = take(text, '\n');
  request.method = take(line, ' ');
  request.path = take(line, '?');
  request.query = line;
  while (!text.empty()) {
    line = take(text, '\n');
    if (line.empty()) break;
    std::string name(take(line, ':'));
    for (char& c : name)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    if (line.starts_with(' ')) line.remove_prefix(1);
    request.headers.push_back({std::move(name), std::string(line)});
  }
  request.body = text;
  request.peer = "fuzz";
  return request;
}

void FakeExchange::respond(serve::Response response) {
  promise(!begun_, "an answer comes once");
  begun_ = answered_ = true;
  promise(response.status >= 200 && response.status < 600, "the status is HTTP's");
  if (response.type == "application/json" || response.type == "application/problem+json") {
    std::string fault;
    promise(json_from(response.body, fault).has_value(), "a JSON body is JSON", response.body);
  }
  answer = std::move(response);
}

void FakeExchange::begin(serve::Response head) {
  promise(!begun_, "an answer begins once");
  begun_ = true;
  answer = std::move(head);
}

void FakeExchange::write(std::string_view piece) {
  if (begun_ && !answered_) answer.body += piece;
}

void FakeExchange::end() {
  promise(begun_, "what ends has begun");
  answered_ = true;
}

void FakeExchange::leave() {
  if (const auto job = std::exchange(gone_, nullptr); job && !answered_) job();
  answered_ = true;
}

}  // namespace brig::fuzz
