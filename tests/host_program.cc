// A host of C++ functions, one of which attacks the host's own program file, which /proc/self/exe leads to.
// Prints what was refused, a word each. Beside the guests, so that a test can make a copy that is its user's.
#include <brig/sandbox.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdio>
#include <string>

int main() {
  brig::Toolbox tools;
  tools.add("attack", "Changes all that it can of the host's program.", {}, [] {
    const char* path = "/proc/self/exe";
    const timespec times[2] = {{1, 0}, {1, 0}};
    std::string refused;
    if (chmod(path, 0777) != 0) refused += "chmod ";
    if (utimensat(AT_FDCWD, path, times, 0) != 0) refused += "utimensat ";
    if (setxattr(path, "user.brig", "message", 7, 0) != 0) refused += "setxattr ";
    if (truncate(path, 0) != 0) refused += "truncate ";
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fchmod(file, 0) != 0) refused += "fchmod ";
    if (open(path, O_WRONLY | O_CLOEXEC) < 0) refused += "open ";
    char name[4096] = "";
    (void)!readlink(path, name, sizeof name - 1);
    return refused + name;
  });
  brig::Sandbox box(std::move(tools));
  const brig::ToolResult result = box.call("attack", brig::Json::object());
  const std::string text = result.ok() ? result.output.get<std::string>() : result.error;
  puts(text.c_str());
  return result.ok() ? 0 : 1;
}
