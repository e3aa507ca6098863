#pragma once
// Lower bounds on the largest load when up to K copies may be made into safe slots (docs/metrics.md "lower
// bounds"). Every bound is written for load = per_tile*tiles + per_expert*activated: with {1, 0}
// it is the tile bound. Valid for any plan within the limits: evicting a replica only removes choices.
#include <cstdint>
#include <span>
#include <vector>

#include "placement/board.h"

namespace afore::placement {

struct CopyRoom {
  std::int64_t copies = 0;      // min(copy budget, safe slots)
  std::vector<int> per_worker;  // safe slots: not busy, not primary
  std::int64_t total = 0;
};

class Bounds {
 public:
  // Volume (LB0), pinned workers, Hall prefixes and given cuts with copies (LB2), hot sets (LB1), copy counting (LB3),
  // forced parts. `cut` is any worker set worth trying. Not below 0.
  std::int64_t lower_bound(const Board& board, const LoadForm& form, const CopyRoom& room, std::span<const int> cut);
  // The same on the time without c0, by the cost's rule and the workers' traits: under the roofline rule either term by
  // itself, where workers differ scaled to the fastest, and the volume over what all have room for.
  std::int64_t time_bound(const Board& board, const LayerCost& cost, std::span<const WorkerTraits> traits,
                          const CopyRoom& room);
  // Ascending worker set S whose confined work less the k_S largest confined experts, over |S|, is the bound last
  // returned, where nothing else reaches it; empty otherwise.
  const std::vector<int>& cut() const { return cut_; }

  // Every expert on every worker: volume and forced parts.
  static std::int64_t everywhere(std::span<const std::int64_t> tiles, int workers, const LoadForm& form);
  static std::int64_t time_everywhere(std::span<const std::int64_t> tiles, int workers, const LayerCost& cost,
                                      std::span<const WorkerTraits> traits);

 private:
  void gather(const Board& board, const LoadForm& form);
  std::int64_t hot_sets(const Board& board, const LoadForm& form, const CopyRoom& room);
  std::int64_t prefixes(const Board& board, const LoadForm& form, const CopyRoom& room, std::int64_t bound);
  std::int64_t cut_bound(const Board& board, const LoadForm& form, const CopyRoom& room, std::span<const int> cut);
  std::int64_t copy_count(const CopyRoom& room, std::int64_t bound);
  std::int64_t forced_parts(const Board& board, const LoadForm& form, const CopyRoom& room, std::int64_t bound);
  bool parts_fit(const Board& board, const LoadForm& form, const CopyRoom& room, std::int64_t limit);

  std::int64_t volume_ = 0;
  std::vector<std::int64_t> pinned_;    // load of experts held by this worker alone
  std::vector<std::int64_t> confined_;  // loads of those experts, by worker
  std::vector<int> first_;              // confined_ range of a worker
  std::vector<int> next_, order_, rank_, last_, cut_, experts_;
  std::vector<std::int64_t> add_, pool_, room_;
  std::vector<char> inside_;
};

}  // namespace afore::placement
