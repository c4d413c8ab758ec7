// A program with three tools of its own: each call of one runs in a fresh, locked cell.
//   c++ -std=c++20 three_tools.cc $(pkg-config --cflags --libs brig) -o three_tools
#include <brig/brig.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

struct Summary {
  std::size_t count = 0;
  double least = 0, most = 0, mean = 0;
};
BRIG_STRUCT(Summary, count, least, most, mean)

int main() {
  using namespace std::chrono_literals;
  using namespace brig::literals;

  brig::Toolbox tools;
  tools.add("add", "Adds two integers.", {"a", "b"},
            [](std::int64_t a, std::int64_t b) { return a + b; });
  tools.add(
      "summarise", "The least, the most and the mean of some numbers.",
      {{"numbers", "at least one"}}, [](const std::vector<double>& numbers) {
        if (numbers.empty()) throw std::invalid_argument("there are no numbers");
        double sum = 0;
        for (const double each : numbers) sum += each;
        const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
        return Summary{numbers.size(), *least, *most, sum / static_cast<double>(numbers.size())};
      });
  // A tool may be as bad as it likes.
  tools.add("read_file", "The text of a file that the policy shows.", {"path"},
            [](const std::string& path) {
              std::ifstream file(path);
              if (!file) throw std::runtime_error("can't read " + path);
              return std::string(std::istreambuf_iterator<char>(file), {});
            });

  // Before any thread: the tools run in copies of the process as it is now.
  brig::Sandbox box(std::move(tools), brig::Policy{.limits = {.timeout = 5s, .memory = 64_MiB}});
  for (const auto& tool : box.list_tools())
    std::printf("%-10s %s\n", tool->name.c_str(), tool->description.c_str());

  const std::pair<const char*, brig::Json> calls[] = {
      {"add", {{"a", 2}, {"b", "3"}}},          {"add", {{"a", 2.5}, {"c", 1}}},
      {"summarise", {{"numbers", {3, 1, 2}}}},  {"summarise", {{"numbers", brig::Json::array()}}},
      {"read_file", {{"path", "/etc/shadow"}}},
  };
  for (const auto& [tool, arguments] : calls) {
    const brig::ToolResult result = box.call(tool, arguments);
    std::printf("%s(%s): %s\n", tool, arguments.dump().c_str(),
                result.ok() ? result.output.dump().c_str() : result.error.c_str());
  }
}
