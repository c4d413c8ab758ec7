#include <algorithm>

#include "egress/http_head.h"

namespace brig::egress {
namespace {

constexpr unsigned kMaxDigits = 16, kMaxExtension = 256;

// Nullopt: no hexadecimal digit.
std::optional<unsigned> hex_value(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
  return std::nullopt;
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f';
}

}  // namespace

std::size_t ChunkedEnd::feed(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size() && !done() && !bad()) {
    if (state_ == State::data) {
      const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size() - at));
      at += now;
      left_ -= now;
      if (left_ == 0) state_ = State::data_cr;
      continue;
    }
    state_ = after(bytes[at]);
    if (!bad()) ++at;
  }
  return at;
}

ChunkedEnd::State ChunkedEnd::after(char c) {
  switch (state_) {
    case State::size:
      if (const auto digit = hex_value(c)) {
        left_ = left_ << 4 | *digit;
        return ++digits_ > kMaxDigits ? State::bad : State::size;
      }
      if (digits_ == 0) return State::bad;
      if (c == ';') return State::extension;
      return c == '\r' ? State::size_lf : State::bad;
    case State::extension:
      if (c == '\r') return State::size_lf;
      return is_control(c) || ++extension_ > kMaxExtension ? State::bad : State::extension;
    case State::size_lf:
      digits_ = extension_ = 0;
      if (c != '\n') return State::bad;
      return left_ == 0 ? State::last_cr : State::data;
    case State::data_cr: return c == '\r' ? State::data_lf : State::bad;
    case State::data_lf: return c == '\n' ? State::size : State::bad;
    case State::last_cr: return c == '\r' ? State::last_lf : State::bad;
    case State::last_lf: return c == '\n' ? State::done : State::bad;
    case State::data:
    case State::done:
    case State::bad: break;
  }
  return State::bad;
}

}  // namespace brig::egress
