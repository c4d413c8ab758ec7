// Plan: a policy worked out into steps that the helper carries out without thinking: which mounts,
// rules, limits and programs, in which order. One flat, position-independent block, written by the
// host into a sealed memfd and mapped read-only by the helper. Offsets are from the block's start;
// offset 0 is "none". No pointers, no ownership.
#pragma once

#include <cstdint>

namespace brig {

using PlanText = std::uint32_t;  // offset of a NUL-terminated string

template <typename T>
struct PlanList {
  std::uint32_t offset;
  std::uint32_t count;
};

enum class Floor : std::uint32_t { jail, landlock, process };

// Building the root file system, once per zygote. Targets are below the new root.
enum class RootOp : std::uint32_t {
  directory,   // target
  symlink,     // target -> source
  file,        // target, with the text `source`
  bind,        // source (a host path) at target; flags
  cover,       // an empty directory or file over target, if target exists
};
inline constexpr std::uint32_t kBindWritable = 1, kBindDevice = 2, kBindNoexec = 4, kBindOptional = 8;

struct RootStep {
  RootOp op;
  std::uint32_t flags;
  PlanText source;
  PlanText target;
  std::int32_t id_map;  // bind: index into id_maps, or -1
  std::uint32_t mode;
};

// A bind mount that shows files of host owner `uid:gid` as the cell's user.
struct IdMap {
  std::uint32_t uid;
  std::uint32_t gid;
};

struct LandlockRule {
  PlanText path;
  std::uint32_t optional;  // skip if the path is not there
  std::uint64_t access;
};

struct RlimitStep {
  std::uint32_t resource;
  std::uint32_t unused;
  std::uint64_t value;
};

struct CgroupSetting {
  PlanText file;
  PlanText value;
  std::uint32_t optional;
};

// One cgroup hierarchy. The host has made `base`; the janitor makes and removes base/<slot>.
struct CgroupTree {
  PlanText base;
  std::uint32_t is_pids;
  PlanList<CgroupSetting> settings;
};

struct Plan {
  std::uint32_t magic;
  std::uint32_t size;

  Floor floor;
  std::uint32_t as_root;    // started as root: build the root first, then become uid:gid
  std::uint32_t host_uid;   // ids of the tool outside
  std::uint32_t host_gid;
  std::uint32_t cell_uid;   // and inside
  std::uint32_t cell_gid;

  std::uint32_t network_namespace;  // 0: the host's; 1: one per slot; 2: one per cell
  std::uint32_t loopback_up;

  PlanList<RootStep> root;
  PlanList<IdMap> id_maps;
  PlanText scratch_options;  // tmpfs options: "size=...,nr_inodes=...,mode=0755"
  PlanText workspace;        // where scratch is staged, and what its "workspace" part becomes
  PlanList<PlanText> scratch_parts;  // pairs: name in scratch, target
  PlanList<PlanText> late_binds;     // pairs: where the zygote keeps it, target
  PlanText aside;                    // the directory that holds those; covered afterwards
  std::uint32_t unused_too;
  PlanList<PlanText> proc_masks;
  PlanText hostname;
  PlanText working_directory;

  std::uint32_t landlock_abi;  // 0: not there
  std::uint32_t unused;
  std::uint64_t landlock_fs;
  std::uint64_t landlock_net;
  std::uint64_t landlock_scoped;
  PlanList<LandlockRule> landlock_rules;

  PlanList<RlimitStep> rlimits;
  PlanList<std::uint64_t> filter;  // sock_filter programs; empty: none
  PlanList<std::uint64_t> lock_filter;

  PlanList<CgroupTree> cgroups;

  PlanText scratch_directory;  // floors without mounts: where each cell's private directory is made
};

inline constexpr std::uint32_t kPlanMagic = 0x62726967;

// Reading a plan. Bounds are checked once, when it is mapped (the host wrote it).
inline const char* text(const Plan& plan, PlanText offset) {
  return reinterpret_cast<const char*>(&plan) + offset;
}
template <typename T>
const T* begin_of(const Plan& plan, const PlanList<T>& list) {
  return reinterpret_cast<const T*>(reinterpret_cast<const char*>(&plan) + list.offset);
}

}  // namespace brig
