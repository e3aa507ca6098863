#include "placement/grow.h"

#include <algorithm>
#include <limits>

namespace afore::placement {
namespace {

constexpr int kReceivers = 8;  // emptiest workers tried for each copy
constexpr int kVisits = 64;    // workers looked at to find them
constexpr int kSearches = 4;   // further aims after the first
constexpr Nanos kNever = std::numeric_limits<Nanos>::max();

}  // namespace

Nanos Grower::end_of(int from, int to) const { return std::max(out_free_[from], in_free_[to]) + options_.copy_ns; }

// Standing replicas first: they cost no copy.
void Grower::rebalance(Board& board, std::int64_t aim) {
  if (form_.per_tile != 1 || form_.per_expert != 0) {
    time_.descend(board, aim);
    return;
  }
  while (board.max_load() > aim && tiles_.augment(board, board.busiest(), aim)) {
  }
}

bool Grower::best_step(Board& board, SlotTable* slots, std::int64_t aim, Nanos latest, Style style, Step& best) {
  const int donor = board.busiest();
  const std::int64_t top = board.load(donor);
  receivers_.clear();
  board.lightest().first(board.loads(), kReceivers, kVisits, receivers_, [&](int worker) {
    return worker != donor && board.load(worker) + form_.per_expert + form_.per_tile < top &&
           (slots == nullptr || slots->pick(board, worker) != SlotTable::kNone);
  });
  if (receivers_.empty()) return false;
  best.from = -1;
  best.score = top;
  for (const int from : board.of_worker(donor)) {
    const Replica& source = board.replica(from);
    if (source.tiles == 0) continue;
    const int home = board.replica(board.primary(source.expert)).worker;
    if (slots != nullptr && out_free_[home] + options_.copy_ns > latest) continue;
    ++stamp_;
    for (const int id : board.of_expert(source.expert))
      if (board.replica(id).alive) holds_[board.replica(id).worker] = stamp_;
    for (const int worker : receivers_) {
      if (holds_[worker] == stamp_) continue;
      const Nanos end = slots != nullptr ? end_of(home, worker) : 0;
      if (end > latest) continue;
      const std::int64_t there = board.load(worker) + form_.per_expert;
      auto offer = [&](std::int64_t tiles) {
        if (tiles < 1 || tiles > source.tiles) return;
        const std::int64_t saved = tiles == source.tiles ? form_.per_expert : 0;
        const std::int64_t left = top - form_.per_tile * tiles - saved;
        const std::int64_t gained = there + form_.per_tile * tiles;
        const Step step{
            std::max({left, gained, aim}), form_.per_expert - saved, std::max(left, aim), from, worker, tiles, end};
        if (step.score >= top) return;
        if (best.from < 0 || step.score < best.score ||
            (step.score == best.score &&
             (step.extra < best.extra || (step.extra == best.extra &&
                                          (step.left < best.left || (step.left == best.left && step.end < best.end))))))
          best = step;
      };
      offer(source.tiles);
      const std::int64_t half = form_.tiles_within(top - there) / 2;
      offer(std::min(half, source.tiles));
      offer(std::min(half + 1, source.tiles));
      offer(std::min(form_.tiles_for(top - aim), source.tiles));
      // The receiver's whole deficit finishes it for good; the donor may become a receiver later.
      if (style == Style::fill) offer(std::min(form_.tiles_within(aim - there), source.tiles));
    }
  }
  return best.from >= 0;
}

void Grower::apply(Board& board, SlotTable* slots, const Step& step) {
  const int expert = board.replica(step.from).expert;
  Made made;
  if (slots != nullptr) {
    const int home = board.replica(board.primary(expert)).worker;
    made.slot_index = slots->pick(board, step.worker);
    made.copy = {expert, home, step.worker, slots->slot(made.slot_index)};
    slots->take(made.slot_index);
    if (const int old = slots->replica(made.slot_index); old != SlotTable::kNone) board.retire(old);
    out_free_[home] = in_free_[step.worker] = step.end;
    migration_ns_ = std::max(migration_ns_, step.end);
  }
  made_.push_back(made);
  board.move(step.from, board.add(expert, step.worker), step.tiles);
}

void Grower::record(const Board& board) {
  const Nanos f = options_.ns_per_load * board.max_load();
  const Nanos exposed = std::max<Nanos>(0, migration_ns_ - options_.window_ns);
  const Nanos gain = base_ns_ - f - (options_.gain_rule ? exposed : 0);
  const bool better = gain > best_gain_ || (gain == best_gain_ && gain > 0 &&
                                            made_.size() < (prefix_found_ ? prefix_copies_ : best_made_.size()));
  if (!better) return;
  best_gain_ = gain;
  best_f_ns_ = f;
  prefix_mark_ = board.mark();
  prefix_copies_ = made_.size();
  prefix_found_ = true;
}

// One search from the base: aims every worker at `aim`, no copy ending later than `latest`.
void Grower::search(Board& board, SlotTable* slots, std::int64_t aim, Nanos latest, Style style) {
  made_.clear();
  migration_ns_ = 0;
  out_free_.assign(board.workers(), 0);
  in_free_.assign(board.workers(), 0);
  prefix_found_ = false;
  Step step;
  while (board.max_load() > aim && (slots == nullptr || std::ssize(made_) < options_.copy_budget)) {
    if (!best_step(board, slots, aim, latest, style, step)) break;
    apply(board, slots, step);
    rebalance(board, aim);
    record(board);
  }
  if (prefix_found_) {
    board.rewind(prefix_mark_);
    const auto changes = board.changes(0);
    best_changes_.assign(changes.begin(), changes.end());
    best_made_.assign(made_.begin(), made_.begin() + static_cast<std::ptrdiff_t>(prefix_copies_));
  }
  for (const Made& made : made_)
    if (made.slot_index != SlotTable::kNone) slots->release(made.slot_index);
  board.rewind(0);
}

void Grower::grow(Board& board, SlotTable* slots, const GrowOptions& options, std::vector<Copy>& copies) {
  copies.clear();
  options_ = options;
  form_ = board.form();
  base_ns_ = best_f_ns_ = options_.ns_per_load * board.max_load();
  best_gain_ = 0;
  best_made_.clear();
  best_changes_.clear();
  holds_.assign(board.workers(), 0);
  stamp_ = 0;
  const Nanos floor_ns = options_.ns_per_load * options_.target;
  // A copy that ends after window + the most that can be gained is part of no plan with a positive gain.
  const Nanos latest = options_.gain_rule && slots != nullptr ? options_.window_ns + (base_ns_ - floor_ns) - 1 : kNever;
  if (board.max_load() <= options_.target || (slots != nullptr && options_.copy_ns > latest)) return;
  board.track_lightest();

  auto aims = [&](Nanos until) {
    // The bound first; then loads between what failed and what was reached: easier aims spend copies better.
    std::int64_t fails = options_.target;
    for (int i = 0; i <= kSearches && best_f_ns_ > floor_ns; ++i) {
      const std::int64_t reached = best_f_ns_ / options_.ns_per_load;
      const std::int64_t aim = i == 0 ? options_.target : fails + (reached - fails) / 2;
      if (i > 0 && aim <= fails) break;
      const Nanos before = best_f_ns_;
      search(board, slots, aim, until, Style::balance);
      if (best_f_ns_ > options_.ns_per_load * aim) search(board, slots, aim, until, Style::fill);
      if (best_f_ns_ > options_.ns_per_load * aim) fails = aim;
      if (i > 0 && before == best_f_ns_ && i >= 2) break;
    }
  };
  // Hidden copies first: what they reach leaves less to be gained by waiting for others.
  const bool priced = slots != nullptr && options_.gain_rule;
  if (priced && options_.copy_ns <= options_.window_ns) aims(options_.window_ns);
  const Nanos worth = priced ? latest - (base_ns_ - best_f_ns_) : latest;
  if (best_f_ns_ > floor_ns && (!priced || worth >= std::max(options_.copy_ns, options_.window_ns + 1))) aims(latest);

  board.replay(best_changes_);
  board.settle();
  for (const Made& made : best_made_)
    if (made.slot_index != SlotTable::kNone) copies.push_back(made.copy);
}

}  // namespace afore::placement
