// brig-loader: the helper for the functions of a shared library. It is executed clean and does all
// that the helper does. Its zygote loads the library in the jail, and the cells that are forked
// from the zygote call its functions.
//
// A library exports   extern "C" void brig_register(brig::Toolbox& tools)   and need not be linked
// with brig: what it uses of brig is in this program.
#include <brig/toolbox.h>
#include <dlfcn.h>
#include <unistd.h>

#include <exception>

#include "cell/answer.h"
#include "helper/guest.h"
#include "json/json_line.h"
#include "os/threads.h"
#include "tool/function_guest.h"
#include "tool/tool_formats.h"

namespace brig {
namespace {

Functions g_loaded;

void tell(int catalog, FrameKind kind, std::string_view text) {
  text = text.substr(
      0, (kind == FrameKind::error ? kMaxErrorFrame : kMaxCatalog) - sizeof(FrameHeader));
  const FrameHeader header{kind, static_cast<std::uint32_t>(text.size())};
  std::string frame(reinterpret_cast<const char*>(&header), sizeof header);
  frame += text;
  for (std::size_t at = 0; at < frame.size();) {
    const ssize_t size =
        pwrite(catalog, frame.data() + at, frame.size() - at, static_cast<off_t>(at));
    if (size <= 0) _exit(1);
    at += static_cast<std::size_t>(size);
  }
}

[[noreturn]] void refuse(int catalog, const std::string& why) {
  tell(catalog, FrameKind::error, why);
  _exit(1);
}

// tools_of() in library.cc reads it.
Json listed(const Tool& tool) {
  Json json = tool_as_json(tool);
  json["coerce"] = tool.options.coerce;
  return json;
}

void load(const Plan& plan, int catalog) {
  void* library = dlopen(text(plan, plan.library), RTLD_NOW | RTLD_LOCAL);
  if (!library) refuse(catalog, dlerror());
  using Register = void(Toolbox&);
  auto* add_tools = reinterpret_cast<Register*>(dlsym(library, "brig_register"));
  if (!add_tools)
    refuse(catalog, "it has no function `extern \"C\" void brig_register(brig::Toolbox&)`");
  Toolbox tools;
  try {
    add_tools(tools);
  } catch (const std::exception& error) {
    refuse(catalog, std::string("brig_register threw: ") + error.what());
  } catch (...) {
    refuse(catalog, "brig_register threw");
  }
  Json list = Json::array();
  for (const auto& tool : tools.list()) {
    if (!tool->call) refuse(catalog, "tool '" + tool->name + "' is not a function");
    if (tool->options.policy)
      refuse(catalog, "tool '" + tool->name +
                          "' has a policy of its own; give it where the library is added "
                          "(add_library, [[library]])");
    list.push_back(listed(*tool));
    g_loaded.emplace(tool->name, tool);
  }
  if (count_threads() != 1)
    refuse(catalog, "it starts threads when it is loaded; a copy of such a process could hang");
  serve_functions(g_loaded);
  const std::string text = json_line(list);
  if (text.size() > kMaxCatalog - sizeof(FrameHeader)) refuse(catalog, "it has too many tools");
  tell(catalog, FrameKind::result, text);
}

// Runs before main, because the helper's main starts the janitor at once.
[[gnu::constructor]] void be_a_loader() { g_guest.load = load; }

}  // namespace
}  // namespace brig
