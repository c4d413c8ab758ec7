// HttpReader: makes requests of the bytes that a connection brings. It bounds their sizes, and
// refuses what a proxy in between could understand differently.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>

#include "http/http.h"

namespace brig::serve {

class HttpReader {
 public:
  // The limits of a head and of a body, in bytes.
  HttpReader(std::size_t head_limit, std::size_t body_limit)
      : head_limit_(head_limit), body_limit_(body_limit) {}

  void append(const char* bytes, std::size_t size);
  // Bytes that have not been read into a request yet.
  std::size_t waiting() const { return in_.size(); }
  // Whether part of a request has come.
  bool begun() const { return parser_.has_value(); }

  enum class Step {
    more,     // nothing can be done until more bytes have come
    head,     // the head of a request is complete, and its body may follow; returned once
    request,  // take() it
    refused,  // see refusal(); it is not known where the next request would begin
  };
  Step next();

  struct Message {
    Request request;
    bool keep_alive = true;
    // HTTP/1.0.
    bool old = false;
  };

  // After `head`: the request without its body. The caller may move it out; take() then returns the
  // body alone.
  Message& head() { return message_; }
  // After `head`: how much of the body has come; and whether the client waits for "100 Continue"
  // before it sends it.
  std::size_t body_size() const { return parser_ ? parser_->get().body().size() : 0; }
  bool awaits_continue() const { return awaits_continue_ && in_.size() == 0; }

  Message take();

  // After `head`, instead of reading the request: passes over its body as it comes. Only if
  // can_skip(); otherwise it is not known where the next request would begin.
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
  // Refuses with the reason that the parser gives.
  Step refuse(boost::system::error_code error);
  Step check_head();
  Step check_message();

  const std::size_t head_limit_, body_limit_;
  boost::beast::flat_buffer in_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  bool head_seen_ = false, awaits_continue_ = false;
  // Bytes that are still to come of a body that is passed over.
  std::uint64_t skip_ = 0;
  Message message_;
  Refusal refusal_;
};

}  // namespace brig::serve
