// Reads a value from JSON text.
#include <fmt/format.h>
#include <malloc.h>

#include <charconv>
#include <cstdint>

#include "base/text.h"
#include "base/utf8.h"
#include "json/json_plain.h"
#include "json/json_text.h"

namespace brig {
namespace {

constexpr std::string_view kTooMany = "it holds too many values";

std::string too_many_text() {
  return fmt::format(
      "{}: they would take more memory than {} and twice the size of the text; send fewer, or many "
      "of them as one string",
      kTooMany, format_size(kJsonAllowance));
}

// What a value takes beside the bytes of its strings, at the worst moment of reading or destroying
// it: a vector that grows has its elements twice, and nlohmann moves them all into another vector
// to destroy them.
constexpr std::size_t kElementCost = 48, kMemberCost = 128, kObjectCost = 80, kArrayCost = 32,
                      kStringCost = 64;

// Memory of small values does not go back to the kernel by itself.
void give_back(std::size_t text_size) {
  constexpr std::size_t kWorthIt = 1 << 20;
#ifdef __GLIBC__
  if (text_size >= kWorthIt) malloc_trim(0);
#endif
}

// Says whether the text is JSON, but not why it is not: that is rare, and nlohmann words it well.
class Reader {
 public:
  Reader(std::string_view text, const GapFiller& filler)
      : at_(text.data()),
        end_(text.data() + text.size()),
        filler_(filler),
        left_(kJsonAllowance + 2 * text.size()) {
    if (text.starts_with("\xEF\xBB\xBF")) at_ += 3;
  }

  bool document(Json& result) {
    if (!value(result, 0)) return false;
    skip_space();
    return at_ == end_;
  }
  bool too_deep() const { return too_deep_; }
  // Returns the name that an object has twice: readers differ in which of the two members they
  // take.
  const std::optional<std::string>& repeated() const { return repeated_; }
  bool too_many() const { return too_many_; }
  // Returns where the reader stopped.
  const char* at() const { return at_; }

