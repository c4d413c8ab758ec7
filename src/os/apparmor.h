// What to do where AppArmor stands in the way of user namespaces.
#pragma once

#include <string>

namespace brig {

// Where things are; a test has its own.
struct AppArmorPlaces {
  std::string proc = "/proc";
  std::string profiles = "/etc/apparmor.d";
  std::string program;  // this one, unless said
};

// Ubuntu, since 23.10, keeps programs without a profile that says `userns` from using user namespaces: a
// sentence that names brig's profile, how to load it, and the sysctl. Empty where AppArmor does not do that, and
// for a program that runs under brig's profile.
std::string apparmor_advice(const AppArmorPlaces& places = {});

}  // namespace brig
