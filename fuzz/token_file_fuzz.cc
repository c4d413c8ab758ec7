// A token file, and an Authorization header that is looked for in it: the last line of the input.
#include <brig/error.h>

#include "http/caller.h"
#include "support.h"

using namespace brig;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const std::string authorization(text.substr(std::min(text.rfind('\n') + 1, text.size())));
  try {
    serve::Tokens tokens = serve::Tokens::from_text(text, "tokens");
    fuzz::promise(tokens.required(), "a token file asks for a token");
    fuzz::promise(!tokens.find(nullptr), "nobody gets in without one");
    const auto caller = tokens.find(&authorization);
    if (caller) {
      fuzz::promise(!caller->name.empty(), "who has a token has a name");
      (void)caller->may_call("run_command");
      const auto now = std::chrono::steady_clock::now();
      for (int i = 0; i < 3; ++i)
        if (const auto wait = caller->must_wait(now))
          fuzz::promise(wait->count() > 0, "a wait is not over when it begins");
    }
    fuzz::promise(tokens.replace_by(serve::Tokens::from_text(text, "tokens")).empty(),
                  "a reload of the same takes nobody's token");
    fuzz::promise(tokens.find(&authorization) == caller, "a reload of the same changes nothing");
  } catch (const Error& error) {
    fuzz::promise(error.kind() == ErrorKind::config, "a bad file is a matter of configuration",
                  error.what());
  }
  return 0;
}
