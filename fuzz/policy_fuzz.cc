// A policy file.
#include <brig/error.h>
#include <brig/policy.h>

#include "base/text.h"
#include "support.h"

using namespace brig;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    validate(policy_from_toml(fuzz::text_of(data, size), "policy.toml"));
  } catch (const Error& error) {
    fuzz::promise(error.kind() == ErrorKind::config, "a bad policy is a matter of configuration",
                  error.what());
    fuzz::promise(is_valid_utf8(error.what()), "what is wrong can be shown", error.what());
  }
  return 0;
}
