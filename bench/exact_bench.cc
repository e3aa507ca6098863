// The exact splitter on the demand of a stream: time per target, share certified, gap between load and bound.
//   exact_bench STREAM WORKERS[,WORKERS...] [C1:C2[,C1:C2...]] [roofline]
// Every layer's slots (2 per worker) are filled from its first 8 targets, as policy split does; the targets after them
// are then split, in shuffled order, least time of 3 passes. TSV; "mean gap" counts uncertified targets against their
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
    tables.back()->reset(fill(targets, setting.workers, cost));
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
  const std::string label = fmt::format("{}\t{}:{}{}", setting.workers, setting.c1, setting.c2,
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
    fmt::print(stderr, "usage: exact_bench STREAM WORKERS[,WORKERS...] [C1:C2[,C1:C2...]] [roofline]\n");
    return 2;
  }
  const auto layers = read_stream(argv[1]);
  fmt::print("workers\tcost\tstage\ttargets\tmedian us\tp95 us\tmax us\tcertified %\tmean gap %\n");
  for (const std::string& cost : split(argc > 3 ? argv[3] : "1:1,1:2,1:4,5370:18570", ','))
    for (const std::string& workers : split(argv[2], ',')) {
      const auto pair = split(cost, ':');
      run(layers, {std::stoi(workers), std::stoll(pair.at(0)), std::stoll(pair.at(1)),
                   argc > 4 ? LoadRule::roofline : LoadRule::additive});
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
