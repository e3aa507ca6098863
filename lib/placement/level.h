#pragma once
// Moves work between standing replicas so that a target is done earlier where workers have different backlogs: lowers
// max over workers of (backlog + load), keeping every load within a cap. A worker that gives all its tiles of an expert
// to one that had none takes nobody's time; so only whole parts move, alone or in exchange for another, and no expert
// is split further. A local search: what it ends at is not proven to be least.
#include <cstdint>
#include <span>
#include <vector>

#include "placement/split_problem.h"

namespace afore::placement {

// Loads of a split by worker, by the rule of split_problem.h. `parts`: tiles by replica id.
class WorkerState {
 public:
  void reset(const SplitProblem& problem, std::span<const std::int64_t> parts);
  std::int64_t load(int worker) const { return load_[worker]; }
  std::span<const std::int64_t> loads() const { return load_; }
  // Its load if it had so many tiles and activated experts more (less where negative).
  std::int64_t load_with(int worker, std::int64_t tiles, std::int64_t activated) const;
  void move(int worker, std::int64_t tiles, std::int64_t activated);

 private:
  const SplitProblem* problem_ = nullptr;
  std::vector<std::int64_t> tiles_, activated_, load_;
};

class Leveler {
 public:
  // Loads stay within `cap`, which no present load is above. Returns the largest backlog + load of workers with a load.
  std::int64_t level(const SplitProblem& problem, std::span<const std::int64_t> backlog, std::int64_t cap,
                     std::vector<std::int64_t>& parts);
  // Parts return to their primaries where no load then passes `cap`: what stays away stays for a reason.
  void go_home(const SplitProblem& problem, std::int64_t cap, std::vector<std::int64_t>& parts);

  std::span<const std::int64_t> loads() const { return state_.loads(); }  // of the parts left

 private:
  struct Step {
    std::int64_t score = 0;
    int from = -1, to = -1, back = -1, back_to = -1;  // replica ids
  };
  bool best_move(const SplitProblem& problem, std::span<const std::int64_t> backlog, std::int64_t cap,
                 std::span<const std::int64_t> parts, int top, Step& best) const;
  bool best_exchange(const SplitProblem& problem, std::span<const std::int64_t> backlog, std::int64_t cap,
                     std::span<const std::int64_t> parts, int top, Step& best) const;
  void shift(const ReplicaTable& replicas, int from, int to, std::vector<std::int64_t>& parts);

  WorkerState state_;
};

}  // namespace afore::placement
