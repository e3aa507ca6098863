#include "bench/certify.h"

#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "bench/targets.h"
#include "placement/tiles/planner.h"
#include "util/stats.h"

namespace afore::bench {
namespace {

constexpr int kExperts = 128, kTrials = 200, kTopK = 8, kTileTokens = 64;

// Sequences of std::mt19937_64 are fixed by the standard; its distributions are not, and none is used.
class Generator {
 public:
  Counts target(int tokens) {
    std::vector<double> weight(kExperts);
    double sum = 0;
    for (double& w : weight) {
      double z = 0;
      for (int k = 0; k < 4; ++k) z += uniform();
      sum += w = std::exp((z - 2) * 1.9);
    }
    Counts counts(kExperts, 0);
    for (int i = 0; i < tokens * kTopK; ++i) {
      double u = uniform() * sum;
      int e = 0;
      while (e < kExperts - 1 && u > weight[e]) u -= weight[e++];
      ++counts[e];
    }
    return counts;
  }

 private:
  double uniform() { return static_cast<double>(random_() >> 11) * (1.0 / 9007199254740992.0); }
  std::mt19937_64 random_{777};
};

struct Cell {
  int by_bound = 0, by_search = 0;
  std::int64_t copies = 0, most_nodes = 0;
  std::vector<std::int64_t> ns;
  std::string gaps;
};

void plan_one(Cell& cell, placement::TilePlanner& planner, placement::Decision& decision, const Counts& counts,
              int workers, int slots) {
  const LayerPlacement placement = LayerPlacement::initial(kExperts, workers, slots);
  const LayerCost cost = bench_cost();
  const placement::Request request{Target{}, counts, placement, {}, {}, cost, Nanos{1} << 40};
  const auto start = std::chrono::steady_clock::now();
  planner.plan(request, decision);
  cell.ns.push_back((std::chrono::steady_clock::now() - start).count());
  const std::int64_t load = worker_loads(decision.assignment, workers, cost).max_tiles;
  cell.copies += std::ssize(decision.copies);
  cell.most_nodes = std::max(cell.most_nodes, planner.nodes());
  if (decision.certified) ++cell.by_bound;
  else if (load == planner.proven_tiles()) ++cell.by_search;
  else cell.gaps += fmt::format(" {}>={}", load, planner.proven_tiles());
}

}  // namespace

void print_certificates(std::int64_t node_budget) {
  fmt::print("slots\tep\ttargets\tby_bound\tby_search\tleft\tcopies\tmedian_us\tp95_us\tmax_us\tmost_nodes\tgaps\n");
  Generator generator;
  placement::Decision decision;
  // Other cells only move the generator on, so that the targets are those of the published table.
  for (const int slots : {1, 2})
    for (const int budget : {1, 2})
      for (const int tokens : {512, 4096})
        for (const int workers : {2, 4, 8, 16, 32, 64, 128}) {
          if (tokens * kTopK / kTileTokens < workers) continue;
          placement::TilePlanner planner({Objective::tiles, workers, true, placement::Split::exact}, node_budget);
          const bool stated = budget == 1 && tokens == 4096;
          Cell cell;
          for (int trial = 0; trial < kTrials; ++trial) {
            const Counts counts = generator.target(tokens);
            if (stated) plan_one(cell, planner, decision, counts, workers, slots);
          }
          if (!stated) continue;
          const auto us = [&](double share) { return static_cast<double>(*quantile(cell.ns, share)) / 1e3; };
          fmt::print("{}\t{}\t{}\t{}\t{}\t{}\t{:.2f}\t{:.1f}\t{:.1f}\t{:.1f}\t{}\t{}\n", slots, workers, kTrials,
                     cell.by_bound, cell.by_search, kTrials - cell.by_bound - cell.by_search,
                     static_cast<double>(cell.copies) / kTrials, us(0.5), us(0.95), us(1), cell.most_nodes, cell.gaps);
          std::fflush(stdout);
        }
}

}  // namespace afore::bench
