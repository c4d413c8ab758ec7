#include "helper/failure.h"

#include <unistd.h>

#include <errno.h>

#include "os/socket.h"

namespace brig::helper {

bool fail(Failure& failure, wire::Stage stage, unsigned index) {
  failure = {stage, errno, index};
  return false;
}

void die(int socket, const Failure& failure) {
  wire::Message message{};
  message.tag = wire::Tag::failed;
  message.stage = failure.stage;
  message.error = failure.error;
  message.index = failure.index;
  send_packet(socket, &message, sizeof message, nullptr, 0);
  _exit(1);
}

void die(int socket, wire::Stage stage, unsigned index) {
  die(socket, Failure{stage, errno, index});
}

}  // namespace brig::helper
