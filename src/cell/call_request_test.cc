#include <brig/error.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cell/call.h"

namespace brig {
namespace {

// In pieces of two lengths.
CellRequest with_arguments(std::size_t size) {
  CellRequest request;
  request.command.argv = {"tool"};
  const std::string first(size / 3, 'x'), second(size - first.size(), 'y');
  const std::string_view pieces[] = {first, "", second};
  stow_arguments(request, pieces);
  return request;
}

TEST(StowArguments, LeavesSmallOnesInTheRequest) {
  const CellRequest request = with_arguments(wire::kInlineArguments);
  EXPECT_FALSE(request.arguments_file);
  ASSERT_EQ(request.arguments->size(), wire::kInlineArguments);
  EXPECT_EQ(request.arguments->find('y'), wire::kInlineArguments / 3);
}

TEST(StowArguments, PutsLargeOnesIntoAFile) {
  const CellRequest request = with_arguments(wire::kInlineArguments + 1);
  struct stat info {};
  ASSERT_EQ(fstat(request.arguments_file.get(), &info), 0);
  EXPECT_EQ(info.st_size, wire::kInlineArguments + 1);
  char byte = 0;
  EXPECT_EQ(pread(request.arguments_file.get(), &byte, 1, info.st_size - 1), 1);
  EXPECT_EQ(byte, 'y');
  EXPECT_TRUE(request.arguments && request.arguments->empty()) << "it is still a function's";
}

// A pipe while the kernel grants one so large, a file beyond: both are read alike.
TEST(StowOutline, GivesWhatIsInTheGapsInTheirOrder) {
  for (const std::size_t size : {100'000, 1 << 20, 5 << 20}) {
    const std::string first(size / 3, 'x'), second(size - first.size(), 'y');
    const std::string_view runs[] = {first, second};
    CellRequest request;
    stow_outline(request, "outline", runs);
    EXPECT_EQ(request.arguments, "outline");
    EXPECT_EQ(request.arguments_size, size);
    std::string got(size + 1, '\0');
    std::size_t at = 0;
    for (ssize_t count;
         (count = read(request.arguments_file.get(), got.data() + at, got.size() - at)) > 0;)
      at += static_cast<std::size_t>(count);
    EXPECT_EQ(at, size) << "and then it ends";
    got.pop_back();
    EXPECT_TRUE(got == first + second);
    EXPECT_TRUE(fcntl(request.arguments_file.get(), F_GETFD) & FD_CLOEXEC);
  }
}

// The request has 32 bits for their size: more must not become less.
TEST(StowArguments, RefusesMoreThanTheRequestCanTell) {
  const std::string mebibyte(1 << 20, 'x');
  std::vector<std::string_view> pieces(wire::kMaxArguments / mebibyte.size(), mebibyte);
  pieces.emplace_back("y");
  CellRequest request;
  try {
    stow_arguments(request, pieces);
    ADD_FAILURE() << "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
  }
}

}  // namespace
}  // namespace brig
