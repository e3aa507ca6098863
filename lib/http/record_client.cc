#include "http/record_client.h"

#include <fmt/format.h>

#include <utility>
// Asio of Boost 1.74 needs <utility> first.
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <chrono>
#include <limits>
#include <vector>

#include "util/error.h"

namespace afore::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;

constexpr const char* kPath = "/v1/afore/demand";
constexpr std::chrono::milliseconds kLookEvery{100};  // at signals
constexpr std::size_t kChunkBytes = 64 << 10, kMostLineBytes = 16 << 20;

struct Address {
  std::string host, port = "80";
};

[[noreturn]] void refuse_url(const std::string& url) {
  throw Error(ErrorKind::usage, fmt::format("\"{}\" is not the URL of an endpoint", url), "like http://127.0.0.1:8000");
}

Address address_of(const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  if (!std::string_view(url).starts_with(kScheme)) refuse_url(url);
  std::string_view rest = std::string_view(url).substr(kScheme.size());
  if (const std::size_t slash = rest.find('/'); slash != rest.npos) {
    const std::string_view path = rest.substr(slash);
    if (path != "/" && path != kPath) refuse_url(url);
    rest = rest.substr(0, slash);
  }
  Address address;
  std::size_t host_end = rest.find(':');
  if (rest.starts_with('[')) {
    const std::size_t bracket = rest.find(']');
    if (bracket == rest.npos) refuse_url(url);
    address.host = rest.substr(1, bracket - 1);
    host_end = bracket + 1 < rest.size() ? bracket + 1 : rest.npos;
    if (host_end != rest.npos && rest[host_end] != ':') refuse_url(url);
  } else {
    address.host = rest.substr(0, host_end);
  }
  if (address.host.empty()) refuse_url(url);
  if (host_end == rest.npos) return address;
  address.port = rest.substr(host_end + 1);
  int port = 0;
  const auto [end, error] = std::from_chars(address.port.data(), address.port.data() + address.port.size(), port);
  if (error != std::errc() || end != address.port.data() + address.port.size() || port < 1 || port > 65535)
    refuse_url(url);
  return address;
}

}  // namespace

struct RecordClient::Impl {
  Impl(const std::string& asked, const StopFlag* signal) : url(asked), stop(signal), chunk(kChunkBytes) {
    // Not "none": Beast of Boost 1.74 takes that for less than any Content-Length.
    parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  }

  // Runs what was begun to its end, with a look at signals now and then.
  error_code run(const error_code& result, const bool& done) {
    while (!done) {
      if (*stop != 0) throw Error(ErrorKind::interrupted, "interrupted");
      io.restart();
      io.run_one_for(kLookEvery);
    }
    return result;
  }

  [[noreturn]] void fail(const error_code& error) const {
    throw Error(ErrorKind::io, fmt::format("{}: {}", url, error.message()));
  }

  void connect() {
    const Address address = address_of(url);
    error_code error;
    asio::ip::tcp::resolver resolver(io);
    const auto found = resolver.resolve(address.host, address.port, error);
    if (error) fail(error);
    bool done = false;
    asio::async_connect(socket, found, [&](const error_code& e, const auto&) {
      error = e;
      done = true;
    });
    if (run(error, done)) fail(error);
    host = address.host;
  }

  void ask(const std::string& token) {
    beast::http::request<beast::http::empty_body> request{beast::http::verb::get, kPath, 11};
    request.set(beast::http::field::host, host);
    if (!token.empty()) request.set(beast::http::field::authorization, "Bearer " + token);
    error_code error;
    bool done = false;
    const auto end = [&](const error_code& e, std::size_t) {
      error = e;
      done = true;
    };
    beast::http::async_write(socket, request, end);
    if (run(error, done)) fail(error);
    done = false;
    beast::http::async_read_header(socket, buffer, parser, end);
    if (run(error, done)) fail(error);
    check_status();
  }

  void check_status() const {
    const auto& head = parser.get();
    if (head.result() == beast::http::status::unauthorized)
      throw Error(ErrorKind::usage, url + ": the endpoint asks for another token", "give --token-file FILE");
    const beast::string_view type = head[beast::http::field::content_type];
    if (head.result() != beast::http::status::ok || type != "application/x-ndjson")
      throw Error(ErrorKind::io, fmt::format("{}: no live records there (status {})", url, head.result_int()),
                  "is it an endpoint of afore-serve http?");
  }

  // More bytes; false at the stream's end.
  bool read() {
    if (parser.is_done()) return false;
    auto& body = parser.get().body();
    body.data = chunk.data();
    body.size = chunk.size();
    error_code error;
    bool done = false;
    beast::http::async_read_some(socket, buffer, parser, [&](const error_code& e, std::size_t) {
      error = e;
      done = true;
    });
    run(error, done);
    if (error && error != beast::http::error::need_buffer)
      throw Error(ErrorKind::io, url + ": the endpoint broke the stream off",
                  "a reader that falls far behind is cut off; or the endpoint was stopped");
    pending.erase(0, taken);
    taken = 0;
    pending.append(chunk.data(), chunk.size() - body.size);
    return true;
  }

  const std::string url;
  const StopFlag* stop;
  std::string host;
  asio::io_context io;
  asio::ip::tcp::socket socket{io};
  beast::flat_buffer buffer;
  beast::http::response_parser<beast::http::buffer_body> parser;
  std::vector<char> chunk;
  std::string pending;      // bytes that were read
  std::size_t taken = 0;    // of them, by next()
  std::size_t scanned = 0;  // without an LF, from `taken` on
};

RecordClient::RecordClient(const std::string& url, const std::string& token, const StopFlag* stop)
    : impl_(std::make_unique<Impl>(url, stop)) {
  impl_->connect();
  impl_->ask(token);
}

RecordClient::~RecordClient() = default;

bool RecordClient::next(std::string_view& line) {
  Impl& at = *impl_;
  for (;;) {
    const std::size_t end = at.pending.find('\n', at.taken + at.scanned);
    if (end != std::string::npos) {
      line = std::string_view(at.pending).substr(at.taken, end - at.taken);
      at.taken = end + 1;
      at.scanned = 0;
      return true;
    }
    at.scanned = at.pending.size() - at.taken;
    if (at.scanned > kMostLineBytes) throw Error(ErrorKind::data, at.url + ": a line of more than 16 MiB");
    if (!at.read()) return false;
  }
}

}  // namespace afore::http
