// The branches of the threshold search: an expert whole on one worker, or divided over a set of them.
#include <algorithm>
#include <numeric>

#include "placement/exact/threshold_dfs.h"

namespace afore::placement::exact {
namespace {

constexpr std::int64_t kStepsPerNode = 64;  // sets of workers looked at

}  // namespace

Answer ThresholdDfs::place_whole(const Item& item, int live) {
  int* order = candidates_.data() + item.first;  // indices into ways_, the fullest worker first
  int count = 0;
  for (int i = item.first; i < item.first + item.count; ++i) {
    if (fits_[ways_[i].worker] < item.tiles) continue;
    int at = count++;
    for (; at > 0 && room_[ways_[order[at - 1]].worker] > room_[ways_[i].worker]; --at) order[at] = order[at - 1];
    order[at] = i;
  }
  const std::int64_t room = loads_->whole(item.tiles);
  for (int k = 0; k < count; ++k) {
    const Way way = ways_[order[k]];
    take(way.worker, room, 1);
    whole_.push_back({way.id, item.tiles});
    const Answer answer = descend(live);
    whole_.pop_back();
    take(way.worker, -room, -1);
    if (answer != Answer::infeasible) return answer;
  }
  return Answer::infeasible;
}

Answer ThresholdDfs::divide(const Item& item, int live, std::int64_t slack) {
  int* order = candidates_.data() + item.first;  // local workers, the emptiest first
  int count = 0;
  for (int i = item.first; i < item.first + item.count; ++i) {
    const int worker = ways_[i].worker;
    if (fits_[worker] == 0) continue;
    int at = count++;
    for (; at > 0 && fits_[order[at - 1]] < fits_[worker]; --at) order[at] = order[at - 1];
    order[at] = worker;
  }
  const std::int64_t most = std::min<std::int64_t>(count, item.tiles);
  for (std::int64_t parts = std::max<std::int64_t>(2, item.parts); parts <= most; ++parts) {
    if ((parts - item.parts) * setup_ > slack) break;
    const Answer answer = divide_over(item, live, static_cast<int>(parts), count);
    if (answer != Answer::infeasible) return answer;
  }
  return Answer::infeasible;
}

// All sets of `parts` candidates, in lexicographic order of their places.
Answer ThresholdDfs::divide_over(const Item& item, int live, int parts, int candidates) {
  const int* order = candidates_.data() + item.first;
  int* picked = picked_.data() + item.first;  // places in `order`, ascending
  std::iota(picked, picked + parts, 0);
  for (;;) {
    if (++steps_ > kStepsPerNode * node_budget_) return Answer::unknown;
    std::int64_t sum = 0;
    for (int k = 0; k < parts && sum < item.tiles; ++k) sum += fits_[order[picked[k]]];
    if (sum >= item.tiles) {
      const Answer answer = try_division(item, live, {picked, static_cast<std::size_t>(parts)});
      if (answer != Answer::infeasible) return answer;
    }
    int at = parts - 1;
    // Candidates come by falling room: where even the best of the rest is too little, so is every later set.
    if (sum < item.tiles)
      while (at > 0 && picked[at] == picked[at - 1] + 1) --at;
    if (sum < item.tiles && at == 0) return Answer::infeasible;
    if (sum < item.tiles) --at;
    while (at >= 0 && picked[at] == candidates - parts + at) --at;
    if (at < 0) return Answer::infeasible;
    ++picked[at];
    for (int k = at + 1; k < parts; ++k) picked[k] = picked[k - 1] + 1;
  }
}

Answer ThresholdDfs::try_division(const Item& item, int live, std::span<const int> picked) {
  const int* order = candidates_.data() + item.first;
  chosen_.clear();
  for (const int place : picked) {
    for (const int other : chosen_)
      if (forest_.root(other) == forest_.root(order[place])) return Answer::infeasible;
    chosen_.push_back(order[place]);
  }
  const auto parts = static_cast<std::int64_t>(picked.size());
  const std::int64_t left = item.tiles - parts;
  forest_.push(static_cast<int>(&item - items_.data()), left, chosen_);
  const std::size_t division = forest_.divisions().size() - 1;
  pending_total_ += tile_ * left;
  const auto change = [&](int sign) {
    const PartForest::Division& its = forest_.divisions()[division];
    for (int m = its.first; m < its.first + its.count; ++m) {
      take(forest_.worker(m), sign * (tile_ + setup_), sign);
      pending_[forest_.worker(m)] += sign * tile_ * left;
    }
  };
  change(1);
  const Answer answer = forest_.lay_out(room_, tile_) ? descend(live) : Answer::infeasible;
  change(-1);
  pending_total_ -= tile_ * left;
  forest_.pop();
  return answer;
}

void ThresholdDfs::write_down() {
  found_.assign(whole_.begin(), whole_.end());
  for (const PartForest::Division& division : forest_.divisions()) {
    const Item& item = items_[division.expert];
    for (int m = division.first; m < division.first + division.count; ++m) {
      int way = item.first;
      while (ways_[way].worker != forest_.worker(m)) ++way;
      found_.push_back({ways_[way].id, 1 + forest_.tiles(m)});
    }
  }
}

}  // namespace afore::placement::exact
