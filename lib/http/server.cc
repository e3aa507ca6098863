#include "http/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>
// <utility> first: Asio of Boost 1.74 uses std::exchange without it.
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "http/acceptor.h"
#include "http/connection.h"

namespace afore::http {
namespace {

namespace asio = boost::asio;

// How late a deadline may be noticed; a look at 4,096 connections takes some 10 us.
constexpr std::chrono::milliseconds kTick{50};

}  // namespace

struct Server::Impl {
  Impl(ServerOptions options, Backend& backend)
      : service(std::move(options), backend, [this](std::function<void()> act) { asio::post(io, std::move(act)); }),
        acceptor(io, service.options),
        timer(io) {}

  void run();
  void tick();
  void begin_drain(std::shared_ptr<std::promise<void>> done);
  void close_all();
  std::vector<std::shared_ptr<Connection>> connections() const {
    return {service.connections.begin(), service.connections.end()};
  }

  Service service;
  asio::io_context io{1};  // before what uses it, behind what its handlers use
  Acceptor acceptor;
  asio::steady_timer timer;
  std::mutex stopping;
  std::atomic<bool> running{false};
  std::thread thread;
  std::shared_ptr<std::promise<void>> drained;  // the network's thread's
};

void Server::Impl::run() {
  acceptor.start(service);
  tick();
  for (;;) {
    try {
      io.run();
      return;
    } catch (const std::exception& error) {
      service.log(fmt::format("the network's thread goes on after: {}", error.what()));
    }
  }
}

void Server::Impl::tick() {
  timer.expires_after(kTick);
  timer.async_wait([this](const boost::system::error_code& error) {
    if (!error) tick();
  });
  acceptor.retry();
  const auto now = Connection::Clock::now();
  for (const auto& connection : connections()) connection->check_deadlines(now);
  if (!drained) return;
  for (const auto& connection : connections()) connection->drain();
  // Readers of records see how the last requests end.
  const auto all = connections();
  if (std::all_of(all.begin(), all.end(), [](const auto& connection) { return connection->is_endless(); })) {
    for (const auto& connection : all) connection->finish_live();
  }
  if (service.connections.empty()) std::exchange(drained, nullptr)->set_value();
}

void Server::Impl::begin_drain(std::shared_ptr<std::promise<void>> done) {
  service.draining = true;
  acceptor.close();
  drained = std::move(done);
  for (const auto& connection : connections()) connection->drain();
}

void Server::Impl::close_all() {
  acceptor.close();
  timer.cancel();
  for (const auto& connection : connections()) connection->close();
  if (drained) std::exchange(drained, nullptr)->set_value();
  io.stop();
}

Server::Server(ServerOptions options, Backend& backend) : impl_(std::make_unique<Impl>(std::move(options), backend)) {}

Server::~Server() { stop(); }

int Server::port() const { return impl_->acceptor.port(); }

void Server::start() {
  impl_->running = true;
  impl_->thread = std::thread([this] { impl_->run(); });
}

void Server::drain(std::chrono::nanoseconds limit) {
  if (impl_->running) {
    const auto done = std::make_shared<std::promise<void>>();
    auto finished = done->get_future();
    impl_->service.post([this, done] { impl_->begin_drain(done); });
    finished.wait_for(limit);
  }
  stop();
}

void Server::stop() {
  const std::lock_guard lock(impl_->stopping);
  if (impl_->running.exchange(false)) {
    impl_->service.post([this] { impl_->close_all(); });
    impl_->thread.join();
  }
  impl_->service.jobs.stop();
  impl_->service.mailbox->close();
}

}  // namespace afore::http
