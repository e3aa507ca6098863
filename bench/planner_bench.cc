// Planning one target, as the scheduler sees it: the targets rotate and the placement is carried along, since planning
// one target again and again flatters every planner.
//   planner_bench --table            TSV of all planners, interleaved in one run
//   planner_bench --certify [NODES]  TSV of what is proven about the tile planner's loads on single targets
//   planner_bench [benchmark flags]  the same planners under Google Benchmark
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bench/certify.h"
#include "bench/paper_three_phases.h"
#include "bench/targets.h"
#include "placement/eplb.h"
#include "placement/registry.h"
#include "placement/tiles/planner.h"
#include "util/stats.h"

namespace afore::bench {
namespace {

constexpr int kTargets = 128, kSlots = 2, kRounds = 4;
const std::vector<int> kDegrees = {2, 4, 8, 16, 32, 64, 128};
constexpr const char* kPlanners[] = {"tiles", "time", "three phases", "quota"};

std::unique_ptr<placement::Policy> make_planner(const std::string& name, int workers) {
  placement::Limits limits;
  limits.copy_budget = workers;
  limits.objective = name == "time" ? Objective::time : Objective::tiles;
  if (name == "three phases") return std::make_unique<PaperThreePhases>(limits, 0);
  if (name == "tiles") return placement::make_tiles(limits);
  if (name == "quota") return placement::find_policy("quota")->make(limits);
  return placement::make_afore(limits);
}

// EPLB's greedy on the target alone: it keeps nothing from step to step.
std::int64_t eplb_step(const Counts& target, int workers) {
  const std::vector<double> weight(target.begin(), target.end());
  const int experts = static_cast<int>(target.size());
  placement::EplbOptions options;
  options.workers = workers;
  options.replicas = ((experts + workers - 1) / workers + kSlots) * workers;
  const auto start = std::chrono::steady_clock::now();
  const std::vector<int> placed = placement::eplb_physical_to_logical(weight, options);
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start);
  benchmark::DoNotOptimize(placed.data());
  return ns.count();
}

double us(std::vector<std::int64_t> ns, double share) { return static_cast<double>(*quantile(ns, share)) / 1e3; }

void print_row(int experts, int workers, bool busy, const std::vector<Counts>& targets) {
  std::vector<Walk> walks;
  for (const char* name : kPlanners) walks.emplace_back(make_planner(name, workers), targets, workers, kSlots, busy);
  std::vector<std::vector<std::int64_t>> ns(walks.size());
  std::vector<std::int64_t> eplb;
  for (int i = 0; i < kTargets * kRounds; ++i) {
    for (std::size_t k = 0; k < walks.size(); ++k) ns[k].push_back(walks[k].step());
    eplb.push_back(eplb_step(targets[i % targets.size()], workers));
  }
  fmt::print("{}\t{}\t{}\t{:.2f}\t{:.2f}\t{:.2f}\t{:.2f}", experts, workers, busy ? "yes" : "no", us(ns[0], 0.5),
             us(ns[0], 0.95), us(ns[0], 0.99), us(ns[0], 1));
  for (std::size_t k = 1; k < walks.size(); ++k) fmt::print("\t{:.2f}\t{:.2f}", us(ns[k], 0.5), us(ns[k], 0.95));
  fmt::print("\t{:.2f}\t{:.2f}", us(eplb, 0.5), us(eplb, 0.95));
  for (const std::size_t k : {2, 3}) fmt::print("\t{:.2f}", us(ns[k], 0.5) / us(ns[0], 0.5));
  fmt::print("\t{:.2f}\t{:.3f}", us(eplb, 0.5) / us(ns[0], 0.5), walks[0].certified());
  for (const Walk& walk : walks)
    fmt::print("\t{:.2f}\t{:.2f}\t{:.1f}\t{:.1f}", walk.copies(), walk.max_tiles(), walk.max_us(), walk.activated());
  fmt::print("\n");
  std::fflush(stdout);
}

void print_table() {
  fmt::print("experts\tep\tbusy\ttiles_us\ttiles_p95\ttiles_p99\ttiles_max");
  for (const char* name : {"time", "three_phases", "quota", "eplb"}) fmt::print("\t{0}_us\t{0}_p95", name);
  fmt::print("\tthree_phases/tiles\tquota/tiles\teplb/tiles\tcertified");
  for (const char* name : {"tiles", "time", "three_phases", "quota"})
    fmt::print("\t{0}_copies\t{0}_max_tiles\t{0}_ffn_us\t{0}_pairs", name);
  fmt::print("\n");
  for (const int experts : {128, 256}) {
    const std::vector<Counts> targets = correlated_targets(experts, kTargets);
    for (const bool busy : {false, true}) {
      for (const int workers : kDegrees) print_row(experts, workers, busy, targets);
      if (experts == 256) print_row(experts, 1000, busy, targets);
    }
  }
}

void run_planner(benchmark::State& state, const std::string& name) {
  static const std::vector<Counts> targets = correlated_targets(128, kTargets);
  const int workers = static_cast<int>(state.range(0));
  Walk walk(make_planner(name, workers), targets, workers, kSlots, true);
  std::vector<std::int64_t> ns;
  for (auto _ : state) {
    ns.push_back(walk.step());
    state.SetIterationTime(static_cast<double>(ns.back()) * 1e-9);
  }
  state.counters["median_us"] = us(ns, 0.5);
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
    } else if (std::strcmp(argv[i], "--certify") == 0) {
      afore::bench::print_certificates(i + 1 < argc ? std::atoll(argv[i + 1]) : 100'000);
      return 0;
    }
  for (const char* name : afore::bench::kPlanners) {
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
