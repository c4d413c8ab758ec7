#include "base/random.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>

#include "base/error.h"

namespace brig {

std::string random_hex(std::size_t bytes) {
  std::array<unsigned char, 64> random;
  if (bytes > random.size())
    throw_error(ErrorKind::internal, "random text: {} bytes were requested, and the most is {}",
                bytes, random.size());
  // The kernel gives so few bytes at once or not at all. On a machine that has just started it may
  // wait, and a signal can interrupt that.
  ssize_t size;
  do size = getrandom(random.data(), bytes, 0);
  while (size < 0 && errno == EINTR);
  if (size != static_cast<ssize_t>(bytes)) throw_sys("random text: getrandom");
  return fmt::format("{:02x}", fmt::join(random.begin(), random.begin() + bytes, ""));
}

}  // namespace brig
