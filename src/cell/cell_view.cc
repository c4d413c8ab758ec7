#include "cell/cell_view.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "cell/violation.h"
#include "policy/paths.h"

namespace brig {
namespace {

constexpr std::size_t kMostPaths = 4, kLongestPath = 512, kMostWords = 64, kMostSaid = 8192;

struct Complaint {
  std::string_view words;
  Refused how;
};
// In lower case.
constexpr Complaint kComplaints[] = {
    {"no such file", Refused::lookup},
    {"does not exist", Refused::lookup},
    {"doesn't exist", Refused::lookup},
    {"not found", Refused::lookup},
    {"cannot find", Refused::lookup},
    {"can't find", Refused::lookup},
    {"enoent", Refused::lookup},
    {"cannot open", Refused::lookup},
    {"can't open", Refused::lookup},
    {"could not open", Refused::lookup},
    {"failed to open", Refused::lookup},
    {"cannot access", Refused::lookup},
    {"not a directory", Refused::lookup},
    {"filenotfounderror", Refused::lookup},
    {"read-only file system", Refused::write},
    {"device or resource busy", Refused::write},
    {"ebusy", Refused::write},
    {"erofs", Refused::write},
    {"permission denied", Refused::any},
    {"eacces", Refused::any},
    {"permissionerror", Refused::any},
    {"operation not permitted", Refused::any},
};

// The length of the longest of them that `path` is at or below; 0 if there is none.
std::size_t longest(std::string_view path, const std::vector<std::string>& directories) {
  std::size_t size = 0;
  for (const std::string& each : directories)
    if (is_at_or_below(path, each)) size = std::max(size, each.size());
  return size;
}

bool is_any_of(std::string_view path, const std::vector<std::string>& paths) {
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

// The host's path behind a place, and the place that shows a path of the host's; "": none does.
std::string behind(const CellView& view, std::string_view place) {
  const CellView::Moved* nearest = nullptr;
  for (const CellView::Moved& each : view.moved)
    if (is_at_or_below(place, each.at) && (!nearest || each.at.size() > nearest->at.size()))
      nearest = &each;
  if (!nearest || longest(place, view.readable) > nearest->at.size() ||
      longest(place, view.writable) > nearest->at.size())
    return std::string(place);
  return nearest->path + std::string(place.substr(nearest->at.size()));
}
std::string place_of(const CellView& view, std::string_view path) {
  for (const CellView::Moved& each : view.moved)
    if (is_at_or_below(path, each.path))
      return each.at + std::string(path.substr(each.path.size()));
  return "";
}

// Plain text that can stand in a message, a shell word and a line of TOML.
bool is_plain(std::string_view path) {
  return path.size() <= kLongestPath && is_valid_utf8(path) && printable(path) == path;
}

// Absolute, without "." and ".."; empty if it leads above the root.
std::string resolved(const CellView& view, std::string_view path) {
  std::string whole;
  if (!path.starts_with('/')) {
    if (view.working_directory.empty()) return "";
    whole = view.working_directory + "/";
  }
  whole += path;
  std::string result;
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t end = std::min(whole.find('/', at), whole.size());
    const std::string_view part = std::string_view(whole).substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (result.empty()) return "";
      result.erase(result.rfind('/'));
    } else {
      result.append("/").append(part);
    }
  }
  return result.empty() ? "/" : result;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

std::optional<Refused> complaint_in(std::string_view line) {
  const std::string text = lower(line);
  std::optional<Refused> found;
  for (const Complaint& each : kComplaints)
    if (text.find(each.words) != std::string_view::npos && (!found || *found == Refused::lookup))
      found = each.how;
  return found;
}

// A word that names a place: "/x", "~/x" is not one (the shell has seen to it), "a/b" and "./a" are.
bool looks_like_path(std::string_view word) {
  return word.size() > 1 && word.find('/') != std::string_view::npos &&
         word.find("://") == std::string_view::npos && word.find('\\') == std::string_view::npos &&
         !word.starts_with("//");
}

// What stands in quotes, and the words outside of them, without punctuation around. A quoted text that is no path may hold one
// (an error as JSON), so it is taken apart once more.
void add_words(std::string_view line, std::vector<std::string_view>& words, int depth = 0) {
  constexpr std::string_view kOpen = "'\"`", kAround = ":;,.()[]{}<>!?";
  for (std::size_t at = 0; at < line.size() && words.size() < kMostWords;) {
    if (line[at] == ' ' || line[at] == '\t') {
      ++at;
      continue;
    }
    const bool opens = kOpen.find(line[at]) != std::string_view::npos;
    const std::size_t closed =
        opens ? line.find(line[at] == '`' ? '\'' : line[at], at + 1) : std::string_view::npos;
    // '/srv/'$'\\377': a name that is no text. Its first part is another place, and wider.
    if (closed != std::string_view::npos && line.substr(closed + 1).starts_with('$')) {
      at = std::min(line.find(": ", closed), line.size());
      continue;
    }
    if (closed != std::string_view::npos) {
      const std::string_view inner = line.substr(at + 1, closed - at - 1);
      if (inner.starts_with('/') || inner.find(' ') == std::string_view::npos || depth > 1)
        words.push_back(inner);
      else
        add_words(inner, words, depth + 1);
      at = closed + 1;
      continue;
    }
    const std::size_t end = std::min(line.find_first_of(" \t'\"`", at + 1), line.size());
    std::string_view word = line.substr(at, end - at);
    at = end;
    // "--file=/x"; "sh: 1: /x:" is three words.
    if (const std::size_t equals = word.find('=');
        equals != std::string_view::npos && word[0] == '-')
      word.remove_prefix(equals + 1);
    while (!word.empty() && kAround.find(word.back()) != std::string_view::npos)
      word.remove_suffix(1);
    while (!word.empty() && word[0] != '.' && kAround.find(word[0]) != std::string_view::npos)
      word.remove_prefix(1);
    words.push_back(word);
  }
}

class Judge {
 public:
  explicit Judge(const CellView& view) : view_(view) {}

