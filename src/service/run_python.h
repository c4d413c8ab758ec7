// run_python: code of the caller's, in an interpreter that is ready. It is a function of brig._builtin, which runs in the cell and answers
// with what came of it; around that the host keeps the call's time, checks the answer, and looks at the workspace itself. The cell can
// answer anything: shapes, counts, sizes, types and encodings are checked again here.
//
// Of the answer: {"value"}; {"displays": [{"at", "data": {type: text}, "is_value"}]}, `at` being how much of stdout was written before and the last of the value; {"displays_left_out"};
// of code that failed {"error": {"type", "message", "traceback"}} or {"exit_code"}; of code that was not run {"not_run": why}.
// The output: "value" unless it failed, "stdout", "stderr", "displays", "displays_left_out", and those of left_files.h.
#pragma once

#include <brig/tool.h>

#include <memory>

namespace brig::serve {

std::shared_ptr<const CallMaker> run_python_maker();

}  // namespace brig::serve
