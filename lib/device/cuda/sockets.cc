#include "device/cuda/sockets.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <system_error>

#include "util/error.h"

namespace afore::device::cuda {
namespace {

// An address that swallows packets must not keep us from the host's other addresses.
constexpr std::chrono::seconds kConnectLimit{5};

[[noreturn]] void fail_port(int port, int error) {
  if (error == EADDRINUSE)
    throw Error(ErrorKind::io, fmt::format("port {} is in use on this host", port),
                "give the job another MASTER_PORT, or end the program that listens there");
  throw Error(ErrorKind::io, fmt::format("cannot listen at port {}: {}", port, std::strerror(error)));
}

void set_option(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof value);
}

// On all addresses of a family; IPv6 takes IPv4 connections too. An errno, or 0.
int listen_at(int family, int port, Descriptor& socket) {
  socket = Descriptor(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return errno;
  set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);  // a job that ended a minute ago does not hold the port
  sockaddr_storage address{};
  socklen_t bytes = sizeof(sockaddr_in);
  if (family == AF_INET6) {
    set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
    v6.sin6_family = AF_INET6;
    v6.sin6_addr = in6addr_any;
    v6.sin6_port = htons(static_cast<std::uint16_t>(port));
    bytes = sizeof v6;
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(address);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<std::uint16_t>(port));
  }
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), bytes) != 0) return errno;
  if (::listen(socket.get(), SOMAXCONN) != 0) return errno;
  return 0;
}

int port_of(const sockaddr_storage& address) {
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

// While nobody listens at a port of the ephemeral range, TCP may join a socket to itself: its own port is then the one
// it asked for, and it would keep rank 0 from taking it.
bool joined_to_itself(int socket) {
  sockaddr_storage here{}, there{};
  socklen_t here_bytes = sizeof here, there_bytes = sizeof there;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&here), &here_bytes) != 0) return false;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&there), &there_bytes) != 0) return false;
  return here_bytes == there_bytes && std::memcmp(&here, &there, here_bytes) == 0;
}

// An errno, or 0.
int connect_one(const addrinfo& address, Deadline deadline, Descriptor& socket) {
  socket = Descriptor(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return errno;
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) return errno;  // after EINTR it goes on by itself
    pollfd entry{socket.get(), POLLOUT, 0};
    poll_until({&entry, 1}, std::min(deadline, Clock::now() + kConnectLimit));
    if (entry.revents == 0) return ETIMEDOUT;
    int error = 0;
    socklen_t bytes = sizeof error;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) return errno;
    if (error != 0) return error;
  }
  if (joined_to_itself(socket.get())) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};  // else its end would hold the port for another minute
    ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    return ECONNREFUSED;
  }
  set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  return 0;
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

Listener::Listener(int port) {
  int error = listen_at(AF_INET6, port, socket_);
  if (error == EAFNOSUPPORT || error == EADDRNOTAVAIL) error = listen_at(AF_INET, port, socket_);
  if (error != 0) fail_port(port, error);
  sockaddr_storage address{};
  socklen_t bytes = sizeof address;
  if (::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &bytes) != 0) fail_port(port, errno);
  port_ = port_of(address);
}

Descriptor Listener::accept() {
  for (;;) {
    const int number = ::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (number >= 0) {
      set_option(number, IPPROTO_TCP, TCP_NODELAY, 1);
      return Descriptor(number);
    }
    if (would_block(errno)) return Descriptor();
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
      throw std::system_error(errno, std::generic_category());
    // Anything else is of this one connection, which is gone.
    if (errno == EBADF || errno == EINVAL || errno == ENOTSOCK) fail_port(port_, errno);
  }
}

std::string host_and_port(const std::string& host, int port) {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

std::variant<Descriptor, std::string> try_connect(const std::string& host, int port, Deadline deadline) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (error != 0) {
    const std::string why = error == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(error);
    if (error == EAI_AGAIN) return host + ": " + why;
    throw Error(ErrorKind::io, fmt::format("the host of rank 0, '{}', is not known: {}", host, why));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, ::freeaddrinfo);
  std::string trouble;
  for (const addrinfo* address = found; address; address = address->ai_next) {
    Descriptor socket;
    const int failed = connect_one(*address, deadline, socket);
    if (failed == 0) return socket;
    trouble = host_and_port(host, port) + ": " + std::strerror(failed);
  }
  return trouble;
}

void poll_until(std::span<pollfd> entries, Deadline deadline) {
  for (;;) {
    // Rounded up, as a wait that ends a moment early would only turn in circles.
    const auto left_ms = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const int wait_ms = static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, INT_MAX));
    if (::poll(entries.data(), entries.size(), wait_ms) >= 0) return;
    if (errno != EINTR) throw Error(ErrorKind::io, fmt::format("poll: {}", std::strerror(errno)));
  }
}

Transfer send_now(int socket, std::string& bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return would_block(errno) ? Transfer::pending : Transfer::lost;
    bytes.erase(0, static_cast<std::size_t>(sent));
  }
  return Transfer::done;
}

Transfer receive_now(int socket, std::string& bytes) {
  std::array<char, 4096> chunk;
  for (;;) {
    const ssize_t got = ::recv(socket, chunk.data(), chunk.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return would_block(errno) ? Transfer::pending : Transfer::lost;
    if (got == 0) return Transfer::lost;
    bytes.append(chunk.data(), static_cast<std::size_t>(got));
    return Transfer::done;
  }
}

}  // namespace afore::device::cuda
