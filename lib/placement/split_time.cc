#include "placement/split_time.h"

#include <algorithm>
#include <limits>

namespace afore::placement {
namespace {

constexpr int kRepairNodes = 60;
constexpr int kRepairBranches = 8;
constexpr int kRepairRounds = 32;
constexpr int kHopeless = 2;  // starts worse by more than 1/2 are dropped

// Every replica of the worker with work, and every other one that could have it.
template <class Visit>
void each_move(const Board& board, int worker, const Visit& visit) {
  for (const int from : board.of_worker(worker)) {
    const Replica& source = board.replica(from);
    if (source.tiles == 0 || board.holders(source.expert) < 2) continue;
    for (const int to : board.of_expert(source.expert))
      if (board.replica(to).alive && to != from) visit(from, to);
  }
}

}  // namespace

void TimeSplitter::longest_first(Board& board) {
  board.clear_work();
  load_.assign(board.workers(), 0);
  order_.clear();
  const LoadForm& form = board.form();
  for (int expert = 0; expert < board.experts(); ++expert) {
    if (board.demand(expert) == 0) continue;
    if (board.holders(expert) > 1) {
      order_.push_back(expert);
      continue;
    }
    for (const int id : board.of_expert(expert))
      if (board.replica(id).alive) {
        board.put(id, board.demand(expert));
        load_[board.replica(id).worker] += form.whole(board.demand(expert));
      }
  }
  std::sort(order_.begin(), order_.end(), [&](int a, int b) {
    return board.demand(a) != board.demand(b) ? board.demand(a) > board.demand(b) : a < b;
  });
  for (const int expert : order_) {
    int best = -1;
    for (const int id : board.of_expert(expert))
      if (board.replica(id).alive && (best < 0 || load_[board.replica(id).worker] < load_[board.replica(best).worker]))
        best = id;
    board.put(best, board.demand(expert));
    load_[board.replica(best).worker] += form.whole(board.demand(expert));
  }
  board.settle();
}

bool TimeSplitter::best_move(const Board& board, std::int64_t floor, Candidate& best) const {
  const LoadForm& form = board.form();
  const int worker = board.busiest();
  const std::int64_t top = board.load(worker);
  std::int64_t best_score = top, best_extra = std::numeric_limits<std::int64_t>::max();
  bool found = false;
  each_move(board, worker, [&](int from, int to) {
    const Replica &source = board.replica(from), &sink = board.replica(to);
    const std::int64_t setup = sink.tiles > 0 ? 0 : form.per_expert;
    const std::int64_t room = top - board.load(sink.worker) - setup;
    if (room <= form.per_tile) return;
    auto offer = [&](std::int64_t tiles) {
      if (tiles < 1 || tiles > source.tiles) return;
      const std::int64_t saved = tiles == source.tiles ? form.per_expert : 0;
      const std::int64_t left = top - form.per_tile * tiles - saved;
      const std::int64_t gained = top - room + form.per_tile * tiles;
      const std::int64_t score = std::max({left, gained, floor}), extra = setup - saved;
      if (score < best_score || (score == best_score && score < top && extra < best_extra)) {
        best_score = score;
        best_extra = extra;
        best = {score, from, to, tiles};
        found = true;
      }
    };
    offer(source.tiles);
    const std::int64_t half = form.tiles_within(room) / 2;
    offer(std::min(half, source.tiles));
    offer(std::min(half + 1, source.tiles));
    offer(std::min(form.tiles_for(top - floor), source.tiles));
  });
  return found;
}

// All of one expert against all of another costs no activation: where every worker is as full of experts as it may
// be, this is the only move there is.
bool TimeSplitter::exchange(Board& board, std::int64_t floor) {
  const LoadForm& form = board.form();
  const int worker = board.busiest();
  const std::int64_t top = board.load(worker);
  here_.assign(board.experts(), -1);
  for (const int id : board.of_worker(worker))
    if (board.replica(id).alive) here_[board.replica(id).expert] = id;
  std::int64_t best_score = top;
  int give = -1, give_to = -1, take = -1;
  each_move(board, worker, [&](int from, int to) {
    const Replica &source = board.replica(from), &sink = board.replica(to);
    const std::int64_t left = top - form.whole(source.tiles);
    const std::int64_t there =
        board.load(sink.worker) + form.per_tile * source.tiles + (sink.tiles > 0 ? 0 : form.per_expert);
    for (const int other : board.of_worker(sink.worker)) {
      const Replica& back = board.replica(other);
      if (back.tiles == 0 || here_[back.expert] < 0 || back.expert == source.expert) continue;
      const std::int64_t setup = board.replica(here_[back.expert]).tiles > 0 ? 0 : form.per_expert;
      const std::int64_t score =
          std::max({left + form.per_tile * back.tiles + setup, there - form.whole(back.tiles), floor});
      if (score >= best_score) continue;
      best_score = score;
      give = from;
      give_to = to;
      take = other;
    }
  });
  if (give < 0) return false;
  const int take_to = here_[board.replica(take).expert];
  board.move(give, give_to, board.replica(give).tiles);
  board.move(take, take_to, board.replica(take).tiles);
  return true;
}

void TimeSplitter::descend(Board& board, std::int64_t floor) {
  Candidate best;
  while (board.max_load() > floor) {
    if (best_move(board, floor, best)) board.move(best.from, best.to, best.tiles);
    else if (!exchange(board, floor)) return;
  }
}

// Moves off `worker` that bring it to the limit, or bring it nearer without lifting the other end; at depth 0 only
// those that leave both ends within the limit. The least overload first, then the least added activation.
void TimeSplitter::list_candidates(const Board& board, int worker, std::int64_t limit, int depth) {
  const LoadForm& form = board.form();
  const std::int64_t excess = board.load(worker) - limit;
  each_move(board, worker, [&](int from, int to) {
    const Replica &source = board.replica(from), &sink = board.replica(to);
    const std::int64_t setup = sink.tiles > 0 ? 0 : form.per_expert;
    const std::int64_t there = board.load(sink.worker) + setup;
    auto offer = [&](std::int64_t tiles) {
      const std::int64_t saved = tiles == source.tiles ? form.per_expert : 0;
      const std::int64_t over = std::max<std::int64_t>(0, there + form.per_tile * tiles - limit) +
                                std::max<std::int64_t>(0, excess - form.per_tile * tiles - saved);
      if (depth == 0 ? over > 0 : over >= excess + form.per_tile * board.demand(source.expert)) return;
      candidates_.push_back({over * 4 + (setup > 0 ? 2 : 0) - (saved > 0 ? 1 : 0), from, to, tiles});
    };
    offer(source.tiles);
    const std::int64_t need = form.tiles_for(excess);
    if (need < source.tiles) offer(need);
    const std::int64_t fits = form.tiles_within(limit - there);
    if (fits >= 1 && fits < source.tiles && fits != need) offer(fits);
  });
}

bool TimeSplitter::fix(Board& board, int worker, std::int64_t limit, int depth) {
  if (board.load(worker) <= limit) return true;
  if (++nodes_ > kRepairNodes) return false;
  // Candidates of all levels live on one stack; this level owns [begin, end).
  const std::size_t begin = candidates_.size();
  list_candidates(board, worker, limit, depth);
  const std::size_t keep = std::min<std::size_t>(candidates_.size() - begin, kRepairBranches);
  const auto first = candidates_.begin() + static_cast<std::ptrdiff_t>(begin);
  std::partial_sort(first, first + static_cast<std::ptrdiff_t>(keep), candidates_.end(),
                    [](const Candidate& a, const Candidate& b) {
                      if (a.key != b.key) return a.key < b.key;
                      if (a.from != b.from) return a.from < b.from;
                      return a.to != b.to ? a.to < b.to : a.tiles < b.tiles;
                    });
  candidates_.resize(begin + keep);
  bool done = false;
  for (std::size_t i = begin; i < begin + keep && !done; ++i) {
    const Candidate candidate = candidates_[i];
    const std::size_t mark = board.mark();
    const int other = board.replica(candidate.to).worker;
    board.move(candidate.from, candidate.to, candidate.tiles);
    done = depth == 0 ||
           (fix(board, other, limit, depth - 1) && fix(board, worker, limit, depth - 1) && board.load(other) <= limit);
    if (!done) board.rewind(mark);
    if (nodes_ > kRepairNodes) break;
  }
  candidates_.resize(begin);
  return done;
}

bool TimeSplitter::improve(Board& board, int depth) {
  const std::size_t mark = board.mark();
  const std::int64_t limit = board.max_load() - 1;
  nodes_ = 0;
  candidates_.clear();
  while (board.max_load() > limit)
    if (!fix(board, board.busiest(), limit, depth)) {
      board.rewind(mark);
      return false;
    }
  return true;
}

void TimeSplitter::polish(Board& board, std::int64_t floor) {
  descend(board, floor);
  for (int round = 0; round < kRepairRounds && board.max_load() > floor; ++round) {
    if (!improve(board, 1) && !improve(board, 2)) return;
    descend(board, floor);
  }
}

std::int64_t TimeSplitter::split(Board& board, std::int64_t floor) {
  longest_first(board);
  polish(board, floor);
  if (board.max_load() <= floor || order_.empty()) {
    board.settle();
    return board.max_load();
  }
  std::int64_t best = board.max_load();
  board.save(saved_);
  // A start far above what is known does not descend below it; descending from there only costs time.
  auto try_start = [&] {
    if (board.max_load() > best + best / kHopeless) return;
    descend(board, floor);
    if (board.max_load() >= best) return;
    best = board.max_load();
    board.save(saved_);
  };
  board.all_on_primaries();
  board.settle();
  try_start();
  if (best > floor) {
    const LoadForm form = board.form();
    board.set_form({1, 0});
    tiles_.split(board, 0);
    board.set_form(form);
    try_start();
  }
  board.restore(saved_);
  return best;
}

}  // namespace afore::placement
