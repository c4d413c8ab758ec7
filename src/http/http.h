// What a handler of HTTP requests sees: a request, and one way to answer it. It sees no sockets.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace brig::serve {

struct Header {
  // Names of requests in lower case.
  std::string name, value;
};

struct Request {
  std::string method;  // "GET"
  std::string path;    // as sent, without the query: "/v1/tools/a%20b"
  std::string query;   // without the '?'
  std::vector<Header> headers;
  std::string body;
  // "127.0.0.1:4711", or "unix".
  std::string peer;
  bool secure = false;

  // The first header of that name (in lower case), or null.
  const std::string* header(std::string_view name) const;
  unsigned count(std::string_view name) const;
  // How much the client wants that type, by its Accept header (RFC 9110): from 0, not at all, to
  // 1000. Without the header it accepts every type.
  unsigned quality_of(std::string_view type) const;
  bool accepts(std::string_view type) const { return quality_of(type) > 0; }
  // By its Accept-Encoding header; false without one.
  bool takes_encoding(std::string_view coding) const;
  // Whether its If-None-Match names that tag ("\"abc\""). Tags are compared weakly: W/"abc" is
  // equal.
  bool knows_tag(std::string_view tag) const;
  // By its Content-Type header.
  bool is_json() const;
  // A parameter of the query, decoded.
  std::optional<std::string> parameter(std::string_view name) const;
};

class Caller;

struct Response {
  unsigned status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<Header> headers;
  std::string problem = {};  // "rate-limited"
  bool noted = false;        // the audit log has it already
};

// One request and its answer. Use it on the loop's thread only. The answer to a client that has
// left is dropped.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // The handler may take its body.
  Request request;
  // The caller, once the check of the head has found it.
  std::shared_ptr<Caller> caller;
  // Headers to add to whatever is answered.
  std::vector<Header> headers;

  // Sends the whole answer, once.
  virtual void respond(Response response) = 0;
  // Or sends its head (the body is not used), pieces of it, and its end.
  virtual void begin(Response head) = 0;
  virtual void write(std::string_view piece) = 0;
  virtual void end() = 0;
  // Bytes that the client has not taken yet. Beyond a bound, the next piece drops the connection.
  virtual std::size_t unsent() const = 0;
  // `job` is called at most once, if the client leaves, or takes too little of what is written,
  // before the answer is complete. It is destroyed when the answer is complete.
  virtual void on_gone(std::function<void()> job) = 0;

  bool begun() const { return begun_; }
  bool answered() const { return answered_; }

 protected:
  bool begun_ = false;     // respond or begin was called
  bool answered_ = false;  // respond or end was
};

// What an AnswerWatch receives for every answer, when it begins.
struct Answered {
  const Request* request = nullptr;  // null: what came was not a request
  const Caller* caller = nullptr;    // null: not known
  unsigned status = 0;
  std::string_view problem = {};
  bool noted = false;
};
using AnswerWatch = std::function<void(const Answered&)>;

using ExchangePtr = std::shared_ptr<Exchange>;
using Handler = std::function<void(const ExchangePtr&)>;
// Looks at a request whose body has not come yet. False: it has answered already, and does not want
// the body.
using HeadCheck = std::function<bool(const ExchangePtr&)>;

// ASCII alone, whatever the locale.
std::string lower_case(std::string_view text);
// The text without spaces and tabs around it.
std::string_view trimmed(std::string_view text);
// Decodes "%2F" and the like. Nothing if the text is malformed or holds a NUL. `plus`: '+' is a
// space, as in queries.
std::optional<std::string> percent_decoded(std::string_view text, bool plus = false);
// "Wed, 18 Nov 2026 09:26:53 GMT", now.
std::string http_date();
// "Not Found"
std::string_view reason_of(unsigned status);
// One server-sent event; `data` has no line break. Without a name it is "message"; without an id,
// none is sent.
std::string sse_event(std::string_view name, std::string_view data, std::string_view id = "");
// The head of an answer of such events: nothing on the way may keep it, or hold it back.
Response sse_head(std::vector<Header> headers = {});

}  // namespace brig::serve
