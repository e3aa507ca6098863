#include "placement/residents.h"

#include <algorithm>
#include <numeric>

namespace afore::placement {
namespace {

constexpr int kTriesPerTarget = 4;
constexpr int kHotWorkers = 2, kColdWorkers = 3;
constexpr double kWorthwhile = 0.01;  // of the samples' loads, below which nothing is copied
constexpr std::int64_t kLongestNap = 512;
constexpr double kLongMemory = 1.0 / 64, kShortMemory = 1.0 / 4, kShift = 1.05;

}  // namespace

bool Residents::lane_idle(int from, int to, Nanos copy_ns) const {
  return std::max(out_free_[from], in_free_[to]) < clock_ns_ + copy_ns;
}

void Residents::occupy(int from, int to, Nanos copy_ns) {
  const Nanos end = std::max({out_free_[from], in_free_[to], clock_ns_}) + copy_ns;
  out_free_[from] = in_free_[to] = end;
}

void Residents::observe(Layer& layer, const SplitProblem& problem, std::int64_t load, std::int64_t floor) {
  const std::size_t experts = problem.tiles.size();
  layer.ring.resize(kRemembered * experts, 0);
  std::copy(problem.tiles.begin(), problem.tiles.end(),
            layer.ring.begin() + static_cast<std::ptrdiff_t>(layer.targets % kRemembered * experts));
  ++layer.targets;
  const double ratio = static_cast<double>(load) / static_cast<double>(floor);
  if (layer.targets == 1) layer.usual = layer.recent = ratio;
  layer.usual += (ratio - layer.usual) * kLongMemory;
  layer.recent += (ratio - layer.recent) * kShortMemory;
}

void Residents::list_extras(const Request& request, const SplitProblem& problem, std::span<const std::int64_t> parts) {
  const LayerPlacement& placement = request.placement;
  homes_.resize(placement.experts());
  for (int e = 0; e < placement.experts(); ++e) homes_[e] = placement.primary(e);
  extras_.clear();
  empty_.clear();
  for (int w = 0; w < placement.workers(); ++w) {
    if (!request.workers.empty() && request.workers[w].draining) continue;
    for (int slot = 0; slot < placement.slots_per_worker(); ++slot) {
      const int expert = placement.expert_at(w, slot);
      if (expert != kNoExpert && homes_[expert] == w) continue;
      const bool busy = !request.busy.empty() && request.busy[placement.index(w, slot)] != 0;
      if (expert == kNoExpert) {
        if (!busy) empty_.push_back({kNoExpert, w, slot, true});
        continue;
      }
      bool works = false;
      for (int id = problem.replicas.first(expert); id < problem.replicas.first(expert + 1); ++id)
        works = works || (problem.replicas.worker(id) == w && parts[id] > 0);
      extras_.push_back({expert, w, slot, !busy && !works});
    }
  }
}

std::int64_t Residents::judge(const SplitProblem& like, const ReplicaTable& replicas,
                              std::span<const std::int64_t> samples) {
  const std::size_t experts = like.tiles.size();
  std::int64_t sum = 0;
  for (std::size_t at = 0; at < samples.size(); at += experts) {
    const SplitProblem problem{replicas,       samples.subspan(at, experts), like.rule, like.per_tile,
                               like.per_expert, like.traits};
    sum += splitter_.plan(problem, parts_).load;
  }
  return sum;
}

// Empty slots hold nothing anybody needs: the expert with the most work per replica goes to the least loaded worker that
// lacks it.
void Residents::fill(const Request& request, const SplitProblem& problem, const Layer& layer, std::int64_t budget,
                     std::vector<Copy>& copies) {
  const int experts = static_cast<int>(homes_.size()), workers = request.placement.workers();
  share_.assign(experts, 0);
  for (std::size_t i = 0; i < layer.ring.size(); ++i)
    if (layer.ring[i] > 0)
      share_[i % experts] += static_cast<double>(problem.per_tile * layer.ring[i] + problem.per_expert);
  std::vector<double> load(workers, 0);
  std::vector<std::vector<char>> holds(experts, std::vector<char>(workers, 0));
  std::vector<int> replicas(experts, 1);
  for (int e = 0; e < experts; ++e)
    if (homes_[e] >= 0) holds[e][homes_[e]] = 1;
  for (const Extra& extra : extras_)
    if (!holds[extra.expert][extra.worker]) {
      holds[extra.expert][extra.worker] = 1;
      ++replicas[extra.expert];
    }
  for (; budget > 0 && !empty_.empty(); --budget) {
    std::fill(load.begin(), load.end(), 0);
    for (int e = 0; e < experts; ++e)
      for (int w = 0; w < workers; ++w)
        if (holds[e][w]) load[w] += share_[e] / replicas[e];
    order_.resize(experts);
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](int a, int b) { return share_[a] / replicas[a] > share_[b] / replicas[b]; });
    int expert = -1;
    std::size_t best = empty_.size();
    for (const int e : order_) {
      if (homes_[e] < 0 || share_[e] == 0 || (!request.pinned.empty() && request.pinned[e])) continue;
      for (std::size_t i = 0; i < empty_.size(); ++i)
        if (!holds[e][empty_[i].worker] &&
            (best == empty_.size() || load[empty_[i].worker] < load[empty_[best].worker]))
          best = i;
      if (best < empty_.size()) {
        expert = e;
        break;
      }
    }
    if (expert < 0) return;
    const Extra slot = empty_[best];
    copies.push_back({expert, homes_[expert], slot.worker, slot.slot});
    holds[expert][slot.worker] = 1;
    ++replicas[expert];
    empty_.erase(empty_.begin() + static_cast<std::ptrdiff_t>(best));
  }
}

