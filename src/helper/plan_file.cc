#include "helper/plan_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <errno.h>

#include "helper/failure.h"
#include "os/socket.h"

namespace brig::helper {

const Plan& receive_plan(int socket) {
  wire::Message message;
  Packet packet = recv_packet(socket, &message, sizeof message, 0);
  if (packet.size == 0) _exit(1);
  if (packet.size != sizeof message || message.tag != wire::Tag::plan || packet.fd_count != 1) {
    errno = EINVAL;
    die(socket, wire::Stage::plan);
  }
  return map_plan(socket, packet.fds[0].release());
}

const Plan& map_plan(int socket, int file) {
  struct stat info;
  if (fstat(file, &info) != 0 || info.st_size < static_cast<off_t>(sizeof(Plan)))
    die(socket, wire::Stage::plan);
  void* block = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ,
                     MAP_PRIVATE | MAP_POPULATE, file, 0);
  if (block == MAP_FAILED) die(socket, wire::Stage::plan);
  close(file);
  const Plan& plan = *static_cast<const Plan*>(block);
  if (plan.magic != kPlanMagic || plan.size != info.st_size) {
    errno = EINVAL;
    die(socket, wire::Stage::plan);
  }
  return plan;
}

}  // namespace brig::helper
