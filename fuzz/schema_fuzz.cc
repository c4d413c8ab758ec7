// A schema, in the first line, and a value, in the rest.
#include "json/schema.h"

#include "json/json_text.h"
#include "support.h"

using namespace brig;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = fuzz::text_of(data, size);
  std::string fault;
  const auto document = json_from(fuzz::take(text, '\n'), fault);
  const auto value = json_from(text, fault);
  if (!document) return 0;
  try {
    const Schema schema(*document);
    if (!value) return 0;
    const auto faults = schema.check(*value);
    fuzz::promise(faults.size() <= Schema::kMaxFaults, "not more faults than anyone reads");
    fuzz::promise(schema.check(*value) == faults, "the same value has the same faults");
    Json coerced = *value;
    schema.coerce(coerced);
    Json again = coerced;
    schema.coerce(again);
    fuzz::promise(fuzz::same(again, coerced), "what was coerced stays");
    if (faults.empty())
      fuzz::promise(schema.check(coerced).empty(), "what was valid is so when coerced");
  } catch (const Error& error) {
    fuzz::promise(error.kind() == ErrorKind::config, "a bad schema is a matter of configuration",
                  error.what());
  }
  return 0;
}
