// Who asks, and what they may: tokens with names, tools, a rate and a number of calls at once.
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

// One holder of a token; or, where there are no tokens, everybody who can connect. Only on the loop's thread.
class Caller {
 public:
  std::string name;
  std::vector<std::string> tools;  // names, or beginnings of names with a '*'; empty: all
  double rate = 0;                 // calls per second, twice as many at once; 0: any
  unsigned concurrency = 0;        // calls at once; 0: any
  bool admin = false;              // sees and may cancel the calls of others, too

  bool may_call(std::string_view tool) const;

  // Takes one call from the rate's allowance; else how long until there is one.
  std::optional<std::chrono::milliseconds> must_wait(std::chrono::steady_clock::time_point now);
  unsigned running = 0;

  // What it has now of what all callers share. Whoever hands something out counts it here, and takes it back.
  struct Holding {
    std::size_t connections = 0, bodies = 0, streams = 0, sessions = 0, jobs = 0, batches = 0;
    std::size_t arguments = 0, results = 0;  // bytes, of jobs
  } holds;
  bool alone = false;  // there are no other tokens, and so nobody to share with

 private:
  double allowance_ = 0;
  std::chrono::steady_clock::time_point filled_{};
};
using CallerPtr = std::shared_ptr<Caller>;

class Tokens {
 public:
  // Nobody needs one.
  Tokens();
  // A file of one line, the token, or of TOML: see docs/serve.md. Throws Error(config), also if others than its owner
  // can read it.
  static Tokens from_file(const std::string& path);
  static Tokens from_text(std::string_view text, const std::string& name);

  bool required() const { return !entries_.empty(); }
  // Of an Authorization header; null: not known. Takes as long whichever it is.
  CallerPtr find(const std::string* authorization) const;
  // Callers of the same name stay who they are. Returns those who are no more.
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
