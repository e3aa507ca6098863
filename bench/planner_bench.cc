// Median planning time per target at EP 2..128: 128 experts, top-8, 4,096 tokens, tile 64, 2 redundant slots per
// worker, lognormal popularity (sigma 1) that drifts from target to target with correlation 0.95. Targets rotate and
// the placement is carried along, since planning one target again and again flatters every planner.
//   planner_bench --table            TSV of all planners, interleaved in one run
//   planner_bench [benchmark flags]  the same planners under Google Benchmark
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bench/paper_three_phases.h"
#include "placement/policy.h"
#include "util/stats.h"

namespace afore::bench {
namespace {

constexpr int kExperts = 128, kTopK = 8, kTokens = 4096, kTargets = 128, kSlots = 2, kRounds = 4;
constexpr double kCorrelation = 0.95;
const std::vector<int> kDegrees = {2, 4, 8, 16, 32, 64, 128};

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  double uniform() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) * 0x1.0p-53;
  }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * 3.14159265358979 * uniform()); }

 private:
  std::uint64_t state_;
};

std::vector<std::vector<std::int64_t>> make_targets() {
  Random random(42);
  std::vector<double> log_popularity(kExperts);
  for (double& x : log_popularity) x = random.normal();
  std::vector<std::vector<std::int64_t>> targets;
  for (int t = 0; t < kTargets; ++t) {
    std::vector<double> cumulative(kExperts);
    double sum = 0;
    for (int e = 0; e < kExperts; ++e) {
      double& x = log_popularity[e];
      x = kCorrelation * x + std::sqrt(1 - kCorrelation * kCorrelation) * random.normal();
      cumulative[e] = sum += std::exp(x);
    }
    std::vector<std::int64_t> counts(kExperts, 0);
    for (int i = 0; i < kTokens * kTopK; ++i) {
      const auto at = std::lower_bound(cumulative.begin(), cumulative.end(), random.uniform() * sum);
      ++counts[std::min<std::ptrdiff_t>(at - cumulative.begin(), kExperts - 1)];
    }
    targets.push_back(std::move(counts));
  }
  return targets;
}

const std::vector<std::vector<std::int64_t>>& targets() {
  static const auto made = make_targets();
  return made;
}

// GLM-4.5-Air shape on an H100: c1 64 tokens of arithmetic, c2 34.6 MB of weights.
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

// One planner walking through the targets: copies are applied, and slots with work in the last target are busy.
class Walk {
 public:
  Walk(std::unique_ptr<placement::Policy> policy, int workers)
      : policy_(std::move(policy)),
        placement_(LayerPlacement::initial(kExperts, workers, kSlots)),
        cost_(bench_cost()) {
    busy_.assign(placement_.index_count(), 0);
    last_used_.assign(placement_.index_count(), -1);
  }

  // Plans the next target; nanoseconds of the decision alone.
  std::int64_t step() {
    const placement::Request request{Target{}, targets()[at_ % targets().size()], placement_, busy_, last_used_, cost_,
                                     2'000'000};
    const auto start = std::chrono::steady_clock::now();
    placement::Decision decision = policy_->decide(request);
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start);
    for (const Copy& copy : decision.copies) placement_.set(copy.to, copy.slot, copy.expert);
    std::fill(busy_.begin(), busy_.end(), std::uint8_t{0});
    for (const TileShare& share : decision.assignment) {
      const std::size_t index = placement_.index(share.worker, placement_.slot_of(share.expert, share.worker));
      busy_[index] = 1;
      last_used_[index] = at_;
    }
    ++at_;
    copies_ += std::ssize(decision.copies);
    certified_ += decision.certified;
    const WorkerLoads loads = worker_loads(decision.assignment, placement_.workers(), cost_);
    max_tiles_ += loads.max_tiles;
    max_ns_ += loads.max_ns;
    return ns.count();
  }

  double per_target(std::int64_t sum) const { return static_cast<double>(sum) / static_cast<double>(at_); }
  double copies() const { return per_target(copies_); }
  double certified() const { return per_target(certified_); }
  double max_tiles() const { return per_target(max_tiles_); }
  double max_us() const { return per_target(max_ns_) / 1e3; }

 private:
  std::unique_ptr<placement::Policy> policy_;
  LayerPlacement placement_;
  LayerCost cost_;
  std::vector<std::uint8_t> busy_;
  std::vector<std::int64_t> last_used_;
  std::int64_t at_ = 0, copies_ = 0, certified_ = 0, max_tiles_ = 0, max_ns_ = 0;
};

