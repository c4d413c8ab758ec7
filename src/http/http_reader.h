// HttpReader: makes requests of the bytes that a connection brings. It bounds their sizes, and refuses what another reader,
// who may stand in between, could understand differently.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>

#include "http/http.h"

namespace brig::serve {

class HttpReader {
 public:
  // Both in bytes: of a head, and of a body.
  HttpReader(std::size_t head_limit, std::size_t body_limit)
      : head_limit_(head_limit), body_limit_(body_limit) {}

  void append(const char* bytes, std::size_t size);
  // Bytes of which nothing was made yet.
  std::size_t waiting() const { return in_.size(); }
  // Part of a request has come.
  bool begun() const { return parser_.has_value(); }

  enum class Step {
    more,     // nothing can be done until more has come
    head,     // the head of a request is whole, and its body may come: told once
    request,  // take() it
    refused,  // see refusal(); nobody knows where the next one would begin
  };
  Step next();

  struct Message {
    Request request;
    bool keep_alive = true;
    bool old = false;  // HTTP/1.0
  };

  // After `head`: all but the body. The request may be taken from it; take() then has the body alone.
  Message& head() { return message_; }
  // After `head`: of what has come of the body; and whether the client waits to be told to send it.
  std::size_t body_size() const { return parser_ ? parser_->get().body().size() : 0; }
  bool awaits_continue() const { return awaits_continue_ && in_.size() == 0; }

  Message take();

  // After `head`, in place of the request: its body is passed over as it comes, if can_skip(). Otherwise nobody knows where the
  // next one would begin.
  bool can_skip() const;
  void skip();
  bool skipping() const { return skip_ > 0; }

  struct Refusal {
    unsigned status = 0;
    std::string why;
  };
  const Refusal& refusal() const { return refusal_; }
  void forget() { parser_.reset(); }

 private:
  Step refuse(unsigned status, std::string why);
  // Of what the parser says.
  Step refuse(boost::system::error_code error);
  Step check_head();
  Step check_message();

  const std::size_t head_limit_, body_limit_;
  boost::beast::flat_buffer in_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  bool head_seen_ = false, awaits_continue_ = false;
  std::uint64_t skip_ = 0;  // bytes that are still to come of a body that nobody wants
  Message message_;
  Refusal refusal_;
};

}  // namespace brig::serve
