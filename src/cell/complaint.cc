#include "cell/complaint.h"

#include <algorithm>
#include <optional>

namespace brig {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kMostNames = 64, kMostSaid = 8192, kNowhere = std::string_view::npos;

struct Wording {
  std::string_view words;
  Refused how;
};
// In lower case.
constexpr Wording kWordings[] = {
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
// Other characters that can only follow the name of a place.
constexpr std::string_view kBehindName[] = {
    "is not found",       "was not found", "could not be", "cannot be",       "can't be",
    "is not a directory", "errno",         "os error",     "bad interpreter", "is a directory"};
// Characters that come before a name and are not part of it.
constexpr std::string_view kBeforeName[] = {
    "cannot", "can't", "could",  "couldn't", "not",    "failed",  "unable",    "to",
    "open",   "stat",  "access", "create",   "remove", "touch",   "read",      "write",
    "mkdir",  "lstat", "unlink", "chdir",    "file",   "regular", "directory", "error"};
constexpr std::string_view kNoMemory[] = {
    "out of memory",    "cannot allocate",   "can't allocate",    "failed to allocate",
    "memoryerror",      "bad_alloc",         "not enough memory", "insufficient memory",
    "memory exhausted", "could not reserve", "failed to map",     "shadow memory"};
constexpr std::string_view kNoShadow[] = {"sanitizer failed to allocate",
                                          "reserveshadowmemoryrange failed"};
constexpr std::string_view kNoProcess[] = {
    "can't start new thread",           "native thread", "pthread_create",
    "resource temporarily unavailable", "cannot fork",   "can't fork"};
constexpr std::string_view kNoSpace[] = {"no space left on device", "enospc",
                                         "disk quota exceeded"};

constexpr std::string_view kAround = ":;,.()[]{}<>!?", kSpace = " \t\r", kQuotes = "'\"`";

constexpr std::string_view kMethods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
// git and programs have names like these.
constexpr std::string_view kMethodsOrNames[] = {"HEAD", "OPTIONS"};
constexpr std::string_view kBeforeStatus[] = {"http",    "status", "statuscode", "status_code",
                                              "code",    "error",  "response",   "returned",
                                              "returns", "got",    "answered",   "with"};
constexpr std::string_view kReasons[] = {
    "not found",       "forbidden",      "unauthorized",    "bad request",   "method not",
    "not acceptable",  "gone",           "conflict",        "too many",      "unprocessable",
    "internal server", "bad gateway",    "service unavail", "gateway time",  "client error",
    "server error",    "page not found", "file not found",  "access denied", "permission denied"};

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

bool is_one_of(std::string_view text, const auto& list) {
  return std::find(std::begin(list), std::end(list), text) != std::end(list);
}
bool begins_with_one_of(std::string_view text, const auto& list) {
  return std::any_of(std::begin(list), std::end(list),
                     [&](std::string_view each) { return text.starts_with(each); });
}

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
bool is_space(char c) { return kSpace.find(c) != kNowhere; }

std::string_view without_leading(std::string_view text, std::string_view characters) {
  return text.substr(std::min(text.find_first_not_of(characters), text.size()));
}

std::optional<Refused> wording_of(std::string_view line) {
  const std::string text = lower_case(line);
  std::optional<Refused> found;
  for (const Wording& each : kWordings)
    if (text.find(each.words) != kNowhere && (!found || *found == Refused::lookup))
      found = each.how;
  return found;
}

// Whether this is 4xx or 5xx, where it can only be a status of HTTP: not in "script.sh: line 404:
// ...".
bool is_status(std::string_view line, std::size_t begin, std::size_t end, std::string_view before) {
  const std::string_view word = line.substr(begin, end - begin);
  if (word.size() != 3 || (word[0] != '4' && word[0] != '5') ||
      word.find_first_not_of("0123456789") != kNowhere)
    return false;
  if (line.find_first_not_of(kSpace) == begin || is_one_of(before, kBeforeStatus)) return true;
  const char left = line[begin - 1], right = end < line.size() ? line[end] : ' ';
  if ((left == '(' || left == '[') && (right == ')' || right == ']') &&
      (begin == 1 || is_space(line[begin - 2])))
    return true;
  return begins_with_one_of(lower_case(without_leading(line.substr(end), " :,-()[]").substr(0, 32)),
                            kReasons);
}

// Whether the line is a request to a server or its answer: paths in it are the server's own.
bool is_of_server(std::string_view line) {
  const std::string text = lower_case(without_leading(line, kSpace));
  if (text.starts_with("remote:") || text.find("remote error:") != kNowhere ||
      text.find("rpc error:") != kNowhere)
    return true;
  const auto belongs = [&](char c) { return is_alphanumeric(c) || c == '_' || c == '/'; };
  std::string before;
  for (std::size_t at = 0; at < line.size();) {
    if (!belongs(line[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < line.size() && belongs(line[end])) ++end;
    const std::string_view word = line.substr(at, end - at);
    const std::string_view target = without_leading(line.substr(end), " \t'\"`");
    if (is_one_of(word, kMethods) ||
        (is_one_of(word, kMethodsOrNames) && target.size() + end < line.size() &&
         (target.starts_with('/') || target.starts_with("http"))))
      return true;
    std::string low = lower_case(word);
    if (low.starts_with("http/") || low.find("httperror") != kNowhere ||
        low.find("httpexception") != kNowhere || low.find("httpstatus") != kNowhere ||
        is_status(line, at, end, before))
      return true;
    before = std::move(low);
    at = end;
  }
  return false;
}

// Reads the names in one line, one by one.
class LineReader {
 public:
  explicit LineReader(std::vector<std::string_view>& found) : found_(found) {}

  void read(std::string_view line, int depth = 0) {
    // `clear`: a name may begin here without being the rest of another one. `unclear`: a name was
    // skipped whose end is not known. `goes_on`: that name may go on.
    bool clear = true, unclear = false, goes_on = false, behind_colon = true;
    for (std::size_t at = 0; at < line.size() && found_.size() < kMostNames;) {
      if (is_space(line[at])) {
        ++at;
        continue;
      }
      if (opens(line, at)) {
        const std::size_t end = closing(line, at);
        // It is not clear what belongs together.
        if (end == kNowhere) return;
        const char next = end + 1 < line.size() ? line[end + 1] : ' ';
        // '/srv/'$'\\377': a name that is not text. Its first part is another, wider place.
        if (next == '$' || next == '\\' || next == line[end]) {
          at = std::min(line.find(": ", end), line.size());
          continue;
        }
        const std::string_view inner = line.substr(at + 1, end - at - 1);
        at = end + 1;
        if (inner.starts_with('/') || inner.find(' ') == kNowhere || depth > 1)
          found_.push_back(inner);
        else
          read(inner, depth + 1);  // An error as JSON has its path in its text.
        clear = behind_colon = false;
        continue;
      }
      std::size_t end = at + 1;
      while (end < line.size() && !is_space(line[end]) && !opens(line, end)) ++end;
      const std::string_view whole = line.substr(at, end - at), word = bare(whole);
      const bool glued = end < line.size() && !is_space(line[end]);
      const std::size_t word_end =
          static_cast<std::size_t>(word.data() + word.size() - line.data());
      const bool in_path = word.find('/') != kNowhere && word.size() > 1;
      at = end;
      if (in_path && word.find("://") == kNowhere) {
        const bool ends = !glued && is_behind_name(line.substr(word_end));
        const bool begins = word.starts_with('/') ? !goes_on || behind_colon : clear && !unclear;
        if (begins && ends) found_.push_back(word);
        if (!ends) {
          unclear = true;
          // "/bin/sh: 1: cannot open /x" has two names.
          goes_on = goes_on || !whole.ends_with(':');
          // /srv/"My Docs": the quoted part alone is not the name either.
          if (glued && kAround.find(whole.back()) == kNowhere && whole.back() != '=')
            at = std::min(line.find(": ", end), line.size());
        }
      }
      behind_colon = whole.ends_with(':');
      clear = behind_colon || (clear && !in_path && is_one_of(lower_case(whole), kBeforeName));
    }
  }

 private:
  // An apostrophe inside a word, as in "can't", is not a quote.
  static bool opens(std::string_view line, std::size_t at) {
    if (kQuotes.find(line[at]) == kNowhere || at + 1 >= line.size() || is_space(line[at + 1]))
      return false;
    return at == 0 || (line[at - 1] != '\\' &&
                       !(is_alphanumeric(line[at - 1]) && is_alphanumeric(line[at + 1])));
  }
  static std::size_t closing(std::string_view line, std::size_t open) {
    const std::string_view closers = line[open] == '`' ? "'`"sv : line.substr(open, 1);
    for (std::size_t at = line.find_first_of(closers, open + 1); at != kNowhere;
         at = line.find_first_of(closers, at + 1)) {
      const std::string_view rest = line.substr(at + 1);
      const bool dot = rest.starts_with('.') && (rest.size() == 1 || is_space(rest[1]));
      if (line[at - 1] != '\\' && (rest.empty() || is_space(rest[0]) || dot ||
                                   ":;,()]}>$\\'\"`"sv.find(rest[0]) != kNowhere))
        return at;
    }
    return kNowhere;
  }
  // The name in "--file=/x", "fopen(/x):", "(/x)" or "sh: 1: /x:", without what is around it.
  static std::string_view bare(std::string_view word) {
    if (const std::size_t equals = word.find('='); equals != kNowhere && word[0] == '-')
      word.remove_prefix(equals + 1);
    if (const std::size_t bracket = word.find('('); bracket < word.find('/'))
      word.remove_prefix(bracket + 1);
    while (!word.empty() && kAround.find(word.back()) != kNowhere &&
           !(word.back() == ')' && word.find('(') != kNowhere))
      word.remove_suffix(1);
    while (!word.empty() && word[0] != '.' && kAround.find(word[0]) != kNowhere)
      word.remove_prefix(1);
    return word;
  }
  // The end of a name without quotes, "/srv/My Docs", is known if what follows can't be part of it.
  static bool is_behind_name(std::string_view rest) {
    const std::string text =
        lower_case(without_leading(rest, ":;,.()[]{}<>!?- \t\r").substr(0, 32));
    return text.empty() || begins_with_one_of(text, kBehindName) ||
           std::any_of(std::begin(kWordings), std::end(kWordings),
                       [&](const Wording& each) { return text.starts_with(each.words); });
  }

  std::vector<std::string_view>& found_;
};

// The last part of the text. The rest of a line that is cut may look like another place, so that
// goes too.
std::string_view end_of(std::string_view said) {
  if (said.size() <= kMostSaid) return said;
  const std::size_t newline = said.find('\n', said.size() - kMostSaid - 1);
  return newline == kNowhere ? std::string_view() : said.substr(newline + 1);
}

}  // namespace

bool looks_like_path(std::string_view word) {
  return word.size() > 1 && word.find('/') != kNowhere && word.find("://") == kNowhere &&
         word.find('\\') == kNowhere && !word.starts_with("//");
}

std::vector<Complaint> complaints_in(std::string_view said) {
  std::vector<Complaint> complaints;
  // The last words are nearest to the failure, so this looks at the lines from the end.
  for (said = end_of(said); !said.empty() && complaints.size() < kMostNames;) {
    const std::size_t newline = said.rfind('\n');
    const std::string_view line = newline == kNowhere ? said : said.substr(newline + 1);
    said = said.substr(0, newline == kNowhere ? 0 : newline);
    const std::optional<Refused> how = wording_of(line);
    if (!how || is_of_server(line)) continue;
    std::vector<std::string_view> names;
    LineReader(names).read(line);
    for (const std::string_view name : names)
      if (looks_like_path(name)) complaints.push_back({std::string(name), *how});
  }
  return complaints;
}

bool complains_of(Lack lack, std::string_view said) {
  const std::string tail = lower_case(said.substr(said.size() - std::min(said.size(), kMostSaid)));
  const auto has = [&](const auto& words) {
    return std::any_of(std::begin(words), std::end(words),
                       [&](std::string_view each) { return tail.find(each) != kNowhere; });
  };
  switch (lack) {
    case Lack::memory: return has(kNoMemory);
    case Lack::shadow: return has(kNoShadow);
    case Lack::process: return has(kNoProcess);
    case Lack::space: return has(kNoSpace);
  }
  return false;
}

std::string last_lines(const Output& output) {
  const std::string_view all = output.bytes;
  if (!output.truncated) return std::string(end_of(all));
  const std::size_t cut = std::min(output.cut, all.size());
  const std::string_view head = all.substr(0, cut), tail = all.substr(cut);
  const std::size_t newline = tail.find('\n');
  // npos + 1 is 0: there is no whole line.
  std::string text(end_of(head.substr(0, head.rfind('\n') + 1)));
  if (newline != kNowhere) text.append(end_of(tail.substr(newline + 1)));
  return std::string(end_of(text));
}

std::string last_lines_of_json(std::string_view text) {
  // Twice as much as is looked at: the cut line is dropped, and unescaping makes the text shorter.
  text = text.substr(text.size() - std::min(text.size(), 2 * kMostSaid));
  std::string lines;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool ends = text.substr(at).starts_with("\\n");
    lines += ends ? '\n' : text[at];
    if (ends) ++at;
  }
  return lines;
}

}  // namespace brig
