#pragma once
// Phase 3: copies beyond the standing placement, by net gain (AFORE Eq. 7-9): each copy takes work off the busiest
// worker; of all prefixes of the copies made, the one with the best
//   G = F(base) - F(prefix) - max(0, migration - window)
// stands, and none if no G is positive. Several searches, each aiming at another load, compete.
#include <cstdint>
#include <vector>

#include "core/cost_model.h"
#include "placement/board.h"
#include "placement/slots.h"
#include "placement/split_tiles.h"
#include "placement/split_time.h"

namespace afore::placement {

struct GrowOptions {
  std::int64_t copy_budget = 0;
  bool gain_rule = true;
  std::int64_t target = 0;  // lower bound on the load, where growing stops
  Nanos ns_per_load = 1;    // F = ns_per_load * largest load
  Nanos window_ns = 0;
  Nanos copy_ns = 0;
  std::span<const std::uint8_t> pinned = {};  // by expert: 1 = never copied
};

// Leaves out copies whose replica ended without work: what they would have evicted stays.
void drop_idle(const Board& board, std::vector<Copy>& copies);

class Grower {
 public:
  Grower(TileSplitter& tiles, TimeSplitter& time) : tiles_(tiles), time_(time), form_{} {}

  // `board` is settled with the base split; on return it holds the winning prefix (or the base) and is settled.
  // Without `slots` copies are free: any worker may take any expert at once (the yardstick). Fills `copies` in
  // execution order.
  void grow(Board& board, SlotTable* slots, const GrowOptions& options, std::vector<Copy>& copies);

 private:
  // `tiles` of replica `from` go to `worker`; with `back` >= 0 all of it, against all of replica `back`.
  struct Step {
    std::int64_t score = 0, extra = 0, left = 0;
    int from = -1, worker = -1, back = -1;
    std::int64_t tiles = 0;
    int copies = 1;
    Nanos end = 0;
    bool before(const Step& other) const;
  };
  struct Made {
    Copy copy;
    int slot_index = SlotTable::kNone;
  };
  enum class Style { balance, fill };

  void search(Board& board, SlotTable* slots, std::int64_t aim, Nanos latest, Style style);
  void resplit(Board& board, std::int64_t aim);
  bool best_step(const Board& board, const SlotTable* slots, std::int64_t aim, Nanos latest, Style style, Step& best);
  void best_exchange(const Board& board, const SlotTable* slots, std::int64_t aim, Nanos latest, Step& best);
  void lightest(const Board& board, int donor, std::int64_t below, const SlotTable* slots, std::vector<int>& out);
  void apply(Board& board, SlotTable* slots, const Step& step);
  void give(Board& board, SlotTable* slots, int from, int worker, std::int64_t tiles);
  void record(const Board& board);
  Nanos end_of(int from, int to) const;
  bool pinned(int expert) const { return !options_.pinned.empty() && options_.pinned[expert] != 0; }

  TileSplitter& tiles_;
  TimeSplitter& time_;
  GrowOptions options_;
  LoadForm form_;
  Nanos base_ns_ = 0, migration_ns_ = 0;
  std::vector<Made> made_, best_made_;
  std::vector<Board::Change> best_changes_;
  Nanos best_gain_ = 0, best_f_ns_ = 0;
  std::size_t prefix_mark_ = 0, prefix_copies_ = 0;  // best prefix of the running search
  bool prefix_found_ = false;
  std::vector<Nanos> out_free_, in_free_;
  std::vector<int> receivers_, partners_;
  std::vector<int> here_;  // by expert: its living replica on the donor, -1 = none
  std::int64_t effort_ = 0;
  std::vector<std::uint32_t> holds_;
  std::uint32_t stamp_ = 0;
};

}  // namespace afore::placement
