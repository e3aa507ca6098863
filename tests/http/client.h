#pragma once
// A client of blocking sockets that sends any bytes and reads what comes, each call with a limit of time.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace afore::http {

struct Response {
  int status = 0;  // 0: none came
  std::map<std::string, std::string> fields;
  std::string body;
  bool whole = false;

  std::string field(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? "" : found->second;
  }
};

class Client {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Client(int port, int receive_buffer = 0) {
    fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
    if (receive_buffer > 0) ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
    const int one = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  }
  ~Client() { close(); }
  Client(Client&& o) noexcept
      : fd_(std::exchange(o.fd_, -1)), connected_(o.connected_), ended_(o.ended_), held_(std::move(o.held_)) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }
  int fd() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  void reset() {  // closes with RST
    const linger now{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }
  void shut_send() { ::shutdown(fd_, SHUT_WR); }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  // More bytes, or false at the end or after `ms`.
  bool more(int ms = 10000) {
    if (ended_) return false;
    pollfd poll{fd_, POLLIN, 0};
    if (::poll(&poll, 1, ms) <= 0) return false;
    char buffer[65536];
    const ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
    if (n <= 0) {
      ended_ = true;
      return false;
    }
    held_.append(buffer, static_cast<std::size_t>(n));
    return true;
  }
  // Whether the server closed, without saying anything more.
  bool closes(int ms = 10000) {
    while (more(ms)) {
    }
    return ended_;
  }
  // Everything up to and with `mark`, or what came.
  std::string until(std::string_view mark, int ms = 10000) {
    const auto limit = Clock::now() + std::chrono::milliseconds(ms);
    while (held_.find(mark) == held_.npos && Clock::now() < limit && more(100 < ms ? 100 : ms)) {
    }
    while (held_.find(mark) == held_.npos && Clock::now() < limit && !ended_) more(100);
    const auto at = held_.find(mark);
    return take(at == held_.npos ? held_.size() : at + mark.size());
  }

  Response read(bool head_only = false, int ms = 10000) {
    Response response;
    const std::string head = until("\r\n\r\n", ms);
    if (std::sscanf(head.c_str(), "HTTP/1.1 %d", &response.status) != 1) return response;
    for (std::size_t at = head.find("\r\n") + 2; at + 2 < head.size();) {
      const auto end = head.find("\r\n", at), colon = head.find(':', at);
      std::string name = head.substr(at, colon - at);
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      response.fields[name] = head.substr(colon + 2, end - colon - 2);
      at = end + 2;
    }
    if (head_only || response.status == 100) {
      response.whole = true;
    } else if (response.field("transfer-encoding") == "chunked") {
      read_chunks(response);
    } else if (const std::string length = response.field("content-length"); !length.empty()) {
      const auto size = static_cast<std::size_t>(std::stoull(length));
      while (held_.size() < size && more(ms)) {
      }
      response.whole = held_.size() >= size;
      response.body = take(std::min(size, held_.size()));
    } else {
      while (more(ms)) {
      }
      response.whole = ended_;
      response.body = take(held_.size());
    }
    return response;
  }

  Response get(const std::string& path, const std::string& fields = "") {
    send("GET " + path + " HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n");
    return read();
  }
  bool send_post(const std::string& path, const std::string& body, const std::string& fields = "") {
    return send("POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n" + fields + "\r\n" + body);
  }
  Response post(const std::string& path, const std::string& body, const std::string& fields = "") {
    send_post(path, body, fields);
    return read();
  }

 private:
  std::string take(std::size_t bytes) {
    std::string taken = held_.substr(0, bytes);
    held_.erase(0, bytes);
    return taken;
  }
  void read_chunks(Response& response) {
    for (;;) {
      const std::string line = until("\r\n");
      if (!line.ends_with("\r\n")) return;
      const auto size = static_cast<std::size_t>(std::stoull(line, nullptr, 16));
      while (held_.size() < size + 2 && more()) {
      }
      if (held_.size() < size + 2) {
        response.body += take(held_.size());
        return;
      }
      response.body += take(size);
      take(2);
      if (size == 0) {
        response.whole = true;
        return;
      }
    }
  }

  int fd_ = -1;
  bool connected_ = false, ended_ = false;
  std::string held_;
};

}  // namespace afore::http
