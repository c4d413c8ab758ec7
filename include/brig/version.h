#pragma once

#define BRIG_VERSION "0.1.0"
