#pragma once
// What a search found, as a plan.
#include <span>
#include <vector>

#include "core/assignment.h"
#include "placement/director/instance.h"

namespace afore::placement::director {

struct Solution {
  std::vector<Copy> copies;  // in execution order; into empty slots first, then over what is least recently used
  std::vector<TileShare> assignment;  // over the placement after the copies
  Nanos objective_ns = 0;             // with c0
  Nanos bound_ns = 0;                 // no plan within the limits has a lower objective
  Nanos standing_ns = 0;              // of the best split found without copies; never below objective_ns
  int programs = 0;                   // linear programs solved
  double ratio() const;               // objective over bound, 1 where there is nothing to do
};

// Copies that bring experts of the assignment where they do not stand, those with most work first.
void copies_for(const Instance& instance, std::span<const TileShare> assignment, std::vector<Copy>& copies);

// Of an assignment over the placement after the copies, with c0, from the rows of docs/records.md.
Nanos objective_of(const Instance& instance, const LayerPlacement& after, std::span<const TileShare> assignment);

// Fills copies, assignment and objective_ns with `found` where that is better than `standing`, a split over what
// stands.
void emit(const Instance& instance, std::span<const TileShare> standing, std::span<const TileShare> found,
          Solution& solution);

}  // namespace afore::placement::director
