// /proc, /sys, /dev: what the kernel shows and takes.
#include <ctype.h>
#include <dirent.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "guest.h"

static void own_pids_only(void) {
  DIR* dir = opendir("/proc");
  int others = 0, seen = 0;
  for (struct dirent* entry; dir && (entry = readdir(dir));) {
    if (!isdigit((unsigned char)entry->d_name[0])) continue;
    ++seen;
    const int pid = atoi(entry->d_name);
    if (pid != 1 && pid != getpid()) {
      ++others;
      printf("pid %d: PRESENT\n", pid);
    }
  }
  holds("only pid 1 and this one are there", seen == 2 && others == 0);
  int found = 0;
  for (int pid = 2; pid < 70000; ++pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (pid != getpid() && access(path, F_OK) == 0) ++found;
  }
  holds("no other pid answers", found == 0);
}

static void secrets(void) {
  static const char* const absent[] = {"/proc/1/environ",
                                       "/proc/1/mem",
                                       "/proc/1/maps",
                                       "/proc/1/root/etc/passwd",
                                       "/proc/1/cwd/.",
                                       "/proc/1/exe",
                                       "/proc/1/auxv",
                                       "/proc/1/stack",
                                       "/proc/1/map_files/.",
                                       "/proc/1/ns/mnt",
                                       "/proc/kcore",
                                       "/proc/keys",
                                       "/proc/key-users",
                                       "/proc/kmsg",
                                       "/proc/kallsyms",
                                       "/proc/timer_list",
                                       "/proc/sched_debug",
                                       "/proc/cmdline",
                                       "/proc/kpagecount",
                                       "/proc/kpageflags",
                                       "/proc/kpagecgroup",
                                       "/proc/vmallocinfo",
                                       "/proc/slabinfo",
                                       "/sys/kernel/notes",
                                       "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                                       "/sys/fs/cgroup/cgroup.procs",
                                       "/sys/kernel/debug/.",
                                       "/sys/kernel/tracing/trace",
                                       "/sys/fs/bpf/.",
                                       "/sys/kernel/security/lsm",
                                       "/sys/class/net/lo/address",
                                       "/dev/mem",
                                       "/dev/kmem",
                                       "/dev/kmsg",
                                       "/dev/port",
                                       "/dev/kvm",
                                       "/dev/fuse",
                                       "/dev/net/tun",
                                       "/dev/vsock",
                                       "/dev/vhost-vsock",
                                       "/dev/userfaultfd",
                                       "/dev/uinput",
                                       "/dev/nvme0",
                                       "/dev/nvme0n1",
                                       "/dev/vda",
                                       "/dev/sda",
                                       "/dev/loop0",
                                       "/dev/loop-control",
                                       "/dev/console",
                                       "/dev/ptmx",
                                       "/dev/pts/0",
                                       "/dev/pts/ptmx",
                                       "/dev/hpet",
                                       "/dev/rtc0",
                                       "/dev/vcs",
                                       "/dev/input/event0",
                                       "/dev/dri/card0",
                                       "/dev/nvidia0",
                                       "/dev/btrfs-control",
                                       "/dev/mapper/control",
                                       "/dev/mqueue/.",
                                       "/dev/hugepages/.",
                                       "/dev/bsg/.",
                                       "/dev/watchdog",
                                       "/dev/snapshot",
                                       "/etc/shadow",
                                       "/etc/gshadow",
                                       "/etc/sudoers",
                                       "/etc/ssh/ssh_host_ed25519_key",
                                       "/etc/machine-id",
                                       "/etc/ssl/private/.",
                                       "/root/.ssh/id_rsa",
                                       "/var/log/.",
                                       "/var/lib/dpkg/status",
                                       "/run/docker.sock",
                                       "/run/systemd/private",
                                       "/run/dbus/system_bus_socket",
                                       "/home/.",
                                       "/srv/.",
                                       "/mnt/.",
                                       "/media/.",
                                       "/boot/.",
                                       "/opt/."};
  for (unsigned i = 0; i < sizeof absent / sizeof *absent; ++i) {
    const char* home = getenv("HOME");
    if (home && !strncmp(absent[i], "/home", 5) && !strncmp(home, "/home", 5))
      continue;  // HOME's own parent
    refused(absent[i], open_for_reading(absent[i]));
  }
  struct stat info;
  holds("/proc/sysrq-trigger is the null device or not writable",
        stat("/proc/sysrq-trigger", &info) != 0 ||
            (S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3)) ||
            access("/proc/sysrq-trigger", W_OK) != 0);
  holds(
      "/proc/kcore's mask is the real null device",
      stat("/proc/kcore", &info) != 0 || (S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3)));
  holds("/dev/null is the real one",
        stat("/dev/null", &info) == 0 && S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3));
}

