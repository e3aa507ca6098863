#pragma once
// What draining workers and pinned experts forbid, and true times where workers differ or the roofline rule holds: what
// searches for the additive rule over equal workers are judged by.
#include <cstdint>
#include <span>
#include <vector>

#include "placement/board.h"
#include "placement/policy.h"

namespace afore::placement {

// No copy may go to this regular slot because of traits: its worker drains, or it holds a stand-in.
bool is_kept(const LayerPlacement& placement, std::span<const WorkerTraits> traits, int worker, int slot);

// By expert, 1 = a copy for this very target is of no use to it or forbidden: pinned ones, and where workers drain
// those that stand on such workers only. What is returned refers to the request or to `buffer`.
std::span<const std::uint8_t> not_for_this_target(const Request& request, std::vector<std::uint8_t>& buffer);

// All workers take the same, by the additive rule: then a board's largest load is the time.
bool is_plain(const Request& request);

// Without c0: of the work on the board, and of everything on each expert's first replica there.
class TrueLoads {
 public:
  std::int64_t of(const Board& board, const Request& request);
  std::int64_t of_first_replicas(const Board& board, const Request& request);

 private:
  void clear(int workers);
  std::int64_t largest(const Request& request) const;
  std::vector<std::int64_t> tiles_, activated_;
};

}  // namespace afore::placement
