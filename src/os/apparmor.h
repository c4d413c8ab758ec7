// What to do where AppArmor keeps a program from using user namespaces.
#pragma once

#include <string>

namespace brig {

// Where AppArmor's files are. A test has its own.
struct AppArmorPlaces {
  std::string proc = "/proc";
  std::string profiles = "/etc/apparmor.d";
  // Empty: this process's program.
  std::string program;
};

// Since 23.10, Ubuntu keeps programs without a profile that allows `userns` from using user
// namespaces. Returns a sentence that names brig's profile, how to load it, and the sysctl. Empty
// where AppArmor does not do that, and for a program that runs under brig's profile.
std::string apparmor_advice(const AppArmorPlaces& places = {});

}  // namespace brig
