// The manifest of the current directory, for those who name none.
#pragma once

#include <brig/manifest.h>

namespace brig {

inline constexpr const char* kManifestName = "brig.toml";
// What makes it one that was named.
inline constexpr const char* kNamingIt = "--manifest ./brig.toml";

// Nobody named it, so nobody consented to its owner: throws Error(permission) unless it and its directory belong
// to the user or to root, and nobody else can write them. Otherwise as manifest_from_toml_file().
Manifest manifest_found_here();

}  // namespace brig
