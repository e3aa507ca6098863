#pragma once
// Copies for targets that lie ahead, by what is predicted of them: with the plan of a target go out copies for the next
// MoE layers of its microbatch, as many as are predicted to be there in time. A rule (any placement policy) says which
// copies a predicted demand is worth; this decides which of them start, and remembers which replicas arrive.
//
// Time is counted in predicted FFN times of the targets planned so far, one after the other: copies move while experts
// are computed, and whatever passes between two targets besides is not counted on (docs/director.md, "the gate").
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/records.h"
#include "pipeline/layer_state.h"
#include "placement/arriving.h"
#include "placement/policy.h"

namespace afore::pipeline {

// What the rule expected of a target, when it planned ahead for it. kAbsent = it did not, or does not say.
struct Expected {
  Nanos ffn_ns = kAbsent, relaxation_bound_ns = kAbsent;
  std::int64_t max_tile_load = 0;
};

class AheadPlanner {
 public:
  // `layers_ahead`: how many MoE layers ahead of a target copies are made. `rule` is asked for copies alone.
  AheadPlanner(const ClusterSpec& cluster, const LayerCost& cost, std::int64_t copy_budget, int layers_ahead,
               std::unique_ptr<placement::Policy> rule);

  // Kept until its target is planned. Error{data} for counts without bound, and where tens of thousands wait for
  // targets that do not come.
  void on_prediction(const Prediction& prediction);
  // The latest prediction of the target that rests on no layer beyond `after_layer`; nullptr = none.
  const std::vector<std::int64_t>* predicted(const Target& target, int after_layer) const;
  Expected expected(const Target& target) const;
  // From a target until its microbatch is `layers` MoE layers on, where every target takes `ffn_ns`.
  Nanos between_ns(int layers, Nanos ffn_ns) const { return cluster_.microbatches * layers * ffn_ns; }
  std::int64_t used() const { return used_; }  // predictions that a plan ahead was made from

  // What the copies ahead have not brought yet: no plan of the layer may use it.
  std::span<const placement::Arriving> arriving(int layer);

  // Copies for the target's later layers, into `plan.ahead`, which are applied to `layers`. `plan` has its copies and
  // its FFN time. `may_fill`: by layer and LayerPlacement::index(), 1 = a slot for predictions; nullptr for a layer =
  // none, no function = every slot that is safe.
  using Slots = std::function<std::span<const std::uint8_t>(int layer)>;
  void plan(const Demand& demand, const LayerStates& layers, std::span<const std::uint8_t> pinned,
            const Slots& may_fill, Plan& plan);
  // Ports and replicas are forgotten: workers were lost and maps set anew.
  void reset();

  // The copies that the rule makes for `counts` from `placement`, in a window of `window_ns`.
  void ask(const Target& target, std::span<const std::int64_t> counts, const LayerPlacement& placement,
           std::span<const std::uint8_t> closed, std::span<const std::int64_t> last_used,
           std::span<const std::uint8_t> pinned, Nanos window_ns, placement::Decision& decision);

 private:
  struct Guess {
    int after_layer = kAbsent;
    std::vector<std::int64_t> counts;
  };
  struct Reserved {  // slots that the plan ahead for a target counts on, and what was expected of it
    Target target;
    std::vector<std::size_t> slots;
    Expected expected;
  };
  struct Layer {
    std::vector<placement::Arriving> arriving;
    std::vector<Reserved> reserved;
  };

  void plan_layer(const Target& target, std::span<const std::int64_t> counts, LayerState& state, Nanos between_ns,
                  std::span<const std::uint8_t> pinned, const Slots& may_fill, Plan& plan);
  void close_slots(const LayerState& state, const Layer& mine, std::span<const std::uint8_t> may_fill,
                   std::int64_t seq);
  bool in_time(const Copy& copy, Nanos begin_ns, Nanos latest_ns, Nanos& end_ns);
  void forget(const Target& planned);

  ClusterSpec cluster_;
  LayerCost cost_;
  std::int64_t copy_budget_;
  int layers_ahead_;
  std::unique_ptr<placement::Policy> rule_;
  std::map<Target, std::vector<Guess>> predictions_;
  std::map<int, Layer> layers_;
  Nanos clock_ns_ = 0;                     // FFN time of the targets planned so far
  std::vector<Nanos> out_free_, in_free_;  // of the workers' copy ports, on that clock
  std::int64_t used_ = 0;
  std::vector<std::uint8_t> closed_;
  placement::Decision decision_;
};

}  // namespace afore::pipeline
