#include "service/audit.h"

#include <brig/error.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "testing/scratch_directory.h"

namespace brig::serve {
namespace {

class AuditLog : public testing::Test {
 protected:
  static std::string text(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  const ScratchDirectory directory_;
  const std::string path_ = directory_ / "audit.jsonl";
};

TEST_F(AuditLog, IsAFileOfLinesForItsOwnerAlone) {
  const mode_t before = umask(0);
  Audit audit(path_);
  umask(before);
  audit.write("one");
  audit.write("two");
  EXPECT_TRUE(audit.works());
  EXPECT_EQ(text(path_), "one\ntwo\n");
  struct stat info {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(AuditLog, IsAddedToAndNeverBegunAnew) {
  std::ofstream(path_) << "before\n";
  Audit(path_).write("after");
  EXPECT_EQ(text(path_), "before\nafter\n");
}

TEST_F(AuditLog, MayBeNone) {
  Audit audit("none");
  audit.write("x");
  EXPECT_TRUE(audit.works());
  EXPECT_TRUE(audit.reopen());
}

TEST_F(AuditLog, ThatCanNotBeOpenedIsAnErrorThatSaysWhatToDo) {
  try {
    Audit audit(directory_ / "no/such");
    ADD_FAILURE() << "it was opened";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("--audit none"), std::string::npos) << error.what();
  }
}

TEST_F(AuditLog, TellsAtItsEndWhatCouldNotBeWritten) {
  testing::internal::CaptureStderr();
  {
    Audit audit("/dev/full");
    audit.write(R"({"call_id":"one"})");
    audit.write(R"({"call_id":"two"})");
  }
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("No space left"), std::string::npos) << told;
  EXPECT_NE(told.find("{\"call_id\":\"one\"}\n{\"call_id\":\"two\"}\n"), std::string::npos) << told;
}

TEST_F(AuditLog, OnAFullDiskDoesNotWork) {
  Audit audit("/dev/full");
  EXPECT_TRUE(audit.works()) << "nothing had to be written yet";
  audit.write("x");
  EXPECT_FALSE(audit.works());
  EXPECT_FALSE(audit.works()) << "it was tried again, in vain";
}

TEST_F(AuditLog, WhatAFullDiskDidNotTakeIsWrittenLaterInOrder) {
  std::filesystem::create_symlink("/dev/full", path_);
  Audit audit(path_);
  audit.write("one");
  audit.write("two");
  EXPECT_FALSE(audit.works());
  std::filesystem::remove(path_);
  EXPECT_TRUE(audit.reopen());
  EXPECT_TRUE(audit.works());
  audit.write("three");
  EXPECT_EQ(text(path_), "one\ntwo\nthree\n");
}

TEST_F(AuditLog, TellsOfAFullDiskOnceAndWhenItIsOver) {
  std::filesystem::create_symlink("/dev/full", path_);
  testing::internal::CaptureStderr();
  Audit audit(path_);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(audit.write("x"));
  EXPECT_EQ(audit.failures(), 3u);
  EXPECT_EQ(audit.unwritten(), 3u);
  for (int i = 0; i < 10'000; ++i) audit.write("x");
  EXPECT_EQ(audit.unwritten(), 10'000u) << "not without end";
  EXPECT_EQ(audit.lost(), 3u);
  std::filesystem::remove(path_);
  EXPECT_TRUE(audit.reopen());
  EXPECT_TRUE(audit.works());
  EXPECT_EQ(audit.unwritten(), 0u);
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_EQ(told,
            "brig: the audit log '" + path_ +
                "' can't be written (No space left on device); calls are refused until it can\n"
                "brig: the audit log can be written again; 3 lines are missing from it\n");
}

TEST_F(AuditLog, IsOpenedAnewAfterARotation) {
  Audit audit(path_);
  audit.write("one");
  std::filesystem::rename(path_, path_ + ".1");
  audit.write("two");
  EXPECT_TRUE(audit.reopen());
  audit.write("three");
  EXPECT_EQ(text(path_ + ".1"), "one\ntwo\n");
  EXPECT_EQ(text(path_), "three\n");
}

TEST_F(AuditLog, StaysWithTheOldFileIfThereCanBeNoNewOne) {
  const std::string inner = directory_ / "inner";
  std::filesystem::create_directory(inner);
  Audit audit(inner + "/log");
  std::filesystem::rename(inner, directory_ / "moved");
  EXPECT_FALSE(audit.reopen());
  audit.write("still");
  EXPECT_EQ(text(directory_ / "moved/log"), "still\n");
}

}  // namespace
}  // namespace brig::serve
