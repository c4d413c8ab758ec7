#include "cell/plan_builder.h"

#include <brig/error.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "os/sys.h"

namespace brig {
namespace {

bool has(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

std::string refusal(const Policy& policy) {
  try {
    const BuiltPlan built = build_plan(policy, {}, false);
    if (!built.scratch_directory.empty()) std::filesystem::remove_all(built.scratch_directory);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::uint64_t rlimit_of(const Plan& plan, unsigned resource) {
  for (unsigned i = 0; i < plan.rlimits.count; ++i)
    if (begin_of(plan, plan.rlimits)[i].resource == resource)
      return begin_of(plan, plan.rlimits)[i].value;
  return ~0ull;
}

TEST(PlanBuilder, WritesAPlanThatKnowsItsOwnSize) {
  const BuiltPlan built = build_plan({}, {}, true);
  EXPECT_EQ(built.plan().magic, kPlanMagic);
  EXPECT_EQ(built.plan().size, built.block.size());
  EXPECT_EQ(built.plan().single, 1u);
  EXPECT_STREQ(text(built.plan(), built.plan().hostname), "brig");
}

TEST(PlanBuilder, WithoutCgroupsTheMemoryLimitIsPerProcessAndSaysSo) {
  const BuiltPlan built = build_plan({}, {}, false);
  EXPECT_EQ(rlimit_of(built.plan(), RLIMIT_DATA), 512_MiB);
  EXPECT_EQ(rlimit_of(built.plan(), RLIMIT_AS), 64_GiB);
  EXPECT_TRUE(has(built.enforced, "shared_memory:counted") || sys::landlock_abi() < 1);
  EXPECT_TRUE(has(built.enforced, "memory:per_process"));
  EXPECT_TRUE(has(built.enforced, "processes:rlimit"));
}

TEST(PlanBuilder, WithAMemoryCgroupTheAddressSpaceIsFree) {
  CgroupLayout cgroups;
  cgroups.version = 2;
  cgroups.memory = cgroups.pids = true;
  const BuiltPlan built = build_plan({}, cgroups, false);
  EXPECT_EQ(rlimit_of(built.plan(), RLIMIT_AS), ~0ull);
  EXPECT_EQ(rlimit_of(built.plan(), RLIMIT_DATA), ~0ull);
  EXPECT_FALSE(has(built.enforced, "shared_memory:counted"));
  EXPECT_TRUE(has(built.enforced, "memory:cgroup_v2"));
  // The rlimit is higher, so that the cgroup refuses first and counts it.
  EXPECT_GT(rlimit_of(built.plan(), RLIMIT_NPROC), Limits{}.processes + 2u);
}

TEST(PlanBuilder, RefusesWhatAFloorCannotEnforceByName) {
  Policy policy;
  policy.isolation = Isolation::process;
  EXPECT_NE(refusal(policy).find("network: the process floor"), std::string::npos);
  policy.network = Network::host;
  EXPECT_EQ(refusal(policy), "");
  policy.files.read = {"/usr"};
  EXPECT_NE(refusal(policy).find("can't restrict files"), std::string::npos);
  policy.isolation = Isolation::landlock;
  policy.network = Network::loopback;
  EXPECT_NE(refusal(policy).find("'loopback' needs the jail floor"), std::string::npos);
  policy.network = Network::none;
  policy.files.hide = {"/usr/share"};
  EXPECT_NE(refusal(policy).find("'hide' need the jail"), std::string::npos);
  policy.files.hide = {};
  policy.files.noexec = {"/usr"};
  EXPECT_NE(refusal(policy).find("'noexec' and 'protect' need the jail"), std::string::npos);
  policy.files.noexec = {};
  policy.files.protect = {"@default"};
  EXPECT_NE(refusal(policy).find("'noexec' and 'protect' need the jail"), std::string::npos);
  policy.files.protect = {};
  policy.files.read = {"/usr:/opt/usr"};
  EXPECT_NE(refusal(policy).find("'/usr' can't be at another place, '/opt/usr', without mounts"),
            std::string::npos);
}

TEST(PlanBuilder, RefusesCpusWithoutACgroup) {
  Policy policy;
  policy.limits.cpus = 0.5;
  EXPECT_NE(refusal(policy).find("limits.cpus: needs a cgroup"), std::string::npos);
}

TEST(PlanBuilder, ChecksTheNamesOfSystemCalls) {
  Policy policy;
  policy.syscalls.allow = {"mount"};
  EXPECT_NE(refusal(policy).find("would undo the jail"), std::string::npos);
  policy.syscalls.allow = {"nonsense"};
  EXPECT_NE(refusal(policy).find("is not a system call"), std::string::npos);
  policy.syscalls.allow = {"ptrace"};
  EXPECT_EQ(refusal(policy), "");
  policy.syscalls.deny = {"clone"};
  EXPECT_NE(refusal(policy).find("limits.processes = 1"), std::string::npos);
}

TEST(PlanBuilder, NoNetworkMeansNoTcpInLandlockToo) {
  EXPECT_EQ(build_plan({}, {}, false).plan().landlock_net != 0, sys::landlock_abi() >= 4);
  Policy policy;
  policy.network = Network::host;
  EXPECT_EQ(build_plan(policy, {}, false).plan().landlock_net, 0u);
}

std::vector<std::uint32_t> way_out_ports(const Plan& plan) {
  const std::uint32_t* begin = begin_of(plan, plan.way_out_ports);
  return {begin, begin + plan.way_out_ports.count};
}

std::string variable(const BuiltPlan& built, const std::string& name) {
  const auto found = built.environment.find(name);
  return found == built.environment.end() ? "" : found->second;
}

TEST(PlanBuilder, AListOfHostsHasItsPortsInANetworkOfItsOwn) {
  Policy policy;
  EXPECT_TRUE(way_out_ports(build_plan(policy, {}, false).plan()).empty());
  EXPECT_EQ(build_plan(policy, {}, false).egress, nullptr);
  policy.network = Network::to({"a.example:5432", "b.example", "c.example:443"});
  const BuiltPlan built = build_plan(policy, {}, false);
  // The proxy's, those that the rules name, and those on which a refusal can be told.
  EXPECT_EQ(way_out_ports(built.plan()), (std::vector<std::uint32_t>{3128, 443, 5432, 53, 80}));
  EXPECT_EQ(built.egress->proxy_port, 3128);
  EXPECT_EQ(built.plan().network_namespace, 2u);
  EXPECT_EQ(built.plan().loopback_up, 1u);
  EXPECT_EQ(built.plan().landlock_net, 0u);
  EXPECT_TRUE(has(built.enforced, "network_proxy"));
}

// A connection that an earlier call has left in a listener's queue would be served as this call's.
TEST(PlanBuilder, AListOfHostsNeverKeepsARoom) {
  Policy policy;
  policy.room = Room::as_new;
  policy.network = Network::to({"a.example"});
  EXPECT_EQ(build_plan(policy, {}, false).plan().keeps_room, 0u);
}

TEST(PlanBuilder, AListOfHostsSetsTheVariablesThatNameTheProxy) {
  Policy policy;
  policy.network = Network::to({"a.example:3128"});
  const BuiltPlan built = build_plan(policy, {}, false);
  // A rule has the usual port, so the proxy has the next.
  for (const char* name : {"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"})
    EXPECT_EQ(variable(built, name), "http://127.0.0.1:3129") << name;
  EXPECT_EQ(variable(built, "no_proxy"), "localhost,127.0.0.1,::1");
  EXPECT_EQ(variable(built, "NODE_USE_ENV_PROXY"), "1");
  EXPECT_EQ(variable(built, "ALL_PROXY"), "");
  policy.environment.set["http_proxy"] = "";
  EXPECT_EQ(variable(build_plan(policy, {}, false), "http_proxy"), "");
  EXPECT_EQ(variable(build_plan({}, {}, false), "http_proxy"), "");
}

TEST(PlanBuilder, AListOfHostsNeedsTheJail) {
  for (const Isolation floor : {Isolation::landlock, Isolation::process}) {
    Policy policy;
    policy.network = Network::to({"a.example"});
    policy.isolation = floor;
    EXPECT_NE(refusal(policy).find("network: a list of hosts needs the jail floor"),
              std::string::npos)
        << refusal(policy);
  }
}

TEST(FailureText, NamesThePathAndTheFix) {
  Policy policy;
  policy.files.read = {"/usr/share"};
  const BuiltPlan built = build_plan(policy, {}, false);
  const Plan& plan = built.plan();
  unsigned index = 0;
  while (index < plan.root.count &&
         std::string(text(plan, begin_of(plan, plan.root)[index].target)) != "/usr/share")
    ++index;
  const std::string said = failure_text(plan, wire::Stage::bind_source, ELOOP, index);
  EXPECT_NE(said.find("'/usr/share'"), std::string::npos);
  EXPECT_NE(said.find("list the real path"), std::string::npos);
  EXPECT_EQ(failure_kind(wire::Stage::bind_source, ELOOP), ErrorKind::config);
  EXPECT_EQ(failure_kind(wire::Stage::user_namespace, EPERM), ErrorKind::unsupported);
  // A false index is no way to read outside the plan.
  EXPECT_NE(failure_text(plan, wire::Stage::bind_source, ENOENT, 1u << 30).find("'?'"),
            std::string::npos);
}

TEST(ContainerOptions, AreNamedForEachRuntimeAndOnlyThoseThatAreNeeded) {
  EXPECT_EQ(container_options({.user = true}),
            "start it with --user 1000 (Docker, podman) or runAsUser: 1000 (Kubernetes)");
  EXPECT_EQ(
      container_options({.seccomp = true, .proc = true}),
      "start it with --security-opt seccomp=unconfined --security-opt systempaths=unconfined "
      "(Docker), --security-opt seccomp=unconfined --security-opt unmask=ALL (podman) or "
      "seccompProfile.type: Unconfined, procMount: Unmasked with hostUsers: false (Kubernetes)");
  EXPECT_EQ(container_options({.apparmor = true}),
            "start it with --security-opt apparmor=unconfined (Docker, podman) or "
            "appArmorProfile.type: Unconfined (Kubernetes)");
}

}  // namespace
}  // namespace brig
