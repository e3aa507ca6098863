#include "bench/targets.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace afore::bench {
namespace {

constexpr int kTopK = 8, kTokens = 4096;
constexpr double kCorrelation = 0.95;
constexpr Nanos kWindowNs = 2'000'000;

}  // namespace

double Random::uniform() {
  std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) * 0x1.0p-53;
}

double Random::normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * 3.14159265358979 * uniform()); }

std::vector<Counts> correlated_targets(int experts, int targets) {
  Random random(42);
  std::vector<double> log_popularity(experts);
  for (double& x : log_popularity) x = random.normal();
  std::vector<Counts> result;
  for (int t = 0; t < targets; ++t) {
    std::vector<double> cumulative(experts);
    double sum = 0;
    for (int e = 0; e < experts; ++e) {
      double& x = log_popularity[e];
      x = kCorrelation * x + std::sqrt(1 - kCorrelation * kCorrelation) * random.normal();
      cumulative[e] = sum += std::exp(x);
    }
    Counts counts(experts, 0);
    for (int i = 0; i < kTokens * kTopK; ++i) {
      const auto at = std::lower_bound(cumulative.begin(), cumulative.end(), random.uniform() * sum);
      ++counts[std::min<std::ptrdiff_t>(at - cumulative.begin(), experts - 1)];
    }
    result.push_back(std::move(counts));
  }
  return result;
}

LayerCost bench_cost() {
  LayerCost cost;
  cost.c0_ns = 5000;
  cost.c1_ns = 3732;
  cost.c2_ns = 12911;
  cost.tile_tokens = 64;
  cost.expert_bytes = 34'603'008;
  cost.copy_ns = 106'000;
  return cost;
}

Walk::Walk(std::unique_ptr<placement::Policy> policy, const std::vector<Counts>& targets, int workers, int slots,
           bool busy)
    : policy_(std::move(policy)),
      targets_(targets),
      placement_(LayerPlacement::initial(static_cast<int>(targets.front().size()), workers, slots)),
      cost_(bench_cost()),
      hold_(busy),
      busy_(placement_.index_count(), 0),
      last_used_(placement_.index_count(), -1) {}

std::int64_t Walk::step() {
  const placement::Request request{Target{}, targets_[at_ % targets_.size()], placement_, busy_, last_used_, cost_,
                                   kWindowNs};
  const auto start = std::chrono::steady_clock::now();
  policy_->plan(request, decision_);
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start);
  for (const Copy& copy : decision_.copies) placement_.set(copy.to, copy.slot, copy.expert);
  std::fill(busy_.begin(), busy_.end(), std::uint8_t{0});
  for (const TileShare& share : decision_.assignment) {
    const std::size_t index = placement_.index(share.worker, placement_.slot_of(share.expert, share.worker));
    busy_[index] = hold_;
    last_used_[index] = at_;
  }
  ++at_;
  copies_ += std::ssize(decision_.copies);
  certified_ += decision_.certified;
  activated_ += std::ssize(decision_.assignment);
  const WorkerLoads loads = worker_loads(decision_.assignment, placement_.workers(), cost_);
  max_tiles_ += loads.max_tiles;
  max_ns_ += loads.max_ns;
  return ns.count();
}

}  // namespace afore::bench
