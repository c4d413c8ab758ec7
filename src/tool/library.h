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

// The absolute path of a library that is there. Throws Error(config).
std::string library_path(const std::string& path);

std::shared_ptr<const Payload> library_payload(const std::string& path);

// The tools that a zygote says it has loaded, each made from `any`. The list comes from inside a jail: all of
// it is checked. Throws Error(config).
std::vector<Tool> tools_of(const Answer& catalog, const Tool& any, const std::string& title);

}  // namespace brig
