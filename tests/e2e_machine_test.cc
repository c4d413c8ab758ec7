// On machines that lack something: the reason is told, and it is the right one.
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
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
template <typename Prepare, typename Work>
std::string said_by_child(Prepare prepare, Work work) {
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

std::string outcome_of_true() {
  try {
    const Report report = brig::run(sh("id -u; hostname"), policy());
    return report.ok() ? "ran: " + report.out.bytes : "failed: " + report.message;
  } catch (const brig::Error& error) {
    return std::string("refused: ") + error.what();
  }
}

// No capability but those.
bool keep_capabilities(std::uint32_t mask) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  for (__user_cap_data_struct& half : data) {
    half.effective &= &half == &data[0] ? mask : 0;
    half.permitted = half.effective;
    half.inheritable = 0;
  }
  return syscall(SYS_capset, &header, data) == 0;
}

// As a container's profile would: that call gets EPERM, if `mask` has a bit of its first argument, or at all.
bool refuse(int number, std::uint32_t mask = 0) {
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, mask, 0, static_cast<__u8>(mask ? 1 : 0)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
}

// As most containers have it: root, without the right to mount.
TEST(Machine, RootWithoutTheRightToMountGoesTheWayOfAnOrdinaryUser) {
  if (!is_root()) GTEST_SKIP() << "only root can lose root's rights";
  const std::string said = said_by_child([] { return keep_capabilities(~(1u << CAP_SYS_ADMIN)); },
                                         [] { return outcome_of_true(); });
  // Without a cgroup nothing holds the machine's root to a number of processes.
  if (has_cgroups())
    EXPECT_EQ(said, "ran: 1000\nbrig\n");
  else
    EXPECT_TRUE(contains(said, "limits.processes: the kernel does not limit root's processes"))
        << said;
}

TEST(Machine, RootWithoutAnyRightIsToldWhatItTakes) {
  if (!is_root()) GTEST_SKIP() << "only root can lose root's rights";
  const std::string said =
      said_by_child([] { return keep_capabilities(0); }, [] { return outcome_of_true(); });
  EXPECT_TRUE(contains(said, "refused: ") &&
              contains(said, "as another user: in a container, start it with --user 1000"))
      << said;
}

TEST(Machine, AContainersProfileThatForbidsNamespacesIsNamedAsTheReason) {
  const std::string said = said_by_child(
      [] {
        setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
        return (!is_root() || keep_capabilities(~(1u << CAP_SYS_ADMIN))) && refuse(SYS_unshare) &&
               refuse(SYS_clone, CLONE_NEWUSER);
      },
      [] { return outcome_of_true(); });
  EXPECT_TRUE(contains(said, "refused: ") && contains(said, "--security-opt seccomp=unconfined"))
      << said;
}

TEST(Machine, AHostNameThatMayNotBeSetIsNoFailure) {
  const std::string said =
      said_by_child([] { return refuse(SYS_sethostname); }, [] { return outcome_of_true(); });
  EXPECT_TRUE(contains(said, "ran: 1000\n")) << said;
}

TEST(Machine, AHostNameThatMayNotBeSetIsToldByTheDoctor) {
  const auto told = [] {
    const brig::Capabilities found = brig::probe();
    for (const brig::Layer& layer : found.layers)
      if (layer.name == "host_name")
        return std::string(layer.present ? "there" : "missing") +
               (layer.required ? ", required: " : ": ") + layer.fix +
               (found.jail ? "; the jail works" : "; the jail does not work");
    return std::string("not told");
  };
  EXPECT_EQ(
      said_by_child([] { return refuse(SYS_sethostname); }, told),
      "missing: optional: without it a cell sees this machine's host name instead of \"brig\"; "
      "the jail works");
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
  EXPECT_TRUE(contains(said, "user namespaces are disabled here")) << said;
}

}  // namespace
