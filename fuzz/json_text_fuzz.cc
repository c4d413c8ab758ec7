// JSON text: what json_from takes is what nlohmann takes, and it comes out as it went in.
#include "json/json_text.h"

#include "support.h"

using namespace brig;
using fuzz::promise;

namespace {

void write_and_read(const Json& value) {
  std::string fault;
  const auto text = json_text(value, fault);
  promise(text.has_value(), "what was read can be written", fault);
  promise(*text == value.dump(), "as dump() writes it", *text);
  const auto again = json_from(*text, fault);
  promise(again && *again == value, "and read again", *text);  // -0 comes back as 0u
  const auto pieces = json_pieces(value, fault);
  promise(pieces.has_value(), "or in pieces");
  std::string joined;
  for (const std::string_view piece : pieces->list()) joined += piece;
  promise(joined == *text && pieces->size() == text->size(), "which make the text", joined);
  const auto runs = pieces->runs();
  std::size_t next = 0;
  const auto filled = json_from(pieces->outline(), fault, [&](std::string& to, std::size_t size) {
    promise(next < runs.size() && runs[next].size() == size, "an outline's gaps are its runs");
    to += runs[next++];
    return true;
  });
  promise(filled && next == runs.size() && *filled == value, "as the outline does");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  std::string fault;
  const auto value = json_from(text, fault);
  promise(value.has_value() == fault.empty(), "a fault is told, and nothing else", fault);
  const auto expected = Json::parse(text, nullptr, false);
  if (value) {
    promise(!expected.is_discarded() && fuzz::same(*value, expected), "nlohmann reads the same");
    write_and_read(*value);
  } else if (!expected.is_discarded() && text.find('\0') == text.npos) {
    promise(fault.find("deep") != fault.npos || fault.ends_with(" twice"),
            "nothing that is JSON is refused but for its depth, or a name that is there twice",
            fault);
  }
  const auto taken = json_taken_from(std::string(text), fault);
  promise(taken.has_value() == value.has_value() && (!taken || fuzz::same(*taken, *value)),
          "taken or not, it is the same");

  // An outline from a cell that is not to be trusted: it may ask for anything to be filled in.
  std::size_t left = 1 << 16;
  const auto filled = json_from(text, fault, [&](std::string& to, std::size_t wanted) {
    if (wanted > left) return false;
    left -= wanted;
    to.append(wanted, 'x');
    return true;
  });
  if (value) promise(filled && fuzz::same(*filled, *value), "a text without gaps needs no filling");
  return 0;
}
