#include "placement/exact/proof.h"

#include <algorithm>

namespace afore::placement::exact {
namespace {

constexpr int kScanWorkers = 16;  // up to here all workers are searched at once, and in clusters where that fails
constexpr int kProofRounds = 64;  // of a scan or of clusters: where loads are fine-grained, gains may be tiny
constexpr int kScanSteps = 8;     // attainable loads between bound and load that are tried one by one

}  // namespace

void Proof::raise_by_waste(const Loads& loads, const Grid& grid, SplitBounds& bounds, SplitResult& result) {
  waste_.reset(loads, result.load);
  int steps = 0;
  for (; steps < kScanSteps && result.bound < result.load; ++steps) {
    if (waste_.fits(bounds, result.bound)) return;
    result.bound = std::min(grid.at_least(result.bound + 1), result.load);
  }
  std::int64_t high = result.load;  // nothing refuted here
  while (result.bound < high) {
    const std::int64_t middle = result.bound + (high - result.bound) / 2;
    if (waste_.fits(bounds, middle)) high = middle;
    else result.bound = std::min(grid.at_least(middle + 1), result.load);
  }
}

// From the bound upwards, so that the first split found is the best one; far apart, from the middle.
void Proof::scan(Loads& loads, const Grid& grid, std::int64_t node_budget, SplitResult& result) {
  bool open = false;  // a threshold at or above the bound could not be decided
  for (int round = 0; result.bound < result.load; ++round) {
    if (round == kProofRounds) return;
    std::int64_t limit = result.bound;
    if (open) {
      limit = result.load - 1;
    } else {
      std::int64_t reach = limit;
      for (int step = 0; step < kScanSteps && reach < result.load; ++step) reach = grid.at_least(reach + 1);
      if (reach < result.load) limit = std::max(limit, grid.at_most(limit + (result.load - limit) / 2));
    }
    switch (clusters_.whole(loads, limit, node_budget)) {
      case Answer::infeasible: result.bound = std::min(grid.at_least(limit + 1), result.load); break;
      case Answer::feasible: result.load = loads.max_load(); break;
      case Answer::unknown:
        if (open || grid.at_most(result.load - 1) <= limit) {
          result.budget_hit = true;
          return;
        }
        open = true;
        break;
    }
  }
}

void Proof::by_clusters(Loads& loads, const Grid& grid, Search& search, std::int64_t node_budget, SplitResult& result) {
  // Where the scan was undecided it gave up just below the load that stands: no need to search all workers there again.
  const std::int64_t scanned = result.budget_hit ? result.load : 0;
  result.budget_hit = false;
  for (int round = 0; result.bound < result.load; ++round) {
    result.budget_hit = round == kProofRounds;
    if (result.budget_hit) return;
    const std::int64_t limit = grid.at_most(result.load - 1);
    if (clusters_.resolve(loads, limit, node_budget)) {
      search.descend(loads, result.bound);
      result.load = loads.max_load();
      continue;
    }
    switch (clusters_.prove(loads, limit, node_budget, result.load != scanned)) {
      case Answer::infeasible: result.bound = result.load; break;
      case Answer::feasible: result.load = loads.max_load(); break;
      case Answer::unknown: result.budget_hit = true; return;
    }
  }
}

void Proof::run(Loads& loads, const Grid& grid, SplitBounds& bounds, Search& search, std::int64_t node_budget,
                SplitResult& result) {
  raise_by_waste(loads, grid, bounds, result);
  clusters_.reset(loads);
  if (loads.workers() <= kScanWorkers) scan(loads, grid, node_budget, result);
  by_clusters(loads, grid, search, node_budget, result);
}

}  // namespace afore::placement::exact
