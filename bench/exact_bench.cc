// The exact splitter on the demand of a stream: time per target, share certified, gap between load and bound.
//   exact_bench STREAM WORKERS[,WORKERS...] [C1:C2[,C1:C2...]] [even|halves] [roofline]
// Every layer's slots (2 per worker) are filled from its first 8 targets: "even", as policy split does (expert after
// expert by load per replica, so that hot experts have many), or "halves" (the hottest expert of the most loaded worker
// to the least loaded one, with half of what lies between them, so that most have two). The targets after them are
// then split, in shuffled order, least time of 3 passes. TSV; "mean gap" counts uncertified targets against their
// bound, so it overstates.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "core/assignment.h"
#include "placement/exact/time_split.h"
#include "placement/policy.h"
#include "util/line_io.h"
#include "wire/wire.h"

namespace afore::bench {
namespace {

constexpr std::int64_t kTileTokens = 64;
constexpr int kSlots = 2, kPasses = 3, kMaxTargets = 480;

using Counts = std::vector<std::int64_t>;

std::map<int, std::vector<Counts>> read_stream(const std::string& path) {
  std::map<int, std::vector<Counts>> layers;
  LineReader lines(path);
  wire::RecordDecoder decoder(lines.name());
  std::string_view line;
  while (lines.next(line)) {
    Record record = decoder.decode(line, lines.line_number());
    if (auto* demand = std::get_if<Demand>(&record)) layers[demand->target.layer].push_back(std::move(demand->counts));
  }
  return layers;
}

// What policy split makes of a layer's slots.
LayerPlacement fill(const std::vector<Counts>& targets, int workers, const LayerCost& cost) {
  LayerPlacement placement = LayerPlacement::initial(static_cast<int>(targets[0].size()), workers, kSlots);
  placement::Limits limits;
  limits.copy_budget = static_cast<std::int64_t>(workers) * (kSlots + 1);
  const auto policy = placement::make_split(limits);
  const std::vector<std::uint8_t> busy(placement.index_count(), 0);
  const std::vector<std::int64_t> unused(placement.index_count(), -1);
  for (std::size_t i = 0; i < std::min<std::size_t>(9, targets.size()); ++i) {
    const auto decision = policy->decide({Target{}, targets[i], placement, busy, unused, cost, 0});
    for (const Copy& copy : decision.copies) placement.set(copy.to, copy.slot, copy.expert);
  }
  return placement;
}

LayerPlacement fill_halves(const std::vector<Counts>& targets, int workers, const LayerCost& cost) {
  const auto experts = static_cast<int>(targets[0].size());
  LayerPlacement placement = LayerPlacement::initial(experts, workers, kSlots);
  std::vector<double> share(static_cast<std::size_t>(experts) * workers, 0), load(workers, 0);
  const auto at = [&](int expert, int worker) -> double& {
    return share[static_cast<std::size_t>(expert) * workers + worker];
  };
  for (std::size_t i = 0; i < std::min<std::size_t>(8, targets.size()); ++i)
    for (int e = 0; e < experts; ++e) {
      const std::int64_t count = targets[i][e];
      const auto ns = static_cast<double>(cost.ffn_ns(ceil_div(count, kTileTokens), count > 0));
      at(e, initial_primary(e, experts, workers)) += ns;
      load[initial_primary(e, experts, workers)] += ns;
    }
  std::vector<int> left(workers, kSlots), order(workers);
  std::iota(order.begin(), order.end(), 0);
  for (int copy = 0; copy < kSlots * workers; ++copy) {
    int to = -1, expert = -1, from = -1;
    for (int w = 0; w < workers; ++w)
      if (left[w] > 0 && (to < 0 || load[w] < load[to])) to = w;
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return load[a] > load[b]; });
    for (const int w : order) {
      double most = 0;
      for (int e = 0; w != to && e < experts; ++e)
        if (at(e, w) > most && !placement.holds(e, to)) most = at(e, w), expert = e;
      if (expert < 0) continue;
      from = w;
      break;
    }
    if (from < 0) break;
    const double moved = std::min(at(expert, from), std::max(0.0, (load[from] - load[to]) / 2));
    at(expert, from) -= moved, at(expert, to) += moved;
    load[from] -= moved, load[to] += moved;
    for (int slot = placement.slots_per_worker() - 1; slot >= 0; --slot)
      if (placement.expert_at(to, slot) == kNoExpert) {
        placement.set(to, slot, expert);
        break;
      }
    --left[to];
  }
  return placement;
}

struct Sample {
  placement::ReplicaTable* table = nullptr;
  std::vector<std::int64_t> tiles;
};

struct Measured {
  double us = 1e18;
  placement::SplitResult result;
};

