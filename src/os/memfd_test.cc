#include "os/memfd.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace brig {
namespace {

TEST(Memfd, HoldsWhatWasWrittenAndNothingCanChangeIt) {
  const UniqueFd file = make_memfd("test");
  const std::string bytes(300'000, 'x');
  ASSERT_TRUE(fill_and_seal(file.get(), bytes));
  EXPECT_EQ(lseek(file.get(), 0, SEEK_END), 300'000);
  char byte = 0;
  EXPECT_EQ(pread(file.get(), &byte, 1, 299'999), 1);
  EXPECT_EQ(byte, 'x');
  EXPECT_EQ(pwrite(file.get(), "y", 1, 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(ftruncate(file.get(), 1), -1);
  EXPECT_EQ(ftruncate(file.get(), 400'000), -1);
  EXPECT_EQ(mmap(nullptr, 1, PROT_WRITE, MAP_SHARED, file.get(), 0), MAP_FAILED);
}

TEST(Memfd, TellsThatItCouldNotBeWritten) {
  const UniqueFd file = make_memfd("test");
  ASSERT_TRUE(fill_and_seal(file.get(), "once"));
  EXPECT_FALSE(fill_and_seal(file.get(), "twice"));
  EXPECT_EQ(errno, EPERM);
}

}  // namespace
}  // namespace brig