// The first choice: the rule above, then changes of one slot while they lower the samples' loads.
void Residents::choose(const Request& request, const SplitProblem& problem, Layer& layer) {
  layer.chosen = true;
  const auto extras = extras_;
  const auto empty = empty_;
  std::vector<Copy> fills;
  fill(request, problem, layer, static_cast<std::int64_t>(empty_.size()), fills);
  for (const Copy& copy : fills) extras_.push_back({copy.expert, copy.to, copy.slot, true});
  const int max_rounds = getenv("RO") ? atoi(getenv("RO")) : 100;
  for (int round = 0; round < max_rounds; ++round) {
    begin_round(request, problem, layer);
    while (layer.tried < layer.candidates.size()) try_next(request, problem, layer);
    if (static_cast<double>(layer.value - layer.best) < 0.002 * static_cast<double>(layer.value)) break;
    extras_[layer.choice.extra].expert = layer.choice.expert;
  }
  layer.samples.clear();
  layer.wanted = extras_;
  extras_ = extras;
  empty_ = empty;
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
  worker_load_.assign(workers, 0);
  hot_.assign(workers, 0);
  std::vector<std::int64_t> work(table_.replicas(), 0), load(workers);
  layer.value = 0;
  for (std::size_t at = 0; at < layer.samples.size(); at += experts) {
    const SplitProblem sample{table_,           std::span(layer.samples).subspan(at, experts), problem.rule,
                              problem.per_tile, problem.per_expert, problem.traits};
    layer.value += splitter_.plan(sample, parts_).load;
    std::fill(load.begin(), load.end(), 0);
    for (int id = 0; id < table_.replicas(); ++id)
      if (parts_[id] > 0) {
        const std::int64_t part = problem.per_tile * parts_[id] + problem.per_expert;
        load[table_.worker(id)] += part;
        work[id] += part;
      }
    hot_[std::max_element(load.begin(), load.end()) - load.begin()] += 1;
    for (int w = 0; w < workers; ++w) worker_load_[w] += load[w];
  }
  layer.best = layer.value;
  order_.resize(workers);
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) {
    return hot_[a] != hot_[b] ? hot_[a] > hot_[b] : worker_load_[a] > worker_load_[b];
  });
  const std::vector<int> hot(order_.begin(), order_.begin() + std::min(kHotWorkers, workers));
  std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) { return worker_load_[a] < worker_load_[b]; });
  int cold = 0;
  for (const int c : order_) {
    if (cold == kColdWorkers) break;
    // The replica it would replace: the one with the least work.
    int victim = -1;
    std::int64_t least = 0;
    for (int i = 0; i < static_cast<int>(extras_.size()); ++i) {
      if (extras_[i].worker != c) continue;
      std::int64_t done = 0;
      for (int id = table_.first(extras_[i].expert); id < table_.first(extras_[i].expert + 1); ++id)
        if (table_.worker(id) == c) done = work[id];
      if (victim < 0 || done < least) {
        victim = i;
        least = done;
      }
    }
    if (victim < 0) continue;
    ++cold;
    for (const int h : hot)
      for (const int id : table_.of_worker(h)) {
        const int expert = table_.expert(id);
        if (h == c || work[id] == 0 || (!request.pinned.empty() && request.pinned[expert])) continue;
        bool there = false;
        for (int other = table_.first(expert); other < table_.first(expert + 1); ++other)
          there = there || table_.worker(other) == c;
        if (!there) layer.candidates.push_back({expert, c, victim});
      }
  }
}

