// brig's reader of JSON text beside nlohmann's SAX parser, in turns (decision 042).
//   json_readers [ROUNDS]
// CPU time of one reading, its end (destroying the value) included: the least and the median of the rounds.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "json/json_text.h"

namespace {

using namespace brig;

// A value from nlohmann's events, with the bounds that json_from has: what a reader by the library would be.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(std::size_t size) : left_(kJsonAllowance + 2 * size) {}
  Json result;

  bool null() override { return put(nullptr, 0); }
  bool boolean(bool value) override { return put(value, 0); }
  bool number_integer(number_integer_t value) override { return put(value, 0); }
  bool number_unsigned(number_unsigned_t value) override { return put(value, 0); }
  bool number_float(number_float_t value, const string_t&) override { return put(value, 0); }
  bool string(string_t& value) override { return put(std::move(value), 64); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object(), 80); }
  bool start_array(std::size_t) override { return open(Json::array(), 32); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (!charge(128)) return false;
    const auto [member, is_new] =
        open_.back()->get_ref<Json::object_t&>().try_emplace(std::move(name));
    member_ = &member->second;
    return is_new;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;
  }

 private:
  bool charge(std::size_t cost) {
    if (cost > left_) return false;
    left_ -= cost;
    return true;
  }
  Json* place() {
    if (open_.empty()) return &result;
    if (open_.back()->is_object()) return member_;
    return charge(48) ? &open_.back()->get_ref<Json::array_t&>().emplace_back() : nullptr;
  }
  template <typename T>
  bool put(T&& value, std::size_t cost) {
    Json* const at = charge(cost) ? place() : nullptr;
    if (!at) return false;
    *at = std::forward<T>(value);
    return true;
  }
  bool open(Json value, std::size_t cost) {
    Json* const at = open_.size() < kMaxJsonDepth && charge(cost) ? place() : nullptr;
    if (!at) return false;
    *at = std::move(value);
    open_.push_back(at);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<Json*> open_;
  Json* member_ = nullptr;
  std::size_t left_;
};

struct Reader {
  const char* name;
  std::function<bool(const std::string&)> read;
};

const Reader kReaders[] = {
    {"brig",
     [](const std::string& text) {
       std::string fault;
       return json_from(text, fault).has_value();
     }},
    {"SAX, with brig's bounds",
     [](const std::string& text) {
       Builder builder(text.size());
       return Json::sax_parse(text, &builder);
     }},
    {"SAX, nothing kept", [](const std::string& text) { return Json::accept(text); }},
    {"Json::parse, no bounds",
     [](const std::string& text) { return !Json::parse(text, nullptr, false).is_discarded(); }},
};

std::string one_string() { return '"' + std::string((1 << 20) - 2, 'x') + '"'; }

std::string keys() {
  std::mt19937_64 random(1);
  std::string text = "{";
  for (int i = 0; i < 40'000; ++i) text += fmt::format("{}\"{}\":{}", i ? "," : "", random(), i);
  return text + "}";
}

std::string numbers() {
  std::mt19937_64 random(1);
  std::string text = "[0";
  while (text.size() < (1 << 20) - 4) text += fmt::format(",{}", random() % 1000);
  return text + "]";
}

std::string request() {
  return R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"run_python","arguments":)"
         R"({"code":"import math\nprint(math.pi)\n","timeout":30},"_meta":{"progressToken":7}}})";
}

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void compare(const char* what, const std::string& text, int rounds, int times) {
  constexpr std::size_t kCount = std::size(kReaders);
  std::vector<double> taken[kCount];
  for (int round = 0; round <= rounds; ++round)
    for (std::size_t i = 0; i < kCount; ++i) {
      const double begin = cpu_seconds();
      for (int time = 0; time < times; ++time)
        if (!kReaders[i].read(text)) {
          std::fprintf(stderr, "%s: not read by %s\n", what, kReaders[i].name);
          std::exit(1);
        }
      // The first round warms up.
      if (round > 0) taken[i].push_back((cpu_seconds() - begin) / times * 1e6);
    }
  std::printf("%s (%zu bytes)\n", what, text.size());
  for (std::size_t i = 0; i < kCount; ++i) {
    std::sort(taken[i].begin(), taken[i].end());
    std::printf("  %-26s least %9.2f us, median %9.2f us\n", kReaders[i].name, taken[i].front(),
                taken[i][taken[i].size() / 2]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 50;
  if (rounds < 1) return 2;
  compare("one string", one_string(), rounds, 1);
  compare("40,000 keys", keys(), rounds, 1);
  compare("small numbers", numbers(), rounds, 1);
  compare("a request", request(), rounds, 1000);
}
