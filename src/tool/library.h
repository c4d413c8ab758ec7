// Shared libraries with tools, from the host's side.
#pragma once

#include <brig/toolbox.h>

#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "cell/answer.h"
#include "cell/plan_builder.h"

namespace brig {

// The program that loads a library, ready to be executed.
std::shared_ptr<UniqueFd> loader_image();

// A library as it was when it was judged.
struct LoadedLibrary {
  std::string key;  // what tells it from others, and from the same file at another time
  std::shared_ptr<const Payload> payload;
};

// The absolute path of a library that is there. Throws Error(config).
std::string library_path(const std::string& path);

// Its bytes are held: a zygote that runs never sees the file change, and one that is started anew loads the
// same. (Not those of a library above 256 MiB: that one is mounted.) Throws Error.
LoadedLibrary load_library(const std::string& path);

// The tools that a zygote says it has loaded, each made from `any`, and the files that it has loaded them from,
// as far as it tells. The list comes from inside a jail: all of it is checked. Throws Error(config).
std::vector<Tool> tools_of(const Answer& catalog, const Tool& any, const std::string& title);
std::vector<std::string> files_of(const Answer& catalog);

}  // namespace brig
