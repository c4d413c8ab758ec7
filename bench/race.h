// Contenders beside each other in one run: in every round each runs once, in random order, so that
// whatever the machine is doing hits all alike.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace bench {

using Clock = std::chrono::steady_clock;
inline double micros(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

struct Samples {
  std::vector<double> values;
  double at(double quantile) {
    std::sort(values.begin(), values.end());
    return values.empty()
               ? 0
               : values[std::min(
                     values.size() - 1,
                     static_cast<std::size_t>(quantile * static_cast<double>(values.size())))];
  }
};

struct Contender {
  std::string name;
  std::function<bool()> run;
  unsigned every = 1;  // slow ones run in every n-th round
  Samples samples;
  unsigned failures = 0;
  std::shared_ptr<double> measured = nullptr;  // by the contender itself, in microseconds
};

inline void race(std::vector<Contender>& contenders, unsigned rounds,
                 const std::function<void()>& settle) {
  std::vector<std::size_t> order(contenders.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(1);
  for (unsigned round = 0; round < rounds + 20; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      Contender& each = contenders[i];
      if (round % each.every) continue;
      settle();
      const auto start = Clock::now();
      const bool ok = each.run();
      const double time = each.measured ? *each.measured : micros(Clock::now() - start);
      if (round < 20) continue;  // warm-up
      if (ok)
        each.samples.values.push_back(time);
      else
        ++each.failures;
    }
  }
}

inline void table(std::vector<Contender>& contenders) {
  const double base = contenders[0].samples.at(0.5), base99 = contenders[0].samples.at(0.99);
  fmt::print("{:<44} {:>7} {:>10} {:>10} {:>8} {:>8}\n", "", "n", "median us", "p99 us", "x median",
             "x p99");
  for (Contender& each : contenders) {
    fmt::print("{:<44} {:>7} {:>10.0f} {:>10.0f} {:>8.2f} {:>8.2f}", each.name,
               each.samples.values.size(), each.samples.at(0.5), each.samples.at(0.99),
               each.samples.at(0.5) / base, each.samples.at(0.99) / base99);
    fmt::print("{}\n", each.failures ? fmt::format("  ({} FAILED)", each.failures) : "");
  }
}

}  // namespace bench
