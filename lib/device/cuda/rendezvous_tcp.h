#pragma once
// The two sides of rendezvous.h over TCP, in a world of two ranks or more.
#include <cstddef>
#include <span>
#include <string>

#include "device/cuda/rendezvous.h"

namespace afore::device::cuda {

void serve_rendezvous(const RendezvousConfig& config, Deadline deadline, Listener& listener,
                      std::span<const std::byte> blob);
void join_rendezvous(const RendezvousConfig& config, Deadline deadline, const std::string& host, int port,
                     std::span<std::byte> blob);

}  // namespace afore::device::cuda
