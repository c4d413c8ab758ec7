// McpResources: what a call left that does not fit its result (files, long output, large images), for its caller to read by
// resources/read. Nobody else can: an entry is found by an address of 128 random bits, and given to its owner alone. All of it was
// made in a cell and is data: it is never opened, run or looked into here. It goes after ten minutes, or for something newer of
// the same caller's.
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

// Of all callers together: each has a share (is_fair).
struct McpResourceLimits {
  std::chrono::seconds kept{600};
  std::size_t count = 10'000;
  std::size_t bytes = std::size_t{128} << 20;
  std::size_t page = std::size_t{2} << 20;  // of one answer: twice that, written as JSON
};

class McpResources {
 public:
  explicit McpResources(Loop& loop, McpResourceLimits limits = {});

  // The resource as resources/list has it: uri, name, mimeType, size. Null: there is no room for it.
  Json keep(const CallerPtr& owner, const std::string& name, std::string mime_type,
            std::string bytes);
  // Those of `owner`, oldest first, up to 100 after that uri; `more`: there are others. Nothing if `after` is none of them.
  std::optional<Json> list(const CallerPtr& owner, const std::string& after, bool& more) const;
  // The result of resources/read. If there is none, `fault` says why; it says the same for what is another's and what never was.
  // "?offset=N" behind the uri reads a part.
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
    bool is_text = false;  // found out once: it takes as long as the bytes are many
    std::chrono::steady_clock::time_point at;
    Json told() const;
  };
  using Entries = std::list<Entry>;  // oldest first
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

// By the first bytes, else by the name's ending: what to call it to a client. Nothing is decided by it here.
std::string mime_type_of(std::string_view name, std::string_view bytes);

}  // namespace brig::serve