  void look_at(std::string_view path, Refused how) {
    if (found_.size() >= kMostPaths || !is_plain(path)) return;
    std::optional<Violation> violation = judge_path(view_, path, how);
    if (!violation) return;
    for (const Violation& each : found_)
      if (each.target == violation->target) return;
    found_.push_back(std::move(*violation));
  }
  std::vector<Violation> take() { return std::move(found_); }

 private:
  const CellView& view_;
  std::vector<Violation> found_;
};

}  // namespace

bool starts_in_scratch(const CellView& view) {
  return view.working_directory.empty() || longest(view.working_directory, view.scratch) > 0;
}

std::optional<Violation> judge_path(const CellView& view, std::string_view path, Refused how) {
  if (view.all) return std::nullopt;
  std::string whole = resolved(view, path);
  if (whole.empty() || whole == "/") return std::nullopt;
  if (longest(whole, view.hidden)) return hidden(std::move(whole));
  if (longest(whole, view.kept) && how != Refused::lookup) return kept(std::move(whole));
  const std::size_t writable = longest(whole, view.writable),
                    readable = longest(whole, view.readable);
  if ((writable || readable) && how == Refused::any && longest(whole, view.not_executable) &&
      longest(whole, view.not_executable) >= std::max(writable, readable))
    return not_executable(std::move(whole));
  if (writable > readable) return std::nullopt;
  if (readable) {
    if (how != Refused::write) return std::nullopt;
    const std::string real = behind(view, whole);
    return read_only(std::move(whole), true, real);
  }
  if (how != Refused::write)
    if (const std::string place = place_of(view, whole); !place.empty())
      return elsewhere(std::move(whole), place);
  if (longest(whole, view.scratch)) {
    // The host may have something of that name. Not so in the workspace, which is no place of the host's.
    const bool is_hosts = path.starts_with('/') && !is_at_or_below(whole, "/workspace") &&
                          !is_at_or_below(whole, "/dev") && !is_any_of(whole, view.scratch);
    if (how != Refused::lookup || !is_hosts) return std::nullopt;
    return not_in_cell(std::move(whole), "files.read");
  }
  if (longest(whole, view.system)) {
    if (how != Refused::write) return std::nullopt;
    return read_only(std::move(whole), false);
  }
  // A parent of something that is there, such as /home or /etc, is there itself.
  for (const auto* list : {&view.system, &view.readable, &view.writable, &view.scratch})
    if (std::any_of(list->begin(), list->end(),
                    [&](const std::string& each) { return is_at_or_below(each, whole); }))
      return std::nullopt;
  // The kernel's own can't be listed.
  if (is_at_or_below(whole, "/proc")) return std::nullopt;
  if (is_at_or_below(whole, "/sys") || is_at_or_below(whole, "/dev")) {
    // Names of the network in bash, which are nowhere.
    const bool is_pseudo = is_at_or_below(whole, "/dev/tcp") || is_at_or_below(whole, "/dev/udp");
    if (how != Refused::lookup || is_pseudo) return std::nullopt;
    return not_in_cell(std::move(whole), nullptr);
  }
  return not_in_cell(std::move(whole), how == Refused::write ? "files.write" : "files.read");
}

std::vector<Violation> judge_paths(const CellView& view, const std::vector<std::string>& argv,
                                   std::string_view said) {
  Judge judge(view);
  if (view.all) return {};
  if (said.size() > kMostSaid) said.remove_prefix(said.size() - kMostSaid);
  // What was said last is nearest to the end, and lines are looked at from there.
  while (!said.empty()) {
    const std::size_t begin = said.rfind('\n') == std::string_view::npos ? 0 : said.rfind('\n') + 1;
    const std::string_view line = said.substr(begin);
    said = said.substr(0, begin == 0 ? 0 : begin - 1);
    const std::optional<Refused> how = complaint_in(line);
    std::vector<std::string_view> words;
    if (how) add_words(line, words);
    for (const std::string_view word : words)
      if (looks_like_path(word)) judge.look_at(word, *how);
  }
  for (std::size_t i = 1; i < argv.size() && i < kMostWords; ++i) {
    std::string_view word = argv[i];
    if (word.starts_with('-') && word.find('=') != std::string_view::npos)
      word.remove_prefix(word.find('=') + 1);
    // What is an argument may be anything: only what can be nothing but a place.
    if (word.starts_with('/') && looks_like_path(word) &&
        word.find_first_of(" \t\n;|&<>*?") == std::string_view::npos)
      judge.look_at(word, Refused::lookup);
  }
  return judge.take();
}

}  // namespace brig
