#include "plan_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace afore::test {
namespace {

using Place = PlanSpace::Place;

// CBC's tolerances, in units of the scaled objective.
constexpr double kTolerance = 1e-4;

std::int64_t slowdown(const Weights& weights, int worker) {
  return weights.slowdown_permille.empty() ? 1000 : weights.slowdown_permille[worker];
}

class Model {
 public:
  Model(const PlanSpace& space, const Weights& weights, std::int64_t ceiling) : space_(space), weights_(weights) {
    // Loads of workers that are not slow are whole multiples of the scale, and those of slow ones are rounded up: a
    // whole T either way, so that CBC may round its bounds up.
    if (weights.slowdown_permille.empty())
      scale_ = std::max<std::int64_t>(1, std::gcd(weights.per_tile, weights.per_expert));
    largest_ = milp_.add_variable(ceiling / scale_);
    milp_.minimise(largest_);
    for (const Place& place : space.places) {
      const std::int64_t tiles = space.tiles[place.expert];
      tiles_.push_back(milp_.add_variable(tiles));
      works_.push_back(milp_.add_variable(1));
      milp_.at_most({{tiles_.back(), 1}, {works_.back(), -tiles}}, 0);
    }
    demand();
    for (int w = 0; w < space.workers; ++w) {
      load(w);
      slots(w);
    }
    std::vector<Milp::Term> copies;
    for (std::size_t p = 0; p < space.places.size(); ++p)
      if (space.places[p].kind == Place::Kind::copy) copies.push_back({works_[p], 1});
    if (!copies.empty()) milp_.at_most(copies, space.copies);
  }

  const Milp& milp() const { return milp_; }

  // Largest load of a solution, recounted in integers.
  std::int64_t load_of(const std::vector<double>& values) const {
    std::vector<std::int64_t> done(space_.tiles.size(), 0), there(space_.workers, 0), active(space_.workers, 0);
    std::vector<std::int64_t> taken(space_.workers, 0);
    std::int64_t copies = 0;
    for (std::size_t p = 0; p < space_.places.size(); ++p) {
      const Place& place = space_.places[p];
      const std::int64_t tiles = std::llround(values[tiles_[p]]);
      if (std::abs(values[tiles_[p]] - static_cast<double>(tiles)) > 1e-3 || tiles < 0)
        throw std::runtime_error("cbc's solution is not whole");
      if (tiles == 0) continue;
      done[place.expert] += tiles;
      there[place.worker] += tiles;
      active[place.worker] += 1;
      taken[place.worker] += place.kind != Place::Kind::standing;
      copies += place.kind == Place::Kind::copy;
    }
    if (done != space_.tiles || copies > space_.copies) throw std::runtime_error("cbc's solution is no plan");
    std::int64_t most = 0;
    for (int w = 0; w < space_.workers; ++w) {
      if (taken[w] > space_.safe_slots[w]) throw std::runtime_error("cbc's solution takes slots that are not safe");
      most = std::max(most, weights_.load(w, there[w], active[w]));
    }
    return most;
  }

  // The least load that an objective of `bound` or more allows.
  std::int64_t lower(double bound) const { return scale_ * static_cast<std::int64_t>(std::ceil(bound - kTolerance)); }

 private:
  void demand() {
    std::vector<std::vector<Milp::Term>> parts(space_.tiles.size());
    for (std::size_t p = 0; p < space_.places.size(); ++p) parts[space_.places[p].expert].push_back({tiles_[p], 1});
    for (std::size_t e = 0; e < parts.size(); ++e)
      if (!parts[e].empty()) milp_.equal(parts[e], space_.tiles[e]);
  }

