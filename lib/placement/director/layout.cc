#include "placement/director/layout.h"

#include <algorithm>

#include "placement/director/link_balance.h"
#include "util/error.h"

namespace afore::placement::director {

void Layout::reset(const Instance& instance) {
  instance_ = &instance;
  held_.clear();
  there_.assign(static_cast<std::size_t>(instance.experts()) * instance.workers(), 0);
  copies_ = 0;
  for (const int e : instance.active()) there_[index(e, instance.homes()[e])] = 1;
  for (const ReplicaTable::Extra& extra : instance.kept()) there_[index(extra.expert, extra.worker)] = 1;
  for (const OpenSlot& open : instance.open()) {
    held_.push_back(open.holds);
    if (open.holds != kNoExpert) there_[index(open.holds, open.worker)] = 1;
  }
}

bool Layout::can_set(int slot, int expert) const {
  return instance_->may_copy(expert) && !holds(expert, instance_->open()[slot].worker) &&
         (is_copy(slot) || copies_ < instance_->copies());
}

void Layout::put(int slot, int expert) {
  const int worker = instance_->open()[slot].worker;
  if (held_[slot] != kNoExpert) there_[index(held_[slot], worker)] = 0;
  held_[slot] = expert;
  if (expert != kNoExpert) there_[index(expert, worker)] = 1;
}

void Layout::set(int slot, int expert) {
  copies_ -= is_copy(slot);
  const OpenSlot& open = instance_->open()[slot];
  // A copy elsewhere on the worker may have taken the place of what stood here.
  const bool stands = open.holds != kNoExpert && (held_[slot] == open.holds || !holds(open.holds, open.worker));
  put(slot, expert != kNoExpert ? expert : stands ? open.holds : kNoExpert);
  copies_ += is_copy(slot);
}

int Layout::slot_for(int worker) const {
  const auto open = instance_->open();
  int best = -1;
  for (int i = instance_->first_open(worker); i < instance_->first_open(worker + 1); ++i)
    if (!is_copy(i) && (best < 0 || open[i].before(open[best]))) best = i;
  return best;
}

SplitProblem Evaluator::problem(const Layout& layout) {
  const Instance& in = *instance_;
  extras_.assign(in.kept().begin(), in.kept().end());
  for (int i = 0; i < static_cast<int>(in.open().size()); ++i)
    if (layout.held(i) != kNoExpert) extras_.push_back({layout.held(i), in.open()[i].worker});
  table_.assign(in.homes(), in.workers(), extras_);
  return {table_, in.tiles(), in.cost().rule, in.cost().c1_ns, in.cost().c2_ns, in.traits()};
}

std::int64_t Evaluator::with_link(std::int64_t compute) {
  return instance_->link().row_ns > 0 ? balance_with_link(*instance_, table_, parts_) : compute;
}

std::int64_t Evaluator::sketch(const Layout& layout) { return with_link(splitter_.sketch(problem(layout), parts_)); }

std::int64_t Evaluator::split(const Layout& layout) { return with_link(splitter_.plan(problem(layout), parts_).load); }

void Evaluator::loads(std::vector<std::int64_t>& by_worker) const {
  const Instance& in = *instance_;
  by_worker.assign(in.workers(), 0);
  for (int w = 0; w < in.workers(); ++w) {
    std::int64_t tiles = 0, active = 0;
    for (const int id : table_.of_worker(w)) {
      tiles += parts_[id];
      active += parts_[id] > 0;
    }
    by_worker[w] = in.load(w, tiles, active);
  }
}

std::vector<TileShare> Evaluator::assignment() const {
  std::vector<TileShare> shares;
  for (int id = 0; id < table_.replicas(); ++id)
    if (parts_[id] > 0) shares.push_back({table_.expert(id), table_.worker(id), parts_[id]});
  std::sort(shares.begin(), shares.end(), [](const TileShare& a, const TileShare& b) {
    return a.expert != b.expert ? a.expert < b.expert : a.worker < b.worker;
  });
  return shares;
}

}  // namespace afore::placement::director
