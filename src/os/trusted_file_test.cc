#include "os/trusted_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/error.h"

namespace brig {
namespace {

constexpr uid_t kMe = 1000, kEve = 1001, kAlien = 4242;
constexpr gid_t kUsers = 100, kWheel = 10;

Accounts accounts() {
  return Accounts(
      "root:x:0:0:root:/root:/bin/sh\nme:x:1000:1000::/:/bin/sh\neve:x:1001:1001::/:/bin/sh\n"
      "odd:x:998:997::/:/bin/sh\nshy:x:1002:1002::/:/bin/sh\n+nis\nbroken\n",
      "root:x:0:\nme:x:1000:\neve:x:1001:eve,root\nusers:x:100:\nwheel:x:10:me\nodd:x:997:\n"
      "shy:x:1002:eve\n");
}

std::string found(const Ownership& file, const Ownership& directory, uid_t self = kMe) {
  return distrust(file, directory, Consent::found, self, accounts());
}
std::string named(const Ownership& file, const Ownership& directory = {kMe, kMe, 0755},
                  uid_t self = kMe) {
  return distrust(file, directory, Consent::named, self, accounts());
}

const Ownership kOwn{kMe, kMe, 0644}, kOwnDirectory{kMe, kMe, 0755}, kTmp{0, 0, 01777};

TEST(TrustedFile, AFoundOneIsOnesOwnOrRoots) {
  EXPECT_EQ(found(kOwn, kOwnDirectory), "");
  EXPECT_EQ(found({0, 0, 0644}, kOwnDirectory), "");
  EXPECT_EQ(found(kOwn, {0, 0, 0755}), "");
  EXPECT_EQ(found({kEve, kEve, 0644}, kOwnDirectory),
            "it belongs to user 1001, who is neither you nor root");
  EXPECT_EQ(found(kOwn, {kEve, kEve, 0755}),
            "its directory belongs to user 1001, who is neither you nor root");
  EXPECT_NE(found(kOwn, kOwnDirectory, 0), "") << "root, too, must say that it trusts a user";
}

TEST(TrustedFile, AFoundOneIsNobodyElsesToWrite) {
  EXPECT_EQ(found({kMe, kMe, 0646}, kOwnDirectory), "everyone can write it");
  EXPECT_EQ(found({kMe, kUsers, 0664}, kOwnDirectory), "all of group 100 can write it");
  EXPECT_EQ(found(kOwn, {kMe, kUsers, 0775}), "all of group 100 can write to its directory");
  EXPECT_EQ(found(kOwn, {kMe, kMe, 0777}), "everyone can write to its directory");
  EXPECT_EQ(found(kOwn, kTmp), "everyone can write to its directory");
}

TEST(TrustedFile, NamingOneIsConsentToItsOwner) {
  EXPECT_EQ(named({kEve, kEve, 0644}), "");
  EXPECT_EQ(named({kEve, kEve, 0644}, {kEve, kEve, 0755}, 0), "");
  EXPECT_EQ(named(kOwn, {kMe, kUsers, 0775}), "");
}

TEST(TrustedFile, NamingOneIsNoConsentToEveryone) {
  EXPECT_EQ(named({kMe, kMe, 0666}), "everyone can write it");
  EXPECT_EQ(named({0, 0, 0666}, {0, 0, 0755}, 0), "everyone can write it");
  EXPECT_EQ(named({kMe, kUsers, 0664}), "all of group 100 can write it");
  EXPECT_EQ(named(kOwn, {kMe, kMe, 0777}), "everyone can write to its directory");
}

TEST(TrustedFile, InASharedDirectoryTheOwnerMustBeKnown) {
  EXPECT_EQ(named(kOwn, kTmp), "");
  EXPECT_EQ(named({0, 0, 0644}, kTmp), "");
  EXPECT_EQ(named({kEve, kEve, 0644}, {kEve, kEve, 01777}), "");
  EXPECT_EQ(named({kEve, kEve, 0644}, kTmp),
            "everyone can write to its directory, and it belongs to user 1001, who is neither you "
            "nor root");
}

TEST(TrustedFile, APrivateGroupMayWrite) {
  EXPECT_EQ(found({kMe, kMe, 0664}, {kMe, kMe, 02775}), "") << "umask 002";
  EXPECT_EQ(found({0, 0, 0664}, {0, 0, 0775}), "");
  const Accounts known = accounts();
  EXPECT_TRUE(known.is_private(997, 998, kMe)) << "by name";
  EXPECT_TRUE(known.is_private(kEve, kEve, kMe)) << "root and the owner are listed in it";
  EXPECT_TRUE(known.is_private(kAlien, kAlien, 0)) << "a container knows neither";
  EXPECT_TRUE(known.is_private(0, kAlien, kAlien)) << "a container's user of root's group";
  EXPECT_FALSE(known.is_private(1002, 1002, kMe)) << "somebody else is in it";
  EXPECT_TRUE(known.is_private(1002, 1002, kEve)) << "that is oneself";
  EXPECT_FALSE(known.is_private(kWheel, kMe, kMe));
  EXPECT_FALSE(known.is_private(kUsers, kMe, kMe)) << "a name service may know others in it";
  EXPECT_FALSE(known.is_private(5000, kMe, kMe)) << "a group that no file lists";
  EXPECT_FALSE(known.is_private(kEve, kMe, kMe)) << "somebody else's own";
  EXPECT_FALSE(Accounts("a:x:1:7::/:\nb:x:2:7::/:\n", "").is_private(7, 7, 7));
}

TEST(TrustedFile, AnAccessListIsNoPrivateGroup) {
  EXPECT_EQ(found({kMe, kMe, 0664, true}, kOwnDirectory), "an access list lets others write it");
  EXPECT_EQ(found({kMe, kMe, 0644, true}, kOwnDirectory), "") << "its longest entry may not write";
}

class TrustedFileOnDisk : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "/brig-XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    directory_ = path;
    file_ = directory_ + "/file";
    std::ofstream(file_) << "text";
    ASSERT_EQ(::chmod(file_.c_str(), 0644), 0);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  static std::string refusal(const FileRequest& request) {
    try {
      read_trusted(request, 100);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
  std::string named() const { return refusal({file_, "policy"}); }
  std::string found() const { return refusal({file_, "policy", Consent::found, "--policy FILE"}); }

  std::string directory_, file_;
};

TEST_F(TrustedFileOnDisk, IsReadUpToALength) {
  EXPECT_EQ(read_trusted({file_, "policy"}, 100), "text");
  EXPECT_GT(read_trusted({file_, "policy"}, 3).size(), 3u);
}

TEST_F(TrustedFileOnDisk, ThatEveryoneCanWriteIsRefusedWithTheFix) {
  ASSERT_EQ(::chmod(file_.c_str(), 0646), 0);
  const std::string reason = "policy '" + file_ +
                             "' is not trusted: everyone can write it. Remove that permission "
                             "(chmod go-w), or use a copy of your own";
  EXPECT_EQ(named(), reason);
  EXPECT_EQ(found(), reason) << "naming it would not help";
}

TEST_F(TrustedFileOnDisk, IsJudgedByTheDirectoryOfTheLinkAndOfTheFile) {
  const std::string other = directory_ + "/other", link = other + "/link";
  std::filesystem::create_directory(other);
  std::filesystem::create_symlink("../file", link);
  EXPECT_EQ(refusal({link, "policy"}), "");
  ASSERT_EQ(::chmod(other.c_str(), 0777), 0);
  EXPECT_NE(refusal({link, "policy"}), "") << "anyone could put another link there";
  EXPECT_EQ(named(), "");
  ASSERT_EQ(::chmod(other.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(directory_.c_str(), 0777), 0);
  EXPECT_NE(refusal({link, "policy"}), "") << "anyone could put another file there";
}

TEST_F(TrustedFileOnDisk, ASharedDirectoryNeedsConsent) {
  ASSERT_EQ(::chmod(directory_.c_str(), 01777), 0);
  EXPECT_EQ(named(), "");
  EXPECT_EQ(found(), "policy '" + file_ +
                         "' is not trusted: everyone can write to its directory. If you trust it, "
                         "name it: --policy FILE");
}

TEST_F(TrustedFileOnDisk, OfSomebodyElseNeedsConsent) {
  if (geteuid() != 0) {
    // For an ordinary user, the files of others that always exist are root's, and those are
    // trusted.
    EXPECT_EQ(refusal({"/etc/passwd", "policy", Consent::found}), "");
    return;
  }
  ASSERT_EQ(::chown(file_.c_str(), 12345, 12345), 0);
  EXPECT_EQ(named(), "");
  EXPECT_EQ(found(),
            "policy '" + file_ +
                "' is not trusted: it belongs to user 12345, who is neither you nor root. If you "
                "trust it, name it: --policy FILE");
}

TEST_F(TrustedFileOnDisk, WithoutANameIsJudgedByItself) {
  const UniqueFd fd = open_trusted({file_, "policy"});
  ASSERT_EQ(::unlink(file_.c_str()), 0);
  EXPECT_EQ(read_trusted({"/proc/self/fd/" + std::to_string(fd.get()), "policy"}, 100), "text");
}

struct Pipe {
  UniqueFd out, in;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) == 0) out.reset(ends[0]), in.reset(ends[1]);
  }
  FileRequest request() const {
    return {.path = "/dev/fd/" + std::to_string(out.get()), .what = "policy", .may_be_pipe = true};
  }
};

std::string refusal_of(const FileRequest& request) {
  try {
    return "read: " + read_trusted(request, 100);
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(TrustedPipe, IsReadToItsEndAndUpToALength) {
  Pipe pipe;
  std::thread writer([&] {
    for (const char* part : {"in ", "three ", "parts"})
      (void)!::write(pipe.in.get(), part, strlen(part));
    pipe.in.reset();
  });
  EXPECT_EQ(read_trusted(pipe.request(), 100), "in three parts");
  writer.join();
  Pipe endless;
  const std::string much(60'000, 'x');
  ASSERT_EQ(::write(endless.in.get(), much.data(), much.size()), 60'000);
  EXPECT_GT(read_trusted(endless.request(), 100).size(), 100u) << "and no wait for its end";
}

TEST(TrustedPipe, IsNoFileForWhatAsksForOne) {
  const Pipe pipe;
  FileRequest request = pipe.request();
  request.may_be_pipe = false;
  EXPECT_NE(refusal_of(request).find("not a regular file"), std::string::npos);
}

TEST(TrustedPipe, ThroughWhichNothingCameIsRefused) {
  Pipe pipe;
  pipe.in.reset();
  EXPECT_NE(refusal_of(pipe.request()).find("it ended without any data"), std::string::npos);
}

TEST(TrustedPipe, ThatDoesNotEndIsGivenUp) {
  const Pipe pipe;
  FileRequest request = pipe.request();
  request.patience = std::chrono::milliseconds(20);
  EXPECT_NE(refusal_of(request).find("no end of file after 20 ms"), std::string::npos);
  ASSERT_EQ(::write(pipe.in.get(), "x", 1), 1);
  EXPECT_NE(refusal_of(request).find("no end of file after 20 ms"), std::string::npos);
}

TEST(TrustedPipe, AsASocketHasAPeerThatIsKnown) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd out(ends[0]);
  UniqueFd in(ends[1]);
  ASSERT_EQ(::write(in.get(), "text", 4), 4);
  in.reset();
  const FileRequest request{
      .path = "/proc/self/fd/" + std::to_string(out.get()), .what = "policy", .may_be_pipe = true};
  EXPECT_EQ(read_trusted(request, 100), "text");
  const UniqueFd network(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!network) GTEST_SKIP() << "no network";
  EXPECT_NE(refusal_of({.path = "/dev/fd/" + std::to_string(network.get()),
                        .what = "policy",
                        .may_be_pipe = true})
                .find("is not trusted: it is a socket"),
            std::string::npos);
}

TEST(TrustedPipe, ADescriptorThatIsNotThereIsAnError) {
  for (const char* path :
       {"/dev/fd/999999", "/dev/fd/", "/dev/fd/x", "/dev/fd/-1", "/dev/fd/99999999999"})
    EXPECT_EQ(refusal_of({.path = path, .what = "policy", .may_be_pipe = true}).find("read: "),
              std::string::npos)
        << path;
}

TEST_F(TrustedFileOnDisk, AsADescriptorIsReadOnFromWhereItIs) {
  const UniqueFd file(::open(file_.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::lseek(file.get(), 2, SEEK_SET), 2);
  const FileRequest request{
      .path = "/dev/fd/" + std::to_string(file.get()), .what = "policy", .may_be_pipe = true};
  EXPECT_EQ(read_trusted(request, 100), "xt");
  ASSERT_EQ(::chmod(file_.c_str(), 0666), 0);
  EXPECT_NE(refusal_of(request).find("everyone can write it"), std::string::npos);
}

TEST_F(TrustedFileOnDisk, AFifoIsJudgedAsAFileIs) {
  const std::string fifo = directory_ + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const FileRequest request{.path = fifo, .what = "policy", .may_be_pipe = true};
  // Opened before there is a writer: having no writer yet is not the end.
  std::thread writer([&] { std::ofstream(fifo) << "text"; });
  EXPECT_EQ(read_trusted(request, 100), "text");
  writer.join();
  ASSERT_EQ(::chmod(directory_.c_str(), 0777), 0);
  EXPECT_NE(refusal_of(request).find("everyone can write to its directory"), std::string::npos);
  ASSERT_EQ(::chmod(directory_.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(fifo.c_str(), 0622), 0);
  EXPECT_NE(refusal_of(request).find("everyone can write it"), std::string::npos);
  EXPECT_NE(refusal({fifo, "manifest"}).find("not a regular file"), std::string::npos);
}

TEST_F(TrustedFileOnDisk, AnAccessListIsSeen) {
  // Version 2; owner rw, user 1 rw, group r, mask rw, others r.
  const unsigned char list[] = {2, 0, 0,   0,   1,   0,   6,  0, 255, 255, 255, 255, 2,   0,  6,
                                0, 1, 0,   0,   0,   4,   0,  4, 0,   255, 255, 255, 255, 16, 0,
                                6, 0, 255, 255, 255, 255, 32, 0, 4,   0,   255, 255, 255, 255};
  if (::setxattr(file_.c_str(), "system.posix_acl_access", list, sizeof list, 0) != 0)
    GTEST_SKIP() << "no access lists in " << directory_ << ": " << strerror(errno);
  EXPECT_NE(named().find("an access list lets others write it"), std::string::npos) << named();
}

TEST_F(TrustedFileOnDisk, ADirectoryOfCodeIsNotEveryones) {
  check_trusted_directory(directory_, "python path");
  ASSERT_EQ(::chmod(directory_.c_str(), 01777), 0);
  EXPECT_THROW(check_trusted_directory(directory_, "python path"), Error);
  EXPECT_THROW(check_trusted_directory(file_, "python path"), Error);
}

}  // namespace
}  // namespace brig
