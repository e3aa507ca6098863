#include "verify/time_bounds.h"

#include <algorithm>
#include <numeric>

namespace afore::verify {
namespace {

Nanos work_within(Nanos time, std::int64_t slowness) {
  return static_cast<Nanos>(static_cast<Wide>(time) * 1000 / slowness);
}

// The largest c1*t + c2*a of whole tiles and experts that is at most `time`: what "below the bound" can mean.
Nanos attainable(const Counts& tiles, Nanos c1_ns, Nanos c2_ns, Nanos time) {
  if (c1_ns == 0) return c2_ns == 0 ? time : time / c2_ns * c2_ns;
  const std::int64_t active = std::count_if(tiles.begin(), tiles.end(), [](std::int64_t t) { return t > 0; });
  Nanos best = 0;
  for (std::int64_t a = 1; a <= active && c2_ns * a <= time; ++a) {
    const std::int64_t t = (time - c2_ns * a) / c1_ns;
    if (t >= a) best = std::max(best, c1_ns * t + c2_ns * a);
  }
  return best;
}

}  // namespace

TimeBounds::TimeBounds(const Facts& facts, const Counts& tiles, const std::vector<std::vector<int>>& holders,
                       const Counts& open_slots, std::int64_t copy_budget)
    : facts_(facts), tiles_(tiles) {
  const LayerCost& cost = facts.planner.cost;
  forms_.reserve(2);
  if (cost.rule == LoadRule::roofline) {
    add_form(cost.c1_ns, 0);
    add_form(0, cost.c2_ns);
  } else {
    add_form(cost.c1_ns, cost.c2_ns);
  }
  // Bounds refers to the sizes, which stay where they are from here on.
  for (Form& form : forms_) form.bounds.emplace(form.sizes, holders, open_slots, copy_budget);
}

void TimeBounds::add_form(Nanos c1_ns, Nanos c2_ns) {
  Counts sizes(tiles_.size(), 0);
  for (std::size_t e = 0; e < tiles_.size(); ++e)
    if (tiles_[e] > 0) sizes[e] = c1_ns * tiles_[e] + c2_ns;
  const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  forms_.push_back({std::move(sizes), c1_ns, c2_ns, total, std::nullopt});
}

std::int64_t TimeBounds::total() const {
  std::int64_t most = 0;
  for (const Form& form : forms_) most = std::max(most, form.total);
  return most;
}

Nanos TimeBounds::volume() const {
  const Wide slowed = static_cast<Wide>(total() / facts_.workers) * facts_.fastest / 1000;
  return static_cast<Nanos>(std::min<Wide>(slowed, INT64_MAX / 2));
}

bool TimeBounds::refutes(const Form& form, Nanos work) const {
  const Nanos most = attainable(tiles_, form.c1_ns, form.c2_ns, work);
  if (form.c1_ns == 0) return form.bounds->refutes(most);
  return form.bounds->refutes_time(most, tiles_, form.c1_ns, form.c2_ns);
}

bool TimeBounds::refutes(Nanos time) const {
  if (time < 0) return true;
  Wide room = 0;
  for (const std::int64_t slowness : facts_.slowness) room += work_within(time, slowness);
  const Nanos work = work_within(time, facts_.fastest);
  return std::any_of(forms_.begin(), forms_.end(),
                     [&](const Form& form) { return room < form.total || refutes(form, work); });
}

}  // namespace afore::verify
