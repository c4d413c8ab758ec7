// A shared library with tools: loaded by brig in the jail, never by the host program.
//   c++ -std=c++20 -shared -fPIC -o libgeo.so geo.cc
#include <brig/progress.h>
#include <brig/toolbox.h>

#include <cmath>
#include <numbers>

struct Place {
  double latitude = 0, longitude = 0;
};
BRIG_STRUCT(Place, latitude, longitude)

namespace {

double distance_km(const Place& from, const Place& to) {
  constexpr double kRadius = 6371, kDegree = std::numbers::pi / 180;
  const double a = std::sin((to.latitude - from.latitude) * kDegree / 2);
  const double b = std::sin((to.longitude - from.longitude) * kDegree / 2);
  const double h =
      a * a + std::cos(from.latitude * kDegree) * std::cos(to.latitude * kDegree) * b * b;
  return 2 * kRadius * std::asin(std::sqrt(h));
}

}  // namespace

extern "C" void brig_register(brig::Toolbox& tools) {
  tools.add("distance", "The distance between two places, in kilometres.",
            {{"from", "where to start"}, {"to", "where to go"}}, distance_km);
  tools.add("walk", "Walks from one place to another, reporting its progress.", {"from", "to"},
            [](const Place& from, const Place& to) {
              const double all = distance_km(from, to);
              for (int step = 1; step <= 4; ++step)
                brig::progress(step / 4.0, std::to_string(all * step / 4) + " km");
              return all;
            });
}
