// toml++, compiled once: it consists of headers and costs each file that includes it seconds.
#define TOML_IMPLEMENTATION
#include "policy/toml.h"
