#pragma once
// What all connections of a server share. Used by the network's thread alone, where nothing else is said.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "http/backend.h"
#include "http/job_pool.h"
#include "http/mailbox.h"
#include "http/server.h"
#include "util/rng.h"

namespace afore::http {

class Connection;

struct Service {
  Service(ServerOptions given, Backend& model, std::function<void(std::function<void()>)> poster);

  const ServerOptions options;
  Backend& backend;
  const std::function<void(std::function<void()>)> post;  // by any thread, to the network's
  const std::shared_ptr<Mailbox> mailbox;
  std::atomic<std::size_t> held_body_bytes{0};  // see BodyHold
  JobPool jobs;
  bool draining = false;
  std::unordered_set<std::shared_ptr<Connection>> connections;
  std::vector<char> read_buffer;

  void log(std::string_view line) const {
    if (options.log) options.log(line);
  }
  std::string fresh_id();  // 32 hexadecimal digits
  std::uint64_t fresh_seed() { return random_.next(); }

 private:
  Rng random_;
};

// A body's share of Limits::all_bodies_bytes, given back by the destructor, on any thread.
class BodyHold {
 public:
  explicit BodyHold(Service& service) : service_(service) {}
  ~BodyHold() { service_.held_body_bytes -= held_; }
  BodyHold(const BodyHold&) = delete;
  BodyHold& operator=(const BodyHold&) = delete;

  bool grow_to(std::size_t body_bytes);  // false: there is no more

 private:
  Service& service_;
  std::size_t held_ = 0;
};

}  // namespace afore::http
