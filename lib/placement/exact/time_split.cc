#include "placement/exact/time_split.h"

#include <algorithm>

#include "placement/exact/bounds.h"
#include "placement/exact/grid.h"
#include "placement/exact/merge.h"
#include "placement/exact/proof.h"
#include "placement/exact/search.h"
#include "placement/exact/tile_optimal.h"
#include "util/error.h"

namespace afore::placement {

using namespace exact;

struct ExactSplitter::Engine {
  std::int64_t load_on_primaries();
  void put_on_primaries();
  void alternatives(SplitResult& result);
  void finish(SplitResult& result);
  SplitResult plan(const SplitProblem& problem, std::vector<std::int64_t>& parts);
  SplitResult prove(const SplitProblem& problem, std::vector<std::int64_t>& parts, std::int64_t node_budget);

  Loads loads;
  Grid grid;
  SplitBounds bounds;
  Search search;
  TileOptimal tile_optimal;
  Merge merge;
  Proof proof;
  Loads::Saved best;
  std::vector<std::int64_t> primary_tiles, primary_active;
};

ExactSplitter::ExactSplitter() : engine_(std::make_unique<Engine>()) {}
ExactSplitter::~ExactSplitter() = default;
ExactSplitter::ExactSplitter(ExactSplitter&&) noexcept = default;
ExactSplitter& ExactSplitter::operator=(ExactSplitter&&) noexcept = default;

SplitResult ExactSplitter::plan(const SplitProblem& problem, std::vector<std::int64_t>& parts) {
  return engine_->plan(problem, parts);
}

std::int64_t ExactSplitter::sketch(const SplitProblem& problem, std::vector<std::int64_t>& parts) {
  engine_->loads.reset(problem, parts, false);
  if (engine_->loads.active_experts() == 0) return 0;
  engine_->search.start(engine_->loads);
  engine_->search.descend(engine_->loads, 0);
  return engine_->loads.max_load();
}

SplitResult ExactSplitter::prove(const SplitProblem& problem, std::vector<std::int64_t>& parts,
                                 std::int64_t node_budget) {
  return engine_->prove(problem, parts, node_budget);
}

// Largest load with everything on primaries.
std::int64_t ExactSplitter::Engine::load_on_primaries() {
  const int workers = loads.workers();
  primary_tiles.resize(workers);
  primary_active.resize(workers);
  for (int w = 0; w < workers; ++w) {
    primary_tiles[w] = loads.pinned_tiles(w);
    primary_active[w] = loads.pinned_active(w);
  }
  for (const int expert : loads.free_experts()) {
    const int worker = loads.replicas().worker(loads.replicas().first(expert));
    primary_tiles[worker] += loads.demand(expert);
    ++primary_active[worker];
  }
  std::int64_t most = 0;
  for (int w = 0; w < workers; ++w) most = std::max(most, loads.load_of(w, primary_tiles[w], primary_active[w]));
  return most;
}

void ExactSplitter::Engine::put_on_primaries() {
  for (const int expert : loads.free_experts()) {
    const int first = loads.replicas().first(expert);
    for (int id = first; id < loads.replicas().first(expert + 1); ++id)
      if (loads.part(id) > 0) loads.put(id, -loads.part(id));
    loads.put(first, loads.demand(expert));
  }
}

// Continues from one of the two other candidates where that is better than what the search found.
void ExactSplitter::Engine::alternatives(SplitResult& result) {
  loads.save(best);
  const auto take = [&] {
    search.descend(loads, result.bound);
    result.load = search.repair(loads, result.bound);
    loads.save(best);
  };
  tile_optimal.run(loads);
  if (loads.max_load() < result.load) take();
  else loads.restore(best);
  if (load_on_primaries() >= result.load) return;
  put_on_primaries();
  take();
}

// Merging parts may also lower the largest load.
void ExactSplitter::Engine::finish(SplitResult& result) {
  merge.run(loads);
  loads.recount();
  AFORE_CHECK(result.bound <= loads.max_load() && loads.max_load() <= result.load, "the split's load stands");
  result.load = loads.max_load();
}

SplitResult ExactSplitter::Engine::plan(const SplitProblem& problem, std::vector<std::int64_t>& parts) {
  loads.reset(problem, parts, false);
  grid.reset(loads);
  bounds.reset(loads, grid);
  if (loads.active_experts() == 0) return {};
  search.start(loads);
  SplitResult result;
  result.bound = std::max(bounds.volume(loads.max_load()), bounds.pinned());
  search.descend(loads, result.bound);
  result.load = loads.max_load();
  if (result.load > result.bound) {
    result.bound = bounds.prefixes(result.bound, result.load);
    result.bound = bounds.forced(result.bound, result.load);
    result.load = search.repair(loads, result.bound);
  }
  if (result.load > result.bound) alternatives(result);
  finish(result);
  return result;
}

SplitResult ExactSplitter::Engine::prove(const SplitProblem& problem, std::vector<std::int64_t>& parts,
                                         std::int64_t node_budget) {
  loads.reset(problem, parts, true);
  grid.reset(loads);
  bounds.reset(loads, grid);
  if (loads.active_experts() == 0) return {};
  SplitResult result;
  result.load = loads.max_load();
  result.bound = std::max(bounds.volume(result.load), bounds.pinned());
  if (result.bound == result.load) return result;
  result.bound = bounds.prefixes(result.bound, result.load);
  result.bound = bounds.forced(result.bound, result.load);
  if (result.bound == result.load) return result;
  const std::int64_t planned = result.load;
  proof.run(loads, grid, bounds, search, node_budget, result);
  if (result.load == planned) return result;
  finish(result);
  return result;
}

}  // namespace afore::placement
