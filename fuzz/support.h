// What the fuzz targets of the server and of JSON share.
#pragma once

#include <brig/json.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "http/http.h"
#include "promise.h"
#include "testing/json_same.h"

namespace brig::fuzz {

using brig::same;

// Up to the separator, which is not part of either; all of it if there is none.
std::string_view take(std::string_view& text, char separator);

// "POST /path?query", lines of "name: value", an empty line, the body: a newline ends each, for who writes seeds by hand.
// Shorter than HTTP, and nothing that HTTP would refuse is lost on its way to those behind it.
serve::Request request_from(std::string_view text);

// Keeps what is answered, and is as strict as a client.
class FakeExchange final : public serve::Exchange {
 public:
  void respond(serve::Response response) override;
  void begin(serve::Response head) override;
  void write(std::string_view piece) override;
  void end() override;
  std::size_t unsent() const override { return 0; }
  void on_gone(std::function<void()> job) override { gone_ = std::move(job); }
  // The client leaves.
  void leave();

  serve::Response answer;

 private:
  std::function<void()> gone_;
};

}  // namespace brig::fuzz
