// The [[token]] tables of a token file.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace brig::serve {

struct TokenTable {
  // One of the two is empty.
  std::string name, token, sha256;
  std::vector<std::string> tools;
  double rate = 0;
  unsigned concurrency = 0;
  bool admin = false;
};

// Throws Error(config) that lists all mistakes, with their lines.
void read_token_tables(std::string_view text, const std::string& name,
                       const std::function<void(TokenTable)>& take);

}  // namespace brig::serve
