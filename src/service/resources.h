// McpResources: keeps what a call left and does not fit its result (files, long output, large
// images), so that its caller can read it by resources/read. No other caller can: an entry is found
// by an address of 128 random bits, and given only to its owner. Everything in it was made in a
// cell and is data: it is never opened, run or parsed here. It goes after ten minutes, or when
// something newer of the same caller needs the room.
#pragma once

#include <brig/json.h>

#include <chrono>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "http/caller.h"
#include "http/loop.h"

namespace brig::serve {

// The limits of all callers together; each has a share (is_fair).
struct McpResourceLimits {
  std::chrono::seconds kept{600};
  std::size_t count = 10'000;
  std::size_t bytes = std::size_t{128} << 20;
  // Of one answer; up to twice that as JSON text.
  std::size_t page = std::size_t{2} << 20;
};

class McpResources {
 public:
  explicit McpResources(Loop& loop, McpResourceLimits limits = {});

  // Keeps a resource. Returns its entry of resources/list: uri, name, mimeType, size; null if there
  // is no room for it.
  Json keep(const CallerPtr& owner, const std::string& name, std::string mime_type,
            std::string bytes);
  // The resources of `owner`, the oldest first, up to 100 after the uri `after`. Sets `more` if
  // there are others. Returns nothing if `after` is not one of them.
  std::optional<Json> list(const CallerPtr& owner, const std::string& after, bool& more) const;
  // The result of resources/read. If there is none, `fault` says why, in the same words for a
  // resource of another caller and for one that never existed. "?offset=N" after the uri reads a
  // part.
  std::optional<Json> read(const CallerPtr& owner, const std::string& uri,
                           std::string& fault) const;

  // Forgets what is too old; the loop does so every ten seconds.
  void expire(std::chrono::steady_clock::time_point now);

  std::size_t count() const { return entries_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    CallerPtr owner;
    std::string uri, name, mime_type, bytes;
    // Computed once, since that reads all bytes.
    bool is_text = false;
    std::chrono::steady_clock::time_point at;
    Json description() const;
  };
  // Oldest first.
  using Entries = std::list<Entry>;
  struct Share {
    std::size_t count = 0, bytes = 0;
  };
  bool make_room(const CallerPtr& owner, std::size_t bytes);
  Entries::iterator forget(Entries::iterator entry);
  const Entry* find(const CallerPtr& owner, const std::string& uri) const;

  const McpResourceLimits limits_;
  Entries entries_;
  std::map<std::string, Entries::iterator> by_uri_;
  std::map<CallerPtr, Share> shares_;
  std::size_t bytes_ = 0;
  Loop::Timer timer_;
};

// The type to report to a client: by the first bytes, or else by the name's ending. The server
// decides nothing by it.
std::string mime_type_of(std::string_view name, std::string_view bytes);

}  // namespace brig::serve
