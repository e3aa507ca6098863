#include "placement/exact/threshold_dfs.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace afore::placement::exact {

void ThresholdDfs::begin(const Loads& loads, std::span<const int> workers) {
  loads_ = &loads;
  tile_ = loads.tile();
  setup_ = loads.setup();
  seats_count_ = loads.seats(0, 0) != kUnlimited;
  workers_ = static_cast<int>(workers.size());
  const int all = loads.workers(), replicas = loads.replicas().replicas(), experts = loads.replicas().experts();
  for (auto* by_worker :
       {&base_tiles_, &base_active_, &room_, &seats_, &fits_, &coming_, &pending_, &coming_seats_, &wasted_})
    by_worker->reserve(all);
  base_tiles_.clear();
  base_active_.clear();
  global_.reserve(all);
  global_.assign(workers.begin(), workers.end());
  local_.resize(all);
  for (int w = 0; w < workers_; ++w) {
    local_[workers[w]] = w;
    base_tiles_.push_back(loads.pinned_tiles(workers[w]));
    base_active_.push_back(loads.pinned_active(workers[w]));
  }
  items_.clear();
  items_.reserve(experts);
  ways_.clear();
  ways_.reserve(replicas);
  live_.reserve(experts);
  whole_.reserve(experts);
  found_.reserve(replicas);
  candidates_.resize(replicas);
  picked_.resize(replicas);
  caps_.reserve(all);
  chosen_.reserve(all);
  forest_.reserve(all);
  undecided_.reserve(all);
  fillings_.reserve(all);
  fillings_.begin(workers_, tile_, setup_);
}

void ThresholdDfs::add(std::span<const int> ids, std::int64_t tiles) {
  Item item{static_cast<int>(ways_.size()), static_cast<int>(ids.size()), tiles, 1};
  for (const int id : ids) {
    const int worker = local_[loads_->replicas().worker(id)];
    ways_.push_back({worker, id, fillings_.add(worker, tiles)});
  }
  items_.push_back(item);
}

void ThresholdDfs::take(int worker, std::int64_t room, std::int64_t seats) {
  room_[worker] -= room;
  seats_[worker] -= seats;
  const std::int64_t left = room_[worker] - setup_;
  fits_[worker] = left < 0 || seats_[worker] < 1 ? 0 : loads_->tiles_in(left);
}

// Fewest parts by the room beside pinned work; false: not even all replicas together hold the tiles.
bool ThresholdDfs::force_parts(Item& item) {
  caps_.clear();
  item.parts = 1;
  for (int i = item.first; i < item.first + item.count; ++i) {
    const std::int64_t fits = fits_[ways_[i].worker];
    if (fits >= item.tiles) return true;
    if (fits > 0) caps_.push_back(fits);
  }
  std::sort(caps_.begin(), caps_.end(), std::greater<>());
  std::int64_t sum = 0;
  std::size_t parts = 0;
  while (parts < caps_.size() && sum < item.tiles) sum += caps_[parts++];
  item.parts = static_cast<std::int64_t>(parts);
  return sum >= item.tiles;
}

bool ThresholdDfs::set_up(std::int64_t limit) {
  room_.resize(workers_);
  seats_.resize(workers_);
  fits_.resize(workers_);
  coming_.assign(workers_, 0);
  coming_seats_.assign(workers_, 0);
  pending_.assign(workers_, 0);
  for (int w = 0; w < workers_; ++w) {
    room_[w] = loads_->room(global_[w], limit);
    seats_[w] = loads_->seats(global_[w], limit);
    take(w, tile_ * base_tiles_[w] + setup_ * base_active_[w], base_active_[w]);
    if (room_[w] < 0 || seats_[w] < 0) return false;
  }
  undecided_.assign(workers_, 0);
  needed_ = needed_seats_ = pending_total_ = forced_ = 0;
  for (Item& item : items_) {
    if (!force_parts(item)) return false;
    decide(item, -1);
  }
  live_.resize(items_.size());
  std::iota(live_.begin(), live_.end(), 0);
  std::sort(live_.begin(), live_.end(), [&](int a, int b) {
    return items_[a].tiles != items_[b].tiles ? items_[a].tiles > items_[b].tiles : a < b;
  });
  forest_.reset(workers_);
  whole_.clear();
  return true;
}

Answer ThresholdDfs::run(std::int64_t limit, std::int64_t node_budget) {
  node_budget_ = node_budget;
  nodes_ = steps_ = 0;
  if (!set_up(limit)) return Answer::infeasible;
  return descend(static_cast<int>(items_.size()));
}

