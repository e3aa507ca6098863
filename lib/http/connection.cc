#include "http/connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "http/front.h"

namespace afore::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr std::size_t kKeptBytes = 16 << 10;  // of buffers that are empty

void shrink(std::string& buffer) {
  if (buffer.empty() && buffer.capacity() > kKeptBytes) std::string().swap(buffer);
}

Connection::Clock::duration duration(Limits::Seconds time) {
  return std::chrono::duration_cast<Connection::Clock::duration>(time);
}

}  // namespace

Connection::Connection(Service& service, tcp::socket socket) : service_(service), socket_(std::move(socket)) {}

void Connection::start() {
  ErrorCode ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(tcp::no_delay(true), ignored);
  parser_.emplace(limits());
  enter(Phase::idle, limits().header_time);
  read();
}

void Connection::enter(Phase phase, Limits::Seconds time) {
  phase_ = phase;
  phase_start_ = Clock::now();
  deadline_ = phase_start_ + duration(time);
}

// --- Input

bool Connection::wants_input() const {
  if (phase_ == Phase::closed || input_ended_) return false;
  return phase_ == Phase::lingering || in_.size() < limits().pipelined_bytes;
}

// A read is always pending, but for clients that sent a lot ahead: so it is seen at once when they go.
void Connection::read() {
  if (reading_ || !wants_input()) return;
  reading_ = true;
  socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](const ErrorCode& error) {
    self->reading_ = false;
    if (self->phase_ == Phase::closed) return;
    if (error) return self->close();
    self->on_readable();
  });
}

void Connection::on_readable() {
  ErrorCode error;
  auto& buffer = service_.read_buffer;
  const std::size_t bytes = socket_.read_some(asio::buffer(buffer.data(), buffer.size()), error);
  if (error == asio::error::eof) return on_end_of_input();
  if (error && error != asio::error::would_block) return close();
  if (phase_ == Phase::closing || phase_ == Phase::lingering) return read();  // passed over
  in_.append(buffer.data(), bytes);
  process();
  read();
}

// The client will send nothing more. It cannot be told from one that is gone, so nothing is computed for it any more;
// answers that are there are written.
void Connection::on_end_of_input() {
  input_ended_ = true;
  if (phase_ == Phase::lingering || phase_ == Phase::answering) return close();
  phase_ = Phase::closing;
  if (unsent() == 0) close();
}

// --- Requests

void Connection::process() {
  if (processing_) return;
  processing_ = true;
  while (advance()) {
  }
  processing_ = false;
  shrink(in_);
}

// Whether there may be more to do with what was read.
bool Connection::advance() {
  const bool reads_requests = phase_ == Phase::idle || phase_ == Phase::header || phase_ == Phase::body;
  if (!reads_requests || in_.empty()) return false;
  // Answers to requests that were sent ahead do not pile up.
  if (phase_ == Phase::idle && unsent() > limits().stream_bytes) return false;
  if (phase_ == Phase::idle) {
    if (parser_->state() != RequestParser::State::header) parser_.emplace(limits());
    enter(Phase::header, limits().header_time);
  }
  const std::size_t taken = parser_->feed(in_);
  in_.erase(0, taken);
  switch (parser_->state()) {
    case RequestParser::State::header: return false;
    case RequestParser::State::refused: refuse(refusal_answer(parser_->refusal())); return false;
    case RequestParser::State::body:
    case RequestParser::State::done: break;
  }
  if (phase_ == Phase::header) on_header();
  if (phase_ == Phase::body) on_body_part();
  return taken > 0;
}

void Connection::refuse(Answer answer) {
  if (!exchange_) exchange_ = std::make_shared<Exchange>(service_, *this, parser_->request());
  phase_ = Phase::answering;
  const auto exchange = exchange_;
  exchange->answer(std::move(answer));
}

