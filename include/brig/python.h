// Python: modules whose functions are tools. An interpreter, executed clean and in the jail, imports them once;
// each call runs in a copy of it. docs/python.md is for who writes such modules.
#pragma once

#include <string>
#include <vector>

namespace brig {

struct Python {
  // The absolute path of a CPython, 3.9 or later. Empty: the first python3 in PATH that is a program, and
  // not a script which looks for one.
  std::string interpreter;
  // To import. Their tools are the functions that are marked with @brig.tool.
  std::vector<std::string> modules;
  // Directories in which to look for them first. Their tools can read all that is there.
  std::vector<std::string> path;
  // A directory in which they may lie, too, beside what is not for tools: only the modules themselves can be
  // read. Empty: none.
  std::string home;
  // Modules to import ahead, that tools and the code of run_python may need: "numpy". A call then finds them loaded. They are looked for
  // where the interpreter looks, and in `path`; one that can't be imported is an Error(config).
  std::vector<std::string> preload;
};

}  // namespace brig
