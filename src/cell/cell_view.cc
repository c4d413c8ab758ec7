#include "cell/cell_view.h"

#include <algorithm>

#include "base/text.h"
#include "cell/violation.h"
#include "policy/paths.h"

namespace brig {
namespace {

constexpr std::size_t kMostPaths = 4, kLongestPath = 512, kMostWords = 64;

// The length of the longest directory that `path` is at or below. 0 if there is none.
std::size_t longest(std::string_view path, const std::vector<std::string>& directories) {
  std::size_t size = 0;
  for (const std::string& each : directories)
    if (is_at_or_below(path, each)) size = std::max(size, each.size());
  return size;
}

bool is_any_of(std::string_view path, const std::vector<std::string>& paths) {
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

// Two functions: the host's path behind a place, and the place that shows a path of the host. "" if
// there is none.
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

// Whether the text is plain enough to stand in a message, a shell word and a line of TOML.
bool is_plain(std::string_view path) {
  return path.size() <= kLongestPath && is_valid_utf8(path) && printable(path) == path;
}

// The path made absolute, without "." and "..". Empty if it leads above the root.
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
    // The host may have something of that name. This is not so in the workspace, which is no place
    // of the host.
    const bool is_hosts = path.starts_with('/') && !is_at_or_below(whole, "/workspace") &&
                          !is_at_or_below(whole, "/dev") && !is_any_of(whole, view.scratch);
    if (how != Refused::lookup || !is_hosts) return std::nullopt;
    return not_in_cell(std::move(whole), "files.read");
  }
  if (longest(whole, view.system)) {
    if (how != Refused::write) return std::nullopt;
    return read_only(std::move(whole), false);
  }
  // A parent of something that exists, such as /home or /etc, exists too.
  for (const auto* list : {&view.system, &view.readable, &view.writable, &view.scratch})
    if (std::any_of(list->begin(), list->end(),
                    [&](const std::string& each) { return is_at_or_below(each, whole); }))
      return std::nullopt;
  // The kernel's own files can't be listed in a policy.
  if (is_at_or_below(whole, "/proc")) return std::nullopt;
  if (is_at_or_below(whole, "/sys") || is_at_or_below(whole, "/dev")) {
    // Names of the network in bash, which are not files.
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
  for (const Complaint& each : complaints_in(said)) judge.look_at(each.path, each.how);
  for (std::size_t i = 1; i < argv.size() && i < kMostWords; ++i) {
    std::string_view word = argv[i];
    if (word.starts_with('-') && word.find('=') != std::string_view::npos)
      word.remove_prefix(word.find('=') + 1);
    // An argument may be anything, so only words that can be nothing but a place count.
    if (word.starts_with('/') && looks_like_path(word) &&
        word.find_first_of(" \t\n;|&<>*?") == std::string_view::npos)
      judge.look_at(word, Refused::lookup);
  }
  return judge.take();
}

}  // namespace brig
