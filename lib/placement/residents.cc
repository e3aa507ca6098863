#include "placement/residents.h"

#include <algorithm>
#include <numeric>

namespace afore::placement {
namespace {

constexpr int kTries = 1, kUrgentTries = 8;  // candidates per target
constexpr int kHotWorkers = 2, kColdWorkers = 3;
constexpr int kWorthwhilePermille = 15;          // of the samples' loads: below it nothing is copied
constexpr int kChoosePermille = 2;               // and at the first choice, where all is copied anyway
constexpr std::int64_t kChooseEffort = 200'000;  // workers and experts looked at by the first choice
constexpr std::int64_t kLongestRest = 512;
constexpr double kLongMemory = 1.0 / 64, kShortMemory = 1.0 / 4, kShift = 1.05;

bool worthwhile(std::int64_t value, std::int64_t better, int permille) {
  return (value - better) > value / 1000 * permille;
}

}  // namespace

bool Residents::lane_idle(int from, int to, Nanos copy_ns) const {
  return std::max(out_free_[from], in_free_[to]) < clock_ns_ + copy_ns;
}

void Residents::occupy(int from, int to, Nanos copy_ns) {
  out_free_[from] = in_free_[to] = std::max({out_free_[from], in_free_[to], clock_ns_}) + copy_ns;
}

void Residents::observe(Layer& layer, const PlannedSplit& split) const {
  const std::span<const std::int64_t> tiles = split.problem.tiles;
  layer.ring.resize(kRemembered * tiles.size(), 0);
  std::copy(tiles.begin(), tiles.end(),
            layer.ring.begin() + static_cast<std::ptrdiff_t>(layer.targets % kRemembered * tiles.size()));
  const double ratio = static_cast<double>(split.load) / static_cast<double>(split.floor);
  if (layer.targets++ == 0) layer.usual = layer.recent = ratio;
  layer.usual += (ratio - layer.usual) * kLongMemory;
  layer.recent += (ratio - layer.recent) * kShortMemory;
}

bool Residents::unusual(int layer, std::int64_t load, std::int64_t floor) const {
  const auto it = layers_.find(layer);
  if (it == layers_.end() || it->second.targets < kRemembered) return true;
  return static_cast<double>(load) > it->second.usual * kShift * static_cast<double>(floor);
}

std::span<const Arriving> Residents::arriving(const Target& target) {
  std::vector<Arriving>& list = layers_[target.layer].arriving;
  std::erase_if(list, [&](const Arriving& copy) { return copy.end_ns <= clock_ns_ && copy.step < target.step; });
  return list;
}

void Residents::send(const Request& request, Layer& layer, const Copy& copy, std::vector<Copy>& copies) {
  const Nanos ns = copy_ns(request.cost, request.workers, copy.from, copy.to);
  copies.push_back(copy);
  occupy(copy.from, copy.to, ns);
  // The clock counts predicted times, so a quarter more is allowed for.
  layer.arriving.push_back({copy.expert, copy.to, copy.slot, in_free_[copy.to] + ns / 4, request.target.step});
}

bool Residents::awake(Layer& layer) const {
  if (layer.targets < kRemembered) return false;
  if (layer.rest == 0) return true;
  --layer.rest;
  if (layer.recent < layer.usual * kShift) return false;
  // A shift. What is usual now has to be learned anew.
  layer.usual = layer.recent;
  layer.rest = 0;
  layer.last_rest = 1;
  layer.urgent = true;
  return true;
}

void Residents::list_slots(const Request& request, const PlannedSplit& split, std::span<const Arriving> arriving) {
  const LayerPlacement& placement = request.placement;
  const ReplicaTable& replicas = split.problem.replicas;
  homes_.resize(placement.experts());
  for (int e = 0; e < placement.experts(); ++e) homes_[e] = stand_in(placement, e, request.workers);
  extras_.clear();
  empty_.clear();
  for (int w = 0; w < placement.workers(); ++w) {
    if (drains(request.workers, w)) continue;
    for (int slot = 0; slot < placement.slots_per_worker(); ++slot) {
      const int expert = placement.expert_at(w, slot);
      if (expert != kNoExpert && homes_[expert] == w) continue;
      // Still listed: candidates name replicas by their place in the list, which only the placement may change.
      const bool kept = !request.kept.empty() && request.kept[placement.index(w, slot)] != 0;
      const bool busy = request.is_busy(w, slot);
      if (expert == kNoExpert) {
        if (!busy && !kept) empty_.push_back({kNoExpert, w, slot, true});
        continue;
      }
      bool works = false;
      for (int id = replicas.first(expert); id < replicas.first(expert + 1); ++id)
        works = works || (replicas.worker(id) == w && split.parts[id] > 0);
      const bool arrives = std::any_of(arriving.begin(), arriving.end(),
                                       [&](const Arriving& copy) { return copy.worker == w && copy.slot == slot; });
      extras_.push_back({expert, w, slot, !busy && !works && !arrives && !kept});
    }
  }
}

void Residents::choose(const Request& request, const SplitProblem& problem, Layer& layer) {
  layer.chosen = true;
  const std::vector<Extra> standing = extras_;
  expert_work_.assign(homes_.size(), 0);
  for (std::size_t i = 0; i < layer.ring.size(); ++i)
    if (layer.ring[i] > 0)
      expert_work_[i % homes_.size()] += static_cast<double>(problem.per_tile * layer.ring[i] + problem.per_expert);
  rule_.reset(homes_, expert_work_, request.pinned, request.placement.workers());
  for (const Extra& extra : extras_) rule_.add_replica(extra.expert, extra.worker);
  for (const Extra& slot : empty_) rule_.add_empty(slot.worker);
  for (Fill fill; rule_.next(fill);) extras_.push_back({fill.expert, fill.worker, 0, true});
  const auto cost = static_cast<std::int64_t>(homes_.size()) + request.placement.workers();
  for (std::int64_t effort = 0; effort < kChooseEffort;) {
    begin_round(request, problem, layer);
    // What stands already stays: only the choice may change.
    std::erase_if(layer.candidates, [&](const Candidate& c) { return c.extra < std::ssize(standing); });
    effort += std::ssize(layer.candidates) * kRemembered * cost;
    if (layer.candidates.empty() || effort >= kChooseEffort) break;
    try_candidates(problem, layer, static_cast<int>(layer.candidates.size()));
    if (!worthwhile(layer.value, layer.best_value, kChoosePermille)) break;
    extras_[layer.best.extra].expert = layer.best.expert;
  }
  layer.samples.clear();
  for (std::size_t i = standing.size(); i < extras_.size(); ++i)
    layer.wanted.push_back({extras_[i].expert, extras_[i].worker});
  extras_ = standing;
}

void Residents::copy_wanted(const Request& request, Layer& layer, std::int64_t budget, std::vector<Copy>& copies) {
  for (std::size_t i = 0; i < layer.wanted.size() && budget > 0;) {
    const Fill want = layer.wanted[i];
    if (request.is_pinned(want.expert)) {  // for now: a copy of it is under way
      ++i;
      continue;
    }
    const int from = homes_[want.expert];
    const auto slot =
        std::find_if(empty_.begin(), empty_.end(), [&](const Extra& e) { return e.worker == want.worker; });
    const bool possible = slot != empty_.end() && !request.placement.holds(want.expert, want.worker);
    if (possible && !lane_idle(from, want.worker, copy_ns(request.cost, request.workers, from, want.worker))) {
      ++i;
      continue;
    }
    if (possible) {
      send(request, layer, {want.expert, from, want.worker, slot->slot}, copies);
      empty_.erase(slot);
      --budget;
    }
    layer.wanted.erase(layer.wanted.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void Residents::begin_round(const Request& request, const SplitProblem& problem, Layer& layer) {
  layer.samples = layer.ring;
  layer.stamp = request.placement.stamp();
  layer.candidates.clear();
  layer.tried = 0;
  const std::size_t experts = homes_.size();
  const int workers = request.placement.workers();
  trial_.clear();
  for (const Extra& extra : extras_) trial_.push_back({extra.expert, extra.worker});
  table_.assign(homes_, workers, trial_);
  work_.assign(table_.replicas(), 0);
  total_.assign(workers, 0);
  busiest_.assign(workers, 0);
  load_.resize(workers);
  layer.value = 0;
  for (std::size_t at = 0; at < layer.samples.size(); at += experts) {
    const SplitProblem sample{table_,
                              std::span(layer.samples).subspan(at, experts),
                              problem.rule,
                              problem.per_tile,
                              problem.per_expert,
                              problem.traits};
    layer.value += splitter_.sketch(sample, parts_);
    std::fill(load_.begin(), load_.end(), 0);
    for (int id = 0; id < table_.replicas(); ++id) {
      if (parts_[id] == 0) continue;
      const std::int64_t part = problem.per_tile * parts_[id] + problem.per_expert;
      load_[table_.worker(id)] += part;
      work_[id] += part;
    }
    busiest_[std::max_element(load_.begin(), load_.end()) - load_.begin()] += 1;
    for (int w = 0; w < workers; ++w) total_[w] += load_[w];
  }
  layer.best_value = layer.value;
  list_candidates(request, layer);
}

// Of the worker's redundant replicas, the one with the least work in the samples: its index in extras_, or -1.
int Residents::least_worked(int worker) const {
  int victim = -1;
  std::int64_t least = 0;
  for (int i = 0; i < static_cast<int>(extras_.size()); ++i) {
    if (extras_[i].worker != worker) continue;
    std::int64_t done = 0;
    for (int id = table_.first(extras_[i].expert); id < table_.first(extras_[i].expert + 1); ++id)
      if (table_.worker(id) == worker) done = work_[id];
    if (victim >= 0 && done >= least) continue;
    victim = i;
    least = done;
  }
  return victim;
}

void Residents::list_candidates(const Request& request, Layer& layer) {
  const int workers = table_.workers();
  by_load_.resize(workers);
  std::iota(by_load_.begin(), by_load_.end(), 0);
  std::stable_sort(by_load_.begin(), by_load_.end(), [&](int a, int b) {
    return busiest_[a] != busiest_[b] ? busiest_[a] > busiest_[b] : total_[a] > total_[b];
  });
  const std::vector<int> hot(by_load_.begin(), by_load_.begin() + std::min(kHotWorkers, workers));
  std::stable_sort(by_load_.begin(), by_load_.end(), [&](int a, int b) { return total_[a] < total_[b]; });
  int cold = 0;
  for (const int to : by_load_) {
    if (cold == kColdWorkers) break;
    const int victim = least_worked(to);
    if (victim < 0) continue;
    ++cold;
    for (const int from : hot) {
      if (from == to) continue;
      for (const int id : table_.of_worker(from)) {
        const int expert = table_.expert(id);
        if (work_[id] == 0 || request.is_pinned(expert)) continue;
        bool there = false;
        for (int other = table_.first(expert); other < table_.first(expert + 1); ++other)
          there = there || table_.worker(other) == to;
        if (!there) layer.candidates.push_back({expert, to, victim});
      }
    }
  }
}

void Residents::try_candidates(const SplitProblem& problem, Layer& layer, int count) {
  const std::size_t experts = homes_.size();
  for (; count > 0 && layer.tried < layer.candidates.size(); --count, ++layer.tried) {
    const Candidate& candidate = layer.candidates[layer.tried];
    trial_.clear();
    for (const Extra& extra : extras_) trial_.push_back({extra.expert, extra.worker});
    trial_[candidate.extra].expert = candidate.expert;
    table_.assign(homes_, problem.replicas.workers(), trial_);
    std::int64_t value = 0;
    for (std::size_t at = 0; at < layer.samples.size() && value < layer.best_value; at += experts)
      value += splitter_.sketch({table_, std::span(layer.samples).subspan(at, experts), problem.rule, problem.per_tile,
                                 problem.per_expert, problem.traits},
                                parts_);
    if (value >= layer.best_value) continue;
    layer.best_value = value;
    layer.best = candidate;
  }
}

void Residents::end_round(const Request& request, Layer& layer, std::vector<Copy>& copies) {
  layer.samples.clear();
  if (!worthwhile(layer.value, layer.best_value, kWorthwhilePermille)) {
    layer.urgent = false;
    layer.rest = layer.last_rest;
    layer.last_rest = std::min(layer.last_rest * 2, kLongestRest);
    return;
  }
  const Extra& old = extras_[layer.best.extra];
  const int from = homes_[layer.best.expert];
  const Nanos ns = copy_ns(request.cost, request.workers, from, old.worker);
  if (!old.safe || !lane_idle(from, old.worker, ns)) return;
  layer.last_rest = 1;
  send(request, layer, {layer.best.expert, from, old.worker, old.slot}, copies);
}

void Residents::step(const Request& request, const PlannedSplit& split, std::int64_t budget,
                     std::vector<Copy>& copies) {
  out_free_.resize(request.placement.workers(), 0);
  in_free_.resize(request.placement.workers(), 0);
  for (const Copy& copy : copies)
    occupy(copy.from, copy.to, copy_ns(request.cost, request.workers, copy.from, copy.to));
  clock_ns_ += split.ffn_ns;
  if (split.floor <= 0) return;
  Layer& layer = layers_[request.target.layer];
  observe(layer, split);
  if (budget <= 0 || !awake(layer) || !copies.empty()) return;  // a target's own copies come first
  list_slots(request, split, layer.arriving);
  if (!layer.chosen) choose(request, split.problem, layer);
  copy_wanted(request, layer, budget, copies);
  if (!copies.empty() || !layer.wanted.empty() || extras_.empty()) return;
  if (layer.samples.empty()) {
    begin_round(request, split.problem, layer);
  } else if (layer.stamp != request.placement.stamp()) {
    // Targets' own copies changed what the round is about. Where they come often there is nothing to settle.
    layer.samples.clear();
    layer.rest = kRemembered;
    return;
  }
  try_candidates(split.problem, layer, layer.urgent ? kUrgentTries : kTries);
  if (layer.tried == layer.candidates.size()) end_round(request, layer, copies);
}

}  // namespace afore::placement
