#include "service/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/fair_share.h"
#include "base/random.h"
#include "base/text.h"
#include "json/json_line.h"

namespace brig::serve {
namespace {

constexpr std::size_t kResourcesPage = 100, kLongestName = 200;
constexpr std::string_view kOffset = "?offset=";

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~' || c == '/';
    if (plain)
      encoded += c;
    else
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

// Whether it is text that does not become much longer as JSON.
bool is_plain_text(std::string_view bytes) {
  if (!is_valid_utf8(bytes)) return false;
  const auto odd = std::count_if(bytes.begin(), bytes.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t' && c != '\r';
  });
  return static_cast<std::size_t>(odd) <= bytes.size() / 50;
}

}  // namespace

std::string mime_type_of(std::string_view name, std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return "image/png";
  if (bytes.starts_with("\xff\xd8\xff")) return "image/jpeg";
  if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")) return "image/gif";
  if (bytes.starts_with("%PDF-")) return "application/pdf";
  if (!is_plain_text(bytes)) return "application/octet-stream";
  constexpr std::array<std::pair<std::string_view, const char*>, 8> kEndings = {
      {{".json", "application/json"},
       {".csv", "text/csv"},
       {".html", "text/html"},
       {".htm", "text/html"},
       {".svg", "image/svg+xml"},
       {".xml", "application/xml"},
       {".md", "text/markdown"},
       {".py", "text/x-python"}}};
  for (const auto& [ending, type] : kEndings)
    if (name.ends_with(ending)) return type;
  return "text/plain";
}

McpResources::McpResources(Loop& loop, McpResourceLimits limits) : limits_(limits) {
  timer_ =
      loop.every(std::chrono::seconds(10), [this] { expire(std::chrono::steady_clock::now()); });
}

Json McpResources::Entry::description() const {
  return {{"uri", uri}, {"name", name}, {"mimeType", mime_type}, {"size", bytes.size()}};
}

Json McpResources::keep(const CallerPtr& owner, const std::string& name, std::string mime_type,
                        std::string bytes) {
  if (!make_room(owner, bytes.size())) return nullptr;
  Entry entry;
  entry.owner = owner;
  entry.name = is_valid_utf8(name) ? name : in_quotes(name);
  if (entry.name.size() > kLongestName) entry.name = "file";
  entry.uri = fmt::format("brig://kept/{}/{}", random_hex(16), percent_encoded(entry.name));
  entry.mime_type = std::move(mime_type);
  entry.is_text = is_plain_text(bytes);
  entry.bytes = std::move(bytes);
  entry.at = std::chrono::steady_clock::now();
  bytes_ += entry.bytes.size();
  Share& share = shares_[owner];
  ++share.count;
  share.bytes += entry.bytes.size();
  entries_.push_back(std::move(entry));
  by_uri_[entries_.back().uri] = std::prev(entries_.end());
  return entries_.back().description();
}

bool McpResources::make_room(const CallerPtr& owner, std::size_t bytes) {
  const auto fits = [&] {
    const auto found = shares_.find(owner);
    const Share own = found == shares_.end() ? Share{} : found->second;
    if (owner->alone)
      return entries_.size() < limits_.count && bytes <= limits_.bytes &&
             bytes_ <= limits_.bytes - bytes;
    return is_fair(own.count, 1, entries_.size(), limits_.count) &&
           is_fair(own.bytes, bytes, bytes_, limits_.bytes);
  };
  if (bytes > limits_.bytes) return false;
  while (!fits()) {
    const auto oldest = std::find_if(entries_.begin(), entries_.end(),
                                     [&](const Entry& each) { return each.owner == owner; });
    if (oldest == entries_.end()) return false;
    forget(oldest);
  }
  return true;
}

McpResources::Entries::iterator McpResources::forget(Entries::iterator entry) {
  const auto share = shares_.find(entry->owner);
  share->second.bytes -= entry->bytes.size();
  if (--share->second.count == 0) shares_.erase(share);
  bytes_ -= entry->bytes.size();
  by_uri_.erase(entry->uri);
  return entries_.erase(entry);
}

void McpResources::expire(std::chrono::steady_clock::time_point now) {
  const auto old = now - limits_.kept;
  while (!entries_.empty() && entries_.front().at < old) forget(entries_.begin());
}

const McpResources::Entry* McpResources::find(const CallerPtr& owner,
                                              const std::string& uri) const {
  const auto found = by_uri_.find(uri);
  return found == by_uri_.end() || found->second->owner != owner ? nullptr : &*found->second;
}

std::optional<Json> McpResources::list(const CallerPtr& owner, const std::string& after,
                                       bool& more) const {
  more = false;
  auto each = entries_.begin();
  if (!after.empty()) {
    if (!find(owner, after)) return {};
    each = std::next(by_uri_.at(after));
  }
  Json list = Json::array();
  for (; each != entries_.end(); ++each) {
    if (each->owner != owner) continue;
    more = list.size() == kResourcesPage;
    if (more) break;
    list.push_back(each->description());
  }
  return list;
}

std::optional<Json> McpResources::read(const CallerPtr& owner, const std::string& uri,
                                       std::string& fault) const {
  const std::size_t query = uri.rfind(kOffset);
  const std::string base = uri.substr(0, query);
  const Entry* entry = find(owner, base);
  if (!entry) {
    fault = "No such resource: it does not exist, or it is no longer kept.";
    return {};
  }
  std::size_t offset = 0;
  if (query != std::string::npos) {
    const char* digits = uri.data() + query + kOffset.size();
    const char* end = uri.data() + uri.size();
    const auto read = std::from_chars(digits, end, offset);
    if (digits == end || read.ec != std::errc() || read.ptr != end ||
        offset > entry->bytes.size()) {
      fault = fmt::format("offset must be a number from 0 to {}, the size of the resource.",
                          entry->bytes.size());
      return {};
    }
  } else if (entry->bytes.size() > limits_.page) {
    fault = fmt::format(
        "The resource is {}, too large for one answer. Read it in parts of {}: start with {}{}0; "
        "each answer names the next part in _meta, brig/next.",
        format_size(entry->bytes.size()), format_size(limits_.page), base, kOffset);
    return {};
  }
  const bool text = entry->is_text;
  std::string_view part = std::string_view(entry->bytes).substr(offset);
  if (text) part.remove_prefix(std::min(part.size(), utf8_cut_at_start(part)));
  const std::size_t begin = entry->bytes.size() - part.size();
  part = part.substr(0, limits_.page);
  if (text) part.remove_suffix(utf8_cut_at_end(part));
  Json content{{"uri", uri}, {"mimeType", entry->mime_type}};
  if (text)
    content["text"] = part;
  else
    content["blob"] = base64(part);
  Json result{{"contents", Json::array({std::move(content)})}};
  if (const std::size_t next = begin + part.size(); next < entry->bytes.size())
    result["_meta"] = {{"brig/size", entry->bytes.size()},
                       {"brig/next", fmt::format("{}{}{}", base, kOffset, next)}};
  return result;
}

}  // namespace brig::serve
