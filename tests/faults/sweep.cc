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
// A run that ends well although a call failed must be named in kHarmless, with the reason.
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "trace.h"

namespace {

using namespace faults;

// Calls whose failure may leave a run that ends well, by the process that makes them ("*": any). That
// the tool was locked as ever is checked for each of them all the same, but for lines that may differ.
struct Harmless {
  const char* process;
  const char* call;
  // Beginnings of lines of the fingerprint that may differ, split by '|'. "@silent": there may be no
  // message; "@late": the command may run into its time limit; "@lost": it may be told as killed.
  const char* may_differ;
  const char* reason;
};
const Harmless kHarmless[] = {
#include "harmless.inc"
};

const Harmless* harmless(const std::string& process, const char* call) {
  for (const Harmless& each : kHarmless)
    if (process == each.process && !strcmp(each.call, call)) return &each;
  return nullptr;
}

bool may_differ(const Harmless* harmless, const std::string& line) {
  std::istringstream list(harmless ? harmless->may_differ : "");
  for (std::string prefix; std::getline(list, prefix, '|');)
    if (line.starts_with(prefix)) return true;
  return false;
}

// Lines that only one of two fingerprints has, and that may not differ.
std::string difference(const std::string& expected, const std::string& found,
                       const Harmless* harmless) {
  std::string text;
  static const std::regex ids(",[ug]id=[0-9]+");  // of a tmpfs: they differ by run
  const auto lines = [](const std::string& all) {
    std::multiset<std::string> set;
    std::istringstream stream(all);
    for (std::string line; std::getline(stream, line);)
      set.insert(std::regex_replace(line, ids, ""));
    return set;
  };
  const auto was = lines(expected), is = lines(found);
  for (const std::string& line : was)
    if (!is.contains(line) && !may_differ(harmless, line)) text += "    gone: " + line + "\n";
  for (const std::string& line : is)
    if (!was.contains(line) && !may_differ(harmless, line)) text += "    new:  " + line + "\n";
  return text;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> found;
  DIR* proc = opendir("/proc");
  while (const dirent* entry = proc ? readdir(proc) : nullptr) {
    const std::string stat = read_file("/proc/" + std::string(entry->d_name) + "/stat");
    const std::size_t paren = stat.rfind(')');
    if (atoi(entry->d_name) > 0 && paren != std::string::npos && stat.size() > paren + 4 &&
        atoi(stat.c_str() + paren + 4) == parent)
      found.push_back(atoi(entry->d_name));
  }
  if (proc) closedir(proc);
  return found;
}

// Of the brig process `owner`.
std::set<std::string> brig_cgroups(pid_t owner) {
  std::set<std::string> found;
  std::error_code error;
  std::filesystem::recursive_directory_iterator at(
      "/sys/fs/cgroup", std::filesystem::directory_options::skip_permission_denied, error),
      end;
  for (; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("brig-") &&
        name.find("-" + std::to_string(owner) + "-") != std::string::npos)
      found.insert(at->path().string());
  }
  return found;
}

std::set<std::string> entries_of(const std::string& directory) {
  std::set<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error))
    found.insert(at->path().string());
  return found;
}

}  // namespace

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
    const bool marked = access(mark.c_str(), F_OK) == 0;
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
    if (result.seconds > 4 && !late) wrong += "  took " + std::to_string(result.seconds) + " s\n";
    if (result.code != 0 && result.err.empty() && !may_differ(entry, "@silent"))
      wrong += "  no message\n";
    if (result.code == 0 && !entry && !result.after && !result.beside)
      wrong += "  the run ended well, and that is not listed as harmless\n";
    // What is left. The janitor may outlive its host by as long as it takes to clean up.
    const auto begin = Clock::now();
    std::vector<pid_t> left;
    do {
      // One that was born when its parent was killed is still stopped, for a tracer that never heard of it.
      int status = 0;
      for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0;)
        if (WIFSTOPPED(status)) ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
      left = children_of(getpid());
      if (!left.empty()) usleep(2000);
    } while (!left.empty() && since(begin) < 20);
    for (const pid_t pid : left) {
      wrong += "  left: process " + name_of_process(pid) + "\n";
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, __WALL);
    }
    // Numbers of processes come again: one of that number may be another run's, which is just cleaning up.
    while (!brig_cgroups(result.pid).empty() && since(begin) < 20) usleep(2000);
    for (const std::string& each : brig_cgroups(result.pid)) {
      wrong += "  left: " + each + "\n";
      rmdir((each + "/0").c_str());
      rmdir(each.c_str());
    }
    for (const std::string& each : entries_of(temporary))
      if (!files_before.contains(each) && each.find("/brig-") != std::string::npos) {
        wrong += "  left: " + each + "\n";
        std::error_code ignored;
        std::filesystem::remove_all(each, ignored);
      }
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
