#pragma once
// What stands after FFN workers are lost. Experts with a replica elsewhere are served from there; the others are named,
// given a slot on a survivor and read again from the weights' source.
#include <map>
#include <vector>

#include "core/placement.h"

namespace afore::pipeline {

struct Reload {
  int layer = 0;
  int expert = 0;
  int worker = 0;
  int slot = 0;
};

struct LayerRecovery {
  LayerPlacement placement;     // reloading experts included; lost workers hold nothing
  std::vector<Reload> reloads;  // by expert
};
using Recovery = std::map<int, LayerRecovery>;  // by layer

// `complete`, by before.index(): the expert whose weights are whole there, kNoExpert where none are; what it says of
// lost workers is ignored. A reload takes an empty slot, else one whose expert has another replica, on the worker that
// is the primary of the fewest experts. Error{io} naming the expert when there is no such slot.
LayerRecovery recover_layer(int layer, const LayerPlacement& before, const std::vector<int>& complete,
                            const std::vector<bool>& alive);

}  // namespace afore::pipeline
