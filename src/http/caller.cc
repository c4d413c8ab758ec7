#include "http/caller.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "http/token_file.h"
#include "os/trusted_file.h"

namespace brig::serve {
namespace {

constexpr std::size_t kLeastToken = 16, kMostTokens = 1000, kMostFile = 1 << 20;

bool is_token_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
}

// Of "Bearer X", whatever the case of the first word; empty if it is something else.
std::string_view bearer_of(std::string_view value) {
  constexpr std::string_view kScheme = "bearer ";
  if (value.size() <= kScheme.size()) return {};
  for (std::size_t i = 0; i < kScheme.size(); ++i)
    if ((value[i] | (value[i] == ' ' ? 0 : 0x20)) != kScheme[i]) return {};
  value.remove_prefix(kScheme.size());
  while (value.starts_with(' ')) value.remove_prefix(1);
  return value;
}

std::optional<Digest> digest_from(std::string_view hex) {
  Digest digest;
  if (hex.size() != digest.size() * 2) return {};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    unsigned byte = 0;
    for (const char c : hex.substr(i * 2, 2)) {
      if (c >= '0' && c <= '9')
        byte = byte * 16 + static_cast<unsigned>(c - '0');
      else if (c >= 'a' && c <= 'f')
        byte = byte * 16 + static_cast<unsigned>(c - 'a' + 10);
      else
        return {};
    }
    digest[i] = static_cast<unsigned char>(byte);
  }
  return digest;
}

std::string read_private(const std::string& path) {
  const FileRequest request{path, "token file"};
  std::string text = read_trusted(request, kMostFile, [&](mode_t mode) {
    if (mode & 077)
      throw_error(
          ErrorKind::config,
          "token file {}: users other than its owner can read or change it; run chmod 600 {}",
          in_quotes(path), path);
  });
  if (text.size() > kMostFile)
    throw_error(ErrorKind::config, "token file {}: the file is larger than 1 MiB", in_quotes(path));
  return text;
}

// `name`: of the file, for messages.
Digest digest_of(std::string_view token, const std::string& name) {
  if (token.size() < kLeastToken)
    throw_error(ErrorKind::config,
                "{}: a token must have at least {} characters; `openssl rand -hex 24` makes one",
                name, kLeastToken);
  if (!is_token_text(token))
    throw_error(ErrorKind::config, "{}: a token must be printable ASCII without spaces", name);
  return sha256(token);
}

Digest given_digest(const std::string& digits, const std::string& caller, const std::string& name) {
  const auto digest = digest_from(digits);
  if (!digest)
    throw_error(ErrorKind::config, "{}: sha256 of '{}' must be 64 lower-case hexadecimal digits",
                name, caller);
  if (*digest == sha256(""))
    throw_error(ErrorKind::config,
                "{}: sha256 of '{}' is the digest of an empty text; hash the token", name, caller);
  return *digest;
}

}  // namespace

Digest sha256(std::string_view bytes) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return digest;
}

std::string hex_of(const Digest& digest) { return fmt::format("{:02x}", fmt::join(digest, "")); }

bool Caller::may_call(std::string_view tool) const {
  if (tools.empty()) return true;
  return std::any_of(tools.begin(), tools.end(), [&](std::string_view pattern) {
    if (pattern.ends_with('*')) return tool.starts_with(pattern.substr(0, pattern.size() - 1));
    return pattern == tool;
  });
}

std::optional<std::chrono::milliseconds> Caller::must_wait(
    std::chrono::steady_clock::time_point now) {
  if (rate <= 0) return {};
  const double most = std::max(1.0, rate * 2);
  if (filled_.time_since_epoch().count() == 0)
    allowance_ = most;
  else
    allowance_ =
        std::min(most, allowance_ + rate * std::chrono::duration<double>(now - filled_).count());
  filled_ = now;
  if (allowance_ >= 1) {
    allowance_ -= 1;
    return {};
  }
  return std::chrono::milliseconds(static_cast<long>((1 - allowance_) / rate * 1000) + 1);
}

Tokens::Tokens() : everybody_(std::make_shared<Caller>()) {
  everybody_->name = "local";
  everybody_->admin = true;
  everybody_->alone = true;
}

Tokens Tokens::from_file(const std::string& path) { return from_text(read_private(path), path); }

Tokens Tokens::from_text(std::string_view text, const std::string& name) {
  Tokens tokens;
  const auto add = [&](CallerPtr caller, Digest digest) {
    for (const Entry& each : tokens.entries_) {
      if (each.caller->name == caller->name)
        throw_error(ErrorKind::config, "{}: two tokens are named '{}'", name, caller->name);
      if (each.digest == digest)
        throw_error(ErrorKind::config, "{}: '{}' and '{}' have the same token", name,
                    each.caller->name, caller->name);
    }
    if (tokens.entries_.size() >= kMostTokens)
      throw_error(ErrorKind::config, "{}: more than {} tokens", name, kMostTokens);
    tokens.entries_.push_back({digest, std::move(caller)});
  };
  std::string_view line = text;
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (line.empty()) throw_error(ErrorKind::config, "{}: the file holds no token", name);
  if (line.find_first_of("\n=[#") == std::string::npos) {
    auto caller = std::make_shared<Caller>();
    caller->name = "default";
    caller->admin = true;
    caller->alone = true;
    add(std::move(caller), digest_of(line, name));
    return tokens;
  }
  read_token_tables(text, name, [&](TokenTable table) {
    auto caller = std::make_shared<Caller>();
    caller->name = std::move(table.name);
    caller->tools = std::move(table.tools);
    caller->rate = table.rate;
    caller->concurrency = table.concurrency;
    caller->admin = table.admin;
    const Digest digest = table.sha256.empty() ? digest_of(table.token, name)
                                               : given_digest(table.sha256, caller->name, name);
    add(std::move(caller), digest);
  });
  if (tokens.entries_.empty())
    throw_error(ErrorKind::config, "{}: the file has no [[token]] table", name);
  tokens.entries_[0].caller->alone = tokens.entries_.size() == 1;
  return tokens;
}

CallerPtr Tokens::find(const std::string* authorization) const {
  if (entries_.empty()) return everybody_;
  const std::string_view token = authorization ? bearer_of(*authorization) : std::string_view();
  const Digest given = sha256(token);
  CallerPtr found;
  for (const Entry& each : entries_)
    if (CRYPTO_memcmp(given.data(), each.digest.data(), given.size()) == 0) found = each.caller;
  return token.empty() ? nullptr : found;
}

std::vector<CallerPtr> Tokens::replace_by(Tokens next) {
  std::vector<CallerPtr> gone;
  for (const Entry& old : entries_) {
    const auto fresh =
        std::find_if(next.entries_.begin(), next.entries_.end(),
                     [&](const Entry& each) { return each.caller->name == old.caller->name; });
    if (fresh == next.entries_.end()) {
      gone.push_back(old.caller);
      continue;
    }
    old.caller->tools = fresh->caller->tools;
    old.caller->rate = fresh->caller->rate;
    old.caller->concurrency = fresh->caller->concurrency;
    old.caller->admin = fresh->caller->admin;
    old.caller->alone = fresh->caller->alone;
    fresh->caller = old.caller;
  }
  entries_ = std::move(next.entries_);
  return gone;
}

}  // namespace brig::serve
