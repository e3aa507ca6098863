#pragma once
// A server with a fake model, for one test.
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "client.h"
#include "fake_backend.h"
#include "http/server.h"

namespace afore::http {

// As in production, but for the times, which no test wants to wait for.
inline Limits quick_limits() {
  Limits limits;
  limits.header_time = Limits::Seconds(0.5);
  limits.idle_time = Limits::Seconds(1);
  limits.body_time = Limits::Seconds(0.5);
  limits.write_time = Limits::Seconds(1);
  limits.linger_time = Limits::Seconds(0.5);
  return limits;
}

class ServerTest : public ::testing::Test {
 protected:
  void serve(Limits limits = {}, std::string token = "") {
    ServerOptions options;
    options.limits = limits;
    options.token = std::move(token);
    options.log = [this](std::string_view line) {
      const std::lock_guard lock(mutex_);
      logged_.emplace_back(line);
    };
    server_ = std::make_unique<Server>(std::move(options), backend_);
    server_->start();
  }
  Client client(int receive_buffer = 0) { return Client(server_->port(), receive_buffer); }
  std::vector<std::string> logged() {
    const std::lock_guard lock(mutex_);
    return logged_;
  }

  FakeBackend backend_;
  std::mutex mutex_;
  std::vector<std::string> logged_;
  std::unique_ptr<Server> server_;
};

}  // namespace afore::http
