// From a policy to the plan that the helper carries out, and from the helper's failures to words.
#pragma once

#include <brig/error.h>
#include <brig/policy.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cell/cell_view.h"
#include "egress/settings.h"
#include "os/cgroup.h"
#include "policy/listed_path.h"
#include "wire/plan.h"
#include "wire/wire.h"

namespace brig {

struct BuiltPlan {
  std::vector<std::byte> block;       // A Plan.
  std::vector<std::string> enforced;  // The layers of a cell that is made by this plan.
  std::map<std::string, std::string> environment;  // What each command starts with.
  // On floors without mounts: made by this call, removed by the janitor.
  std::string scratch_directory;

  // There is no memory cgroup: the host counts the call's shared memory.
  bool counts_memory = false;
  std::vector<int> counted_calls;                  // The calls that it counts.
  bool counts_processes = false;                   // A cgroup counts processes.
  std::shared_ptr<const egress::Settings> egress;  // For Network::proxy.
  CellView view;
  std::vector<MissingName> missing;  // Names that "@default" of files.protect stands for.

  const Plan& plan() const { return *reinterpret_cast<const Plan*>(block.data()); }
};

// A file as it was when brig judged it. A zygote finds these bytes at that path, whatever happens
// to the file.
struct HeldFile {
  std::string path, bytes;
};

// What a zygote loads or becomes before it makes cells. Empty: nothing.
struct Payload {
  std::string title;    // For messages: "library '/x/libgeo.so'".
  std::string library;  // The library of tools that the helper loads.
  // A program to execute instead of the helper: see Plan::runtime.
  std::string runtime_program;
  std::vector<std::string> runtime;
  // Used where the policy has no variable of the name.
  std::map<std::string, std::string> runtime_environment;
  std::string_view runtime_image, runtime_files;  // They outlive the making of the plan.
  std::string runtime_spec;
  // Files among those that the policy makes readable. Where there are no mounts, the files
  // themselves are read.
  std::vector<std::shared_ptr<const HeldFile>> held;
  bool empty() const { return title.empty(); }
};

// Builds the plan. `policy` is validated, and its optional paths are settled (listed_path.h).
// Throws Error(unsupported) that names the feature that the floor needs and this machine lacks,
// where that can be known before trying. `single`: for one call (see Plan::single).
// `shows_workspace`: see Plan::shows_workspace.
BuiltPlan build_plan(const Policy& policy, const CgroupLayout& cgroups, bool single,
                     const Payload& payload = {}, bool shows_workspace = false);

// What a container needs at its start for the jail to work. Each member stands for an option of
// Docker, podman and Kubernetes.
struct ContainerNeeds {
  bool seccomp = false;   // Another profile: this one forbids namespaces.
  bool apparmor = false;  // Another profile: the usual one forbids mounts.
  bool proc = false;      // A /proc without covers.
  bool user = false;      // An id other than root's.
};
std::string container_options(const ContainerNeeds& needs);

// Why namespaces are refused with this errno, and how to get them, judged by what is visible of
// this machine.
std::string namespace_advice(int error);
// Why no id can be mapped in a user namespace.
std::string id_map_advice(int error);

// What a failed set-up means, and what to do: "mounting '/data': No such file or directory".
std::string failure_text(const Plan& plan, wire::Stage stage, int error, unsigned index);
// `config` for what the policy can change, `unsupported` for what the machine lacks, otherwise the
// kind of the errno.
ErrorKind failure_kind(wire::Stage stage, int error);

}  // namespace brig