static void changes(void) {
  static const char* const files[] = {"/proc/self/oom_score_adj",
                                      "/proc/self/oom_adj",
                                      "/proc/1/oom_score_adj",
                                      "/proc/self/uid_map",
                                      "/proc/self/gid_map",
                                      "/proc/self/setgroups",
                                      "/proc/self/projid_map",
                                      "/proc/1/uid_map",
                                      "/proc/sys/user/max_user_namespaces",
                                      "/proc/sys/kernel/core_pattern",
                                      "/proc/sys/kernel/modprobe",
                                      "/proc/sys/kernel/hostname",
                                      "/proc/sys/kernel/sysrq",
                                      "/proc/sys/kernel/ns_last_pid",
                                      "/proc/sys/kernel/randomize_va_space",
                                      "/proc/sys/vm/overcommit_memory",
                                      "/proc/sys/vm/drop_caches",
                                      "/proc/sys/net/ipv4/ip_forward",
                                      "/proc/sys/kernel/shmmax",
                                      "/proc/sys/fs/file-max",
                                      "/proc/sys/fs/mqueue/msg_max",
                                      "/proc/irq/default_smp_affinity",
                                      "/proc/self/loginuid",
                                      "/proc/self/attr/current",
                                      "/proc/self/timens_offsets",
                                      "/proc/self/coredump_filter",
                                      "/proc/self/clear_refs",
                                      "/proc/self/timerslack_ns",
                                      "/proc/self/autogroup",
                                      "/proc/self/comm",
                                      "/proc/mtrr"};
  for (unsigned i = 0; i < sizeof files / sizeof *files; ++i)
    refused(files[i], write_text(files[i], "0 0 1"));
  refused("/proc/self/mem", open_for_writing("/proc/self/mem"));
  // A mask that swallows is as good as one that refuses; what it was written to must be the null device.
  struct stat info;
  const int fd = open("/proc/sysrq-trigger", O_WRONLY);
  errno = EACCES;
  refused("/proc/sysrq-trigger",
          fd >= 0 && fstat(fd, &info) == 0 && !S_ISCHR(info.st_mode) ? 0 : -1);
  char buffer[64];
  refused("syslog read all", klogctl(3, buffer, sizeof buffer));
  refused("syslog size", klogctl(10, 0, 0));
  refused("syslog clear", klogctl(5, 0, 0));
}

// Everything a tool can learn of the environment, its own and its parents'.
static void environment(void) {
  extern char** environ;
  for (char** each = environ; *each; ++each) printf("env %s\n", *each);
  static char block[1 << 20];
  const char* const files[] = {
      "/proc/self/environ",   "/proc/thread-self/environ", "/proc/1/environ",
      "/proc/self/auxv",      "/proc/self/cmdline",        "/proc/1/cmdline",
      "/proc/self/mountinfo", "/proc/self/status",         "/proc/1/status"};
  for (unsigned i = 0; i < sizeof files / sizeof *files; ++i) {
    const int fd = open(files[i], O_RDONLY);
    const ssize_t size = fd < 0 ? -1 : read(fd, block, sizeof block);
    printf("file %s %zd\n", files[i], size);
    for (ssize_t k = 0; k < size; ++k) putchar(block[k] ? block[k] : '\n');
  }
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (is(argv[1], "pids"))
    own_pids_only();
  else if (is(argv[1], "secrets"))
    secrets();
  else if (is(argv[1], "changes"))
    changes();
  else if (is(argv[1], "environment"))
    environment();
  else
    return 2;
  return guest_failed;
}
