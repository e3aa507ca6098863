#pragma once
// Descriptors that close themselves, and TCP sockets that never block, never raise SIGPIPE and are closed on exec.
#include <poll.h>

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace afore::device::cuda {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

// Listens on every address of this host, IPv6 and IPv4. Error{io} where the port is taken.
class Listener {
 public:
  explicit Listener(int port);  // 0: any free one
  int port() const { return port_; }
  int descriptor() const { return socket_.get(); }
  // The next connection that waits; none: an empty descriptor. Throws std::system_error where the process or the
  // system has no descriptor left.
  Descriptor accept();

 private:
  Descriptor socket_;
  int port_ = 0;
};

std::string host_and_port(const std::string& host, int port);  // "[::1]:80" where the host has colons

// A connection to the first of the host's addresses that takes one, or why there is none now and a later try may find
// one ("127.0.0.1:80: Connection refused"). Error{io} where the name is of no host.
std::variant<Descriptor, std::string> try_connect(const std::string& host, int port, Deadline deadline);

// poll() up to the deadline, over interrupts.
void poll_until(std::span<pollfd> entries, Deadline deadline);

enum class Transfer { done, pending, lost };
// Sends what the socket takes now and cuts it from `bytes`: done = all of it.
Transfer send_now(int socket, std::string& bytes);
// Appends what has come, up to a few KiB. pending: nothing now. lost: the other side has closed, or the link is broken.
Transfer receive_now(int socket, std::string& bytes);

}  // namespace afore::device::cuda
