// The only source of brig's core that includes toml++; another must make the same settings.
#include <brig/policy.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "cell/policy_fault.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

// toml++ 3.3 asserts that a key follows "[", before the code that reports that none does: "[="
// would abort a debug build, and clang's release build assumes it away. No assertions, then; and
// NDEBUG, which makes them assumptions, is out of its sight.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expr) static_assert(true)
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

namespace brig {
namespace {

constexpr std::size_t kMaxBytes = 1_MiB;
constexpr std::size_t kMaxDotsPerLine = 32;

using Names = std::span<const std::string_view>;
constexpr std::array<std::string_view, 6> kTop = {"isolation", "network",     "limits",
                                                  "files",     "environment", "syscalls"};
constexpr std::array<std::string_view, 13> kLimits = {
    "wall_time",    "timeout", "grace",   "cpu_time",  "memory",     "processes", "output",
    "output_total", "result",  "scratch", "file_size", "open_files", "cpus"};
constexpr std::array<std::string_view, 5> kFiles = {"read", "write", "hide", "working_directory",
                                                    "root"};
constexpr std::array<std::string_view, 2> kEnvironment = {"passthrough", "set"};
constexpr std::array<std::string_view, 2> kSyscalls = {"allow", "deny"};
constexpr std::array<std::pair<std::string_view, Names>, 4> kTables = {
    {{"limits", kLimits},
     {"files", kFiles},
     {"environment", kEnvironment},
     {"syscalls", kSyscalls}}};

std::string_view type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "an array";
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a float";
    case toml::node_type::boolean: return "a boolean";
    case toml::node_type::date: return "a date";
    case toml::node_type::time: return "a time";
    case toml::node_type::date_time: return "a date and time";
    case toml::node_type::none: break;
  }
  return "nothing";
}

// toml++ 3.3 makes one table per dot of a key and destroys them by recursion: a megabyte of "a.a.a"
// overflows the stack. (3.4 has a limit of its own.) So: count the dots outside strings and
// comments.
class DotCounter {
 public:
  // The first line with too many, or 0.
  static std::size_t excess(std::string_view text) { return DotCounter(text).run(); }

 private:
  explicit DotCounter(std::string_view text) : text_(text) {}

  std::size_t run() {
    std::size_t dots = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '"' || c == '\'') {
        skip_string(c);
      } else {
        if (c == '.' && ++dots > kMaxDotsPerLine) return line_;
        if (c == '\n') {
          dots = 0;
          ++line_;
        }
        ++at_;
      }
    }
    return 0;
  }

  // From the opening quote to past the closing one. A string on one line ends with the line: if it
  // was left open the parser stops there, and so need not be followed.
  void skip_string(char quote) {
    const std::string_view closing = quote == '"' ? "\"\"\"" : "'''";
    const bool many_lines = text_.substr(at_, 3) == closing;
    at_ += many_lines ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        if (!many_lines) return;
        ++line_;
      } else if (c == '\\' && quote == '"' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n') {
        ++at_;
      } else if (many_lines ? text_.substr(at_, 3) == closing : c == quote) {
        at_ += many_lines ? 3 : 1;
        return;
      }
      ++at_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

