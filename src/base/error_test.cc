#include "base/error.h"

#include <gtest/gtest.h>

#include <string>

namespace brig {
namespace {

TEST(Error, CarriesItsKindAndItsMessage) {
  const Error error(ErrorKind::config, "policy: limits.memory: too small");
  EXPECT_EQ(error.kind(), ErrorKind::config);
  EXPECT_STREQ(error.what(), "policy: limits.memory: too small");
}

TEST(Error, EveryKindHasAName) {
  EXPECT_STREQ(to_string(ErrorKind::config), "config");
  EXPECT_STREQ(to_string(ErrorKind::unsupported), "unsupported");
  EXPECT_STREQ(to_string(ErrorKind::permission), "permission");
  EXPECT_STREQ(to_string(ErrorKind::resource), "resource");
  EXPECT_STREQ(to_string(ErrorKind::internal), "internal");
}

TEST(Error, AnErrnoHasTheKindOneCanActOn) {
  for (const int error : {EPERM, EACCES}) EXPECT_EQ(kind_of_errno(error), ErrorKind::permission);
  for (const int error : {ENOMEM, EMFILE, ENFILE, EAGAIN, ENOSPC}) {
    EXPECT_EQ(kind_of_errno(error), ErrorKind::resource) << error;
  }
  EXPECT_EQ(kind_of_errno(ENOSYS), ErrorKind::unsupported);
  EXPECT_EQ(kind_of_errno(EINVAL), ErrorKind::internal);
}

TEST(Error, AnErrnoReadsAsText) {
  EXPECT_EQ(errno_text(ENOENT), "No such file or directory");
  EXPECT_NE(errno_text(ETOOMANYREFS).find("ulimit -n"), std::string::npos);
  EXPECT_FALSE(errno_text(99999).empty());
  EXPECT_FALSE(errno_text(-1).empty());
}

TEST(Error, ThrowSysReadsErrnoBeforeTheMessageIsMade) {
  const std::string path(1 << 16, 'x');  // long: formatting it allocates
  errno = EACCES;
  try {
    throw_sys("opening '{}'", path);
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::permission);
    EXPECT_EQ(error.what(), "opening '" + path + "': Permission denied");
  }
}

TEST(Error, ThrowErrorFormats) {
  try {
    throw_error(ErrorKind::resource, "{} of {}", 3, "cells");
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::resource);
    EXPECT_STREQ(error.what(), "3 of cells");
  }
}

}  // namespace
}  // namespace brig
