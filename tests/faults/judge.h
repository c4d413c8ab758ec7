// What a run with a fault must not do: run a tool that is locked otherwise, or leave something behind.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>

namespace faults {

// A call whose failure may leave a run that ends well, by the process that makes it. That the tool was locked
// as ever is checked for each of them all the same, but for lines that may differ.
struct Harmless {
  const char* process;
  const char* call;
  // Beginnings of lines of the fingerprint that may differ, split by '|'. "@silent": there may be no
  // message; "@late": the command may run into its time limit; "@lost": it may be told as killed.
  const char* may_differ;
  const char* reason;
};
// Null if that call of that process is not listed.
const Harmless* harmless(const std::string& process, const char* call);
bool may_differ(const Harmless* harmless, const std::string& line);

// Lines that only one of two fingerprints has, and that may not differ.
std::string difference(const std::string& expected, const std::string& found,
                       const Harmless* harmless);

std::set<std::string> entries_of(const std::string& directory);

// Waits for what has to go, removes what stays, and returns a line for each of those: children of this process,
// cgroups of the brig process `owner`, and brig's files in `temporary` that are not among `before`.
std::string left_behind(pid_t owner, const std::string& temporary,
                        const std::set<std::string>& before);

}  // namespace faults
