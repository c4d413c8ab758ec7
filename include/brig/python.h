// Python: modules whose functions are tools. An interpreter, started clean and in the jail, imports
// them once; each call runs in a copy of it. docs/python.md explains how to write such modules.
#pragma once

#include <string>
#include <vector>

namespace brig {

struct Python {
  // The absolute path of a CPython, 3.9 or later. Empty: the first python3 in PATH that is a
  // program and not a script that looks for one.
  std::string interpreter;
  // The modules to import. Their tools are the functions marked with @brig.tool.
  std::vector<std::string> modules;
  // Directories where the interpreter looks for the modules first. Tools can read everything there.
  std::vector<std::string> path;
  // One more directory that may hold the modules, beside files that are not for tools: tools can
  // read only the modules themselves. Empty: none.
  std::string home;
  // Modules to import ahead ("numpy"), so that tools and the code of run_python find them loaded.
  // The interpreter looks for them where it usually does, and in `path`. A module that can't be
  // imported is an Error(config).
  std::vector<std::string> preload;
};

}  // namespace brig