  void load(int worker) {
    const std::int64_t slow = slowdown(weights_, worker);
    const std::int64_t common = std::gcd(slow, std::int64_t{1000});
    std::vector<Milp::Term> compute, memory;
    for (std::size_t p = 0; p < space_.places.size(); ++p) {
      if (space_.places[p].worker != worker) continue;
      if (weights_.per_tile > 0) compute.push_back({tiles_[p], weights_.per_tile / scale_ * (slow / common)});
      if (weights_.per_expert > 0) memory.push_back({works_[p], weights_.per_expert / scale_ * (slow / common)});
    }
    const auto row = [&](std::vector<Milp::Term> terms) {
      if (terms.empty()) return;
      terms.push_back({largest_, -1000 / common});
      milp_.at_most(std::move(terms), 0);
    };
    if (weights_.rule == LoadRule::roofline) {
      row(compute);
      row(memory);
      return;
    }
    compute.insert(compute.end(), memory.begin(), memory.end());
    row(compute);
  }

  void slots(int worker) {
    std::vector<Milp::Term> taken;
    for (std::size_t p = 0; p < space_.places.size(); ++p)
      if (space_.places[p].worker == worker && space_.places[p].kind != Place::Kind::standing)
        taken.push_back({works_[p], 1});
    if (!taken.empty()) milp_.at_most(taken, space_.safe_slots[worker]);
  }

  const PlanSpace& space_;
  const Weights& weights_;
  Milp milp_;
  std::int64_t scale_ = 1;
  int largest_ = 0;
  std::vector<int> tiles_, works_;
};

}  // namespace

std::int64_t Weights::load(int worker, std::int64_t tiles, std::int64_t activated) const {
  const std::int64_t compute = per_tile * tiles, memory = per_expert * activated;
  const std::int64_t work = rule == LoadRule::additive ? compute + memory : std::max(compute, memory);
  const std::int64_t slow = slowdown(*this, worker);
  return static_cast<std::int64_t>((static_cast<__int128>(work) * slow + 999) / 1000);
}

PlanSpace PlanSpace::of(const LayerPlacement& placement, std::span<const std::uint8_t> busy,
                        std::span<const std::int64_t> tiles, std::int64_t copies) {
  PlanSpace space;
  space.workers = placement.workers();
  space.tiles.assign(tiles.begin(), tiles.end());
  space.safe_slots.assign(space.workers, 0);
  space.copies = copies;
  for (int w = 0; w < space.workers; ++w) {
    std::vector<bool> held(tiles.size(), false);
    for (int slot = 0; slot < placement.slots_per_worker(); ++slot) {
      const int expert = placement.expert_at(w, slot);
      const bool safe = !busy[placement.index(w, slot)] && !placement.is_primary_slot(w, slot);
      space.safe_slots[w] += safe;
      if (expert == kNoExpert) continue;
      held[expert] = true;
      if (tiles[expert] > 0) space.places.push_back({safe ? Place::Kind::evictable : Place::Kind::standing, expert, w});
    }
    for (std::size_t e = 0; e < tiles.size() && copies > 0 && space.safe_slots[w] > 0; ++e)
      if (!held[e] && tiles[e] > 0) space.places.push_back({Place::Kind::copy, static_cast<int>(e), w});
  }
  return space;
}

Optimum least_load(const Cbc& cbc, const PlanSpace& space, const Weights& weights, std::int64_t ceiling,
                   const Effort& effort) {
  if (std::all_of(space.tiles.begin(), space.tiles.end(), [](std::int64_t tiles) { return tiles == 0; }))
    return {0, 0, true};
  const Model model(space, weights, ceiling);
  const MilpAnswer answer = cbc.solve(model.milp(), effort.nodes, effort.seconds);
  Optimum optimum;
  optimum.within_ceiling = answer.state != MilpAnswer::State::infeasible;
  if (!answer.values.empty()) optimum.upper = model.load_of(answer.values);
  optimum.lower = std::max<std::int64_t>(0, model.lower(answer.bound));
  // What was found in integers stands, whatever tolerances made of its objective.
  if (optimum.upper >= 0) optimum.lower = std::min(optimum.lower, optimum.upper);
  return optimum;
}

}  // namespace afore::test
