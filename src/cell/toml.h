// toml++ with the settings that brig needs: the one way to include it.
#pragma once

// toml++ 3.3 asserts that a key follows "[", before the code that reports that none does: "[="
// would abort a debug build, and clang's release build assumes it away. No assertions, then; and
// NDEBUG, which makes them assumptions, is out of its sight.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expr) static_assert(true)
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
