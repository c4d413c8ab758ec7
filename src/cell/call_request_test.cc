#include <brig/error.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "cell/call.h"

namespace brig {
namespace {

CellRequest with_arguments(std::size_t size) {
  CellRequest request;
  request.command.argv = {"tool"};
  request.arguments = std::string(size, 'x');
  return request;
}

TEST(StowArguments, LeavesSmallOnesInTheRequest) {
  CellRequest request = with_arguments(wire::kInlineArguments);
  stow_arguments(request);
  EXPECT_FALSE(request.arguments_file);
  EXPECT_EQ(request.arguments->size(), wire::kInlineArguments);
}

TEST(StowArguments, PutsLargeOnesIntoAFile) {
  CellRequest request = with_arguments(wire::kInlineArguments + 1);
  stow_arguments(request);
  struct stat info {};
  ASSERT_EQ(fstat(request.arguments_file.get(), &info), 0);
  EXPECT_EQ(info.st_size, wire::kInlineArguments + 1);
  EXPECT_TRUE(request.arguments && request.arguments->empty()) << "it is still a function's";
}

// The request has 32 bits for their size: more must not become less.
TEST(StowArguments, RefusesMoreThanTheRequestCanTell) {
  CellRequest request = with_arguments(std::size_t{wire::kMaxArguments} + 1);
  try {
    stow_arguments(request);
    ADD_FAILURE() << "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
  }
}

}  // namespace
}  // namespace brig
