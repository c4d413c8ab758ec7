/* The version of the headers that a program is compiled with. Plain macros, for C and C++.
 * brig_c_library_version() (c.h) returns the version of the library that the program runs with. */
#pragma once

#define BRIG_VERSION_MAJOR 0
#define BRIG_VERSION_MINOR 1
#define BRIG_VERSION_PATCH 0
/* The three numbers as text. CMake reads the project's version here, and checks that both agree. */
#define BRIG_VERSION "0.1.0"
