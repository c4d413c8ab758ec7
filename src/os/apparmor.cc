#include "os/apparmor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <climits>

#include "base/text.h"

namespace brig {
namespace {

constexpr const char* kSysctl = "kernel.apparmor_restrict_unprivileged_userns";

std::string read_link(const std::string& path) {
  char buffer[PATH_MAX];
  const ssize_t size = readlink(path.c_str(), buffer, sizeof buffer);
  return size > 0 ? std::string(buffer, static_cast<std::size_t>(size)) : "";
}

// The newer of the two files exists if AppArmor shares the machine with another security module.
std::string own_label(const std::string& proc) {
  const std::string label = read_text(proc + "/self/attr/apparmor/current");
  return label.empty() ? read_text(proc + "/self/attr/current") : label;
}

// <prefix>/bin/brig and <prefix>/libexec/brig/brig-server have it in <prefix>/share/doc/brig.
std::string shipped_profile(const std::string& program) {
  std::string prefix = program;
  for (int above = 0; above < 3; ++above) {
    const std::size_t slash = prefix.rfind('/');
    if (slash == std::string::npos) break;
    prefix.erase(slash);
    std::string path = prefix + "/share/doc/brig/apparmor/brig";
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return "";
}

bool is_for(const std::string& profile, const std::string& program) {
  return read_text(profile).find(" " + program + " ") != std::string::npos;
}

}  // namespace

std::string apparmor_advice(const AppArmorPlaces& places) {
  if (read_text(places.proc + "/sys/kernel/apparmor_restrict_unprivileged_userns") != "1\n")
    return "";
  const std::string label = own_label(places.proc);
  if (label.rfind("brig ", 0) == 0 || label.rfind("brig-server ", 0) == 0) return "";

  const std::string program =
      places.program.empty() ? read_link(places.proc + "/self/exe") : places.program;
  const std::string installed = places.profiles + "/brig", shipped = shipped_profile(program);
  std::string load;
  if (is_for(installed, program))
    load = fmt::format("load brig's profile, as root: `apparmor_parser -r {}`", installed);
  else if (!shipped.empty() && is_for(shipped, program))
    load =
        fmt::format("load brig's profile, as root: `install -m 644 {} {} && apparmor_parser -r {}`",
                    shipped, installed, installed);
  else  // A host of the library, or a program that was not installed.
    load = fmt::format(
        "load a profile for this program, '{}', that allows `userns`: brig's own "
        "(packaging/apparmor/brig.in, installed as share/doc/brig/apparmor/brig) with this path",
        printable(program));
  return fmt::format(
      "AppArmor keeps programs without a profile from using user namespaces here: {}; or allow "
      "user namespaces for all programs: `sysctl {}=0`",
      load, kSysctl);
}

}  // namespace brig
