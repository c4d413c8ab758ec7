// run_python: code of the caller's, in an interpreter that is ready. It is a function of
// brig._builtin, which runs in the cell and answers with the result. Around it the host keeps the
// call's time, checks the answer, and looks at the workspace itself. The cell can answer anything:
// shapes, counts, sizes, types and encodings are checked again here.
//
// Members of the answer: "value"; "displays": [{"at", "data": {type: text}, "is_value"}], where
// `at` is how much of stdout was written before, and the last display may be that of the value;
// "displays_left_out"; for code that failed "error": {"type", "message", "traceback"} or
// "exit_code"; for code that was not run "not_run": why. Members of the output: "value" unless the
// code failed, "stdout", "stderr", "displays", "displays_left_out", and those of left_files.h.
#pragma once

#include <brig/tool.h>

#include <memory>

namespace brig::serve {

std::shared_ptr<const CallMaker> run_python_maker();

}  // namespace brig::serve
