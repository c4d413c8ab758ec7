// Using up the machine, within bounds that hold even if the cell's do not. Arguments: what, how much.
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/shm.h>
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
  } else if (is(what, "spin")) {  // every core, for `amount` seconds at most
    alarm((unsigned)amount);
    for (int i = 0; i < 8; ++i)
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
