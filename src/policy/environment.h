// The environment of a cell, built from nothing.
#pragma once

#include <brig/policy.h>

#include <map>
#include <string>

namespace brig {

// Takes the safe list (PATH HOME USER LANG TERM SHELL LC_ALL LC_CTYPE TMPDIR TZ) from
// `host_environ`, adds the names of `passthrough` that are set there, then `set`, whose values win,
// and removes the names of `unset`. Variables of loaders and interpreters (LD_PRELOAD, PYTHONPATH,
// BASH_ENV ...) get in only if the policy names them. Names are exact: no globs and no prefixes. It
// skips entries of the host without '=' or without a name; of two entries with one name the first
// counts, as for getenv(3). `host_environ` ends with a null pointer and may itself be null. It is
// read during the call only, and no thread may call setenv meanwhile. The policy is not checked
// here; validate() does that.
std::map<std::string, std::string> cell_environment(const Environment& environment,
                                                    const char* const* host_environ);

}  // namespace brig
