// CellView: what a cell sees of the file system, by its policy and plan. It judges a path without
// ever looking at the host: neither a tool nor its caller may learn whether something exists there.
#pragma once

#include <brig/report.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cell/complaint.h"

namespace brig {

// All of these are places in the cell.
struct CellView {
  struct Moved {
    // The host's path that the cell has at that place.
    std::string at, path;
  };

  bool all = false;                         // A floor that restricts no files: nothing to judge.
  std::vector<std::string> system;          // Read-only, and in every cell.
  std::vector<std::string> readable;        // files.read
  std::vector<std::string> writable;        // files.write
  std::vector<std::string> hidden;          // files.hide
  std::vector<std::string> kept;            // files.protect, below a writable one
  std::vector<std::string> not_executable;  // files.noexec
  std::vector<Moved> moved;                 // Paths of read and write that are at another place.
  std::vector<std::string> scratch;         // Private to the cell.
  // Of commands. Empty: a private directory without a fixed name.
  std::string working_directory;
};

// Why `path` (absolute, or relative to the working directory) could not be used in that cell.
// Nothing if the view does not tell: then the cause is another one.
std::optional<Violation> judge_path(const CellView& view, std::string_view path, Refused how);

// Whether relative paths start in a directory of the cell's own that is empty at first.
bool starts_in_scratch(const CellView& view);

// The violations of a command that failed: of the paths in `argv` behind the program, and of the
// paths that `said` (its stderr, or the text of an error) complains of. Each path once, only the
// first few, and only plain text.
std::vector<Violation> judge_paths(const CellView& view, const std::vector<std::string>& argv,
                                   std::string_view said);

}  // namespace brig
