#pragma once
// One request and its answer, from the header on. On the network's thread.
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/answer.h"
#include "http/decode.h"
#include "http/request.h"
#include "http/service.h"

namespace afore::http {

// The connection, as an exchange sees it.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual void send(std::string_view bytes) = 0;
  virtual std::size_t unsent() const = 0;
  virtual void answered(bool keep_alive) = 0;  // all was sent: the exchange is let go
  virtual void abort() = 0;                    // closes at once, and cancels the exchange
};

class Exchange;

// An answer that comes bit by bit, from the model's thread.
class LiveReply : public Receiver {
 public:
  LiveReply(Service& service, Exchange& exchange) : service_(service), exchange_(&exchange) {}
  void on_mail() final;
  virtual void on_progress() {}  // some of what was sent is gone
  virtual void finish() {}       // the server is about to stop, and has nothing else to do
  virtual void cancel() = 0;     // the client is gone: `exchange_` is not to be used any more

 protected:
  virtual void take_mail() = 0;

  Service& service_;
  Exchange* exchange_;  // nullptr: over
};

class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(Service& service, Peer& peer, const Request& request);

  // Either, once. `hold` is the body's.
  void answer(Answer answer);
  void run(Route route, Request request, std::shared_ptr<BodyHold> hold);

  void on_progress();
  void cancel();
  void finish_live();  // see LiveReply::finish()
  bool is_endless() const { return endless_; }

  // Of replies.
  void begin(std::string_view content_type);
  void send(std::string_view part);
  void end();
  std::size_t unsent() const { return peer_->unsent(); }
  void abort() { peer_->abort(); }

 private:
  void answer_now(Route route);
  void decode_later(Route route, Request request, std::shared_ptr<BodyHold> hold);
  void on_decoded(Decoded decoded);
  void follow_records();

  Service& service_;
  Peer* peer_;  // nullptr: gone
  HeadTerms terms_;
  bool head_only_;
  bool begun_ = false;    // a part of an answer is out
  bool endless_ = false;  // it ends only with the server
  std::shared_ptr<LiveReply> reply_;
};

}  // namespace afore::http
