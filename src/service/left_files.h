// The files that a call of run_command or run_python has left in its workspace, as members of its
// output. The tool made all of them (see Workspace); they are bounded here, in count, in size and
// in time.
//
//   images          [{"path", "mime_type", "data"}], data as base64: images that a client can show,
//                   by their content
//   files           [{"path", "mime_type", "size", "bytes"}], or without bytes and with "left_out",
//                   which says why
//   files_left_out  [{"why", "count"}]: files that are not listed
//
// Together with what the output holds already, this is at most kMostOutputText (output_room.h).
// Empty members are left out. "bytes" is binary, which JSON can't hold: call show_files() before
// you send the output as JSON.
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

// The digests of the files that the caller gave: only files that were made or changed come back.
using GivenFiles = std::map<std::string, Digest>;
GivenFiles given_files(const std::vector<InputFile>& files);

void add_left_files(Json& output, const Workspace& workspace, const GivenFiles& given);

// Makes "files" of an output fit for JSON: "data", base64, in place of "bytes". Bounded in all, so
// that the answer stays readable.
void show_files(Json& output);

// The type of an image by its first bytes, since a name proves nothing. "" if a client can't show
// it.
std::string image_type(std::string_view bytes);

}  // namespace brig::serve
