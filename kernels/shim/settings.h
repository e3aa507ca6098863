#pragma once
// What a test may choose of the machine that the runtime API shows.
#include <cstddef>
#include <string>

namespace afore::shim {

// Begins anew with so many devices: no streams, no events, no memory, no peer access, no fault. Call it while no other
// thread uses CUDA. Before the first call there are AFORE_SHIM_DEVICES, or one.
void set_devices(int count, std::size_t memory_bytes = std::size_t{256} << 20);
// Whether devices can have access to each other's memory; true at first.
void set_peer_access(bool possible);
// The text of the error behind cudaErrorLaunchFailure; empty when there is none.
std::string last_fault();

}  // namespace afore::shim
