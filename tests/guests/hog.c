// Using up the machine, within bounds that hold even if the cell's do not. Arguments: what, how much.
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "guest.h"

static void touch(char* block, size_t size) {
  for (size_t i = 0; i < size; i += 4096) block[i] = 1;
}

static char deeper(volatile char* above, long frames) {
  volatile char block[64 << 10];
  block[0] = *above;
  return frames ? (char)(deeper(block, frames - 1) + block[0]) : block[0];
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* what = argv[1];
  const size_t amount = strtoul(argv[2], 0, 10), mib = 1 << 20;
  setvbuf(stdout, 0, _IONBF, 0);
  if (is(what, "malloc")) {
    for (size_t i = 0; i < amount; ++i) {
      char* block = malloc(mib);
      if (!block) return printf("malloc: refused at %zu MiB\n", i), 3;
      touch(block, mib);
    }
  } else if (is(what, "shared")) {
    char* block = mmap(0, amount * mib, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return printf("mmap: refused\n"), 3;
    touch(block, amount * mib);
  } else if (is(what, "memfd")) {
    const int fd = memfd_create("hog", 0);
    static char block[1 << 20];
    for (size_t i = 0; i < amount; ++i)
      if (write(fd, block, sizeof block) != sizeof block)
        return printf("memfd: refused at %zu MiB\n", i), 3;
  } else if (is(what, "shm")) {
    for (size_t i = 0; i < amount / 16; ++i) {
      const int id = shmget(IPC_PRIVATE, 16 * mib, IPC_CREAT | 0600);
      char* block = id < 0 ? (char*)-1 : shmat(id, 0, 0);
      if (block == (char*)-1) return printf("shm: refused at %zu MiB\n", i * 16), 3;
      touch(block, 16 * mib);
      shmdt(block);
    }
  } else if (is(what, "small-shared")) {  // as many mappings as there are MiB
    for (size_t i = 0; i < amount; ++i) {
      char* block = mmap(0, mib, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
      if (block == MAP_FAILED) return printf("mmap: refused at %zu MiB\n", i), 3;
      touch(block, mib);
    }
  } else if (is(what, "downwards")) {  // the kernel takes it for a stack
    char* block = mmap(0, amount * mib, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0);
    if (block == MAP_FAILED) return printf("mmap: refused\n"), 3;
    touch(block, amount * mib);
  } else if (is(what, "remapped-stack") || is(what, "remapped-heap")) {  // a page of it grows
    char block[1 << 20];
    touch(block, sizeof block);
    char* page = (char*)(((uintptr_t)block + (64 << 10)) & ~(uintptr_t)4095);
    if (is(what, "remapped-heap"))
      page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char* moved = mremap(page, 4096, amount * mib, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) return printf("mremap: refused\n"), 3;
    touch(moved, amount * mib);
  } else if (is(what, "spliced")) {  // a byte in a pipe keeps a huge page that is unmapped
    const uintptr_t huge = 2 * mib;
    char* space = mmap(0, 2 * huge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char* block = (char*)(((uintptr_t)space + huge - 1) & ~(huge - 1));
    size_t held = 0;
    for (int ends[2], full = 0; held < amount && pipe(ends) == 0; full = 0)
      while (!full && held < amount) {
        if (mmap(block, huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                 0) != block)
          return printf("mmap: refused\n"), 3;
        madvise(block, huge, MADV_HUGEPAGE);
        touch(block, huge);
        const struct iovec byte = {block, 1};
        const int given = vmsplice(ends[1], &byte, 1, SPLICE_F_NONBLOCK) == 1;
        full = !given && errno == EAGAIN;
        if (!given && !full) return printf("vmsplice: refused %s\n", error_name(errno)), 3;
        if (given) held += 2;
      }
  } else if (is(what, "zero")) {  // a shared mapping of it is shared memory without a name
    const int fd = open("/dev/zero", O_RDWR);
    if (fd < 0) return printf("zero: refused %s\n", error_name(errno)), 3;
    char* block = mmap(0, amount * mib, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (block == MAP_FAILED) return printf("mmap: refused\n"), 3;
    touch(block, amount * mib);
  } else if (is(what,
                "hugepages")) {  // none need be there: unreserved, the kernel gives the mapping
    for (int shared = 0; shared < 2; ++shared) {
      const int flags =
          MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE | (shared ? MAP_SHARED : MAP_PRIVATE);
      char* block = mmap(0, 64 * mib, PROT_READ | PROT_WRITE, flags, -1, 0);
      refused_with(shared ? "shared huge pages" : "huge pages", block == MAP_FAILED ? -1 : 0,
                   ENOMEM, ENOMEM);
      works("others",
            mmap(0, mib, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
    }
    refused_with("a memfd of huge pages", memfd_create("huge", MFD_HUGETLB), ENOMEM, ENOSYS);
    refused_with("a segment of huge pages",
                 shmget(IPC_PRIVATE, 2 * mib, IPC_CREAT | SHM_HUGETLB | 0600), ENOMEM,
                 amount ? EPERM : ENOMEM);
    return guest_failed;
  } else if (is(what, "queues")) {  // of 16384 empty messages each, more than a MiB of the kernel's
    for (size_t i = 0; i < amount; ++i) {
      const int id = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
      if (id < 0) return printf("queues: refused at %zu MiB\n", i), 3;
      const long empty = 1;
      while (msgsnd(id, &empty, 0, IPC_NOWAIT) == 0) {
      }
    }
  } else if (is(what, "semaphores")) {  // of 64 bytes or more each
    for (size_t i = 0; i < amount; ++i)
      if (semget(IPC_PRIVATE, 16384, IPC_CREAT | 0600) < 0)
        return printf("semaphores: refused at %zu MiB\n", i), 3;
  } else if (is(what, "tables")) {  // pages that are only read cost a page of tables in 2 MiB
    for (size_t i = 0; i < amount; ++i) {
      const size_t size = (size_t)512 * mib;
      char* block = mmap(0, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (block == MAP_FAILED) return printf("tables: refused at %zu MiB\n", i), 3;
      madvise(block, size, MADV_NOHUGEPAGE);
      for (size_t at = 0; at < size; at += 2 * mib) (void)*(volatile char*)(block + at);
    }
  } else if (is(what,
                "pipes")) {  // KiB of data that pipes hold, of which the kernel counts the pages
    static char block[64 << 10];
    size_t held = 0;
    for (int ends[2]; held < amount << 10 && pipe2(ends, O_NONBLOCK) == 0;)
      for (ssize_t got; (got = write(ends[1], block, sizeof block)) > 0;) held += (size_t)got >> 10;
    return printf("pipes: hold %zu KiB\n", held), held < amount << 10 ? 3 : 0;
  } else if (is(what, "sockets")) {
    static char block[64 << 10];
    size_t held = 0;
    for (int ends[2];
         held < amount << 10 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0;)
      for (int end = 0; end < 2; ++end)
        for (ssize_t got; (got = write(ends[end], block, sizeof block)) > 0;)
          held += (size_t)got >> 10;
    return printf("sockets: hold %zu KiB\n", held), held < amount << 10 ? 3 : 0;
  } else if (is(what, "tmpfs")) {
    const int fd = open("/tmp/hog", O_WRONLY | O_CREAT, 0600);
    static char block[1 << 20];
    for (size_t i = 0; i < amount; ++i)
      if (write(fd, block, sizeof block) != sizeof block)
        return printf("tmpfs: refused at %zu MiB\n", i), 3;
  } else if (is(what, "family")) {  // each small, together too much
    for (size_t i = 0; i < 16; ++i)
      if (fork() == 0) {
        char* block =
            mmap(0, amount / 16 * mib, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED) _exit(3);
        touch(block, amount / 16 * mib);
        sleep(2);
        _exit(0);
      }
    int status, worst = 0;
    while (wait(&status) > 0)
      if (status) worst = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return worst;
  } else if (is(what, "stack")) {
    char top = 1;
    printf("%d\n", deeper(&top, (long)amount * 16));
  } else if (is(what, "forks")) {  // tries `amount` at once; prints how many it got
    size_t made = 0, failed = 0;
    for (size_t i = 0; i < amount; ++i) {
      const pid_t pid = fork();
      if (pid == 0) {
        sleep(5);
        _exit(0);
      }
      if (pid > 0)
        ++made;
      else
        ++failed;
    }
    printf("made %zu failed %zu\n", made, failed);
    return failed ? 4 : 0;
  } else if (is(what, "threads")) {
    size_t made = 0;
    for (size_t i = 0; i < amount; ++i) {
      pthread_t thread;
      pthread_attr_t attr;
      pthread_attr_init(&attr);
      pthread_attr_setstacksize(&attr, 64 << 10);
      if (pthread_create(&thread, &attr, (void* (*)(void*))pause, 0) == 0) ++made;
    }
    printf("made %zu failed %zu\n", made, amount - made);
    return made < amount ? 4 : 0;
  } else if (is(what, "bomb")) {  // the classic: doubles `amount` times at most
    for (size_t i = 0; i < amount; ++i) (void)!fork();
    sleep(1);
    return 0;
  } else if (is(what, "flood")) {  // MiB to stdout, and as many to stderr
    static char block[1 << 16];
    memset(block, 'y', sizeof block);
    for (size_t i = 0; i < amount * 16; ++i)
      if (write(1, block, sizeof block) < 0 || write(2, block, sizeof block) < 0) return 3;
  } else if (is(what, "bytes")) {  // single-byte writes
    for (size_t i = 0; i < amount; ++i) (void)!write(i % 2 ? 1 : 2, "z", 1);
  } else if (is(what, "kernel")) {  // things that are not pages of its own
    size_t files = 0, layers = 0;
    const int spare = eventfd(0, 0);
    while (files < amount && eventfd(0, 0) >= 0) ++files;
    printf("descriptors %zu\n", files);
    unsigned long attributes[3] = {1, 0, 0};
    close(spare);  // room for the ruleset
    const int ruleset = (int)syscall(SYS_landlock_create_ruleset, attributes, 8, 0);
    while (layers < 64 && syscall(SYS_landlock_restrict_self, ruleset, 0) == 0) ++layers;
    printf("layers %zu\n", layers);
    return layers < 16 && files < amount ? 0 : 1;
  } else if (is(what, "burn") || is(what, "burn-stay")) {  // `amount` ms of the processor's time
    struct timespec used;
    do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    while ((size_t)used.tv_sec * 1000 + (size_t)used.tv_nsec / 1000000 < amount);
    puts("burnt");
    if (is(what, "burn-stay")) pause();
  } else if (is(what, "spin")) {  // by 8 children, or so many, for `amount` seconds at most
    alarm((unsigned)amount);
    for (int i = argc > 3 ? atoi(argv[3]) : 8; i > 0; --i)
      if (fork() == 0) {
        alarm((unsigned)amount);
        for (;;) {
        }
      }
    for (;;) {
    }
  } else {
    return 2;
  }
  printf("%s: SUCCEEDED with %zu\n", what, amount);
  return 0;
}
