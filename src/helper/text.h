// Text without a library: numbers, paths, and kernel files that take one line.
#pragma once

namespace brig::helper {

bool write_file(int dir, const char* path, const char* text);
// The decimal text of `value`. Returns `buffer`, which must hold 24 bytes.
const char* decimal(char* buffer, unsigned long value);
// Joins a/b into `out`, which holds 4096 bytes. False if it does not fit.
bool join(char* out, const char* a, const char* b);

}  // namespace brig::helper
