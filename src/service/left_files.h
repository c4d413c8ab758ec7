// What a call of run_command or run_python has left in its workspace, as members of its output. All of it was made by the tool (see
// Workspace), and is bounded here: in count, in size and in time.
//
//   images          [{"path", "mime_type", "data"}], data as base64: images that a client can show, by what they are
//   files           [{"path", "mime_type", "size", "bytes"}], or without bytes and with "left_out", which says why
//   files_left_out  [{"why", "count"}]: those that are not listed
//
// With what the output holds already it is at most kMostOutputText (output_room.h). Members that would be empty are left out. "bytes" is binary, which JSON can't hold: show_files() for who sends it as JSON.
#pragma once

#include <brig/json.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cell/call.h"
#include "cell/workspace.h"
#include "http/caller.h"

namespace brig::serve {

// Files that were given, as they were: what comes back is what was made or changed.
using GivenFiles = std::map<std::string, Digest>;
GivenFiles given_files(const std::vector<InputFile>& files);

void add_left_files(Json& output, const Workspace& workspace, const GivenFiles& given);

// "files" of an output as JSON can hold them: "data", base64, in place of "bytes"; in all so much that an answer stays readable.
void show_files(Json& output);

// By its first bytes: a name proves nothing. "" if it is no image that a client can show.
std::string image_type(std::string_view bytes);

}  // namespace brig::serve
