#include "os/apparmor.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace brig {
namespace {

namespace fs = std::filesystem;

// A machine's files, as far as the advice looks at them.
class AppArmor : public testing::Test {
 protected:
  AppArmor() {
    std::string name = (fs::temp_directory_path() / "brig-apparmor.XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp");
    root_ = name;
    places_ = {root_ + "/proc", root_ + "/etc", program()};
    put("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
    put("proc/self/attr/current", "unconfined\n");
    fs::create_directories(root_ + "/etc");
  }
  ~AppArmor() override { fs::remove_all(root_); }

  std::string program() const { return root_ + "/usr/bin/brig"; }
  std::string shipped() const { return root_ + "/usr/share/doc/brig/apparmor/brig"; }
  std::string profile() const { return "profile brig " + program() + " flags=(unconfined) {}\n"; }

  void put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << text;
  }
  std::string advice() const { return apparmor_advice(places_); }

  std::string root_;
  AppArmorPlaces places_;
};

TEST_F(AppArmor, SaysNothingWhereItForbidsNothing) {
  put("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "0\n");
  EXPECT_EQ(advice(), "");
  fs::remove(root_ + "/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
  EXPECT_EQ(advice(), "");
}

TEST_F(AppArmor, NamesTheShippedProfileTheCommandsAndTheSysctl) {
  put("usr/share/doc/brig/apparmor/brig", profile());
  EXPECT_EQ(advice(),
            "AppArmor keeps programs without a profile from using user namespaces here: load "
            "brig's profile, as root: `install -m 644 " +
                shipped() + " " + root_ + "/etc/brig && apparmor_parser -r " + root_ +
                "/etc/brig`; or allow user namespaces for all programs: `sysctl "
                "kernel.apparmor_restrict_unprivileged_userns=0`");
}

TEST_F(AppArmor, FindsTheShippedProfileOfTheServer) {
  places_.program = root_ + "/usr/libexec/brig/brig-server";
  put("usr/share/doc/brig/apparmor/brig", "profile brig-server " + places_.program + " {}\n");
  EXPECT_NE(advice().find("`install -m 644 " + shipped()), std::string::npos) << advice();
}

TEST_F(AppArmor, OnlyLoadsAProfileThatIsInItsPlace) {
  put("usr/share/doc/brig/apparmor/brig", profile());
  put("etc/brig", profile());
  EXPECT_NE(advice().find("`apparmor_parser -r " + root_ + "/etc/brig`"), std::string::npos)
      << advice();
  EXPECT_EQ(advice().find("install"), std::string::npos) << advice();
}

TEST_F(AppArmor, WantsAProfileForAnotherProgram) {
  put("usr/share/doc/brig/apparmor/brig", profile());
  put("etc/brig", profile());
  places_.program = root_ + "/usr/bin/python3";
  EXPECT_NE(advice().find("a profile for this program, '" + places_.program + "'"),
            std::string::npos)
      << advice();
  EXPECT_EQ(advice().find("apparmor_parser"), std::string::npos) << advice();
}

TEST_F(AppArmor, SaysNothingUnderItsOwnProfile) {
  put("proc/self/attr/apparmor/current", "brig (unconfined)\n");
  EXPECT_EQ(advice(), "");
  put("proc/self/attr/apparmor/current", "brig-server (unconfined)\n");
  EXPECT_EQ(advice(), "");
  put("proc/self/attr/apparmor/current", "brigand (enforce)\n");
  EXPECT_NE(advice(), "");
}

}  // namespace
}  // namespace brig
