#include "device/cuda/rendezvous.h"

#include <fmt/format.h>

#include "device/cuda/rendezvous_roster.h"
#include "device/cuda/rendezvous_tcp.h"
#include "util/error.h"

namespace afore::device::cuda {

void exchange_over_tcp(const RendezvousConfig& config, const std::string& host, int port, std::span<std::byte> blob) {
  const Deadline deadline = Clock::now() + config.timeout;
  check(config, blob.size());
  if (config.world_size == 1) return;
  if (host.empty() || port < 1 || port > 65535)
    throw Error(ErrorKind::usage, fmt::format("the {} ranks cannot meet at '{}:{}'", config.world_size, host, port),
                "set MASTER_ADDR to rank 0's host and MASTER_PORT to a port that is free there");
  if (config.rank != 0) return join_rendezvous(config, deadline, host, port, blob);
  Listener listener(port);
  serve_rendezvous(config, deadline, listener, blob);
}

void exchange_over_tcp(const RendezvousConfig& config, Listener& listener, std::span<const std::byte> blob) {
  const Deadline deadline = Clock::now() + config.timeout;
  check(config, blob.size());
  AFORE_CHECK(config.rank == 0, "only rank 0 listens");
  if (config.world_size > 1) serve_rendezvous(config, deadline, listener, blob);
}

}  // namespace afore::device::cuda
