#pragma once
// What a test may choose of the machine that the runtime API shows, and what it may look at.
#include <compare>
#include <cstddef>
#include <set>
#include <string>

namespace afore::shim {

// Begins anew with so many devices: no streams, no events, no memory, no peer access, no fault. Call it while no other
// thread uses CUDA. Before the first call there are AFORE_SHIM_DEVICES, or one.
void set_devices(int count, std::size_t memory_bytes = std::size_t{256} << 20);
// Whether devices can have access to each other's memory; true at first.
void set_peer_access(bool possible);

// Of every device, and its driver. From the next call on; the values are those at first.
struct DriverSettings {
  int version = 13000;         // as cudaDriverGetVersion has it
  bool green_contexts = true;  // false: it has no function for them, whatever its version
  unsigned sms = 4;
  unsigned sm_granularity = 1;  // groups of SMs have multiples of so many
  int failing_context = 0;      // which of the green contexts made from then on, from 1, finds no memory; 0: none
};
void set_driver(const DriverSettings& settings);
int num_green_contexts();  // that there are

// Where kernels that were launched on streams may run; noted at their launch.
struct LaunchPlace {
  int device = 0;
  unsigned first_sm = 0, sms = 0;
  auto operator<=>(const LaunchPlace&) const = default;
};
std::set<LaunchPlace> take_launch_places();  // since the last call

// The text of the error behind cudaErrorLaunchFailure; empty when there is none.
std::string last_fault();

}  // namespace afore::shim
