#include "os/lend_memory.h"

#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <errno.h>

#include "os/sys.h"

// Not on machines where it was never tried, and not with a sanitizer, which keeps records of every
// stack.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define BRIG_LENDS_MEMORY 1
#else
#define BRIG_LENDS_MEMORY 0
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#undef BRIG_LENDS_MEMORY
#define BRIG_LENDS_MEMORY 0
#endif
#endif

#if BRIG_LENDS_MEMORY && defined(__GLIBC__) && __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define BRIG_RSEQ 1
#pragma weak __rseq_offset  // The program may run with an older C library than it was built with.
#pragma weak __rseq_size
#else
#define BRIG_RSEQ 0
#endif

namespace brig {

bool lends_memory() { return BRIG_LENDS_MEMORY; }

#if BRIG_LENDS_MEMORY

#if defined(__GCC_HAVE_DWARF2_CFI_ASM)
#define BRIG_END_OF_STACK ".cfi_remember_state\n\t.cfi_undefined rip\n\t"
#define BRIG_STACK_AGAIN ".cfi_restore_state\n\t"
#else
#define BRIG_END_OF_STACK ""
#define BRIG_STACK_AGAIN ""
#endif

// This is not vfork, which does the same: a process that waits in vfork counts as load, as much as
// a whole CPU, for as long as its child lives. So clone and the waiting are separate here. Between
// clone and the end of wait4 the parent runs these instructions and no others; none of them touches
// the stack or errno. The child also leaves alone what is below the stack pointer, because a
// compiler may keep variables there (128 bytes, by the ABI).
[[gnu::noinline]] pid_t lend_memory(uint64_t flags, void (*child)(void*), void* argument,
                                    int* status, rusage* usage) {
  long result = SYS_clone;
  register void (*r_child)(void*) asm("rbx") = child;
  register void* r_argument asm("r12") = argument;
  register int* r_status asm("r13") = status;
  register rusage* r_usage asm("r14") = usage;
  register long r10 asm("r10") = 0;
  register long r8 asm("r8") = 0;
  uint64_t rdi = flags | CLONE_VM;
  long rsi = 0, rdx = 0;
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "js 3f\n\t"
      "jnz 1f\n\t"
      // The child.
      "lea -128(%%rsp), %%rsp\n\t"
      "and $-16, %%rsp\n\t"
      "xor %%ebp, %%ebp\n\t"
      "mov %%r12, %%rdi\n\t" BRIG_END_OF_STACK
      "call *%%rbx\n\t"
      "ud2\n\t" BRIG_STACK_AGAIN
      // The parent.
      "1: mov %%rax, %%r15\n\t"
      "2: mov %%r15, %%rdi\n\t"
      "mov %%r13, %%rsi\n\t"
      "xor %%edx, %%edx\n\t"
      "mov %%r14, %%r10\n\t"
      "mov %[wait4], %%eax\n\t"
      "syscall\n\t"
      "cmp %[interrupted], %%rax\n\t"
      "je 2b\n\t"
      "3:"
      : "+a"(result), "+D"(rdi), "+S"(rsi), "+d"(rdx), "+r"(r10), "+r"(r8)
      : "r"(r_child), "r"(r_argument), "r"(r_status),
        "r"(r_usage), [wait4] "i"(SYS_wait4), [interrupted] "i"(-EINTR)
      : "rcx", "r11", "r15", "cc", "memory");
  if (result >= 0) return static_cast<pid_t>(result);
  errno = static_cast<int>(-result);
  return -1;
}

// The kernel takes the registration away from a child in the same memory. A tool that is forked
// from that child must have one, because code that relies on it can't notice that it is missing.
void settle_in_lent_memory() {
#if BRIG_RSEQ
  if (!&__rseq_size || !&__rseq_offset || __rseq_size == 0) return;
  // The size of the first version, which every kernel accepts.
  constexpr unsigned kSize = 32;
  char* thread;
  asm("mov %%fs:0, %0" : "=r"(thread));
  syscall(SYS_rseq, thread + __rseq_offset, kSize, 0, RSEQ_SIG);
#endif
}

#else

pid_t lend_memory(uint64_t flags, void (*child)(void*), void* argument, int* status,
                  rusage* usage) {
  const pid_t pid = sys::clone_process(flags, nullptr);
  if (pid == 0) child(argument);
  if (pid < 0) return -1;
  pid_t waited;
  do waited = wait4(pid, status, 0, usage);
  while (waited < 0 && errno == EINTR);
  return waited;
}

void settle_in_lent_memory() {}

#endif

}  // namespace brig
