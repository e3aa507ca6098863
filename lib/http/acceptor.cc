#include "http/acceptor.h"

#include <fmt/format.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <utility>

#include "http/connection.h"

namespace afore::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr int kAtOnce = 64;  // connections, before those that are there have their turn

asio::ip::address address_of(const ServerOptions& options) {
  ErrorCode error;
  const asio::ip::address address = asio::ip::make_address(options.host, error);
  if (error) throw Error(ErrorKind::usage, fmt::format("'{}' is no address", options.host), "such as 127.0.0.1 or ::1");
  if (options.token.empty() && !address.is_loopback()) {
    throw Error(ErrorKind::usage, fmt::format("{} can be reached from elsewhere, and there is no token", options.host),
                "give a token, or a loopback address");
  }
  return address;
}

}  // namespace

Acceptor::Acceptor(asio::io_context& io, const ServerOptions& options) : io_(io), acceptor_(io) {
  const tcp::endpoint endpoint(address_of(options), static_cast<unsigned short>(options.port));
  try {
    acceptor_.open(endpoint.protocol());
    acceptor_.set_option(tcp::acceptor::reuse_address(true));
    // One address is what was asked for: "::" is not 0.0.0.0, too.
    if (endpoint.address().is_v6()) acceptor_.set_option(asio::ip::v6_only(true));
    acceptor_.bind(endpoint);
    acceptor_.listen(asio::socket_base::max_listen_connections);
    acceptor_.non_blocking(true);
    port_ = acceptor_.local_endpoint().port();
  } catch (const boost::system::system_error& error) {
    throw Error(ErrorKind::io,
                fmt::format("cannot listen on {} port {}: {}", options.host, options.port, error.code().message()));
  }
}

void Acceptor::start(Service& service) {
  service_ = &service;
  wait();
}

void Acceptor::close() {
  ErrorCode ignored;
  acceptor_.close(ignored);
}

void Acceptor::retry() {
  if (std::exchange(short_of_files_, false) && acceptor_.is_open()) wait();
}

void Acceptor::wait() {
  acceptor_.async_wait(tcp::acceptor::wait_read, [this](const ErrorCode& error) {
    if (!error && acceptor_.is_open()) accept_some();
  });
}

void Acceptor::accept_some() {
  for (int i = 0; i < kAtOnce; ++i) {
    ErrorCode error;
    tcp::socket socket(io_);
    acceptor_.accept(socket, error);
    if (error == asio::error::would_block || error == asio::error::try_again) break;
    // A client that is gone already says nothing about the next; without files or memory, the rest waits in the
    // system's queue.
    if (error == asio::error::connection_aborted || error == asio::error::interrupted) continue;
    if (error) {
      service_->log(fmt::format("cannot accept connections for now: {}", error.message()));
      short_of_files_ = true;
      return;
    }
    take(std::move(socket));
  }
  wait();
}

void Acceptor::take(tcp::socket socket) {
  if (service_->connections.size() >= service_->options.limits.connections) {
    // In one piece into an empty buffer, or not at all.
    Answer answer = error_answer(503, "there are too many connections");
    answer.fields = "retry-after: 1\r\n";
    std::string out;
    append_head(out, answer, {.request_id = service_->fresh_id(), .keep_alive = false}, Framing::length);
    out += answer.body;
    ErrorCode ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(out), ignored);
    return;
  }
  const auto connection = std::make_shared<Connection>(*service_, std::move(socket));
  service_->connections.insert(connection);
  connection->start();
}

}  // namespace afore::http
