#include "http/request_parser.h"

#include <algorithm>
#include <utility>
// <utility> first: Asio of Boost 1.74 uses std::exchange without it.
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>

namespace afore::http {
namespace {

namespace beast = boost::beast;
using beast::http::error;
using Field = beast::http::field;
using ErrorCode = beast::error_code;
using Text = beast::string_view;
using OptionalSize = boost::optional<std::uint64_t>;

// Chunk headers and trailers of any size would otherwise be kept until they end.
constexpr std::size_t kFramingSlack = 64 << 10;
constexpr const char* kLongFraming = "a chunk's header or a trailer is too long";

Method method_of(beast::http::verb verb) {
  if (verb == beast::http::verb::get) return Method::get;
  if (verb == beast::http::verb::head) return Method::head;
  return verb == beast::http::verb::post ? Method::post : Method::other;
}

// "/path?query" and, as a proxy is asked, "http://host/path?query".
std::string path_of(Text target) {
  std::string_view path(target.data(), target.size());
  if (const auto scheme = path.find("://"); !path.starts_with('/') && scheme != path.npos) {
    const auto slash = path.find('/', scheme + 3);
    path = slash == path.npos ? std::string_view("/") : path.substr(slash);
  }
  return std::string(path.substr(0, path.find('?')));
}

}  // namespace

class RequestParser::Impl final : public beast::http::basic_parser<true> {
 public:
  explicit Impl(const Limits& limits) : limits_(limits) {
    // The header is counted here, as a whole; Beast's limit, of the line and the fields, only must not be smaller.
    header_limit(static_cast<std::uint32_t>(2 * limits.header_bytes));
    body_limit(limits.body_bytes);
    eager(false);
  }

  std::size_t feed(std::string_view bytes) {
    if (state() == State::header) return feed_header(bytes);
    return state() == State::body ? feed_body(bytes) : 0;
  }

  State state() const {
    if (refusal_.status != 0) return State::refused;
    if (is_done()) return State::done;
    return is_header_done() ? State::body : State::header;
  }

  Request request_;
  Refusal refusal_;

 private:
  void refuse(int status, const char* why) {
    if (refusal_.status == 0) refusal_ = {status, why};
  }
  // Whether it went on; false: more bytes are needed, or the request is refused.
  bool step(std::string_view bytes, std::size_t& taken) {
    ErrorCode error;
    taken += put({bytes.data() + taken, bytes.size() - taken}, error);
    if (!error) return true;
    if (error != error::need_more) refuse_for(error);
    return false;
  }

  std::size_t feed_header(std::string_view bytes) {
    std::size_t taken = 0;
    if (!line_seen_) {
      // Old clients end a body with a line break too many.
      while (!got_some() && bytes.substr(taken).starts_with("\r\n")) taken += 2;
      // Half of such a break: Beast would take it for a request's first byte.
      if (!got_some() && bytes.substr(taken) == "\r") return count_header(bytes, taken);
      const std::string_view line = bytes.substr(taken, bytes.substr(taken).find('\n'));
      if (line.size() > limits_.request_line_bytes) refuse(414, "the request line is too long");
      // Beast would wait for the header's end, which then never comes.
      if (taken + line.size() < bytes.size() && !line.ends_with('\r')) refuse(400, "lines end with CR and LF");
    }
    while (state() == State::header && taken < bytes.size() && step(bytes, taken)) {
    }
    return count_header(bytes, taken);
  }

  std::size_t count_header(std::string_view bytes, std::size_t taken) {
    header_bytes_ += taken;
    const std::size_t held = state() == State::header ? bytes.size() - taken : 0;
    if (header_bytes_ + held > limits_.header_bytes) refuse(431, "the header is too large");
    return taken;
  }

  std::size_t feed_body(std::string_view bytes) {
    std::size_t taken = 0;
    for (bool goes_on = true; goes_on && state() == State::body && taken < bytes.size();) {
      const std::size_t before = taken, body_before = request_.body.size();
      goes_on = step(bytes, taken);
      count_framing(taken - before, request_.body.size() - body_before);
    }
    if (state() == State::body && bytes.size() - taken > limits_.header_bytes) refuse(400, kLongFraming);
    return taken;
  }