// Takes an expert out of what is to come (1), or puts it back (-1).
void ThresholdDfs::decide(const Item& item, int sign) {
  needed_ -= sign * (tile_ * item.tiles + setup_ * item.parts);
  needed_seats_ -= sign * item.parts;
  forced_ -= sign * (item.parts - 1);
  const std::int64_t whole = loads_->whole(item.tiles);
  for (int i = item.first; i < item.first + item.count; ++i) {
    const Way& way = ways_[i];
    coming_[way.worker] -= sign * whole;
    coming_seats_[way.worker] -= sign;
    if (way.bit >= 0) undecided_[way.worker] ^= std::uint64_t{1} << way.bit;
  }
}

// Room that can be used, less what has to be; below 0 nothing fits.
std::int64_t ThresholdDfs::slack() {
  std::int64_t usable = 0;
  for (int w = 0; w < workers_; ++w) usable += std::min(room_[w], (fits_[w] > 0 ? coming_[w] : 0) + pending_[w]);
  seat_slack_ = kUnlimited;
  if (seats_count_) {
    seat_slack_ = -needed_seats_;
    for (int w = 0; w < workers_; ++w) seat_slack_ += std::min(seats_[w], coming_seats_[w]);
    if (seat_slack_ < 0) return -1;
  }
  return usable - pending_total_ - needed_;
}

// The bound of waste.h for what is left: a worker that no further part of a divided expert reaches fills up with whole
// experts only.
bool ThresholdDfs::too_much_waste(std::int64_t slack) {
  wasted_.clear();
  std::int64_t sum = 0;
  for (int w = 0; w < workers_; ++w) {
    if (pending_[w] > 0 || fits_[w] == 0) continue;
    const std::int64_t usable = std::min(room_[w], coming_[w]);
    if (usable == coming_[w]) continue;
    const std::int64_t most = fillings_.most(w, room_[w], undecided_[w]);
    if (most == Fillings::kNotKnown || most == usable) continue;
    wasted_.push_back(usable - most);
    sum += usable - most;
  }
  if (sum <= slack) return false;
  std::sort(wasted_.begin(), wasted_.end(), std::greater<>());
  std::size_t reached = 0;
  for (std::int64_t extra = 0; extra <= seat_slack_ && extra * setup_ <= slack; ++extra) {
    const auto reach = std::min<std::int64_t>(2 * (forced_ + extra), static_cast<std::int64_t>(wasted_.size()));
    while (static_cast<std::int64_t>(reached) < reach) sum -= wasted_[reached++];
    if (sum + extra * setup_ <= slack) return false;
  }
  return true;
}

// Position in live_ of the expert with the fewest ways; -1 when one has none.
int ThresholdDfs::choose(int live, std::int64_t slack) const {
  int best = -1;
  std::int64_t best_key = kUnlimited, extra = 0;
  for (int at = 0; at < live; ++at) {
    const Item& item = items_[live_[at]];
    std::int64_t whole = 0, open = 0, sum = 0, most = 0, second = 0;
    for (int i = item.first; i < item.first + item.count; ++i) {
      const std::int64_t fits = fits_[ways_[i].worker];
      if (fits == 0) continue;
      whole += fits >= item.tiles;
      ++open;
      sum += std::min(fits, item.tiles);
      if (fits > most) {
        second = most;
        most = fits;
      } else if (fits > second) {
        second = fits;
      }
    }
    if (item.parts > 1) whole = 0;
    const bool divisible = open > 1 && item.tiles > 1 && sum >= item.tiles && (item.parts > 1 || slack >= setup_);
    const std::int64_t ways = 2 * whole + (divisible ? open - 1 : 0);
    if (ways == 0) return -1;
    if (whole == 0) {
      const std::int64_t parts = most + second >= item.tiles ? 2 : 3;
      if (parts > item.parts) extra += (parts - item.parts) * setup_;
      if (extra > slack) return -1;
    }
    const std::int64_t key = 64 * ways - std::min<std::int64_t>(item.tiles, 63);
    if (key < best_key) {
      best_key = key;
      best = at;
    }
  }
  return best;
}

Answer ThresholdDfs::descend(int live) {
  if (++nodes_ > node_budget_) return Answer::unknown;
  const std::int64_t left = slack();
  if (left < 0) return Answer::infeasible;
  if (live == 0) {
    if (!forest_.lay_out(room_, tile_)) return Answer::infeasible;
    write_down();
    return Answer::feasible;
  }
  if (too_much_waste(left)) return Answer::infeasible;
  const int at = choose(live, left);
  if (at < 0) return Answer::infeasible;
  std::swap(live_[at], live_[live - 1]);
  const Item& item = items_[live_[live - 1]];
  decide(item, 1);
  Answer answer = item.parts > 1 ? Answer::infeasible : place_whole(item, live - 1);
  if (answer == Answer::infeasible && item.tiles > 1) answer = divide(item, live - 1, left);
  decide(item, -1);
  std::swap(live_[at], live_[live - 1]);
  return answer;
}

}  // namespace afore::placement::exact
