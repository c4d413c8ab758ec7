// The manifest of the current directory, for calls that name none.
#pragma once

#include <brig/manifest.h>

namespace brig {

inline constexpr const char* kManifestName = "brig.toml";
// How a user would name it.
inline constexpr const char* kNamingIt = "--manifest ./brig.toml";

// Nobody named the file, so nobody consented to its owner. Throws Error(permission) unless it and
// its directory belong to the user or to root, and nobody else can write to them. Otherwise as
// manifest_from_toml_file().
Manifest manifest_found_here();

}  // namespace brig
