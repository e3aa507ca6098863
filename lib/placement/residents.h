#pragma once
// Which experts the redundant slots hold: chosen for the targets to come from the last ones of the layer, and changed one
// slot at a time by copies that nobody waits for. What a change is worth is measured: the load of an exact split of each
// remembered target over the replicas as they would stand.
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "placement/exact/time_split.h"
#include "placement/policy.h"
#include "placement/replica_table.h"

namespace afore::placement {

class Residents {
 public:
  // A target of `ffn_ns` was planned: `parts` of `problem` on what stands, their largest load `load`, and `floor` a lower
  // bound on it. Appends at most `budget` copies to `copies`, for later targets; slots that are busy, of primaries, or
  // with work in `parts` stay as they are. Copies that are in `copies` already occupy their ports.
  void step(const Request& request, const SplitProblem& problem, std::span<const std::int64_t> parts, std::int64_t load,
            std::int64_t floor, Nanos ffn_ns, std::int64_t budget, std::vector<Copy>& copies);

 private:
  static constexpr int kRemembered = 8;  // targets
  struct Candidate {
    int expert = 0, worker = 0, extra = 0;  // extra: index of the replica it replaces
  };
  struct Extra {
    int expert = 0, worker = 0, slot = 0;
    bool safe = false;  // may be overwritten now
  };
  struct Layer {
    std::vector<std::int64_t> ring;  // tiles of the last targets: [kRemembered][experts]
    int targets = 0;
    std::int64_t sleep = 0, nap = 1;  // targets until the next round, and how many the last rest had
    double usual = 0, recent = 0;     // load over floor, long and short averages
    std::vector<std::int64_t> samples;  // what the present round judges by
    std::uint64_t stamp = 0;            // of the placement that the round is about
    std::int64_t value = 0, best = 0;   // sums of loads: as things stand, and with the best candidate so far
    std::vector<Candidate> candidates;
    std::size_t tried = 0;
    Candidate choice;
    bool chosen = false;                // `wanted` was made
    std::vector<Extra> wanted;          // the first choice, by worker
  };
  void observe(Layer& layer, const SplitProblem& problem, std::int64_t load, std::int64_t floor);
  void list_extras(const Request& request, const SplitProblem& problem, std::span<const std::int64_t> parts);
  void fill(const Request& request, const SplitProblem& problem, const Layer& layer, std::int64_t budget,
            std::vector<Copy>& copies);
  void choose(const Request& request, const SplitProblem& problem, Layer& layer);
  void begin_round(const Request& request, const SplitProblem& problem, Layer& layer);
  void try_next(const Request& request, const SplitProblem& problem, Layer& layer);
  std::int64_t judge(const SplitProblem& like, const ReplicaTable& replicas, std::span<const std::int64_t> samples);
  bool lane_idle(int from, int to, Nanos copy_ns) const;
  void occupy(int from, int to, Nanos copy_ns);

  std::map<int, Layer> layers_;
  Nanos clock_ns_ = 0;                      // time of the targets planned so far, one after the other
  std::vector<Nanos> out_free_, in_free_;   // of the workers' copy ports, on that clock
  ExactSplitter splitter_;
  ReplicaTable table_;
  std::vector<int> homes_;
  std::vector<Extra> extras_, empty_;
  std::vector<ReplicaTable::Extra> trial_;
  std::vector<std::int64_t> parts_, worker_load_, hot_;
  std::vector<double> share_;
  std::vector<int> order_;
};

}  // namespace afore::placement