void print_row(const std::string& label, const std::vector<Measured>& measured) {
  std::vector<double> us, gaps;
  std::int64_t certified = 0;
  double gap = 0;
  for (const Measured& one : measured) {
    us.push_back(one.us);
    certified += one.result.certified();
    gap += static_cast<double>(one.result.load) / static_cast<double>(std::max<std::int64_t>(1, one.result.bound)) - 1;
  }
  std::sort(us.begin(), us.end());
  const auto count = static_cast<double>(us.size());
  fmt::print("{}\t{}\t{:.1f}\t{:.1f}\t{:.1f}\t{:.1f}\t{:.2f}\n", label, us.size(), us[us.size() / 2],
             us[us.size() * 95 / 100], us.back(), 100 * static_cast<double>(certified) / count, 100 * gap / count);
  std::fflush(stdout);
}

template <class Work>
std::vector<Measured> measure(const std::vector<Sample>& samples, Work&& work) {
  std::vector<Measured> measured(samples.size());
  for (int pass = 0; pass < kPasses; ++pass)
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const auto start = std::chrono::steady_clock::now();
      const placement::SplitResult result = work(samples[i]);
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
      measured[i].us = std::min(measured[i].us, took.count());
      measured[i].result = result;
    }
  return measured;
}

struct Setting {
  int workers = 8;
  std::int64_t c1 = 1, c2 = 2;
  bool halves = false;
  LoadRule rule = LoadRule::additive;
};

void run(const std::map<int, std::vector<Counts>>& layers, const Setting& setting) {
  LayerCost cost;
  cost.c1_ns = setting.c1;
  cost.c2_ns = setting.c2;
  cost.tile_tokens = kTileTokens;
  cost.rule = setting.rule;
  std::vector<std::unique_ptr<placement::ReplicaTable>> tables;
  std::vector<Sample> samples;
  for (const auto& [layer, targets] : layers) {
    tables.push_back(std::make_unique<placement::ReplicaTable>());
    tables.back()->reset(setting.halves ? fill_halves(targets, setting.workers, cost)
                                        : fill(targets, setting.workers, cost));
    for (std::size_t i = 9; i < targets.size(); ++i) {
      samples.push_back({tables.back().get(), {}});
      count_tiles(targets[i], kTileTokens, samples.back().tiles);
    }
  }
  std::uint64_t state = 1;
  for (std::size_t i = samples.size(); i > 1; --i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::swap(samples[i - 1], samples[(state >> 33) % i]);
  }
  if (samples.size() > kMaxTargets) samples.resize(kMaxTargets);
  const std::string label =
      fmt::format("{}\t{}:{}{}{}", setting.workers, setting.c1, setting.c2, setting.halves ? " halves" : " even",
                  setting.rule == LoadRule::roofline ? " roofline" : "");
  placement::ExactSplitter splitter;
  std::vector<std::int64_t> parts;
  const auto problem = [&](const Sample& sample) {
    return placement::SplitProblem{*sample.table, sample.tiles, setting.rule, setting.c1, setting.c2, {}};
  };
  print_row(label + "\tplan", measure(samples, [&](const Sample& s) { return splitter.plan(problem(s), parts); }));
  for (const std::int64_t budget : {300, 2000})
    print_row(fmt::format("{}\tprove {}", label, budget), measure(samples, [&](const Sample& s) {
                splitter.plan(problem(s), parts);
                return splitter.prove(problem(s), parts, budget);
              }));
}

std::vector<std::string> split(const std::string& list, char mark) {
  std::vector<std::string> words(1);
  for (const char c : list) {
    if (c == mark) words.emplace_back();
    else words.back() += c;
  }
  return words;
}

int main_of(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: exact_bench STREAM WORKERS[,WORKERS...] [C1:C2[,C1:C2...]] [even|halves] [roofline]\n");
    return 2;
  }
  const auto layers = read_stream(argv[1]);
  fmt::print("workers\tcost\tstage\ttargets\tmedian us\tp95 us\tmax us\tcertified %\tmean gap %\n");
  for (const std::string& cost : split(argc > 3 ? argv[3] : "1:1,1:2,1:4,5370:18570", ','))
    for (const std::string& workers : split(argv[2], ',')) {
      const auto pair = split(cost, ':');
      const bool halves = argc > 4 && std::string(argv[4]) == "halves";
      const bool roofline = argc > 5 && std::string(argv[5]) == "roofline";
      run(layers, {std::stoi(workers), std::stoll(pair.at(0)), std::stoll(pair.at(1)), halves,
                   roofline ? LoadRule::roofline : LoadRule::additive});
    }
  return 0;
}

}  // namespace
}  // namespace afore::bench

int main(int argc, char** argv) {
  try {
    return afore::bench::main_of(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "exact_bench: error: {}\n", error.what());
    return 3;
  }
}
