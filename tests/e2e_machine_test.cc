// On machines that lack something: the reason is told, and it is the right one.
#include <sched.h>
#include <sys/wait.h>

#include <algorithm>
#include <set>

#include "e2e_support.h"

namespace {

using namespace e2e;

bool write_to(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool ok =
      fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) close(fd);
  return ok;
}

// Becomes an ordinary user that may make no user namespace.
bool lose_namespaces() {
  const std::string uid = std::to_string(geteuid()), gid = std::to_string(getegid());
  return unshare(CLONE_NEWUSER) == 0 && write_to("/proc/self/setgroups", "deny") &&
         write_to("/proc/self/uid_map", "1000 " + uid + " 1") &&
         write_to("/proc/self/gid_map", "1000 " + gid + " 1") &&
         write_to("/proc/sys/user/max_user_namespaces", "0");
}

// All that a child that could prepare itself so says, or "".
template <typename Work>
std::string said_by_child(bool (*prepare)(), Work work) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    const std::string said = prepare() ? work() : "";
    for (std::size_t at = 0; at < said.size();) {
      const ssize_t written = write(ends[1], said.data() + at, said.size() - at);
      if (written <= 0) _exit(1);
      at += static_cast<std::size_t>(written);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char block[4096];
  for (ssize_t size; (size = read(ends[0], block, sizeof block)) > 0;)
    said.append(block, static_cast<std::size_t>(size));
  close(ends[0]);
  waitpid(pid, nullptr, 0);
  return said;
}

// The helper gives up while its plan is still on the way, or after: the reason must not depend on which.
TEST(Machine, WithoutUserNamespacesTheReasonIsToldEveryTime) {
  const std::string said = said_by_child(lose_namespaces, [] {
    std::set<std::string> reasons;
    for (int i = 0; i < 60; ++i) {
      try {
        if (i % 3 == 2)
          (void)brig::Runner(policy(), {.ready = 1});
        else
          (void)brig::run(argv({"/bin/true"}), policy());
        reasons.insert("it ran");
      } catch (const brig::Error& error) {
        reasons.insert((error.kind() == ErrorKind::unsupported ? "" : "of another kind: ") +
                       std::string(error.what()));
      }
    }
    std::string text;
    for (const std::string& reason : reasons) text += reason + "\n";
    return text;
  });
  BRIG_NEEDS(!said.empty(), "no user namespace can be made here to forbid others in");
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_TRUE(contains(said, "user namespaces are off for this user")) << said;
}

}  // namespace
