// Turns the JSON that C hands over into brig's own types. Every function throws Error(config) if
// the JSON is wrong.
#pragma once

#include <brig/c.h>
#include <brig/error.h>
#include <brig/sandbox.h>

#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>

namespace brig {

Json json_of(const char* text, std::size_t size, std::span<const brig_c_blob> blobs = {});

// `base`, changed by what `json` says, as in a manifest.
Policy policy_of(const Json& json, const Policy& base = {});

struct Config {
  Policy policy;
  SandboxOptions options;
  Toolbox tools;
};
Config config_of(const Json& json);

// A copy that C can free; null if memory is short.
char* text_for_c(std::string_view text, std::size_t* size = nullptr) noexcept;

void tell_error(char** error, const char* kind, const char* message) noexcept;

// Returns action(). If it throws, returns `otherwise` and puts the reason into `error`: no
// exception reaches C.
template <typename T, typename Action>
T guarded(T otherwise, char** error, const Action& action) noexcept {
  try {
    return action();
  } catch (const Error& failure) {
    tell_error(error, to_string(failure.kind()), failure.what());
  } catch (const std::bad_alloc&) {
    tell_error(error, "resource", "out of memory");
  } catch (const std::exception& failure) {
    tell_error(error, "internal", failure.what());
  }
  return otherwise;
}

}  // namespace brig
