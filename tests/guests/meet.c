// Two cells that try to meet. `offer` opens every door it has, says so, and waits for the end of its
// stdin; `seek`, in another cell, tries each door.
#include <arpa/inet.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "guest.h"

enum { kKey = 0x62726967, kPort = 47123 };

static socklen_t abstract(struct sockaddr_un* address) {
  *address = (struct sockaddr_un){.sun_family = AF_UNIX};
  memcpy(address->sun_path + 1, "brig-meet", 9);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 10);
}

static long tcp_socket(struct sockaddr_in* address) {
  *address = (struct sockaddr_in){
      .sin_family = AF_INET, .sin_port = htons(kPort), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  return socket(AF_INET, SOCK_STREAM, 0);
}

static void offer(int network) {
  struct sockaddr_un name;
  const socklen_t size = abstract(&name);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  works("abstract socket", bind(listener, (struct sockaddr*)&name, size) | listen(listener, 1));
  works("shared memory", shmget(kKey, 4096, IPC_CREAT | 0666));
  works("semaphore", semget(kKey, 1, IPC_CREAT | 0666));
  works("message queue", msgget(kKey, IPC_CREAT | 0666));
  (void)mq_open("/brig-meet", O_RDWR | O_CREAT, 0666, 0);  // Landlock may refuse even one's own
  const char* const files[] = {"/dev/shm/brig-meet", "/tmp/brig-meet", "/workspace/brig-meet"};
  for (int i = 0; i < 3; ++i) works(files[i], open(files[i], O_RDWR | O_CREAT, 0666));
  if (network) {
    struct sockaddr_in address;
    const int tcp = (int)tcp_socket(&address);
    works("tcp listener", bind(tcp, (struct sockaddr*)&address, sizeof address) | listen(tcp, 1));
  }
  printf("offered\n");
  fflush(stdout);
  char byte;
  while (read(0, &byte, 1) > 0) {
  }
}

static int file_has(const char* path, const char* text) {
  static char block[1 << 16];
  const int fd = open(path, O_RDONLY);
  const ssize_t size = fd < 0 ? -1 : read(fd, block, sizeof block - 1);
  if (fd >= 0) close(fd);
  if (size < 0) return 0;
  block[size] = 0;
  return strstr(block, text) != 0;
}

static void seek(int network) {
  struct sockaddr_un name;
  const socklen_t size = abstract(&name);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  refused("abstract socket", connect(fd, (struct sockaddr*)&name, size));
  holds("/proc/net/unix does not show it", !file_has("/proc/net/unix", "brig-meet"));
  refused("shared memory", shmget(kKey, 0, 0));
  refused("semaphore", semget(kKey, 0, 0));
  refused("message queue", msgget(kKey, 0));
  refused("POSIX queue", mq_open("/brig-meet", O_RDWR));
  const char* const files[] = {"/dev/shm/brig-meet", "/tmp/brig-meet", "/workspace/brig-meet"};
  for (int i = 0; i < 3; ++i) refused(files[i], access(files[i], F_OK));
  char hex[16];
  snprintf(hex, sizeof hex, "%d", kKey);
  holds("/proc/sysvipc does not show it", !file_has("/proc/sysvipc/shm", hex));
  if (network) {
    struct sockaddr_in address;
    const int tcp = (int)tcp_socket(&address);
    refused("tcp listener", connect(tcp, (struct sockaddr*)&address, sizeof address));
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int network = is(argv[2], "loopback");
  if (is(argv[1], "offer"))
    offer(network);
  else if (is(argv[1], "seek"))
    seek(network);
  else
    return 2;
  return guest_failed;
}
