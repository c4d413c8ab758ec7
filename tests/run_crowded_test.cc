// brig::run() with a helper that is not brig's (crowding_helper.cc): what it sends unasked does not stay in the host.
#include <filesystem>
#include <iterator>

#include "escape.h"

namespace {

using namespace escape;

long open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

TEST(RunCrowded, KeepsNoDescriptorThatItDidNotAskFor) {
  const auto call = [] {
    try {
      (void)brig::run(brig::Command::shell("true"), {});  // whatever it says
    } catch (const brig::Error&) {
    }
  };
  call();  // what is made once is made
  const long before = open_descriptors();
  for (int i = 0; i < 10; ++i) call();
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
