// A manifest, and its tools as MCP lists them.
#include <brig/error.h>
#include <brig/manifest.h>

#include "base/text.h"
#include "json/json_text.h"
#include "json/schema.h"
#include "mcp/mcp_tool.h"
#include "support.h"

using namespace brig;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const Manifest manifest =
        manifest_from_toml(fuzz::text_of(data, size), "brig.toml", "/nonexistent");
    for (const auto& tool : manifest.tools.list()) {
      std::string fault;
      for (const bool modern : {false, true})
        fuzz::promise(json_text(serve::mcp_tool(*tool, manifest.policy, modern), fault).has_value(),
                      "a tool can be listed", fault);
      (void)Schema(tool->input_schema).check(Json::object());
    }
  } catch (const Error& error) {
    fuzz::promise(error.kind() == ErrorKind::config, "a bad manifest is a matter of configuration",
                  error.what());
    fuzz::promise(is_valid_utf8(error.what()), "what is wrong can be shown", error.what());
  }
  return 0;
}
