// Plan: a policy worked out into steps that the helper carries out without thinking: which mounts,
// rules, limits and programs, in which order. One flat, position-independent block, written by the
// host into a sealed memfd and mapped read-only by the helper. Offsets are from the block's start;
// offset 0 is "none". No pointers, no ownership.
#pragma once

#include <stdint.h>

namespace brig {

using PlanText = uint32_t;  // offset of a NUL-terminated string

template <typename T>
struct PlanList {
  uint32_t offset;
  uint32_t count;
};

enum class Floor : uint32_t { jail, landlock, process };

// Building the root file system, once per zygote. Targets are below the new root.
enum class RootOp : uint32_t {
  directory,  // target
  symlink,    // target -> source
  file,       // target, with the text `source`
  copy,       // target, a copy of the small host file `source`, if there is one
  bind,       // source (a host path) at target; flags
  cover,      // an empty directory or file over target, if target exists
  held,       // target, a file with the bytes `held[mode]`
  onto_itself,  // what is at target, mounted there once more: it can't be renamed; flags: writable or not
};
inline constexpr uint32_t kBindWritable = 1, kBindDevice = 2, kBindNoexec = 4;
inline constexpr uint32_t kBindOptional = 8;  // skip if it is not there
inline constexpr uint32_t kBindFollow = 16;   // of brig's own list: the source may be a symlink

struct RootStep {
  RootOp op;
  uint32_t flags;
  PlanText source;
  PlanText target;
  int32_t id_map;  // bind: index into id_maps, or -1
  uint32_t mode;
};

inline constexpr int kMaxIdMaps = 64;
// User and group of a zygote, as it sees itself, and of a tool, unless the policy names another. A zygote never is
// 0: the kernel gives files of processes that can't be dumped, in /proc, to the root of their namespace.
inline constexpr uint32_t kCellId = 1000;

// A bind mount that shows files of host owner `uid:gid` as the cell's user. It is refused if what is
// really mounted has another owner.
struct IdMap {
  uint32_t uid;
  uint32_t gid;
};

inline constexpr uint32_t kRuleOptional = 1;  // skip if the path is not there
inline constexpr uint32_t kRuleFollow = 2;    // symlinks: the path is brig's own, or the cell's
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

// One cgroup hierarchy. The host has made `base`; the janitor makes and removes base/<slot>. A single
// cell's own is `base`. A process enters by writing "0" to the file `entrance` in it.
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
  uint32_t as_root;   // started as root: build the root first, then become uid:gid
  uint32_t host_uid;  // ids of the tool outside
  uint32_t host_gid;
  uint32_t user;  // user and group of the tool, as it sees itself
  uint32_t
      slot_ids;  // how many more ids follow those, one for each slot; 0: all slots have the same

  uint32_t network_namespace;  // 0: the host's; 1: one per slot; 2: one per cell
  uint32_t loopback_up;
  // For one call only: the zygote itself becomes the cell's init, without keeper or nested namespaces.
  uint32_t single;

  PlanText root_size;  // of the root's own tmpfs: what is held, and a little more
  PlanList<RootStep> root;
  PlanList<PlanList<char>> held;
  PlanList<IdMap> id_maps;
  PlanText scratch_options;  // tmpfs options: "size=...,nr_inodes=...,mode=0755"
  // The same for a zygote, while it loads its tools; on floors without mounts a directory. 0: loads none
  PlanText load_scratch;
  PlanText workspace;  // where scratch is staged, and what its "workspace" part becomes
  PlanList<PlanText> scratch_parts;  // pairs: name in scratch, target
  PlanList<PlanText> late_binds;     // pairs: where the zygote keeps it, target
  PlanText aside;                    // the directory that holds those; covered afterwards
  // What must have a mount on it, if it is there: protected and hidden paths, and listed ones below others.
  PlanList<PlanText> guards;
  uint32_t kept;  // the first so many of them must be there, too: what is missing a tool could make
  PlanList<PlanText> proc_masks;
  PlanText hostname;
  PlanText working_directory;
  // The init gives the host a descriptor of the cell's own workspace, and stays, when all
  // other processes are gone, until the host hangs up.
  uint32_t shows_workspace;

  uint32_t landlock_abi;  // 0: not there
  uint64_t landlock_fs;
  uint64_t landlock_net;
  uint64_t landlock_scoped;
  PlanList<LandlockRule> landlock_rules;

  PlanList<RlimitStep> rlimits;
  uint32_t watches_files;     // the policy gives inotify back: limit what a cell has of the user's
  PlanList<uint64_t> filter;  // sock_filter programs; empty: none
  PlanList<uint64_t> lock_filter;

  PlanList<CgroupTree> cgroups;

  uint64_t memory;   // what a zygote of functions may grow by: the limit of its tools
  PlanText library;  // of tools, for the zygote to load; or none
  // A program that takes the zygote's place, in the jail, and serves as it: argv and environment, or
  // none. It loads the rest of the helper, `runtime_image`, and finds what is its own in `runtime_files`.
  PlanText runtime_program;
  PlanList<PlanText> runtime;
  PlanList<PlanText> runtime_environment;
  PlanList<char> runtime_image;
  PlanList<char> runtime_files;
  PlanText runtime_spec;

  PlanText scratch_directory;  // floors without mounts: where each cell's private directory is made
};

// The id of a slot's tool, counted from host_uid and host_gid outside, and from kCellId for the zygote, which
// has that one itself.
inline uint32_t slot_id(const Plan& plan, unsigned slot) {
  return plan.slot_ids ? 1 + slot % plan.slot_ids : 0;
}

inline constexpr uint32_t kPlanMagic = 0x62726967;

// Reading a plan. Bounds are checked once, when it is mapped (the host wrote it).
inline const char* text(const Plan& plan, PlanText offset) {
  return reinterpret_cast<const char*>(&plan) + offset;
}
template <typename T>
const T* begin_of(const Plan& plan, const PlanList<T>& list) {
  return reinterpret_cast<const T*>(reinterpret_cast<const char*>(&plan) + list.offset);
}

}  // namespace brig
