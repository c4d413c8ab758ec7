// brig::KeyHash: a hash for texts that a stranger chose. It is SipHash-1-3 with a secret of this
// process. Without the secret nobody can find texts that collide, so nobody can make a hash table
// slow.
#pragma once

#include <unistd.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace brig {

class KeyHash {
 public:
  using Secret = std::array<std::uint64_t, 2>;

  // The hash of the text with this process's secret. Thread-safe. The first call throws
  // std::runtime_error if the kernel gives no random numbers.
  [[nodiscard]] static std::uint64_t of(std::string_view text) {
    static const Secret secret = new_secret();
    return of(text, secret);
  }
  // The same with a given secret, for tests.
  [[nodiscard]] static std::uint64_t of(std::string_view text, const Secret& secret) {
    KeyHash hash(secret);
    const char* at = text.data();
    std::size_t left = text.size();
    std::uint64_t word = 0;
    for (; left >= sizeof word; at += sizeof word, left -= sizeof word) {
      std::memcpy(&word, at, sizeof word);
      hash.add(word);
    }
    word = 0;
    if (left > 0) std::memcpy(&word, at, left);
    hash.add(word | std::uint64_t{text.size()} << 56);
    return hash.end();
  }

 private:
  static Secret new_secret() {
    Secret secret;
    for (int tries = 0; ::getentropy(secret.data(), sizeof secret) != 0; ++tries)
      if (tries == 3) throw std::runtime_error("the kernel gives no random numbers");
    return secret;
  }

  explicit KeyHash(const Secret& secret)
      : a_(secret[0] ^ 0x736f6d6570736575),
        b_(secret[1] ^ 0x646f72616e646f6d),
        c_(secret[0] ^ 0x6c7967656e657261),
        d_(secret[1] ^ 0x7465646279746573) {}

  void add(std::uint64_t word) {
    d_ ^= word;
    round();
    a_ ^= word;
  }
  std::uint64_t end() {
    c_ ^= 0xff;
    for (int i = 0; i < 3; ++i) round();
    return a_ ^ b_ ^ c_ ^ d_;
  }
  void round() {
    a_ += b_, c_ += d_;
    b_ = std::rotl(b_, 13) ^ a_, d_ = std::rotl(d_, 16) ^ c_;
    a_ = std::rotl(a_, 32);
    c_ += b_, a_ += d_;
    b_ = std::rotl(b_, 17) ^ c_, d_ = std::rotl(d_, 21) ^ a_;
    c_ = std::rotl(c_, 32);
  }

  std::uint64_t a_, b_, c_, d_;
};

}  // namespace brig