 private:
  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  bool skip(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool skip(std::string_view word) {
    if (!std::string_view(at_, end_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  // Returns false if there is no room for that much more.
  bool charge(std::size_t cost) {
    if (cost > left_) return !(too_many_ = true);
    left_ -= cost;
    return true;
  }

  bool value(Json& result, unsigned depth) {
    skip_space();
    if (at_ == end_) return false;
    switch (*at_) {
      case '{': return object(result, depth + 1);
      case '[': return array(result, depth + 1);
      case '"':
        ++at_;
        if (!charge(kStringCost)) return false;
        result = Json::value_t::string;
        return string(result.get_ref<std::string&>());
      case 't': result = true; return skip("true");
      case 'f': result = false; return skip("false");
      case 'n': result = nullptr; return skip("null");
      default: return number(result);
    }
  }

  bool object(Json& result, unsigned depth) {
    if (depth > kMaxJsonDepth) return !(too_deep_ = true);
    if (!charge(kObjectCost)) return false;
    ++at_;
    result = Json::value_t::object;
    auto& members = result.get_ref<Json::object_t&>();
    skip_space();
    if (skip('}')) return true;
    do {
      std::string key;
      skip_space();
      if (!skip('"') || !string(key) || !charge(kMemberCost)) return false;
      skip_space();
      const auto [member, is_new] = members.try_emplace(std::move(key));
      if (!is_new) {
        repeated_ = member->first;
        return false;
      }
      if (!skip(':') || !value(member->second, depth)) return false;
      skip_space();
    } while (skip(','));
    return skip('}');
  }

  bool array(Json& result, unsigned depth) {
    if (depth > kMaxJsonDepth) return !(too_deep_ = true);
    if (!charge(kArrayCost)) return false;
    ++at_;
    result = Json::value_t::array;
    auto& items = result.get_ref<Json::array_t&>();
    skip_space();
    if (skip(']')) return true;
    do {
      if (!charge(kElementCost) || !value(items.emplace_back(), depth)) return false;
      skip_space();
    } while (skip(','));
    return skip(']');
  }

  // Reads what follows the opening quote.
  bool string(std::string& result) {
    for (;;) {
      const char* const run = at_;
      at_ = plain_end(at_, end_);
      result.append(run, static_cast<std::size_t>(at_ - run));
      if (skip('"')) return true;
      if (filler_ && skip(kGap)) {
        if (!gap(result)) return false;
      } else if (!skip('\\') || !escape(result)) {
        return false;
      }
    }
  }

  bool gap(std::string& result) {
    std::size_t size = 0;
    const auto [after, error] = std::from_chars(at_, end_, size);
    at_ = after;
    return error == std::errc() && skip(kGap) && filler_(result, size);
  }

  bool escape(std::string& result) {
    if (at_ == end_) return false;
    switch (*at_++) {
      case '"': result += '"'; return true;
      case '\\': result += '\\'; return true;
      case '/': result += '/'; return true;
      case 'b': result += '\b'; return true;
      case 'f': result += '\f'; return true;
      case 'n': result += '\n'; return true;
      case 'r': result += '\r'; return true;
      case 't': result += '\t'; return true;
      case 'u': return code_point(result);
      default: return false;
    }
  }

  bool code_point(std::string& result) {
    std::uint32_t code = 0;
    if (!hex(code)) return false;
    if (code >= 0xDC00 && code < 0xE000) return false;
    if (code >= 0xD800 && code < 0xDC00) {
      std::uint32_t low = 0;
      if (!skip("\\u") || !hex(low) || low < 0xDC00 || low >= 0xE000) return false;
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    const auto put = [&](std::uint32_t byte) { result += static_cast<char>(byte); };
    const auto rest = [&](unsigned shift) { put(0x80 | (code >> shift & 0x3F)); };
    if (code < 0x80) {
      put(code);
    } else if (code < 0x800) {
      put(0xC0 | code >> 6);
      rest(0);
    } else if (code < 0x10000) {
      put(0xE0 | code >> 12);
      rest(6);
      rest(0);
    } else {
      put(0xF0 | code >> 18);
      rest(12);
      rest(6);
      rest(0);
    }
    return true;
  }

  bool hex(std::uint32_t& code) {
    if (end_ - at_ < 4) return false;
    // from_chars accepts no sign and no "0x" here.
    const auto read = std::from_chars(at_, at_ + 4, code, 16);
    if (read.ec != std::errc() || read.ptr != at_ + 4) return false;
    at_ += 4;
    return true;
  }

  bool digits() {
    const char* const begin = at_;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return at_ != begin;
  }

  bool number(Json& result) {
    const char* const begin = at_;
    const bool negative = skip('-');
    bool whole = true;
    if (!skip('0') && !digits()) return false;
    if (skip('.')) {
      whole = false;
      if (!digits()) return false;
    }
    if (skip('e') || skip('E')) {
      whole = false;
      (void)(skip('+') || skip('-'));
      if (!digits()) return false;
    }
    // An integer that is too large for its type becomes a double.
    return (whole && (negative ? exact<std::int64_t>(begin, result)
                               : exact<std::uint64_t>(begin, result))) ||
           exact<double>(begin, result) || rounded(begin, result);
  }

  template <typename T>
  bool exact(const char* begin, Json& result) const {
    T read;
    if (std::from_chars(begin, at_, read).ec != std::errc()) return false;
    result = read;
    return true;
  }

  // from_chars does not distinguish a number that is too small, and so zero or nearly zero, from
  // one that is too large.
  bool rounded(const char* begin, Json& result) const {
    result = Json::parse(begin, at_, nullptr, false);
    return !result.is_discarded();
  }

  const char* at_;
  const char* const end_;
  const GapFiller& filler_;
  std::size_t left_;
  bool too_deep_ = false, too_many_ = false;
  std::optional<std::string> repeated_;
};

// Keeps nothing of a text except what is wrong with it: the values would take memory a second time.
class FaultFinder final : public nlohmann::json_sax<Json> {
 public:
  std::string fault;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const Json::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    const std::string_view what = error.what();
    const std::size_t id = what.find("] ");
    fault = id == std::string_view::npos ? what : what.substr(id + 2);
    return false;
  }
};

// nlohmann shows what it read last, and repeats it several times while it words the fault. For a
// long text, only the position is reported.
std::string why_not(std::string_view text, const char* at) {
  constexpr std::size_t kShort = 16 * 1024, kLongestFault = 400;
  if (text.size() > kShort)
    return fmt::format("syntax error after byte {} of {}", at - text.data(), text.size());
  FaultFinder finder;
  if (Json::sax_parse(text, &finder)) return "there is a NUL byte after its end";
  if (finder.fault.size() > kLongestFault) {
    finder.fault.resize(kLongestFault);
    finder.fault.resize(kLongestFault - utf8_cut_at_end(finder.fault));
    finder.fault += "...";
  }
  return finder.fault.empty() ? "it is not JSON" : finder.fault;
}

}  // namespace

std::optional<Json> json_from(std::string_view text, std::string& fault, const GapFiller& filler) {
  std::optional<Json> result(std::in_place);
  Reader reader(text, filler);
  if (reader.document(*result)) return result;
  result.reset();
  give_back(text.size());
  if (reader.too_many())
    fault = too_many_text();
  else if (reader.too_deep())
    fault = too_deep_text();
  else if (reader.repeated())
    fault = fmt::format("an object has {} twice", in_quotes(*reader.repeated()));
  else
    fault = why_not(text, reader.at());
  return std::nullopt;
}

bool is_too_many(const std::string& fault) { return fault.starts_with(kTooMany); }

std::string json_refusal(std::string_view not_json, const std::string& fault) {
  const bool limit = is_too_many(fault) || fault.starts_with(kTooDeep);
  return fmt::format("{}{}", limit ? "the JSON text is refused: " : not_json, fault);
}

std::optional<Json> json_taken_from(std::string text, std::string& fault) {
  if (text.size() < 2 || text.front() != '"') return json_from(text, fault);
  const char* const last = text.data() + text.size() - 1;
  if (*last != '"' || plain_end(text.data() + 1, last) != last) return json_from(text, fault);
  text.pop_back();
  text.erase(0, 1);
  return Json(std::move(text));
}

}  // namespace brig
