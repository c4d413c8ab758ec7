// Planner: builds the plan of one policy. Only for plan_builder.cc and planner_*.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cell/plan_builder.h"
#include "cell/root_layout.h"
#include "wire/plan_writer.h"

namespace brig {

class Planner {
 public:
  Planner(const Policy& policy, const CgroupLayout& cgroups, bool single, const Payload& payload,
          bool shows_workspace)
      : policy_(policy), cgroups_(cgroups), payload_(payload) {
    plan_.single = single;
    plan_.shows_workspace = shows_workspace;
  }

  // Once.
  BuiltPlan build();
  // Removes what build() made on disk before it failed.
  void undo() const;

 private:
  bool is_jail() const { return policy_.isolation == Isolation::jail; }
  void enforce(std::string layer) { built_.enforced.push_back(std::move(layer)); }
  PlanList<PlanText> pairs(const std::vector<std::pair<std::string, std::string>>& list);

  void ids();
  bool may_keep_room() const;
  void seccomp();
  void rlimits();
  void runtime();
  void cgroups();
  void view();

  // planner_jail.cc: a root file system and namespaces of the cell's own.
  void jail();
  void jail_environment(const std::string& home);
  std::vector<std::string> held_files();
  void root_steps(const RootLayout& layout);
  void scratch_space(const RootLayout& layout);
  void guards(const RootLayout& layout);
  void namespaces();

  // planner_files.cc: files on the floors without mounts, and Landlock on those that have it.
  void directories();
  void refuse_what_needs_the_jail() const;
  void refuse_places() const;
  void private_directory();
  void landlock();
  bool landlock_version();
  void landlock_rule(const std::string& path, std::uint64_t access, bool optional,
                     bool follow = true);
  void landlock_devices();
  void landlock_of_host();
  void landlock_of_listed();

  const Policy& policy_;
  const CgroupLayout& cgroups_;
  const Payload& payload_;
  PlanWriter writer_;
  Plan plan_{};
  std::uint32_t spare_ids_ = 0;  // how many ids follow host_uid and host_gid
  BuiltPlan built_;
  std::vector<std::string> writable_;
  std::vector<LandlockRule> landlock_rules_;
  std::string load_directory_;  // floors without mounts: where a runtime's imports may write
};

}  // namespace brig
