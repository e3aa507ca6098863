#include "placement/board.h"

#include <algorithm>
#include <limits>

#include "util/error.h"
#include "util/scratch.h"

namespace afore::placement {

std::int64_t LoadForm::tiles_within(std::int64_t load) const {
  if (load < 0) return 0;
  return per_tile > 0 ? load / per_tile : std::numeric_limits<std::int32_t>::max();
}

std::int64_t LoadForm::tiles_for(std::int64_t load) const {
  if (load <= 0) return 0;
  return per_tile > 0 ? ceil_div(load, per_tile) : std::numeric_limits<std::int32_t>::max();
}

namespace {

int larger(std::span<const std::int64_t> keys, int left, int right) {
  return right < 0 || keys[left] >= keys[right] ? left : right;
}

}  // namespace

void Tournament::build(std::span<const std::int64_t> keys) {
  const int count = static_cast<int>(keys.size());
  leaves_ = 1;
  while (leaves_ < count) leaves_ *= 2;
  winner_.assign(2 * static_cast<std::size_t>(leaves_), -1);
  for (int i = 0; i < count; ++i) winner_[leaves_ + i] = i;
  for (int node = leaves_ - 1; node >= 1; --node)
    if (winner_[2 * node] >= 0) winner_[node] = larger(keys, winner_[2 * node], winner_[2 * node + 1]);
}

void Tournament::update(std::span<const std::int64_t> keys, int index) {
  for (int node = (leaves_ + index) / 2; node >= 1; node /= 2)
    winner_[node] = larger(keys, winner_[2 * node], winner_[2 * node + 1]);
}

void Board::reset(std::span<const std::int64_t> demand_tiles, int workers, LoadForm form) {
  experts_ = static_cast<int>(demand_tiles.size());
  workers_ = workers;
  form_ = form;
  demand_.assign(demand_tiles.begin(), demand_tiles.end());
  replicas_.clear();
  of_expert_.resize(experts_);
  of_worker_.resize(workers_);
  for (auto& list : of_expert_) list.clear();
  for (auto& list : of_worker_) list.clear();
  alive_.assign(experts_, 0);
  load_.assign(workers_, 0);
  log_.clear();
}

void Board::add_standing(const LayerPlacement& placement, std::span<const WorkerTraits> traits) {
  for (int expert = 0; expert < experts_; ++expert) {
    if (demand_[expert] == 0) continue;
    const int home = stand_in(placement, expert, traits);
    AFORE_CHECK(home >= 0, "an expert with demand has no complete replica");
    apply_add(expert, home);
    for (const int worker : placement.holders(expert))
      if (worker != home && (!drains(traits, worker) || drains(traits, home))) apply_add(expert, worker);
  }
}

void Board::clear_work() {
  for (Replica& replica : replicas_) replica.tiles = 0;
}

void Board::all_on_primaries() {
  clear_work();
  for (int expert = 0; expert < experts_; ++expert)
    if (demand_[expert] > 0) replicas_[of_expert_[expert].front()].tiles = demand_[expert];
}

void Board::settle() {
  log_.clear();
  set_form(form_);
}

void Board::set_form(LoadForm form) {
  form_ = form;
  std::fill(load_.begin(), load_.end(), 0);
  for (const Replica& replica : replicas_) load_[replica.worker] += form_.whole(replica.tiles);
  busiest_.build(load_);
}

void Board::apply_move(int from, int to, std::int64_t tiles) {
  Replica& source = replicas_[from];
  Replica& sink = replicas_[to];
  const std::int64_t work = form_.per_tile * tiles;
  source.tiles -= tiles;
  load_[source.worker] -= work + (source.tiles == 0 ? form_.per_expert : 0);
  load_[sink.worker] += work + (sink.tiles == 0 ? form_.per_expert : 0);
  sink.tiles += tiles;
  busiest_.update(load_, source.worker);
  busiest_.update(load_, sink.worker);
}

int Board::apply_add(int expert, int worker) {
  const int id = static_cast<int>(replicas_.size());
  replicas_.push_back({expert, worker, 0, true});
  of_expert_[expert].push_back(id);
  of_worker_[worker].push_back(id);
  ++alive_[expert];
  return id;
}

void Board::move(int from, int to, std::int64_t tiles) {
  apply_move(from, to, tiles);
  log_.push_back({Change::Kind::move, from, to, tiles});
}

int Board::add(int expert, int worker) {
  log_.push_back({Change::Kind::add, expert, worker, 0});
  return apply_add(expert, worker);
}

void Board::retire(int replica) {
  AFORE_CHECK(replicas_[replica].tiles == 0, "a replica with work cannot be evicted");
  replicas_[replica].alive = false;
  --alive_[replicas_[replica].expert];
  log_.push_back({Change::Kind::retire, replica, 0, 0});
}

void Board::rewind(std::size_t mark) {
  while (log_.size() > mark) {
    const Change change = log_.back();
    log_.pop_back();
    switch (change.kind) {
      case Change::Kind::move: apply_move(change.b, change.a, change.tiles); break;
      case Change::Kind::add:
        of_expert_[change.a].pop_back();
        of_worker_[change.b].pop_back();
        --alive_[change.a];
        replicas_.pop_back();
        break;
      case Change::Kind::retire:
        replicas_[change.a].alive = true;
        ++alive_[replicas_[change.a].expert];
        break;
    }
  }
}

void Board::replay(std::span<const Change> changes) {
  for (const Change& change : changes) switch (change.kind) {
      case Change::Kind::move: move(change.a, change.b, change.tiles); break;
      case Change::Kind::add: add(change.a, change.b); break;
      case Change::Kind::retire: retire(change.a); break;
    }
}

void Board::save(std::vector<std::int64_t>& tiles) const {
  tiles.resize(replicas_.size());
  for (std::size_t i = 0; i < replicas_.size(); ++i) tiles[i] = replicas_[i].tiles;
}

void Board::restore(std::span<const std::int64_t> tiles) {
  AFORE_CHECK(tiles.size() == replicas_.size(), "saved work belongs to other replicas");
  for (std::size_t i = 0; i < tiles.size(); ++i) replicas_[i].tiles = tiles[i];
  settle();
}

std::vector<TileShare> Board::assignment() const {
  std::vector<TileShare> shares;
  shares.reserve(experts_ + workers_);
  for (int expert = 0; expert < experts_; ++expert) {
    const std::size_t begin = shares.size();
    for (const int id : of_expert_[expert])
      if (replicas_[id].tiles > 0) shares.push_back({expert, replicas_[id].worker, replicas_[id].tiles});
    std::sort(shares.begin() + static_cast<std::ptrdiff_t>(begin), shares.end(),
              [](const TileShare& a, const TileShare& b) { return a.worker < b.worker; });
  }
  return shares;
}

std::int64_t Board::max_load_under(const LoadForm& form) const {
  auto& load = scratch<std::vector<std::int64_t>, struct BoardLoad>();
  load.assign(workers_, 0);
  for (const Replica& replica : replicas_) load[replica.worker] += form.whole(replica.tiles);
  return *std::max_element(load.begin(), load.end());
}

}  // namespace afore::placement