void Residents::try_next(const Request& request, const SplitProblem& problem, Layer& layer) {
  for (int tries = 0; tries < kTriesPerTarget && layer.tried < layer.candidates.size(); ++tries, ++layer.tried) {
    const Candidate& candidate = layer.candidates[layer.tried];
    trial_.clear();
    for (int i = 0; i < static_cast<int>(extras_.size()); ++i)
      trial_.push_back(i == candidate.extra ? ReplicaTable::Extra{candidate.expert, candidate.worker}
                                            : ReplicaTable::Extra{extras_[i].expert, extras_[i].worker});
    table_.assign(homes_, request.placement.workers(), trial_);
    const std::int64_t value = judge(problem, table_, layer.samples);
    if (value >= layer.best) continue;
    layer.best = value;
    layer.choice = candidate;
  }
}

void Residents::step(const Request& request, const SplitProblem& problem, std::span<const std::int64_t> parts,
                     std::int64_t load, std::int64_t floor, Nanos ffn_ns, std::int64_t budget,
                     std::vector<Copy>& copies) {
  const int workers = request.placement.workers();
  out_free_.resize(workers, 0);
  in_free_.resize(workers, 0);
  for (const Copy& copy : copies) occupy(copy.from, copy.to, request.cost.copy_ns);
  clock_ns_ += ffn_ns;
  if (floor <= 0) return;
  Layer& layer = layers_[request.target.layer];
  observe(layer, problem, load, floor);
  if (budget <= 0 || layer.targets < kRemembered) return;
  if (layer.sleep > 0) {
    --layer.sleep;
    if (layer.recent < layer.usual * kShift) return;
    layer.sleep = 0;
    layer.nap = 1;
    layer.usual = layer.recent;
  }
  list_extras(request, problem, parts);
  if (!copies.empty()) return;  // what this target copies itself comes first
  if (!layer.chosen) choose(request, problem, layer);
  for (std::size_t i = 0; i < layer.wanted.size() && budget > 0;) {
    const Extra& want = layer.wanted[i];
    const auto slot = std::find_if(empty_.begin(), empty_.end(), [&](const Extra& e) { return e.worker == want.worker; });
    const bool there = request.placement.holds(want.expert, want.worker);
    if (there || slot == empty_.end()) {
      layer.wanted.erase(layer.wanted.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    const int from = homes_[want.expert];
    if (!lane_idle(from, want.worker, request.cost.copy_ns)) {
      ++i;
      continue;
    }
    copies.push_back({want.expert, from, want.worker, slot->slot});
    occupy(from, want.worker, request.cost.copy_ns);
    empty_.erase(slot);
    layer.wanted.erase(layer.wanted.begin() + static_cast<std::ptrdiff_t>(i));
    --budget;
  }
  if (!copies.empty() || !layer.wanted.empty()) return;
  if (layer.stamp != request.placement.stamp() || layer.samples.empty()) begin_round(request, problem, layer);
  try_next(request, problem, layer);
  if (layer.tried < layer.candidates.size()) return;
  // The round is over.
  layer.samples.clear();
  if (static_cast<double>(layer.value - layer.best) < kWorthwhile * static_cast<double>(layer.value)) {
    layer.sleep = layer.nap;
    layer.nap = std::min(layer.nap * 2, kLongestNap);
    return;
  }
  const Extra& old = extras_[layer.choice.extra];
  const int from = homes_[layer.choice.expert];
  if (!old.safe || !lane_idle(from, old.worker, request.cost.copy_ns)) return;
  layer.nap = 1;
  copies.push_back({layer.choice.expert, from, old.worker, old.slot});
  occupy(from, old.worker, request.cost.copy_ns);
}

}  // namespace afore::placement
