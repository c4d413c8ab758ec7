// The smallest library of tools: docs/first-tool.md.
//   c++ -std=c++20 -shared -fPIC -o libarea.so area.cc $(pkg-config --cflags brig)
#include <brig/toolbox.h>

extern "C" void brig_register(brig::Toolbox& tools) {
  tools.add("area", "The area of a rectangle.", {"width", "height"},
            [](double width, double height) { return width * height; });
}