// Reads one document into one policy, and remembers where each value stood, so that what
// find_fault() says of the value can be said of the line.
class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  Policy read(const toml::table& top) {
    for (const Entry& entry : entries(top, {}, kTop)) {
      if (entry.key == "isolation") {
        policy_.isolation =
            choice<Isolation>(entry, {Isolation::jail, Isolation::landlock, Isolation::process});
      } else if (entry.key == "network") {
        policy_.network = choice<Network>(entry, {Network::none, Network::loopback, Network::host});
      } else {
        const toml::table* table = entry.node->as_table();
        if (table == nullptr) expected(entry, fmt::format("a table, [{}]", entry.key));
        if (entry.key == "limits") read_limits(*table);
        if (entry.key == "files") read_files(*table);
        if (entry.key == "environment") read_environment(*table);
        if (entry.key == "syscalls") read_syscalls(*table);
      }
    }
    if (const std::optional<PolicyFault> fault = find_fault(policy_)) report(*fault);
    return std::move(policy_);
  }

  [[noreturn]] void fail(std::size_t line, const std::string& message) const {
    throw_error(ErrorKind::config, "{}:{}: {}", name_, line, message);
  }

 private:
  // One key of a table. `field` is its full name, "limits.memory".
  struct Entry {
    std::string_view key;
    std::string field;
    const toml::node* node;
    std::size_t line;
  };

  // The keys of a table in the order of the file; fails at the first that is not in `known`.
  std::vector<Entry> entries(const toml::table& table, std::string_view table_name, Names known) {
    std::vector<Entry> result;
    for (auto&& [key, node] : table) {
      std::string field =
          table_name.empty() ? std::string(key.str()) : fmt::format("{}.{}", table_name, key.str());
      result.push_back({key.str(), std::move(field), &node, key.source().begin.line});
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const Entry& a, const Entry& b) { return a.line < b.line; });
    for (const Entry& entry : result) {
      if (!known.empty() && std::find(known.begin(), known.end(), entry.key) == known.end()) {
        unknown(entry, table_name, known);
      }
      places_[entry.field] = {entry.line, entry.field};
    }
    return result;
  }

  [[noreturn]] void unknown(const Entry& entry, std::string_view table_name, Names known) const {
    std::string message = entry.node->is_table() && table_name.empty()
                              ? fmt::format("unknown table [{}]", bare(entry.key))
                              : fmt::format("unknown key {}", in_quotes(entry.key));
    if (!table_name.empty()) message += fmt::format(" in [{}]", table_name);
    for (const auto& [other, names] : kTables) {
      if (other == table_name || std::find(names.begin(), names.end(), entry.key) == names.end()) {
        continue;
      }
      fail(entry.line, message + fmt::format("; it belongs in [{}]", other));
    }
    if (const auto near = nearest(entry.key, known)) {
      message += fmt::format("; did you mean '{}'?", *near);
    } else {
      message += fmt::format("; known are {}", fmt::join(known, ", "));
    }
    fail(entry.line, message);
  }

  // in_quotes() without the quotes.
  static std::string bare(std::string_view text) {
    const std::string quoted_text = in_quotes(text);
    return quoted_text.substr(1, quoted_text.size() - 2);
  }

  [[noreturn]] void expected(const Entry& entry, std::string_view what) const {
    const toml::value<std::string>* text = entry.node->as_string();
    fail(entry.line,
         fmt::format("{}: expected {}, got {}", bare(entry.field), what,
                     text != nullptr ? in_quotes(text->get()) : type_name(*entry.node)));
  }

  [[noreturn]] void out_of_range(const Entry& entry, std::string_view value) const {
    fail(entry.line, fmt::format("{}: {} is out of range; use {}", entry.field, value,
                                 limit_range(entry.key == "timeout" ? "wall_time" : entry.key)));
  }

  // The names accepted are those that to_string gives.
  template <typename Enum>
  Enum choice(const Entry& entry, std::initializer_list<Enum> values) const {
    std::vector<std::string_view> names;
    const toml::value<std::string>* text = entry.node->as_string();
    for (const Enum value : values) {
      names.emplace_back(to_string(value));
      if (text != nullptr && text->get() == names.back()) return value;
    }
    std::string what = fmt::format("one of \"{}\"", fmt::join(names, "\", \""));
    if (text == nullptr) expected(entry, what);
    const auto near = nearest(text->get(), names);
    fail(entry.line,
         fmt::format("{}: expected {}, got {}{}", entry.field, what, in_quotes(text->get()),
                     near ? fmt::format("; did you mean \"{}\"?", *near) : ""));
  }

  std::uint64_t size(const Entry& entry) const {
    if (const auto* number = entry.node->as_integer()) {
      if (number->get() < 0) out_of_range(entry, fmt::format("{}", number->get()));
      return static_cast<std::uint64_t>(number->get());
    }
    if (const auto* text = entry.node->as_string()) {
      if (const auto bytes = parse_size(text->get())) return *bytes;
    }
    expected(entry, "a size such as \"512M\"");
  }

  std::chrono::milliseconds duration(const Entry& entry) const {
    std::optional<double> seconds;
    if (const auto* number = entry.node->as_integer()) {
      seconds = static_cast<double>(number->get());
    }
    if (const auto* number = entry.node->as_floating_point()) seconds = number->get();
    if (seconds) {
      if (const auto result = duration_from_seconds(*seconds)) return *result;
      out_of_range(entry, fmt::format("{} s", *seconds));
    }
    if (const auto* text = entry.node->as_string()) {
      if (const auto result = parse_duration(text->get())) return *result;
    }
    expected(entry, "a duration such as \"30s\"");
  }

  std::uint32_t count(const Entry& entry) const {
    const auto* number = entry.node->as_integer();
    if (number == nullptr) expected(entry, "a whole number such as 64");
    if (number->get() < 0 || number->get() > std::numeric_limits<std::uint32_t>::max()) {
      out_of_range(entry, fmt::format("{}", number->get()));
    }
    return static_cast<std::uint32_t>(number->get());
  }

  double number(const Entry& entry) const {
    if (const auto* whole = entry.node->as_integer()) return static_cast<double>(whole->get());
    if (const auto* real = entry.node->as_floating_point()) return real->get();
    expected(entry, "a number such as 1.5");
  }

  std::string string(const Entry& entry, std::string_view what) const {
    const auto* text = entry.node->as_string();
    if (text == nullptr) expected(entry, what);
    return text->get();
  }

  std::vector<std::string> strings(const Entry& entry, std::string_view what) {
    const toml::array* array = entry.node->as_array();
    if (array == nullptr) expected(entry, what);
    std::vector<std::string> result;
    for (const toml::node& node : *array) {
      // Where the item stands: an array may have many lines.
      const Entry item{
          {}, fmt::format("{}[{}]", entry.field, result.size()), &node, node.source().begin.line};
      places_[item.field] = {item.line, entry.field};
      result.push_back(string(item, "a string"));
    }
    return result;
  }

  void read_limits(const toml::table& table) {
    Limits& limits = policy_.limits;
    for (const Entry& entry : entries(table, "limits", kLimits)) {
      if (entry.key == "wall_time" || entry.key == "timeout") {
        if (entry.key == "timeout") {
          if (table.contains("wall_time")) {
            fail(entry.line, "limits.timeout: is another name of limits.wall_time; keep one");
          }
          places_["limits.wall_time"] = {entry.line, entry.field};
        }
        limits.wall_time = duration(entry);
      }
      if (entry.key == "grace") limits.grace = duration(entry);
      if (entry.key == "cpu_time") limits.cpu_time = duration(entry);
      if (entry.key == "memory") limits.memory = size(entry);
      if (entry.key == "processes") limits.processes = count(entry);
      if (entry.key == "output") limits.output = size(entry);
      if (entry.key == "output_total") limits.output_total = size(entry);
      if (entry.key == "result") limits.result = size(entry);
      if (entry.key == "scratch") limits.scratch = size(entry);
      if (entry.key == "file_size") limits.file_size = size(entry);
      if (entry.key == "open_files") limits.open_files = count(entry);
      if (entry.key == "cpus") limits.cpus = number(entry);
    }
  }

  void read_files(const toml::table& table) {
    constexpr std::string_view kWhat = "an array of paths such as [\"/opt/data\"]";
    Files& files = policy_.files;
    for (const Entry& entry : entries(table, "files", kFiles)) {
      if (entry.key == "read") files.read = strings(entry, kWhat);
      if (entry.key == "write") files.write = strings(entry, kWhat);
      if (entry.key == "hide") files.hide = strings(entry, kWhat);
      if (entry.key == "working_directory") files.working_directory = string(entry, "a path");
      if (entry.key == "root") files.root = string(entry, "a path");
    }
  }

  void read_environment(const toml::table& table) {
    for (const Entry& entry : entries(table, "environment", kEnvironment)) {
      if (entry.key == "passthrough") {
        policy_.environment.passthrough = strings(entry, "an array of names such as [\"API_URL\"]");
        continue;
      }
      const toml::table* set = entry.node->as_table();
      if (set == nullptr) expected(entry, "a table such as { KEY = \"value\" }");
      for (const Entry& variable : entries(*set, "environment.set", {})) {
        policy_.environment.set[std::string(variable.key)] =
            string(variable, "a string; write the value in quotes");
      }
    }
  }

  void read_syscalls(const toml::table& table) {
    constexpr std::string_view kWhat = "an array of names such as [\"ptrace\"]";
    for (const Entry& entry : entries(table, "syscalls", kSyscalls)) {
      auto& names = entry.key == "allow" ? policy_.syscalls.allow : policy_.syscalls.deny;
      names = strings(entry, kWhat);
    }
  }

  [[noreturn]] void report(const PolicyFault& fault) const {
    auto place = places_.end();
    if (!fault.item.empty()) {
      place = places_.find(fmt::format("{}[{}]", fault.field, fault.item));
      if (place == places_.end()) {
        place = places_.find(fmt::format("{}.{}", fault.field, fault.item));
      }
    }
    if (place == places_.end()) place = places_.find(fault.field);
    if (place == places_.end()) {  // a default, which is never wrong; or a defect of this file
      throw_error(ErrorKind::config, "{}: {}: {}", name_, fault.field, fault.text);
    }
    const std::string& shown = fault.item.empty() ? place->second.shown : fault.field;
    fail(place->second.line, fmt::format("{}: {}", shown, fault.text));
  }

  struct Place {
    std::size_t line;
    std::string shown;  // the field as the file spells it
  };
  std::string name_;
  Policy policy_;
  std::map<std::string, Place> places_;
};

