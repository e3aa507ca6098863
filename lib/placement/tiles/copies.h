#pragma once
// Which copies a plan makes: threshold probes upwards from the lower bound, then the complete search where a gap is
// left; of what they find, the prefix with the largest net gain.
#include <cstdint>
#include <span>
#include <vector>

#include "placement/policy.h"
#include "placement/tiles/flow.h"
#include "placement/tiles/open_slots.h"
#include "placement/tiles/probe.h"
#include "placement/tiles/search.h"

namespace afore::placement::tiles {

struct CopyCall {
  const Request& request;
  std::span<const Tiles> home_load;
  const Flow::Saved& at_floor;  // as far as paths go towards `floor`, the mean load
  const Flow::Saved& at_base;   // the split without copies
  Tiles floor = 0;
  Tiles base = 0;   // largest load without copies
  Tiles bound = 0;  // no plan is below
  bool gain_rule = true;
  std::int64_t node_budget = 0;
};

// G = c1*(base - load) - max(0, migration - window), the last only with the gain rule. `scratch` is room for the
// copies.
Nanos net_gain(const CopyCall& call, std::span<const Made> copies, Tiles load, std::vector<Copy>& scratch);

class CopyChooser {
 public:
  void start(const CopyCall& call);  // for each target
  // One quick try for call.bound; true: it is reached, all copies hidden, by chosen().
  bool at_once(Flow& flow, OpenSlots& slots, const CopyCall& call);
  // Fills chosen(); empty: nothing pays. Of both, the work in the flow is undefined afterwards.
  void choose(Flow& flow, OpenSlots& slots, const CopyCall& call);
  std::span<const Made> chosen() const { return chosen_; }
  // Work that meets `limit` after these copies, made in their order; null where none was kept.
  const Flow::Saved* chosen_work(Tiles limit) const { return work_at_ == limit ? &chosen_work_ : nullptr; }
  Tiles proven() const { return proven_; }  // no plan is below, however reached
  std::int64_t nodes() const { return nodes_; }
  bool budget_hit() const { return budget_hit_; }

 private:
  bool any_rule(Flow& flow, OpenSlots& slots, const CopyCall& call, Tiles limit);
  bool any_rule(Flow& flow, OpenSlots& slots, const CopyCall& call, Tiles limit, const Flow::Saved& from);
  void keep(const Flow& flow, std::span<const Made> made);
  void scan(Flow& flow, OpenSlots& slots, const CopyCall& call);
  void close_gap(Flow& flow, OpenSlots& slots, const CopyCall& call);
  bool hopeless(const CopyCall& call, Tiles limit) const;
  void consider(Flow& flow, OpenSlots& slots, const CopyCall& call, Tiles limit);
  int fewest_copies(const Flow& flow, const OpenSlots& slots, Tiles limit) const;
  Nanos most_gain(const CopyCall& call, Tiles limit) const;

  Probe probe_;
  CopySearch search_;
  static constexpr Tiles kNoWork = -1;
  Flow::Saved start_, offered_work_, chosen_work_;
  Tiles work_at_ = kNoWork;
  std::vector<Made> chosen_, offered_;
  Tiles best_load_ = 0, proven_ = 0;
  Nanos best_gain_ = 0;
  std::int64_t nodes_ = 0;
  bool budget_hit_ = false;
  bool failed_once_ = false;  // the first rule does not get to the mean
  std::vector<Copy> copies_;
  std::vector<int> cut_;
};

}  // namespace afore::placement::tiles
