#pragma once
// A map that stands for a whole run: every slot of every worker filled, loads shared evenly by an expert's replicas, as
// engines with static expert placement do.
#include <cstdint>
#include <span>
#include <vector>

namespace afore::placement {

// `loads`: [windows][experts], what each expert had to do in parts of a history. Result: logical expert of each slot,
// worker-major; no worker has two replicas of one expert as long as the slots allow it.
//
// Starts with EPLB's answer for the sums (eplb.h, duplicates repaired), then exchanges two slots, or gives a replica to
// another expert, while the sum over windows of the largest worker load falls. EPLB looks at the sums alone: experts
// that are hot at different times may share a worker, and those that are hot together should not. A worker's slots are
// in expert order. Error{usage} as eplb.h when workers * slots_per_worker < experts.
std::vector<int> balance_slots(std::span<const std::int64_t> loads, int experts, int workers, int slots_per_worker);

// By expert the sum over all windows, as EPLB takes it.
std::vector<double> expert_sums(std::span<const std::int64_t> loads, int experts);

// Largest worker load of one window under a map whose replicas share evenly. -1 slots are empty.
double largest_load(std::span<const std::int64_t> loads, std::span<const int> physical_to_logical, int workers);

}  // namespace afore::placement
