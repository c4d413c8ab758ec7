// Makes every system call of brig fail, one per run, and checks that nothing fails open.
//
//   sweep [-e ERRNO] [-n NAME] [-v] DIRECTORY -- COMMAND... (brig run --write DIRECTORY ... fingerprint DIRECTORY/mark)
//
// The command is traced with all its descendants up to the tool's own exec. Run number N fails the N-th
// call that is worth failing, counted over the whole tree, with the given errno and without doing it.
// Whatever happens then:
//   - if the tool ran (there is a mark), it was locked exactly as in a run without faults;
//   - if it did not, the exit code is 125 or 126 and there is a message;
//   - it ends within ten seconds, and leaves no process, no cgroup and no directory.
// A run that ends well although a call failed must be named in harmless.inc, with the reason.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <string>

#include "judge.h"
#include "trace.h"

using namespace faults;

// Long, because it is the whole sweep: its words, a run without a fault, and a run with each fault.
int main(int argc, char** argv) {
  int error = EPERM;
  bool verbose = false;
  const char* only = nullptr;
  int at = 1;
  for (; at < argc && argv[at][0] == '-' && strcmp(argv[at], "--"); ++at) {
    if (!strcmp(argv[at], "-v")) verbose = true;
    if (!strcmp(argv[at], "-n") && at + 1 < argc) only = argv[++at];
    if (!strcmp(argv[at], "-e") && at + 1 < argc) error = atoi(argv[++at]);
  }
  if (argc < at + 3) return 2;
  const std::string directory = argv[at], mark = directory + "/mark";
  char** command = argv + at + 2;
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);

  unlink(mark.c_str());
  const Run baseline = run(command, mark.c_str(), 0, 0, nullptr);
  const std::string expected = read_file(mark);
  if (baseline.code != 0 || expected.empty()) {
    printf("without a fault: exit code %d, %s\n", baseline.code, baseline.err.c_str());
    return 1;
  }
  const char* tmp = getenv("TMPDIR");
  const std::string temporary = tmp ? tmp : "/tmp";
  const auto files_before = entries_of(temporary);
  int runs = 0, refused = 0, unharmed = 0, bad = 0;
  for (int target = 1;; ++target) {
    unlink(mark.c_str());
    Run result = run(command, mark.c_str(), target, error, only);
    if (result.call < 0) break;  // fewer calls than that: all have had their turn
    ++runs;
    std::string wrong;
    const std::string found = read_file(mark);
    // Killed between making the file and writing it, the tool has said nothing.
    const bool marked = !found.empty();
    if (result.code < 0) wrong += "  did not end within ten seconds\n";
    const Harmless* entry = harmless(result.process, name_of(result.call));
    if (marked) {
      const std::string differs = difference(expected, found, entry);
      if (!differs.empty()) wrong += "  THE TOOL RAN, LOCKED OTHERWISE:\n" + differs;
    }
    if (result.code == 0 && !marked) wrong += "  success, but the tool did not run\n";
    // brig itself was not running yet.
    const bool not_started =
        result.err.find("error while loading shared libraries") != std::string::npos;
    const bool late = result.code == 124 && may_differ(entry, "@late");
    const bool lost = result.code == 128 + SIGKILL && may_differ(entry, "@lost");
    const bool absent = result.code == 127 && error == ENOENT;
    if (result.code > 0 && result.code != 125 && result.code != 126 && !not_started && !late &&
        !lost && !absent)
      wrong += "  exit code " + std::to_string(result.code) + "\n";
    // A bound that tells at once from never, on a machine that has much else to do.
    if (result.seconds > 15 && !late) wrong += "  took " + std::to_string(result.seconds) + " s\n";
    if (result.code != 0 && result.err.empty() && !may_differ(entry, "@silent"))
      wrong += "  no message\n";
    if (result.code == 0 && !entry && !result.after && !result.beside)
      wrong += "  the run ended well, and that is not listed as harmless\n";
    wrong += left_behind(result.pid, temporary, files_before);
    if (result.code == 0)
      ++unharmed;
    else
      ++refused;
    if (!wrong.empty()) ++bad;
    if (verbose || !wrong.empty())
      printf("%d: %s of %s (%#lx) fails with %s: exit code %d: %s%s\n%s", target,
             name_of(result.call), result.process.c_str(), result.detail, strerrorname_np(error),
             result.code, result.err.substr(0, 300).c_str(),
             result.err.empty() || result.err.back() != '\n' ? "\n" : "", wrong.c_str());
    fflush(stdout);
    if (target > 5000) break;
  }
  printf("%s: %d faults: %d refused, %d harmless, %d wrong\n", strerrorname_np(error), runs,
         refused, unharmed, bad);
  return bad ? 1 : 0;
}
