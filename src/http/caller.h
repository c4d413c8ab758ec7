// Callers, and what they may do: tokens with names, tools, a rate and a number of calls at once.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace brig::serve {

using Digest = std::array<unsigned char, 32>;
Digest sha256(std::string_view bytes);
std::string hex_of(const Digest& digest);

// One holder of a token; or, if there are no tokens, every client that can connect. Use it on the
// loop's thread only.
class Caller {
 public:
  std::string name;
  std::vector<std::string> tools;  // names, or beginnings of names followed by '*'; empty: all
  double rate = 0;                 // calls per second, twice as many at once; 0: any
  unsigned concurrency = 0;        // calls at once; 0: any
  bool admin = false;              // may also see and cancel the calls of others

  bool may_call(std::string_view tool) const;

  // Takes one call from the rate's allowance. If none is left, returns how long to wait for one.
  std::optional<std::chrono::milliseconds> must_wait(std::chrono::steady_clock::time_point now);
  unsigned running = 0;

  // What this caller holds of what all callers share. The code that hands something out counts it
  // here, and counts it back.
  struct Holding {
    std::size_t connections = 0, bodies = 0, streams = 0, sessions = 0, jobs = 0, batches = 0;
    // Bytes, of jobs.
    std::size_t arguments = 0, results = 0;
  } holds;
  // There are no other tokens, so it shares with no other caller.
  bool alone = false;

 private:
  double allowance_ = 0;
  std::chrono::steady_clock::time_point filled_{};
};
using CallerPtr = std::shared_ptr<Caller>;

class Tokens {
 public:
  // No token is required.
  Tokens();
  // Reads a file of one line, the token, or of TOML: see docs/serve.md. Throws Error(config), also
  // if users other than its owner can read the file.
  static Tokens from_file(const std::string& path);
  static Tokens from_text(std::string_view text, const std::string& name);

  bool required() const { return !entries_.empty(); }
  // Returns the caller of an Authorization header, or null. It takes the same time for every token.
  CallerPtr find(const std::string* authorization) const;
  // Callers whose name stays keep their Caller object. Returns the callers that are gone.
  [[nodiscard]] std::vector<CallerPtr> replace_by(Tokens next);

 private:
  struct Entry {
    Digest digest;
    CallerPtr caller;
  };
  std::vector<Entry> entries_;
  CallerPtr everybody_;
};

}  // namespace brig::serve
