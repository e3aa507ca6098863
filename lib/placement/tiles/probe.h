#pragma once
// Copies that bring all loads to a limit, greedily: standing replicas first, by residual paths; where none is left, the
// fullest worker's largest part goes to a worker with room and an open slot. Three rules of whom to give how much.
#include <cstdint>
#include <span>
#include <vector>

#include "placement/tiles/flow.h"
#include "placement/tiles/open_slots.h"

namespace afore::placement::tiles {

// A copy of the plan at hand: ids of the flow, slot as OpenSlots counts them.
struct Made {
  int expert = 0, worker = 0, slot = 0;
};

enum class Rule {
  most_room,     // what the donor must lose, to the worker with the most room
  best_fit,      // the same, to the least room that suffices
  whole_deficit  // all the receiver lacks: it is finished for good, and the donor may become a receiver
};
inline constexpr Rule kRules[] = {Rule::most_room, Rule::whole_deficit, Rule::best_fit};

class Probe {
 public:
  // The flow holds the most that paths alone do towards `limit`. True: all loads are within `limit`, by the copies in
  // made(). Either way undo() must follow before the next run. `pinned` by expert, empty = none.
  bool run(Flow& flow, OpenSlots& slots, std::span<const std::uint8_t> pinned, Tiles limit, Rule rule, int most_copies);
  std::span<const Made> made() const { return made_; }
  // Takes the copies back; the work is undefined until the flow is restored.
  void undo(Flow& flow, OpenSlots& slots);

 private:
  struct Step {
    int from = -1, worker = -1, slot = -1;
    Tiles amount = 0;
  };
  void list_parts(const Flow& flow, std::span<const std::uint8_t> pinned, int donor);
  // A copy over a replica with work, which goes back to the primary: where the copy brings more than that.
  Step best_exchange(Flow& flow, const OpenSlots& slots, int donor, Tiles limit);
  Step best_step(const Flow& flow, const OpenSlots& slots, std::span<const std::uint8_t> pinned, int donor, Tiles limit,
                 Rule rule);

  std::vector<Made> made_;
  std::vector<int> parts_, receivers_;
};

}  // namespace afore::placement::tiles