std::unique_ptr<placement::Policy> make_planner(const std::string& name, int workers) {
  placement::Limits limits;
  limits.copy_budget = workers;
  limits.objective = name == "time" ? Objective::time : Objective::tiles;
  if (name == "paper") return std::make_unique<PaperThreePhases>(limits, 0);
  return placement::make_afore(limits);
}

void print_table() {
  const std::vector<std::string> names = {"tiles", "time", "paper"};
  fmt::print(
      "ep\ttiles_us\ttime_us\tpaper_us\tpaper/tiles\tpaper/time\ttiles_p95_us\ttime_p95_us\tcertified_tiles\t"
      "certified_time\tcopies_tiles\tcopies_time\tcopies_paper\tmax_tiles\tpaper_max_tiles\tffn_us_time\t"
      "ffn_us_tiles\tffn_us_paper\n");
  for (const int workers : kDegrees) {
    std::vector<Walk> walks;
    for (const auto& name : names) walks.emplace_back(make_planner(name, workers), workers);
    std::vector<std::vector<std::int64_t>> ns(names.size());
    for (int i = 0; i < kTargets * kRounds; ++i)
      for (std::size_t k = 0; k < walks.size(); ++k) ns[k].push_back(walks[k].step());
    std::vector<double> median, p95;
    for (auto& values : ns) {
      median.push_back(static_cast<double>(*quantile(values, 0.5)) / 1e3);
      p95.push_back(static_cast<double>(*quantile(values, 0.95)) / 1e3);
    }
    fmt::print(
        "{}\t{:.2f}\t{:.2f}\t{:.2f}\t{:.2f}\t{:.2f}\t{:.2f}\t{:.2f}\t{:.3f}\t{:.3f}\t{:.2f}\t{:.2f}\t{:.2f}\t"
        "{:.2f}\t{:.2f}\t{:.1f}\t{:.1f}\t{:.1f}\n",
        workers, median[0], median[1], median[2], median[2] / median[0], median[2] / median[1], p95[0], p95[1],
        walks[0].certified(), walks[1].certified(), walks[0].copies(), walks[1].copies(), walks[2].copies(),
        walks[0].max_tiles(), walks[2].max_tiles(), walks[1].max_us(), walks[0].max_us(), walks[2].max_us());
    std::fflush(stdout);
  }
}

void run_planner(benchmark::State& state, const std::string& name) {
  const int workers = static_cast<int>(state.range(0));
  Walk walk(make_planner(name, workers), workers);
  std::vector<std::int64_t> ns;
  for (auto _ : state) {
    ns.push_back(walk.step());
    state.SetIterationTime(static_cast<double>(ns.back()) * 1e-9);
  }
  state.counters["median_us"] = static_cast<double>(*quantile(ns, 0.5)) / 1e3;
  state.counters["certified"] = walk.certified();
  state.counters["copies"] = walk.copies();
}

}  // namespace
}  // namespace afore::bench

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--table") == 0) {
      afore::bench::print_table();
      return 0;
    }
  for (const char* name : {"tiles", "time", "paper"}) {
    auto* registered = benchmark::RegisterBenchmark((std::string("plan/") + name).c_str(), afore::bench::run_planner,
                                                    std::string(name));
    for (const int workers : afore::bench::kDegrees) registered->Arg(workers);
    registered->ArgName("ep")->UseManualTime()->Unit(benchmark::kMicrosecond);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
