// What a program printed when it failed: the paths, and the lack of something, that its last lines
// complain of. A program may print anything, so these paths are only questions for the cell's view
// (see CellView), and a lack is only a possible reason.
#pragma once

#include <brig/report.h>

#include <string>
#include <string_view>
#include <vector>

namespace brig {

// How a program was refused a path, as far as it printed that.
enum class Refused { lookup, write, any };

struct Complaint {
  // Absolute or relative, as printed.
  std::string path;
  Refused how;
};

// The complaints in the last 8 KiB of `said`, the last line first. It skips the line that the cut
// goes through, lines with a server's answer, and names without a clear start or end, because a
// part of a name is another place.
std::vector<Complaint> complaints_in(std::string_view said);

// What a program says in its own words when it is refused something.
enum class Lack {
  memory,
  shadow,  // The terabytes of addresses that a sanitizer reserves at its start.
  process,
  space,  // On a disk.
};
// Whether the last 8 KiB of `said` have words for that, in any case.
bool complains_of(Lack lack, std::string_view said);

// The end of a stream in whole lines, without the line that lies across a gap.
std::string last_lines(const Output& output);
// The end of an error that is written as JSON, where \n ends a line.
std::string last_lines_of_json(std::string_view text);

// Whether `word` can be the name of a place, and not an address, an option or escaped text.
bool looks_like_path(std::string_view word);

}  // namespace brig
