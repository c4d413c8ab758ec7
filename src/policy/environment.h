// The environment of a cell, built from nothing.
#pragma once

#include <brig/policy.h>

#include <map>
#include <string>

namespace brig {

// The safe list (PATH HOME USER LANG TERM SHELL LC_ALL LC_CTYPE TMPDIR TZ) out of `host_environ`,
// then the names of `passthrough` that are set there, then `set`, which wins, without those of `unset`. Variables of loaders
// and interpreters (LD_PRELOAD, PYTHONPATH, BASH_ENV ...) come only because the policy names them.
// Names are exact: no globs, no prefixes. An entry of the host without '=' or without a name is
// skipped; of two with one name the first counts, as for getenv(3). `host_environ` ends with a null
// pointer, may itself be null, and is read during the call only: nobody may call setenv meanwhile.
// It does not check the policy: validate() does.
std::map<std::string, std::string> cell_environment(const Environment& environment,
                                                    const char* const* host_environ);

}  // namespace brig
