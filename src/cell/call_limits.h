// The fields of CallLimits, listed once, each with the policy's field that it narrows. Code that
// handles them goes through this list, so it handles all of them. A field that is added to the
// struct and not here does not compile.
#pragma once

#include <brig/policy.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>

namespace brig {

template <typename Value, typename Own>
struct CallLimit {
  // In JSON and in messages.
  const char* name;
  std::optional<Value> CallLimits::*own;
  Own Limits::*policys;
  // 0: even nothing is a valid limit.
  Value least;
};
// clang 14 deduces no arguments for an aggregate.
template <typename Value, typename Own>
CallLimit(const char*, std::optional<Value> CallLimits::*, Own Limits::*, Value)
    -> CallLimit<Value, Own>;

inline constexpr std::tuple kCallLimits{
    CallLimit{"timeout", &CallLimits::timeout, &Limits::timeout, std::chrono::milliseconds(1)},
    CallLimit{"cpu_time", &CallLimits::cpu_time, &Limits::cpu_time, std::chrono::milliseconds(1)},
    CallLimit{"memory", &CallLimits::memory, &Limits::memory, std::uint64_t{4_MiB}},
    CallLimit{"processes", &CallLimits::processes, &Limits::processes, std::uint32_t{1}},
    CallLimit{"output", &CallLimits::output, &Limits::output, std::uint64_t{0}},
    CallLimit{"output_total", &CallLimits::output_total, &Limits::output_total, std::uint64_t{1}},
};

namespace detail {
constexpr std::size_t count_call_limits() {
  const CallLimits limits;
  const auto& [a, b, c, d, e, f] = limits;
  return std::tuple_size_v<decltype(std::tie(a, b, c, d, e, f))>;
}
}  // namespace detail
static_assert(detail::count_call_limits() == std::tuple_size_v<decltype(kCallLimits)>);

// Calls `visit(limit)` with each CallLimit.
template <typename Visit>
constexpr void for_each_call_limit(Visit visit) {
  std::apply([&](const auto&... limit) { (visit(limit), ...); }, kCallLimits);
}

}  // namespace brig
