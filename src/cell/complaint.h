// What a program said when it failed: the paths that its last lines complain of. A program may print anything, so what is found
// is a question for the plan of the cell (see CellView), and no more.
#pragma once

#include <brig/report.h>

#include <string>
#include <string_view>
#include <vector>

namespace brig {

// How a program was refused a path, as far as it said.
enum class Refused { lookup, write, any };

struct Complaint {
  std::string path;  // absolute or relative, as it was printed
  Refused how;
};

// Of the last 8 KiB of `said`, the last line first. Passed over are: the line that the cut goes through, lines that tell what a
// server answered, and names of which it can't be told where they begin or end: a part of a name is another place.
std::vector<Complaint> complaints_in(std::string_view said);

// The end of a stream, in whole lines: without the line that lies across a gap.
std::string last_lines(const Output& output);
// The end of an error that is told as JSON, where \n ends a line.
std::string last_lines_of_json(std::string_view text);

// Whether `word` can be the name of a place: not an address, a switch of lines or what has been escaped.
bool looks_like_path(std::string_view word);

}  // namespace brig
