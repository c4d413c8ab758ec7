// Shared libraries with tools, on the host's side.
#pragma once

#include <brig/toolbox.h>

#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "cell/answer.h"
#include "cell/plan_builder.h"

namespace brig {

// The program that loads a library, ready for an exec.
std::shared_ptr<UniqueFd> loader_image();

// A library as it was when brig judged it.
struct LoadedLibrary {
  // Differs from the key of every other library, and from that of the same file at another time.
  std::string key;
  std::shared_ptr<const Payload> payload;
};

// The absolute path of a library. Throws Error(config) if the file does not exist.
std::string library_path(const std::string& path);

// Loads the bytes of a library and keeps them: a running zygote never sees the file change, and a
// new one loads the same. (A library above 256 MiB is mounted instead.) Throws Error.
LoadedLibrary load_library(const std::string& path);

// The tools that a zygote says it has loaded, each made from `any`, and the files that it has
// loaded them from, as far as it says. The list comes from inside a jail, so all of it is checked.
// Throws Error(config).
std::vector<Tool> tools_of(const Answer& catalog, const Tool& any, const std::string& title);
std::vector<std::string> files_of(const Answer& catalog);

}  // namespace brig
