// A Service that never runs anything: its tools' schemas are real, and then refuse everything. All that is said of a call is
// read and checked; a cell is not.
#pragma once

#include "http/loop.h"
#include "service/service.h"

namespace brig::fuzz {

// Run what is ready, and wait for nothing.
void settle(serve::Loop& loop);

// Made once, never destroyed: it has threads.
struct Quiet {
  serve::Loop loop;
  serve::Service service;
  serve::CallerPtr caller;

  static Quiet& get();

 private:
  Quiet();
};

}  // namespace brig::fuzz
