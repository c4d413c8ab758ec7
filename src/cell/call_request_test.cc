#include <brig/error.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cell/call.h"

namespace brig {
namespace {

// A request whose arguments come in pieces of two lengths.
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

// A pipe as long as the kernel grants one of that size, and a file above that. Both are read alike.
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

// The request has 32 bits for the size, so a larger size must not become a smaller one.
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

// --- files ---

std::string fault_of(const std::vector<InputFile>& files) {
  CellRequest request;
  try {
    stow_files(request, files);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  EXPECT_EQ(request.file_names.size(), files.size());
  return "";
}

TEST(StowFiles, WritesThemIntoOneFileThatNobodyCanChange) {
  CellRequest request;
  stow_files(request, std::vector<InputFile>{{"a", "12"}, {"d/e", ""}});
  std::string block(100, '\0');
  block.resize(static_cast<std::size_t>(read(request.files.get(), block.data(), block.size())));
  const wire::FileHeader a{2, 2, 0}, e{0, 4, 0};
  const auto text = [](const wire::FileHeader& header) {
    return std::string(reinterpret_cast<const char*>(&header), sizeof header);
  };
  EXPECT_EQ(block, text(a) + std::string("a\0", 2) + "12" + text(e) + std::string("d/e\0", 4));
  EXPECT_LT(write(request.files.get(), "x", 1), 0);
  CellRequest none;
  stow_files(none, {});
  EXPECT_FALSE(none.files);
}

TEST(StowFiles, RefusesPathsThatLeadElsewhere) {
  for (const std::string& path :
       {std::string(), std::string("/"), std::string("/etc/x"), std::string("."), std::string(".."),
        std::string("../x"), std::string("a/../x"), std::string("a/./x"), std::string("a//x"),
        std::string("a/"), std::string("./a"), std::string("a\0b", 3), std::string(256, 'x'),
        std::string(5000, 'x')})
    EXPECT_NE(fault_of({{path, ""}}).find("is not a path inside the workspace"), std::string::npos)
        << path;
  for (const char* path : {"a", "a/b", "...", "..a", "a b", "-", "\n", "\xff"})
    EXPECT_EQ(fault_of({{path, ""}}), "") << path;
}

TEST(StowFiles, RefusesTooMany) {
  EXPECT_EQ(fault_of(std::vector<InputFile>(wire::kMaxFiles, {"x", ""})), "");
  EXPECT_NE(fault_of(std::vector<InputFile>(wire::kMaxFiles + 1, {"x", ""})), "");
}

}  // namespace
}  // namespace brig
