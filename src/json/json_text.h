// JSON text: the one place where brig reads and writes it. Fast for long strings, over 1 GB/s,
// where nlohmann's own code does 100 MB/s.
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

// How much memory the values of a text may take beside the bytes of their strings: this, plus twice
// the size of the text. `{},` is 3 bytes of text and 128 bytes of memory, so a limit of the text's
// size alone would bound nothing.
inline constexpr std::size_t kJsonAllowance = 64 << 20;

// The value that Json::parse gives. Returns nothing, and says why in `fault`, for text that is not
// JSON, is nested deeper than kMaxJsonDepth or needs more memory than the allowance. It differs
// from nlohmann in two points: there a NUL byte ends the text, and of two members with the same
// name the last one counts; here both are faults. With a filler the text may be an outline (see
// JsonPieces), whose gaps the filler fills in their order.
using GapFiller =
    // Appends `size` bytes to `text`. False if there are none.
    std::function<bool(std::string& text, std::size_t size)>;
std::optional<Json> json_from(std::string_view text, std::string& fault,
                              const GapFiller& filler = {});
// The same for a text that the caller gives away: one long string becomes the value without a copy.
std::optional<Json> json_taken_from(std::string text, std::string& fault);
// Whether the fault is that the text holds too many values.
bool is_too_many(const std::string& fault);
// The sentence for a fault. For text that is not JSON: `not_json` ("the body is not JSON: ") and
// the fault. For JSON beyond a limit: what the limit is.
std::string json_refusal(std::string_view not_json, const std::string& fault);

// The text that value.dump() gives. Returns nothing for a value without a JSON text, and says in
// `fault` what it holds ("text that is not UTF-8"): invalid UTF-8, NaN, infinity, binary values, or
// deeper nesting than json_from accepts.
std::optional<std::string> json_text(const Json& value, std::string& fault);

// The same text in pieces, for code that writes it somewhere. Long strings stay where the value has
// them, because touching fresh memory costs more than everything else. Valid as long as the value.
class JsonPieces {
 public:
  [[nodiscard]] std::vector<std::string_view> list() const;
  [[nodiscard]] std::size_t size() const;
  // The text with gaps in place of the long runs, and those runs.
  [[nodiscard]] std::string outline() const;
  [[nodiscard]] std::vector<std::string_view> runs() const;

 private:
  friend std::optional<JsonPieces> json_pieces(const Json& value, std::string& fault);
  struct Run {
    // How much of text_ stands before the run.
    std::size_t at;
    std::string_view bytes;
  };
  std::string text_;
  std::vector<Run> runs_;
};
std::optional<JsonPieces> json_pieces(const Json& value, std::string& fault);

}  // namespace brig
