// The tools that bench/serve_load.cc calls: as little as a tool can be.
#include <brig/toolbox.h>
#include <unistd.h>

extern "C" void brig_register(brig::Toolbox& tools) {
  tools.add("nothing", "Does nothing.", {}, [] { return true; });
  tools.add("echo", "Says it again.", {"text"}, [](std::string text) { return text; });
  tools.add("pause", "Waits so many milliseconds.", {"ms"},
            [](int ms) { return usleep(static_cast<useconds_t>(ms) * 1000); });
}
