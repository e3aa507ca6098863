#pragma once
// One client: its socket, what is read ahead and what waits to be written, and how long each step may take. On the
// network's thread.
#include <utility>
// <utility> first: Asio of Boost 1.74 uses std::exchange without it.
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/exchange.h"
#include "http/request_parser.h"
#include "http/service.h"

namespace afore::http {

class Connection final : public Peer, public std::enable_shared_from_this<Connection> {
 public:
  using Clock = std::chrono::steady_clock;

  Connection(Service& service, boost::asio::ip::tcp::socket socket);

  void start();
  void check_deadlines(Clock::time_point now);
  // The server is about to stop: closes when nothing is in the works here.
  void drain();
  bool is_endless() const { return exchange_ && exchange_->is_endless(); }
  void finish_live();
  void close();  // at once; cancels what is in the works. The service lets it go.

  void send(std::string_view bytes) override;
  std::size_t unsent() const override { return out_.size() + writing_.size() - written_; }
  void answered(bool keep_alive) override;
  void abort() override { close(); }

 private:
  enum class Phase {
    idle,       // nothing of a request came
    header,     // some of its header
    body,       // some of its body
    answering,  // all of it: the exchange has it
    closing,    // no further request is read; what is there is written
    lingering,  // all is written; the client's own end is waited for
    closed,
  };

  void enter(Phase phase, Limits::Seconds time);
  void read();
  void on_readable();
  void on_end_of_input();
  bool wants_input() const;

  void process();
  bool advance();
  void on_header();
  void on_body_part();
  void refuse(Answer answer);

  void write();
  void on_written(std::size_t bytes);
  void on_flushed();

  const Limits& limits() const { return service_.options.limits; }

  Service& service_;
  boost::asio::ip::tcp::socket socket_;
  Phase phase_ = Phase::idle;
  bool reading_ = false, input_ended_ = false, processing_ = false, writes_ = false;

  std::optional<RequestParser> parser_;
  std::string in_;  // not taken by the parser yet
  std::shared_ptr<Exchange> exchange_;
  Route route_{};
  std::shared_ptr<BodyHold> hold_;

  std::string out_, writing_;
  std::size_t written_ = 0;  // of writing_

  Clock::time_point phase_start_, deadline_, last_write_;
};

}  // namespace afore::http