void Connection::on_header() {
  const Request& request = parser_->request();
  exchange_ = std::make_shared<Exchange>(service_, *this, request);
  Front front = look_at(request, service_.options.token);
  if (front.answer) return refuse(std::move(*front.answer));
  route_ = front.route;
  hold_ = std::make_shared<BodyHold>(service_);
  enter(Phase::body, limits().body_time);
  const bool waits = parser_->state() == RequestParser::State::body && in_.empty();
  if (waits && request.expects_continue) send("HTTP/1.1 100 Continue\r\n\r\n");
}

void Connection::on_body_part() {
  const std::size_t bytes = parser_->request().body.size();
  if (!hold_->grow_to(bytes)) {
    Answer answer = busy_answer("too many large requests are being read");
    answer.close = true;
    return refuse(std::move(answer));
  }
  deadline_ = phase_start_ + duration(limits().body_time) +
              duration(Limits::Seconds(static_cast<double>(bytes) / limits().body_bytes_per_s));
  if (parser_->state() != RequestParser::State::done) return;
  phase_ = Phase::answering;
  const auto exchange = exchange_;
  exchange->run(route_, std::move(parser_->request()), std::exchange(hold_, nullptr));
}

void Connection::answered(bool keep_alive) {
  if (phase_ == Phase::closed) return;
  exchange_.reset();
  hold_.reset();
  if (!keep_alive) {
    phase_ = Phase::closing;
    in_.clear();
    if (!writes_) on_flushed();
    return;
  }
  parser_.emplace(limits());
  enter(Phase::idle, limits().idle_time);
  process();
  read();
}

// --- Output

void Connection::send(std::string_view bytes) {
  if (phase_ == Phase::closed) return;
  out_ += bytes;
  if (writes_) return;
  writes_ = true;
  last_write_ = Clock::now();
  // Not at once: what else is sent in this turn goes along.
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->write(); });
}

void Connection::write() {
  if (phase_ == Phase::closed) return;
  if (written_ == writing_.size()) {
    writing_.clear();
    writing_.swap(out_);
    written_ = 0;
  }
  socket_.async_write_some(asio::buffer(writing_.data() + written_, writing_.size() - written_),
                           [self = shared_from_this()](const ErrorCode& error, std::size_t bytes) {
                             if (self->phase_ == Phase::closed) return;
                             if (error) return self->close();
                             self->on_written(bytes);
                           });
}

void Connection::on_written(std::size_t bytes) {
  written_ += bytes;
  last_write_ = Clock::now();
  if (const auto exchange = exchange_) exchange->on_progress();
  if (phase_ == Phase::closed) return;
  if (unsent() > 0) return write();
  writes_ = false;
  written_ = 0;
  writing_.clear();
  shrink(writing_);
  on_flushed();
}

void Connection::on_flushed() {
  if (phase_ == Phase::closing) {
    if (input_ended_) return close();
    // Closed at once, the unread rest of a request would reset the connection before the client has its answer.
    ErrorCode ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    enter(Phase::lingering, limits().linger_time);
    return read();
  }
  process();
  read();
}

// --- The end

void Connection::check_deadlines(Clock::time_point now) {
  if (writes_ && now - last_write_ > duration(limits().write_time)) return close();
  if (now < deadline_) return;
  switch (phase_) {
    case Phase::header: return refuse(refusal_answer({408, "the header took too long"}));
    case Phase::body: return refuse(refusal_answer({408, "the body took too long"}));
    case Phase::idle:
      if (writes_) return;
      [[fallthrough]];
    case Phase::lingering: return close();
    default: break;
  }
}

void Connection::drain() {
  if (phase_ == Phase::idle && unsent() == 0) close();
}

void Connection::finish_live() {
  if (const auto exchange = exchange_) exchange->finish_live();
}

void Connection::close() {
  if (phase_ == Phase::closed) return;
  const auto self = shared_from_this();
  phase_ = Phase::closed;
  if (const auto exchange = std::exchange(exchange_, nullptr)) exchange->cancel();
  hold_.reset();
  ErrorCode ignored;
  socket_.close(ignored);
  service_.connections.erase(self);
}

}  // namespace afore::http