// Non-blocking, so that a FIFO that nobody writes to is an error and not a wait.
std::string read_policy_file(const std::string& path) {
  const std::string name = in_quotes(path);
  const auto fail = [&](int error, const char* doing) {
    // A policy that is not there is the caller's to mend, not a defect of brig.
    const ErrorKind kind = kind_of_errno(error);
    throw_error(kind == ErrorKind::internal ? ErrorKind::config : kind, "{} policy {}: {}", doing,
                name, errno_text(error));
  };
  if (path.find('\0') != std::string::npos) fail(EINVAL, "opening");
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!fd) fail(errno, "opening");
  struct stat status;
  if (::fstat(fd.get(), &status) != 0) fail(errno, "reading");
  if (!S_ISREG(status.st_mode)) {
    throw_error(ErrorKind::config, "reading policy {}: not a regular file", name);
  }
  std::string text;
  std::array<char, 16384> chunk;
  while (text.size() <= kMaxBytes) {
    const ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(errno, "reading");
    if (n == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(n));
  }
  return text;  // too long; policy_from_toml says so
}

}  // namespace

Policy policy_from_toml(std::string_view text, const std::string& name) {
  if (text.size() > kMaxBytes) {
    throw_error(ErrorKind::config, "{}: longer than {}; this is no policy", name,
                format_size(kMaxBytes));
  }
  Reader reader(name);
  if (const std::size_t line = DotCounter::excess(text)) {
    reader.fail(line, fmt::format("more than {} dots; write the keys as tables", kMaxDotsPerLine));
  }
  try {
    return reader.read(toml::parse(text));
  } catch (const toml::parse_error& error) {
    reader.fail(error.source().begin.line, std::string(error.description()));
  }
}

Policy policy_from_toml_file(const std::string& path) {
  return policy_from_toml(read_policy_file(path), path);
}

}  // namespace brig