  // One step takes a chunk's header, or the last one with all trailers, or of a body what is there. Counted step by
  // step they are refused or not however the bytes are cut.
  void count_framing(std::size_t taken, std::size_t body) {
    if (taken - body > limits_.header_bytes) refuse(400, kLongFraming);
    body_wire_bytes_ += taken;
    if (body_wire_bytes_ > limits_.framing_factor * request_.body.size() + kFramingSlack) {
      refuse(400, "the body's chunks hold too little");
    }
  }

  void refuse_for(const ErrorCode& error) {
    if (error == error::body_limit) return refuse(413, "the body is too large");
    if (error == error::header_limit) return refuse(431, "the header is too large");
    if (error == error::bad_version) return refuse(505, "HTTP/1.1 and HTTP/1.0 are spoken here");
    if (error == error::bad_content_length) return refuse(400, "the body's length is not clear");
    if (error == error::bad_transfer_encoding) return refuse(400, "the body's length is not clear");
    if (error == error::bad_chunk || error == error::bad_chunk_extension) return refuse(400, "bad chunk");
    refuse(400, "this is no HTTP request");
  }

  void on_request_impl(beast::http::verb verb, Text, Text target, int version, ErrorCode&) override {
    line_seen_ = true;
    request_.method = method_of(verb);
    request_.path = path_of(target);
    request_.http10 = version == 10;
  }

  void on_field_impl(Field field, Text name, Text value, ErrorCode& error) override {
    if (is_header_done()) return;  // a trailer's
    if (++fields_ > limits_.header_fields) refuse(431, "the header has too many fields");
    switch (field) {
      case Field::host: ++hosts_; break;
      case Field::origin: request_.from_page = true; break;
      case Field::authorization: take_once(request_.authorization, value); break;
      case Field::content_length: request_.has_body = true; break;
      case Field::transfer_encoding:
        request_.has_body = true;
        if (request_.http10) refuse(400, "HTTP/1.0 has no Transfer-Encoding");
        else if (!beast::iequals(value, "chunked")) refuse(501, "of transfer encodings, only chunked is known");
        break;
      case Field::expect:
        if (beast::iequals(value, "100-continue")) request_.expects_continue = !request_.http10;
        else refuse(417, "of expectations, only 100-continue is known");
        break;
      default:
        if (beast::iequals(name, "x-request-id")) request_.request_id.assign(value.data(), value.size());
    }
    if (refusal_.status != 0) error = error::bad_field;
  }

  void take_once(std::string& field, Text value) {
    if (!field.empty()) refuse(400, "a field is there twice that may be there once");
    field.assign(value.data(), value.size());
  }

  void on_header_impl(ErrorCode&) override {
    request_.keep_alive = keep_alive();
    if (!chunked() && content_length().value_or(0) == 0) request_.has_body = false;
    if (hosts_ > 1 || (hosts_ == 0 && !request_.http10)) refuse(400, "a request names one Host");
  }

  void on_response_impl(int, Text, int, ErrorCode&) override {}
  void on_body_init_impl(const OptionalSize&, ErrorCode&) override {}
  std::size_t on_body_impl(Text bytes, ErrorCode&) override {
    request_.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t, Text, ErrorCode&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, Text bytes, ErrorCode& error) override {
    return on_body_impl(bytes, error);
  }
  void on_finish_impl(ErrorCode&) override {}

  const Limits& limits_;
  bool line_seen_ = false;
  int hosts_ = 0;
  std::size_t fields_ = 0, header_bytes_ = 0, body_wire_bytes_ = 0;
};

RequestParser::RequestParser(const Limits& limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestParser::~RequestParser() = default;
std::size_t RequestParser::feed(std::string_view bytes) { return impl_->feed(bytes); }
RequestParser::State RequestParser::state() const { return impl_->state(); }
const Refusal& RequestParser::refusal() const { return impl_->refusal_; }
Request& RequestParser::request() { return impl_->request_; }

}  // namespace afore::http
