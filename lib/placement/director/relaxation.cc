#include "placement/director/relaxation.h"

#include <algorithm>
#include <cmath>

namespace afore::placement::director {
namespace {

constexpr double kUnbounded = 1e6;   // of C and M in units of the target, which is 1
constexpr double kTolerance = 1e-7;  // a target is refuted where the bound passes it by more
constexpr double kNothing = 1e-9;
constexpr int kLoadRows = 1 + Hull::kEdges;

}  // namespace

void Relaxation::list_columns() {
  const Instance& in = *instance_;
  columns_.clear();
  std::vector<std::uint8_t> there(in.workers());
  std::vector<std::vector<int>> kept(in.experts()), evictable(in.experts());
  for (const ReplicaTable::Extra& extra : in.kept()) kept[extra.expert].push_back(extra.worker);
  for (const OpenSlot& open : in.open())
    if (open.holds != kNoExpert) evictable[open.holds].push_back(open.worker);
  fixed_tiles_.assign(in.workers(), 0);
  fixed_active_.assign(in.workers(), 0);
  columns_on_.assign(in.workers(), 0);
  for (const int e : in.active()) {
    std::fill(there.begin(), there.end(), 0);
    const auto add = [&](Column column) {
      column.expert = e;
      there[column.worker] = 1;
      ++columns_on_[column.worker];
      columns_.push_back(column);
    };
    const std::size_t first = columns_.size();
    add({.worker = in.homes()[e], .home = true});
    for (const int w : kept[e]) add({.worker = w});
    for (const int w : evictable[e]) add({.worker = w, .evictable = true});
    for (int w = 0; w < in.workers() && in.may_copy(e); ++w)
      if (!there[w] && !in.open_on(w).empty()) add({.worker = w, .copy = true});
    if (columns_.size() - first > 1) continue;
    columns_.back().alone = true;
    fixed_tiles_[in.homes()[e]] += in.tiles()[e];
    ++fixed_active_[in.homes()[e]];
  }
}

void Relaxation::list_rows() {
  const Instance& in = *instance_;
  numbers_.clear();
  const auto add = [&](double lower, double upper) {
    numbers_.row_lower.push_back(lower);
    numbers_.row_upper.push_back(upper);
    return numbers_.rows() - 1;
  };
  for (std::size_t i = 0; i < in.active().size(); ++i) add(1, 1);
  first_load_ = numbers_.rows();
  for (int i = 0; i < in.workers() * kLoadRows; ++i) add(-kInfinite, 0);
  first_slot_ = numbers_.rows();
  for (int w = 0; w < in.workers(); ++w) add(-kInfinite, static_cast<double>(in.open_on(w).size()));
  budget_row_ = add(-kInfinite, static_cast<double>(in.copies()));
  first_link_ = numbers_.rows();
  if (in.link().row_ns == 0) return;
  std::int64_t padding = -in.rows();
  for (const std::int64_t tiles : in.tiles()) padding += tiles * in.cost().tile_tokens;
  add(-kInfinite, static_cast<double>(padding));
  for (int i = 0; i < 2 * in.workers(); ++i) add(-kInfinite, 0);
}

// Column 0 is C. With a link: column 1 is M, then one per worker for the rows that its last tiles lack, in rows: all of
// them together what all experts' last tiles lack, and an expert's only where it has tiles.
void Relaxation::add_columns() {
  const Instance& in = *instance_;
  for (int i = 0; i < in.workers() * kLoadRows; ++i) numbers_.add_entry(first_load_ + i, -1);
  numbers_.end_column(1, kUnbounded);
  const bool link = in.link().row_ns > 0;
  if (link) {
    for (int w = 0; w < in.workers(); ++w) numbers_.add_entry(first_link_ + 1 + 2 * w, -1);
    numbers_.end_column(1, kUnbounded);
    for (int w = 0; w < in.workers(); ++w) {
      numbers_.add_entry(first_link_, 1);
      numbers_.add_entry(first_link_ + 1 + 2 * w, -1);
      numbers_.add_entry(first_link_ + 2 + 2 * w, 1);
      numbers_.end_column(0, kUnbounded);
    }
  }
  first_column_ = numbers_.columns();
  int row = -1, expert = -1;
  for (const Column& column : columns_) {
    if (column.expert != expert) ++row;
    expert = column.expert;
    numbers_.add_entry(row, 1);
    for (int i = 0; i < kLoadRows; ++i) numbers_.add_entry(first_load_ + column.worker * kLoadRows + i, 1);
    if (column.copy || column.evictable) numbers_.add_entry(first_slot_ + column.worker, 1);
    if (column.copy) numbers_.add_entry(budget_row_, 1);
    if (link) {
      numbers_.add_entry(first_link_ + 1 + 2 * column.worker, 1);
      numbers_.add_entry(first_link_ + 2 + 2 * column.worker, -1);
    }
    numbers_.end_column(0, 1);
  }
}

void Relaxation::reset(const Instance& instance) {
  instance_ = &instance;
  list_columns();
  list_rows();
  add_columns();
  program_.load(numbers_);
  hulls_.resize(instance.workers());
  solves_ = 0;
}

// Within `room` ns of unslowed load, beside what can be nowhere else.
std::int64_t Relaxation::most_tiles(const Column& column, std::int64_t room) const {
  const LayerCost& cost = instance_->cost();
  const std::int64_t tiles = instance_->tiles()[column.expert];
  const std::int64_t active = fixed_active_[column.worker] + 1, beside = fixed_tiles_[column.worker];
  const std::int64_t weights = cost.c2_ns * active;
  if (weights > room) return 0;
  const std::int64_t left = cost.rule == LoadRule::additive ? room - weights : room;
  if (cost.c1_ns == 0) return tiles;
  return std::min(tiles, left / cost.c1_ns - beside);
}

void Relaxation::price_column(int index, std::int64_t target) {
  const Instance& in = *instance_;
  const LayerCost& cost = in.cost();
  Column& column = columns_[index];
  const int w = column.worker, j = first_column_ + index;
  const std::int64_t n = in.tiles()[column.expert];
  const std::int64_t compute = target - in.least_communication();
  // The home stays, so that there always is a solution: it is no part of plans within the target either way.
  const std::int64_t most = column.alone ? n : most_tiles(column, in.room(w, compute));
  numbers_.limit[j] = most < 1 && !column.home ? 0 : 1;
  column.part = static_cast<double>(n) / static_cast<double>(std::max<std::int64_t>(1, most));
  const double tiles = static_cast<double>(n), slow = static_cast<double>(in.slowdown(w)) / 1000;
  const double c1 = static_cast<double>(cost.c1_ns) * slow / static_cast<double>(target) * tiles;
  const double c2 = static_cast<double>(cost.c2_ns) * slow / static_cast<double>(target) * column.part;
  double* entry = &numbers_.entry[numbers_.start[j] + 1];
  const bool roofline = cost.rule == LoadRule::roofline;
  const double load = roofline ? std::max(c1, c2) : c1 + c2;
  *entry++ = roofline && c1 > 0 ? c1 : load;
  for (int i = 0; i < Hull::kEdges; ++i) {
    const Edge& edge = hulls_[w].edge(i);
    if (in.link().row_ns > 0 || edge.limit <= 0) *entry++ = roofline && c2 > 0 ? c2 : load;
    else *entry++ = (edge.per_tile * tiles + edge.per_active * column.part) / edge.limit;
  }
  if (column.copy || column.evictable) *entry++ = column.part;
  if (column.copy) *entry++ = column.part;
  if (in.link().row_ns == 0) return;
  const std::int64_t padded = n * cost.tile_tokens;
  *entry++ = static_cast<double>(padded) * in.link().row_ns / static_cast<double>(target);
  *entry++ = -std::max(kNothing, static_cast<double>((padded - in.counts()[column.expert]) * n));
}

void Relaxation::price(std::int64_t target) {
  const Instance& in = *instance_;
  const double active = static_cast<double>(in.active().size()) / in.workers();
  for (int w = 0; w < in.workers(); ++w) hulls_[w].reset(in.cost(), in.room(w, target), columns_on_[w], active);
  if (in.link().row_ns > 0)
    for (int w = 0; w < in.workers(); ++w)
      numbers_.entry[numbers_.start[2 + w] + 1] = -in.link().row_ns / static_cast<double>(target);
  for (int i = 0; i < static_cast<int>(columns_.size()); ++i) price_column(i, target);
}

bool Relaxation::refutes(std::int64_t target) {
  if (target < 1) return true;  // of a target with work
  price(target);
  program_.solve(numbers_);
  ++solves_;
  return program_.dual_bound() > 1 + kTolerance;
}

void Relaxation::wishes(std::vector<Wish>& wishes) const {
  wishes.clear();
  for (int i = 0; i < static_cast<int>(columns_.size()); ++i) {
    const Column& column = columns_[i];
    const double share = program_.value(first_column_ + i);
    if (!column.copy || share < 1e-6) continue;
    wishes.push_back({column.expert, column.worker, std::min(1.0, share * column.part), share});
  }
  std::stable_sort(wishes.begin(), wishes.end(), [](const Wish& a, const Wish& b) { return a.copy > b.copy; });
}

}  // namespace afore::placement::director
