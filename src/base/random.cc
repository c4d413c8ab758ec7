#include "base/random.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>

#include "base/error.h"

namespace brig {

std::string random_hex(std::size_t bytes) {
  std::array<unsigned char, 64> random;
  if (bytes > random.size())
    throw_error(ErrorKind::internal, "random text: {} bytes are more than {}", bytes,
                random.size());
  // So few come whole, or not at all; a signal can end the wait for a machine that has just started.
  ssize_t size;
  do size = getrandom(random.data(), bytes, 0);
  while (size < 0 && errno == EINTR);
  if (size != static_cast<ssize_t>(bytes)) throw_sys("random text: getrandom");
  return fmt::format("{:02x}", fmt::join(random.begin(), random.begin() + bytes, ""));
}

}  // namespace brig
