// From a policy to the plan that the helper carries out, and the words for what it reports.
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
#include "os/cgroup.h"
#include "policy/listed_path.h"
#include "wire/plan.h"
#include "wire/wire.h"

namespace brig {

struct BuiltPlan {
  std::vector<std::byte> block;                    // a Plan
  std::vector<std::string> enforced;               // the layers that a cell made by it has
  std::map<std::string, std::string> environment;  // what each command starts with
  std::string
      scratch_directory;  // floors without mounts; made by this call, removed by the janitor

  bool counts_memory = false;      // no memory cgroup: the call's host counts shared memory
  std::vector<int> counted_calls;  // by these
  bool counts_processes = false;   // a cgroup does
  CellView view;
  std::vector<MissingName> missing;  // of what files.protect "@default" names

  const Plan& plan() const { return *reinterpret_cast<const Plan*>(block.data()); }
};

// A file as it was when it was judged. A zygote finds these bytes at that path, whatever becomes of the file.
struct HeldFile {
  std::string path, bytes;
};

// What a zygote loads, or becomes, before it makes cells. Empty: nothing.
struct Payload {
  std::string title;    // for messages: "library '/x/libgeo.so'"
  std::string library;  // of tools, for the helper to load
  // A program to execute instead of the helper: see Plan::runtime.
  std::string runtime_program;
  std::vector<std::string> runtime;
  std::map<std::string, std::string> runtime_environment;  // where the policy has none of the name
  std::string_view runtime_image, runtime_files;           // outlive the plan's making
  std::string runtime_spec;
  // Of the files that the policy lets be read. Where there are no mounts, the files themselves are read.
  std::vector<std::shared_ptr<const HeldFile>> held;
  bool empty() const { return title.empty(); }
};

// `policy` is validated, and its optional paths are settled (listed_path.h). Throws Error(unsupported) naming the feature that the floor needs and this
// machine lacks, where that can be known before trying.
// `single`: for one call (see Plan::single). `shows_workspace`: see Plan::shows_workspace.
BuiltPlan build_plan(const Policy& policy, const CgroupLayout& cgroups, bool single,
                     const Payload& payload = {}, bool shows_workspace = false);

// What a container has to be started with for the jail. Each names an option of Docker, podman and Kubernetes.
struct ContainerNeeds {
  bool seccomp = false;   // another profile: this one forbids namespaces
  bool apparmor = false;  // another profile: the usual one forbids mounts
  bool proc = false;      // /proc without covers
  bool user = false;      // an id other than root's
};
std::string container_options(const ContainerNeeds& needs);

// Why namespaces are refused with this errno, and how to get them, by what is to be seen of this machine.
std::string namespace_advice(int error);
// Why no id may be mapped in one.
std::string id_map_advice(int error);

// What a failed set-up means, and what to do: "mounting '/data': No such file or directory".
std::string failure_text(const Plan& plan, wire::Stage stage, int error, unsigned index);
// config for what the policy can change, unsupported for what the machine lacks, else by errno.
ErrorKind failure_kind(wire::Stage stage, int error);

}  // namespace brig
