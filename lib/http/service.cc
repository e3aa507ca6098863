#include "http/service.h"

#include <fmt/format.h>

#include <random>
#include <utility>

namespace afore::http {
namespace {

constexpr std::size_t kReadBytes = 64 << 10;  // at once, so that no connection has the thread for long

// For ids, which no restart may repeat, and the seeds of requests that name none.
std::uint64_t entropy() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace

Service::Service(ServerOptions given, Backend& model, std::function<void(std::function<void()>)> poster)
    : options(std::move(given)),
      backend(model),
      post(std::move(poster)),
      mailbox(std::make_shared<Mailbox>([this] { post([box = mailbox] { box->deliver(); }); })),
      jobs(options.limits.job_threads, options.limits.jobs),
      read_buffer(kReadBytes),
      random_(entropy()) {}

std::string Service::fresh_id() { return fmt::format("{:016x}{:016x}", random_.next(), random_.next()); }

bool BodyHold::grow_to(std::size_t body_bytes) {
  const Limits& limits = service_.options.limits;
  const std::size_t large = body_bytes > limits.small_body_bytes ? body_bytes - limits.small_body_bytes : 0;
  if (large <= held_) return true;
  const std::size_t more = large - held_;
  if (service_.held_body_bytes.fetch_add(more) + more > limits.all_bodies_bytes) {
    service_.held_body_bytes -= more;
    return false;
  }
  held_ = large;
  return true;
}

}  // namespace afore::http
