#include "http/http_reader.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <utility>

#include "base/text.h"

namespace brig::serve {
namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

constexpr std::uint64_t kMostSkipped = 64 * 1024;

// Of a target in absolute form ("http://host/path", as to a proxy) the authority is the host that
// is asked, whatever Host says (RFC 9112, 3.2.2). False: it has no host, or more than that.
bool take_authority(Request& request, std::string& target) {
  const std::string scheme = lower_case(std::string_view(target).substr(0, target.find(':')));
  if ((scheme != "http" && scheme != "https") || target.compare(scheme.size(), 3, "://") != 0)
    return true;
  const std::size_t begin = scheme.size() + 3;
  const std::size_t end = std::min(target.find_first_of("/?#", begin), target.size());
  const std::string authority = target.substr(begin, end - begin);
  if (authority.empty() || authority.find('@') != std::string::npos) return false;
  target.erase(0, end);
  if (!target.starts_with('/')) target.insert(0, "/");
  for (Header& each : request.headers)
    if (each.name == "host") {
      each.value = authority;
      return true;
    }
  request.headers.push_back({"host", authority});
  return true;
}

}  // namespace

void HttpReader::append(const char* bytes, std::size_t size) {
  in_.commit(asio::buffer_copy(in_.prepare(size), asio::buffer(bytes, size)));
}

HttpReader::Step HttpReader::next() {
  if (skip_ > 0) {
    const std::size_t size = std::min<std::uint64_t>(skip_, in_.size());
    in_.consume(size);
    skip_ -= size;
    if (skip_ > 0) return Step::more;
  }
  if (!parser_ && in_.size() > 0) {
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(head_limit_));
    parser_->body_limit(body_limit_);
    head_seen_ = awaits_continue_ = false;
  }
  // The parser stops after the head, and after each chunk.
  while (parser_) {
    if (head_seen_ && parser_->is_done()) return check_message();
    if (in_.size() == 0) break;
    boost::system::error_code error;
    in_.consume(parser_->put(in_.data(), error));
    if (error && error != http::error::need_more) return refuse(error);
    if (parser_->is_header_done() && !head_seen_) {
      head_seen_ = true;
      return check_head();
    }
    if (error == http::error::need_more) {
      // What stays unused belongs to no body: the head of a chunk, or what follows the last.
      if (head_seen_ && in_.size() > head_limit_)
        return refuse(431, "the extensions of a chunk, or the trailers, are too long");
      break;
    }
  }
  return Step::more;
}

HttpReader::Step HttpReader::check_head() {
  const auto& head = parser_->get();
  const auto length = parser_->content_length();
  if (length && *length > body_limit_)
    return refuse(413, "the body is larger than " + format_size(body_limit_));
  // A proxy in between must see the same end of the body as this does.
  const auto lengths = head.count(http::field::content_length);
  if (lengths > 1 || head[http::field::content_length].find_first_not_of("0123456789") !=
                         boost::beast::string_view::npos)
    return refuse(400, "Content-Length must be one number, sent once");
  const auto encodings = head.count(http::field::transfer_encoding);
  if (encodings > 0 && (encodings > 1 || lengths > 0 || head.version() < 11 ||
                        !boost::beast::iequals(head[http::field::transfer_encoding], "chunked")))
    return refuse(400, "Transfer-Encoding must be 'chunked', sent once and without Content-Length");
  // The headers are copied now: trailers that come after the body are not checked.
  message_ = {};
  for (const auto& field : head) {
    const auto name = field.name_string();
    message_.request.headers.push_back(
        {lower_case({name.data(), name.size()}), std::string(field.value())});
  }
  if (const auto expect = head.find(http::field::expect); expect != head.end()) {
    if (!boost::beast::iequals(expect->value(), "100-continue"))
      return refuse(417, "Expect: only 100-continue is supported");
    awaits_continue_ = !parser_->is_done();
  }
  message_.keep_alive = parser_->keep_alive();
  message_.old = head.version() < 11;
  Request& request = message_.request;
  request.method = std::string(head.method_string());
  std::string target(head.target().data(), head.target().size());
  if ((request.count("host") != 1 && !message_.old) || request.count("host") > 1)
    return refuse(400, "a request must have exactly one Host header");
  if (!take_authority(request, target) || !target.starts_with('/') ||
      target.find('#') != std::string::npos)
    return refuse(400, "the target of a request must be a path, or http:// with a host and a path");
  const std::size_t question = std::min(target.find('?'), target.size());
  request.path = target.substr(0, question);
  request.query = target.substr(std::min(question + 1, target.size()));
  return Step::head;
}

HttpReader::Step HttpReader::check_message() {
  message_.request.body = std::move(parser_->release().body());
  parser_.reset();
  return Step::request;
}

bool HttpReader::can_skip() const {
  if (!parser_ || parser_->is_done()) return true;
  const auto length = parser_->content_length();
  // A client that waits for "100 Continue" may or may not send its body.
  return length && *length <= kMostSkipped && !awaits_continue_;
}

void HttpReader::skip() {
  if (parser_ && !parser_->is_done()) skip_ = parser_->content_length().value_or(0);
  forget();
}

HttpReader::Message HttpReader::take() { return std::exchange(message_, {}); }

HttpReader::Step HttpReader::refuse(unsigned status, std::string why) {
  parser_.reset();
  refusal_ = {status, std::move(why)};
  return Step::refused;
}

HttpReader::Step HttpReader::refuse(boost::system::error_code error) {
  if (error == http::error::header_limit)
    return refuse(431, "the request line and headers are too long");
  if (error == http::error::body_limit)
    return refuse(413, "the body is larger than " + format_size(body_limit_));
  if (error == http::error::bad_version)
    return refuse(505, "unsupported HTTP version; use HTTP/1.1");
  return refuse(400, "the request is not valid HTTP: " + error.message());
}

}  // namespace brig::serve
