// Text without a library: numbers, paths, and files of the kernel that take a line.
#pragma once

namespace brig::helper {

bool write_file(int dir, const char* path, const char* text);
// Decimal text of `value`; returns `buffer`, which holds 24 bytes.
const char* decimal(char* buffer, unsigned long value);
// Joins a/b into `out` (4096 bytes). False if it does not fit.
bool join(char* out, const char* a, const char* b);

}  // namespace brig::helper
