#pragma once
// From the copies a search chose to those a plan makes: which replicas are idle is known only from the final split, so
// slots are chosen again by the rule, and copies without work are not made.
#include <span>
#include <vector>

#include "placement/tiles/copies.h"

namespace afore::placement::tiles {

class Installer {
 public:
  // `work`, where given, meets call.bound after the copies. The flow then holds the split over the placement after
  // copies(); its largest load. No prefix of copies() has a larger net gain, nor the same.
  Tiles install(Flow& flow, OpenSlots& slots, const CopyCall& call, std::span<const Made> chosen,
                const Flow::Saved* work);
  std::span<const Made> copies() const { return copies_; }

 private:
  void add(Flow& flow, OpenSlots& slots, std::span<const Made> copies);
  Tiles split_with(Flow& flow, OpenSlots& slots, const CopyCall& call, std::span<const Made> copies);
  bool choose_slots(Flow& flow, OpenSlots& slots);
  std::size_t best_prefix(Flow& flow, OpenSlots& slots, const CopyCall& call, Tiles load);

  std::vector<Made> plan_, copies_;
  Flow::Saved saved_;
  std::vector<Copy> scratch_;
  std::vector<int> cut_;
};

}  // namespace afore::placement::tiles
