#pragma once
// Replicas that a rule chooses once per layer and then keeps. They go into empty slots only, over as many targets as
// the copy budget takes. What was copied is read from the placement, never remembered: a plan's copies may not be
// taken.
#include <map>
#include <vector>

#include "placement/rivals.h"

namespace afore::placement {

class FixedReplicas {
 public:
  struct Replica {
    int expert = 0;
    int worker = 0;
  };
  struct Layer {
    std::vector<std::int64_t> load;  // tokens so far, by expert
    int targets = 0;                 // that had tokens
    bool chosen = false;
    std::vector<Replica> replicas;  // in the order of copying
  };

  // The target's layer, its demand added. `due` when it is time to choose: then the caller fills `replicas`.
  Layer& see(const Request& request);
  static bool due(Layer& layer);
  // Copies what is chosen and lacking.
  static void copy(const Layer& layer, const Request& request, Book& book);
  // Slots of a worker that hold nothing and may be filled.
  static int empty_slots(const Request& request, const LayerPlacement& placement, int worker);

 private:
  std::map<int, Layer> layers_;
};

}  // namespace afore::placement
