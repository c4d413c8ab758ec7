// CellView: what a cell sees of the file system, as its policy and plan have it. Judging a path by it never looks at the host:
// whether something exists there is not for a tool, or its caller, to learn.
#pragma once

#include <brig/report.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cell/complaint.h"

namespace brig {

// All are places in the cell.
struct CellView {
  struct Moved {
    std::string at, path;  // the host's path that is at that place
  };

  bool all = false;                         // a floor that restricts no files: nothing to say
  std::vector<std::string> system;          // read-only, and in every cell
  std::vector<std::string> readable;        // files.read
  std::vector<std::string> writable;        // files.write
  std::vector<std::string> hidden;          // files.hide
  std::vector<std::string> kept;            // files.protect, below a writable one
  std::vector<std::string> not_executable;  // files.noexec
  std::vector<Moved> moved;                 // those of read and write that are at another place
  std::vector<std::string> scratch;         // private to the cell
  std::string working_directory;  // of commands; empty: a private directory without a fixed name
};

// Why `path` (absolute, or relative to the working directory) could not be used in that cell, or nothing if the view does
// not tell: then the cause is another one.
std::optional<Violation> judge_path(const CellView& view, std::string_view path, Refused how);

// Whether relative paths begin in a directory that is the cell's own, and empty at first.
bool starts_in_scratch(const CellView& view);

// Violations of a command that failed: of the paths in `argv` behind the program, and of those that `said` (its stderr, or an
// error's text) complains of. Each path once, the first few. What is no plain text is passed over.
std::vector<Violation> judge_paths(const CellView& view, const std::vector<std::string>& argv,
                                   std::string_view said);

}  // namespace brig
