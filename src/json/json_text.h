// JSON text: the one place where a Json is read from it and written to it. Fast for what is long, which
// is strings: over 1 GB/s, where nlohmann's own takes 100 MB/s.
#pragma once

#include <brig/json.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace brig {

inline constexpr unsigned kMaxJsonDepth = 128;

// What the values of a text may take in memory, beside the bytes of their strings: this, and twice the
// size of the text. `{},` is 3 bytes of text and 128 of memory, so a limit of bytes alone bounds nothing.
inline constexpr std::size_t kJsonAllowance = 64 << 20;

// The value that Json::parse gives. Nothing, and why not in `fault`, for what is not JSON, is nested
// deeper than kMaxJsonDepth or holds more values than the allowance. Two differences: to nlohmann a NUL
// byte ends the text and the last of two members of one name counts; here both are faults.
// With a filler the text may be an outline (see JsonPieces), whose gaps it fills in their order.
using GapFiller =
    std::function<bool(std::string& text, std::size_t size)>;  // appends that many bytes
std::optional<Json> json_from(std::string_view text, std::string& fault,
                              const GapFiller& filler = {});
// The same, for a text that is not needed any more: one long string becomes the value where it is.
std::optional<Json> json_taken_from(std::string text, std::string& fault);
// Whether such a fault is that there are too many values.
bool is_too_many(const std::string& fault);
// The sentence for a fault: `not_json` ("the body is not JSON: ") and the fault, or, of a text that is
// JSON beyond a limit, what the limit is.
std::string json_refusal(std::string_view not_json, const std::string& fault);

// The text that value.dump() gives. Nothing, and what it holds in `fault` ("text that is not UTF-8"),
// for what has no JSON text: invalid UTF-8, NaN and infinity, binary values; nor what json_from would
// refuse for its depth.
std::optional<std::string> json_text(const Json& value, std::string& fault);

// The same text in pieces, for who writes it somewhere: what is long in strings stays where the value has
// it, as memory that nobody touched before costs more than all the rest. Valid as long as the value.
class JsonPieces {
 public:
  [[nodiscard]] std::vector<std::string_view> list() const;
  [[nodiscard]] std::size_t size() const;
  // The text with gaps where the long runs were, and those runs.
  [[nodiscard]] std::string outline() const;
  [[nodiscard]] std::vector<std::string_view> runs() const;

 private:
  friend std::optional<JsonPieces> json_pieces(const Json& value, std::string& fault);
  struct Run {
    std::size_t at;  // how much of text_ stands before it
    std::string_view bytes;
  };
  std::string text_;
  std::vector<Run> runs_;
};
std::optional<JsonPieces> json_pieces(const Json& value, std::string& fault);

}  // namespace brig
