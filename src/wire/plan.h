// Plan: a policy worked out into steps that the helper carries out without thinking: which mounts,
// rules, limits and programs, in which order. It is one flat, position-independent block. The host
// writes it into a sealed memfd, and the helper maps that read-only. Offsets count from the block's
// start; offset 0 stands for none. No pointers, no ownership.
#pragma once

#include <stdint.h>

namespace brig {

using PlanText = uint32_t;  // The offset of a NUL-terminated string.

template <typename T>
struct PlanList {
  uint32_t offset;
  uint32_t count;
};

enum class Floor : uint32_t { jail, landlock, process };

// The steps that build the root file system, once per zygote. Targets are below the new root.
enum class RootOp : uint32_t {
  // Makes the directory `target`.
  directory,
  // Makes a symlink `target` to `source`.
  symlink,
  // Makes the file `target` with the text `source`.
  file,
  // Makes `target` a copy of the small host file `source`, if that exists.
  copy,
  // Mounts the host path `source` at `target`, with `flags`.
  bind,
  // Mounts an empty directory or file over `target`, if `target` exists.
  cover,
  // Makes the file `target` with the bytes `held[mode]`.
  held,
  // Mounts `target` onto itself, so that it can't be renamed. `flags` say whether it is writable.
  onto_itself,
};
inline constexpr uint32_t kBindWritable = 1, kBindDevice = 2, kBindNoexec = 4;
// Skip the step if the source does not exist.
inline constexpr uint32_t kBindOptional = 8;
// The source is from brig's own list and may be a symlink.
inline constexpr uint32_t kBindFollow = 16;

struct RootStep {
  RootOp op;
  uint32_t flags;
  PlanText source;
  PlanText target;
  int32_t id_map;  // For bind: an index into id_maps, or -1.
  uint32_t mode;
};

inline constexpr int kMaxIdMaps = 64;
// The user and group id of a zygote inside its namespace, and of a tool, unless the policy names
// another. A zygote never has id 0: in /proc, the kernel gives the files of non-dumpable processes
// to the root of their namespace.
inline constexpr uint32_t kCellId = 1000;

// A bind mount that shows files of the host's owner `uid:gid` as the cell's user. The set-up fails
// if what is really mounted has another owner.
struct IdMap {
  uint32_t uid;
  uint32_t gid;
};

// Skip the rule if the path does not exist.
inline constexpr uint32_t kRuleOptional = 1;
// Follow symlinks: the path is brig's own or the cell's.
inline constexpr uint32_t kRuleFollow = 2;
struct LandlockRule {
  PlanText path;
  uint32_t flags;
  uint64_t access;
};

struct RlimitStep {
  uint64_t resource;
  uint64_t value;
};

struct CgroupSetting {
  PlanText file;
  PlanText value;
  uint32_t optional;
};

// One cgroup hierarchy. The host has made `base`; the janitor makes and removes base/<slot>. For a
// single cell, `base` is its cgroup. A process enters a cgroup by writing "0" to the file
// `entrance` in it.
struct CgroupTree {
  PlanText base;
  PlanText entrance;
  uint32_t is_pids;
  PlanList<CgroupSetting> settings;
};

struct Plan {
  uint32_t magic;
  uint32_t size;

  Floor floor;
  // The helper was started as root: it builds the root first and then becomes host_uid:host_gid.
  uint32_t as_root;
  // The tool's ids outside of the cell.
  uint32_t host_uid;
  uint32_t host_gid;
  // The tool's user and group id inside of the cell.
  uint32_t user;
  // How many more ids follow host_uid and host_gid, one for each slot. 0: all slots have the same
  // ids.
  uint32_t slot_ids;

  // 0: the host's. 1: one per slot. 2: one per cell.
  uint32_t network_namespace;
  uint32_t loopback_up;
  // The ports on which the host's proxy listens in the cell's network namespace. Empty: no proxy.
  PlanList<uint32_t> way_out_ports;
  // For one call only: the zygote itself becomes the cell's init, without a keeper or nested
  // namespaces.
  uint32_t single;

  // The size of the root's own tmpfs: the held files and a little more.
  PlanText root_size;
  PlanList<RootStep> root;
  PlanList<PlanList<char>> held;
  PlanList<IdMap> id_maps;
  // Options of a tmpfs: "size=...,nr_inodes=...,mode=0755".
  PlanText scratch_options;
  // The same for a zygote while it loads its tools; on floors without mounts, a directory. 0: the
  // zygote loads none.
  PlanText load_scratch;
  // Where the scratch space is staged. Its "workspace" part goes there in the end.
  PlanText workspace;
  // Pairs: the name in the scratch space, and the target.
  PlanList<PlanText> scratch_parts;
  // Pairs: where the zygote keeps the mount, and the target.
  PlanList<PlanText> late_binds;
  // The directory where the zygote keeps them. It is covered afterwards.
  PlanText aside;
  // What must have a mount on it if it exists: protected and hidden paths, and listed paths below
  // others.
  PlanList<PlanText> guards;
  // How many of the first guards must also exist, because a tool could make what is missing.
  uint32_t kept;
  PlanList<PlanText> proc_masks;
  PlanText hostname;
  PlanText working_directory;
  // The init gives the host a descriptor of the cell's own workspace. When all other processes are
  // gone, it stays until the host hangs up.
  uint32_t shows_workspace;

  // After a call that left nothing in it, the init makes the next tool in the same room.
  uint32_t keeps_room;

  // 0: there is no Landlock.
  uint32_t landlock_abi;
  uint64_t landlock_fs;
  uint64_t landlock_net;
  uint64_t landlock_scoped;
  PlanList<LandlockRule> landlock_rules;

  PlanList<RlimitStep> rlimits;
  // The policy allows inotify: limit how much of the user's share a cell may take.
  uint32_t watches_files;
  // sock_filter programs. Empty: no filter.
  PlanList<uint64_t> filter;
  PlanList<uint64_t> lock_filter;

  PlanList<CgroupTree> cgroups;

  // How much a zygote of functions may grow: the memory limit of its tools.
  uint64_t memory;
  // The library of tools that the zygote loads, or none.
  PlanText library;
  // A program that takes the zygote's place in the jail and serves as the zygote, or none; with its
  // argv and environment. It loads the rest of the helper, `runtime_image`, and finds its own files
  // in `runtime_files`.
  PlanText runtime_program;
  PlanList<PlanText> runtime;
  PlanList<PlanText> runtime_environment;
  PlanList<char> runtime_image;
  PlanList<char> runtime_files;
  PlanText runtime_spec;

  // On floors without mounts: the directory where each cell gets a private one.
  PlanText scratch_directory;
};

// The id of a slot's tool, as an offset: from host_uid and host_gid outside, and from kCellId for
// the zygote, which has kCellId itself.
inline uint32_t slot_id(const Plan& plan, unsigned slot) {
  return plan.slot_ids ? 1 + slot % plan.slot_ids : 0;
}

inline constexpr uint32_t kPlanMagic = 0x62726967;

// Reading a plan. The helper checks bounds once, when it maps the plan; the host has written it.
inline const char* text(const Plan& plan, PlanText offset) {
  return reinterpret_cast<const char*>(&plan) + offset;
}
template <typename T>
const T* begin_of(const Plan& plan, const PlanList<T>& list) {
  return reinterpret_cast<const T*>(reinterpret_cast<const char*>(&plan) + list.offset);
}

}  // namespace brig
