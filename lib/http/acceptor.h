#pragma once
// Takes new connections, as many as there may be. On the network's thread.
#include <utility>
// <utility> first: Asio of Boost 1.74 uses std::exchange without it.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "http/service.h"

namespace afore::http {

class Acceptor {
 public:
  // Listens. Error{usage}, Error{io}.
  Acceptor(boost::asio::io_context& io, const ServerOptions& options);

  int port() const { return port_; }
  void start(Service& service);
  void retry();  // some time after the process had no file left for a connection
  void close();

 private:
  void wait();
  void accept_some();
  void take(boost::asio::ip::tcp::socket socket);

  boost::asio::io_context& io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  Service* service_ = nullptr;
  int port_ = 0;
  bool short_of_files_ = false;
};

}  // namespace afore::http
