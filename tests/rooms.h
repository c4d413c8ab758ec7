// What the attacks on rooms and their fuzzer share: what a call tells of its room.
#pragma once

#include <map>

#include "escape.h"

namespace escape {

// A policy whose rooms may be kept, whatever words the others have.
inline brig::Policy room_policy() {
  brig::Policy policy = escape::policy();
  policy.limits.grace = milliseconds(0);
  policy.files.write_optional.clear();
  policy.files.protect.clear();
  return policy;
}

// Lines that differ, of two texts. The network namespace is the slot's: until the kernel has collected
// what was in flight in a circle, the next room of the slot can count its sockets (`with_sockets`: no).
inline std::string difference(const std::string& one, const std::string& other,
                              bool with_sockets = true) {
  std::map<std::string, int> lines;
  std::string line, text;
  for (std::istringstream in(one); std::getline(in, line);) ++lines[line];
  for (std::istringstream in(other); std::getline(in, line);) --lines[line];
  for (const auto& [each, count] : lines)
    if (!with_sockets && (each.starts_with("  sockets: used") || each.starts_with("  0000000")))
      continue;
    else if (count && text.size() < 2000)
      text += (count > 0 ? "- " : "+ ") + each + "\n";
  return text;
}

struct Traces {
  std::string room;  // Which one it is.
  std::string text;
  long long changed = 0;  // When a directory of the scratch space last did.
};

// Of what the guest `traces` says.
inline Traces traces_of(const std::string& output) {
  Traces traces;
  std::string line;
  for (std::istringstream in(output); std::getline(in, line);) {
    if (line.starts_with("room "))
      traces.room = line;
    else if (!line.starts_with("time "))
      traces.text += line + "\n";
    else
      traces.changed = std::max(traces.changed, std::stoll(line.substr(line.rfind(' '))));
  }
  return traces;
}

}  // namespace escape
