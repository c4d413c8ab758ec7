#include "os/memfd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "os/read.h"
#include "os/write.h"

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

TEST(Memfd, HoldsPiecesInTheirOrder) {
  const UniqueFd file = make_memfd("test");
  std::vector<std::string> texts;
  std::string expected;
  for (int i = 0; i < 500; ++i) {  // More than one writev takes.
    texts.push_back(std::string(static_cast<std::size_t>(i % 7), static_cast<char>('a' + i % 26)));
    expected += texts.back();
  }
  const std::vector<std::string_view> pieces(texts.begin(), texts.end());
  ASSERT_TRUE(fill_and_seal(file.get(), pieces));
  std::string read(expected.size() + 1, '\0');
  EXPECT_EQ(pread(file.get(), read.data(), read.size(), 0), static_cast<ssize_t>(expected.size()));
  read.pop_back();
  EXPECT_EQ(read, expected);
}

// A pipe takes as much as it has room for.
TEST(WriteAll, GoesOnWhereItWasCutOff) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const std::string first(150'000, 'x'), second(70'001, 'y');
  std::string read_back;
  std::thread reader([&] {
    char buffer[4099];
    for (ssize_t size; (size = read(ends[0], buffer, sizeof buffer)) > 0;)
      read_back.append(buffer, static_cast<std::size_t>(size));
  });
  const std::string_view pieces[] = {first, "", second, first, "z"};
  EXPECT_TRUE(write_all(ends[1], pieces));
  close(ends[1]);
  reader.join();
  EXPECT_TRUE(read_back == first + second + first + "z");
  close(ends[0]);
  EXPECT_FALSE(write_all(-1, pieces));
  EXPECT_EQ(errno, EBADF);
  EXPECT_TRUE(write_all(-1, {}));
}

TEST(AppendFrom, TakesThatMuchAndTellsWhatIsMissing) {
  const UniqueFd file = make_memfd("test");
  const std::string bytes(300'000, 'x');
  ASSERT_TRUE(fill_and_seal(file.get(), bytes));
  lseek(file.get(), 0, SEEK_SET);
  std::string text = "before";
  EXPECT_TRUE(append_from(file.get(), text, 0));
  EXPECT_TRUE(append_from(file.get(), text, 7));
  EXPECT_EQ(text, "beforexxxxxxx");
  EXPECT_TRUE(append_from(file.get(), text, bytes.size() - 7));
  EXPECT_TRUE(text == "before" + bytes);
  EXPECT_FALSE(append_from(file.get(), text, 1)) << "it is at its end";
  EXPECT_FALSE(append_from(-1, text, 1));
}

TEST(Memfd, TellsThatItCouldNotBeWritten) {
  const UniqueFd file = make_memfd("test");
  ASSERT_TRUE(fill_and_seal(file.get(), "once"));
  EXPECT_FALSE(fill_and_seal(file.get(), "twice"));
  EXPECT_EQ(errno, EPERM);
}

}  // namespace
}  // namespace brig
