// The threads of this process.
#pragma once

namespace brig {

// As /proc lists them. A thread that was joined may still be there for a moment.
int count_threads();

}  // namespace brig
