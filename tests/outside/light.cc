// A program that only runs commands needs no JSON: brig.h names the headers that are as light.
#include <brig/capabilities.h>
#include <brig/command.h>
#include <brig/error.h>
#include <brig/preset.h>
#include <brig/progress.h>
#include <brig/python.h>
#include <brig/runner.h>
#include <brig/seed.h>
#include <brig/version.h>

#ifdef INCLUDE_NLOHMANN_JSON_HPP_
#error "one of these headers includes nlohmann/json.hpp"
#endif

#include <cstdio>

int main() {
  const brig::Report report = brig::run({.argv = {"/bin/true"}});
  std::printf("%d\n", report.exit_code.value_or(-1));
}
