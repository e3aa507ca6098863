#pragma once
// Which experts the redundant slots hold: chosen for the targets to come from the last ones of the layer, and changed
// one slot at a time by copies that nobody waits for. What a change is worth is measured: the load of a split of each
// remembered target over the replicas as they would stand.
//
// A layer's first choice is the rule of fill_rule.h, bettered by single changes. From then on one round of candidates
// follows the other (experts of the workers that are busiest, in slots of the least busy), a few per target; after a
// round without a worthwhile change the layer rests, twice as long each time, until its targets balance worse than they
// used to: then the workload has shifted.
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "placement/arriving.h"
#include "placement/exact/time_split.h"
#include "placement/fill_rule.h"
#include "placement/policy.h"
#include "placement/replica_table.h"

namespace afore::placement {

// A target as it was planned.
struct PlannedSplit {
  const SplitProblem& problem;
  std::span<const std::int64_t> parts;  // by replica id
  std::int64_t load = 0;                // largest, of the best split found for the target by itself
  std::int64_t floor = 0;               // volume bound on it
  Nanos ffn_ns = 0;
};

class Residents {
 public:
  // Whether a target of the layer balances worse than the layer's targets usually do: then copies for it alone may pay,
  // which they never do where residents are settled.
  bool unusual(int layer, std::int64_t load, std::int64_t floor) const;
  // Of the target's layer; for the rest of the step that they were sent in, however short their copies.
  std::span<const Arriving> arriving(const Target& target);
  // Appends at most `budget` copies for later targets to `copies`; slots that are busy, of primaries, or that have work
  // in the split stay as they are. Copies that are in `copies` already are the target's own and occupy their ports.
  void step(const Request& request, const PlannedSplit& split, std::int64_t budget, std::vector<Copy>& copies);

 private:
  static constexpr int kRemembered = 8;  // targets
  struct Extra {
    int expert = 0, worker = 0, slot = 0;
    bool safe = false;  // may be overwritten now
  };
  struct Candidate {
    int expert = 0, worker = 0;
    int extra = 0;  // index of the replica it replaces
  };
  struct Layer {
    std::vector<std::int64_t> ring;  // tiles of the last targets: [kRemembered][experts]
    int targets = 0;
    double usual = 0, recent = 0;  // load over floor: long and short averages
    bool urgent = true;            // not settled since the start or the last shift
    std::int64_t rest = 0;         // targets until the next round
    std::int64_t last_rest = 1;
    bool chosen = false;
    std::vector<Fill> wanted;  // of the first choice, not copied yet
    std::vector<Arriving> arriving;
    // The round: what it judges by, the placement it is about, its candidates and the best of those tried.
    std::vector<std::int64_t> samples;
    std::uint64_t stamp = 0;
    std::vector<Candidate> candidates;
    std::size_t tried = 0;
    std::int64_t value = 0, best_value = 0;
    Candidate best;
  };

  bool awake(Layer& layer) const;
  void observe(Layer& layer, const PlannedSplit& split) const;
  void list_slots(const Request& request, const PlannedSplit& split, std::span<const Arriving> arriving);
  void choose(const Request& request, const SplitProblem& problem, Layer& layer);
  void copy_wanted(const Request& request, Layer& layer, std::int64_t budget, std::vector<Copy>& copies);
  void begin_round(const Request& request, const SplitProblem& problem, Layer& layer);
  void list_candidates(const Request& request, Layer& layer);
  void try_candidates(const SplitProblem& problem, Layer& layer, int count);
  void end_round(const Request& request, Layer& layer, std::vector<Copy>& copies);
  int least_worked(int worker) const;
  bool lane_idle(int from, int to, Nanos copy_ns) const;
  void occupy(int from, int to, Nanos copy_ns);
  void send(const Request& request, Layer& layer, const Copy& copy, std::vector<Copy>& copies);

  std::map<int, Layer> layers_;
  Nanos clock_ns_ = 0;                     // FFN time of the targets planned so far, one after the other
  std::vector<Nanos> out_free_, in_free_;  // of the workers' copy ports, on that clock
  ExactSplitter splitter_;
  FillRule rule_;
  ReplicaTable table_;
  std::vector<int> homes_;
  std::vector<Extra> extras_;  // redundant replicas that stand
  std::vector<Extra> empty_;   // empty slots that may be filled
  std::vector<ReplicaTable::Extra> trial_;
  std::vector<std::int64_t> parts_, work_, load_, total_, busiest_;
  std::vector<double> expert_work_;
  std::vector<int> by_load_;
};

}  // namespace afore::placement
