#include "placement/grow.h"

#include <algorithm>
#include <limits>

namespace afore::placement {
namespace {

constexpr int kReceivers = 8;                  // emptiest workers tried for each copy
constexpr int kTileSearches = 4;               // further aims after the first
constexpr int kTimeSearches = 1;               // under time the first aim gives nearly all
constexpr std::int64_t kGrowEffort = 200'000;  // workers looked at, after which no further search starts
constexpr Nanos kNever = std::numeric_limits<Nanos>::max();

}  // namespace

void drop_idle(const Board& board, std::vector<Copy>& copies) {
  std::erase_if(copies, [&](const Copy& copy) {
    const auto ids = board.of_expert(copy.expert);
    return std::none_of(ids.begin(), ids.end(),
                        [&](int id) { return board.replica(id).worker == copy.to && board.replica(id).tiles > 0; });
  });
}

Nanos Grower::end_of(int from, int to) const { return std::max(out_free_[from], in_free_[to]) + options_.copy_ns; }

// Standing replicas first: they cost no copy.
void Grower::resplit(Board& board, std::int64_t aim) {
  if (form_.per_tile != 1 || form_.per_expert != 0) {
    time_.descend(board, aim);
    return;
  }
  while (board.max_load() > aim && tiles_.augment(board, board.busiest(), aim)) {
  }
}

bool Grower::Step::before(const Step& other) const {
  if (score != other.score) return score < other.score;
  if (extra != other.extra) return extra < other.extra;
  if (copies != other.copies) return copies < other.copies;
  if (tiles != other.tiles) return tiles > other.tiles;
  if (left != other.left) return left < other.left;
  return end < other.end;
}

// Up to kReceivers workers under `below`, emptiest first; with `slots`, only those a copy can go to.
void Grower::lightest(const Board& board, int donor, std::int64_t below, const SlotTable* slots,
                      std::vector<int>& out) {
  out.clear();
  effort_ += board.workers();
  for (int worker = 0; worker < board.workers(); ++worker) {
    const std::int64_t load = board.load(worker);
    if (load >= below || worker == donor) continue;
    const bool full = std::ssize(out) == kReceivers;
    if (full && load >= board.load(out.back())) continue;
    if (slots != nullptr && slots->pick(board, worker) == SlotTable::kNone) continue;
    if (full) out.pop_back();
    auto at = out.end();
    while (at != out.begin() && board.load(*(at - 1)) > load) --at;
    out.insert(at, worker);
  }
}

bool Grower::best_step(const Board& board, const SlotTable* slots, std::int64_t aim, Nanos latest, Style style,
                       Step& best) {
  const int donor = board.busiest();
  const std::int64_t top = board.load(donor);
  lightest(board, donor, top - form_.per_expert - form_.per_tile, slots, receivers_);
  best = Step{};
  best.score = top;
  for (const int from : board.of_worker(donor)) {
    const Replica& source = board.replica(from);
    if (source.tiles == 0 || pinned(source.expert)) continue;
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
        const Step step{std::max({left, gained, aim}),
                        form_.per_expert - saved,
                        std::max(left, aim),
                        from,
                        worker,
                        -1,
                        tiles,
                        1,
                        end};
        if (step.score < top && (best.from < 0 || step.before(best))) best = step;
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
  if (form_.per_expert > 0 && best.score > aim) best_exchange(board, slots, aim, latest, best);
  return best.from >= 0;
}

// Whole against whole keeps both workers' activations. Either side may stand already; else it takes a copy.
void Grower::best_exchange(const Board& board, const SlotTable* slots, std::int64_t aim, Nanos latest, Step& best) {
  const int donor = board.busiest();
  const std::int64_t top = board.load(donor);
  const bool donor_open = slots == nullptr || slots->pick(board, donor) != SlotTable::kNone;
  const std::int64_t budget = slots == nullptr ? 2 : options_.copy_budget - std::ssize(made_);
  here_.assign(board.experts(), -1);
  for (const int id : board.of_worker(donor))
    if (board.replica(id).alive) here_[board.replica(id).expert] = id;
  lightest(board, donor, top, nullptr, partners_);
  for (const int partner : partners_) {
    const bool partner_open = slots == nullptr || slots->pick(board, partner) != SlotTable::kNone;
    if (!partner_open && !donor_open) continue;
    const std::int64_t room = top - board.load(partner);
    for (const int from : board.of_worker(donor)) {
      const Replica& source = board.replica(from);
      if (source.tiles == 0) continue;
      const auto ids = board.of_expert(source.expert);
      const auto there = std::find_if(ids.begin(), ids.end(), [&](int id) {
        return board.replica(id).worker == partner && board.replica(id).alive;
      });
      const bool stands = there != ids.end();
      if (stands && board.replica(*there).tiles > 0) continue;  // one expert in parts on both: not an exchange
      if (!stands && (!partner_open || pinned(source.expert))) continue;
      const int home = board.replica(board.primary(source.expert)).worker;
      const Nanos sent = stands || slots == nullptr ? 0 : end_of(home, partner);
      if (sent > latest) continue;
      for (const int back : board.of_worker(partner)) {
        const Replica& other = board.replica(back);
        if (other.tiles == 0 || other.tiles >= source.tiles) continue;
        const std::int64_t shift = form_.per_tile * (source.tiles - other.tiles);
        if (shift >= room) continue;
        const int at_home = here_[other.expert];
        if (at_home >= 0 && board.replica(at_home).tiles > 0) continue;
        if (at_home < 0 && (!donor_open || pinned(other.expert))) continue;
        const int copies = (stands ? 0 : 1) + (at_home < 0 ? 1 : 0);
        if (copies > budget) continue;
        Step step{std::max({top - shift, board.load(partner) + shift, aim}),
                  0,
                  std::max(top - shift, aim),
                  from,
                  partner,
                  back,
                  source.tiles,
                  copies,
                  sent};
        if (step.score >= top) continue;
        if (best.from >= 0 && step.score > best.score) continue;
        if (at_home < 0 && slots != nullptr) {
          const int other_home = board.replica(board.primary(other.expert)).worker;
          const Nanos wait = !stands && other_home == home ? sent : 0;
          step.end = std::max(step.end, std::max(end_of(other_home, donor), wait + options_.copy_ns));
        }
        if (step.end <= latest && (best.from < 0 || step.before(best))) best = step;
      }
    }
  }
}

// Tiles of replica `from` to `worker`, over a standing replica or by a copy.
void Grower::give(Board& board, SlotTable* slots, int from, int worker, std::int64_t tiles) {
  const int expert = board.replica(from).expert;
  for (const int id : board.of_expert(expert))
    if (board.replica(id).worker == worker && board.replica(id).alive) {
      board.move(from, id, tiles);
      return;
    }
  Made made;
  if (slots != nullptr) {
    const int home = board.replica(board.primary(expert)).worker;
    made.slot_index = slots->pick(board, worker);
    made.copy = {expert, home, worker, slots->slot(made.slot_index)};
    slots->take(made.slot_index);
    if (const int old = slots->replica(made.slot_index); old != SlotTable::kNone) board.retire(old);
    out_free_[home] = in_free_[worker] = end_of(home, worker);
    migration_ns_ = std::max(migration_ns_, out_free_[home]);
  }
  made_.push_back(made);
  board.move(from, board.add(expert, worker), tiles);
}

void Grower::apply(Board& board, SlotTable* slots, const Step& step) {
  const int donor = board.replica(step.from).worker;
  give(board, slots, step.from, step.worker, step.tiles);
  if (step.back >= 0) give(board, slots, step.back, donor, board.replica(step.back).tiles);
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
    resplit(board, aim);
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
  effort_ = 0;

  auto aims = [&](Nanos until) {
    // The bound first; then loads between what failed and what was reached: easier aims spend copies better.
    std::int64_t fails = options_.target;
    const int searches = form_.per_expert == 0 ? kTileSearches : kTimeSearches;
    for (int i = 0; i <= searches && best_f_ns_ > floor_ns && (i == 0 || effort_ < kGrowEffort); ++i) {
      const std::int64_t reached = best_f_ns_ / options_.ns_per_load;
      const std::int64_t aim = i == 0 ? options_.target : fails + (reached - fails) / 2;
      if (i > 0 && aim <= fails) break;
      const Nanos before = best_f_ns_;
      search(board, slots, aim, until, Style::balance);
      const bool fill = form_.per_expert == 0;
      if (fill && best_f_ns_ > options_.ns_per_load * aim) search(board, slots, aim, until, Style::fill);
      if (best_f_ns_ > options_.ns_per_load * aim) fails = aim;
      if (i > 0 && before == best_f_ns_ && i >= 2) break;
    }
  };
  // Hidden copies first: what they reach leaves less to be gained by waiting for others.
  const bool priced = slots != nullptr && options_.gain_rule;
  if (priced && options_.copy_ns <= options_.window_ns) aims(options_.window_ns);
  const Nanos worth = priced ? latest - (base_ns_ - best_f_ns_) : latest;
  if (best_f_ns_ > floor_ns && effort_ < kGrowEffort &&
      (!priced || worth >= std::max(options_.copy_ns, options_.window_ns + 1)))
    aims(latest);

  board.replay(best_changes_);
  board.settle();
  for (const Made& made : best_made_)
    if (made.slot_index != SlotTable::kNone) copies.push_back(made.copy);
}

}  // namespace afore::placement
