// Functions run in copies of the host's program: what the file of that program is to them.
#include <sys/xattr.h>

#include "e2e_program.h"
#include "sandbox_support.h"

namespace {

using namespace e2e;

// All that a change would show in. Its time of change can't be set back by anyone.
std::string state_of(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return "gone";
  std::ostringstream text;
  text << "mode " << std::oct << info.st_mode << std::dec << " size " << info.st_size << " changed "
       << info.st_ctim.tv_sec << "." << info.st_ctim.tv_nsec << " attributes "
       << listxattr(path.c_str(), nullptr, 0);
  return text.str();
}

TEST(SandboxProgram, AFunctionCantChangeTheFileOfItsHost) {
  const HostDirectory host;
  const std::string program = host / "program";
  std::filesystem::copy_file(guests() + "/host_program", program);
  const std::string before = state_of(program);
  for (int i = 0; i < 2; ++i) {  // a message for the next call would show in the second
    const Variable as_program("BRIG_PROGRAM", program.c_str());
    const Result result = brig_program({});
    EXPECT_EQ(result.code, 0) << result;
    for (const char* what : {"chmod", "utimensat", "setxattr", "truncate", "fchmod", "open"})
      EXPECT_TRUE(contains(result.out, what)) << what << " was not refused: " << result;
    EXPECT_FALSE(contains(result.out, program)) << result;
    EXPECT_EQ(state_of(program), before);
  }
}

// Its file is one in memory, from which every zygote of this process is started.
TEST(SandboxProgram, ALibrarysFunctionCantChangeTheLoader) {
  for (int i = 0; i < 2; ++i) {
    Toolbox tools;
    tools.add_library(guests() + "/libprogram.so");
    Sandbox box(std::move(tools));
    const ToolResult result = box.call("attack", Json::object());
    EXPECT_TRUE(result.ok()) << result.error;
    EXPECT_EQ(result.output, "chmod utimensat setxattr ") << result.output;
  }
}

}  // namespace
