// The exact splitter against CBC on the targets of a stream: does every certificate hold, and how far is the rest?
//   milp_real STREAM TARGETS [WORKERS]
// Per layer, two redundant slots a worker are filled from its first 8 targets (FillRule). The targets after them are
// shuffled and dealt to EP 4, 8 and 16 times four costs, TARGETS each, no target twice while there are enough. A table;
// exit 1 where a bound or a load was refuted. WORKERS: only that EP.
#include <fmt/core.h>

#include <map>
#include <numeric>

#include "../placement/instances.h"
#include "check.h"
#include "core/assignment.h"
#include "core/model_spec.h"
#include "placement/exact/time_split.h"
#include "placement/fill_rule.h"
#include "util/line_io.h"
#include "wire/wire.h"

namespace afore::test {
namespace {

constexpr std::int64_t kTileTokens = 64, kNodeBudget = 300;
constexpr int kSlots = 2, kSeen = 8;

using Tiles = std::vector<std::int64_t>;

std::map<int, std::vector<Tiles>> read_stream(const std::string& path) {
  std::map<int, std::vector<Tiles>> layers;
  LineReader lines(path);
  wire::RecordDecoder decoder(lines.name());
  std::string_view line;
  while (lines.next(line)) {
    Record record = decoder.decode(line, lines.line_number());
    const auto* demand = std::get_if<Demand>(&record);
    if (demand == nullptr) continue;
    count_tiles(demand->counts, kTileTokens, layers[demand->target.layer].emplace_back());
  }
  return layers;
}

struct Cell {
  int workers = 4;
  std::string name;
  std::int64_t per_tile = 1, per_expert = 1;
};

// The built-in h100 with gpt-oss-20b, and an expert's weights at 1, 2 and 4 times a tile.
std::vector<Cell> cells() {
  const LayerCost h100 = layer_cost(*find_hardware_profile("h100"), *find_model_preset("gpt-oss-20b"), kTileTokens);
  std::vector<Cell> all;
  for (const int workers : {4, 8, 16}) {
    all.push_back({workers, fmt::format("h100 {}:{}", h100.c1_ns, h100.c2_ns), h100.c1_ns, h100.c2_ns});
    for (const std::int64_t weight : {1, 2, 4}) all.push_back({workers, fmt::format("1:{}", weight), 1, weight});
  }
  return all;
}

// What stands in the slots once the first targets of a layer were seen.
struct Standing {
  placement::ReplicaTable table;
  PlanSpace space;  // without tiles

  Standing(const std::vector<Tiles>& targets, const Cell& cell) {
    const int experts = static_cast<int>(targets[0].size());
    std::vector<int> homes(experts);
    std::vector<double> work(experts, 0);
    for (int e = 0; e < experts; ++e) {
      homes[e] = initial_primary(e, experts, cell.workers);
      space.places.push_back({PlanSpace::Place::Kind::standing, e, homes[e]});
      for (int i = 0; i < kSeen; ++i)
        if (targets[i][e] > 0) work[e] += static_cast<double>(cell.per_tile * targets[i][e] + cell.per_expert);
    }
    placement::FillRule rule;
    rule.reset(homes, work, {}, cell.workers);
    for (int w = 0; w < cell.workers; ++w)
      for (int slot = 0; slot < kSlots; ++slot) rule.add_empty(w);
    std::vector<placement::ReplicaTable::Extra> extras;
    for (placement::Fill fill; rule.next(fill);) {
      extras.push_back({fill.expert, fill.worker});
      space.places.push_back({PlanSpace::Place::Kind::standing, fill.expert, fill.worker});
    }
    table.assign(homes, cell.workers, extras);
    space.workers = cell.workers;
    space.safe_slots.assign(cell.workers, 0);
  }
};

// The number of claims that were refuted.
int run(const Cell& cell, const std::map<int, std::vector<Tiles>>& layers,
        const std::vector<std::pair<int, int>>& targets) {
  const Cbc cbc;
  const Weights weights{LoadRule::additive, cell.per_tile, cell.per_expert, {}};
  std::map<int, Standing> standing;
  placement::ExactSplitter splitter;
  std::vector<std::int64_t> parts;
  const std::string label = fmt::format("EP {}, {}, ", cell.workers, cell.name);
  Tally planned_tally(label + "plan"), proved_tally(label + "prove");
  int refuted = 0;
  for (const auto& [layer, index] : targets) {
    Standing& here = standing.try_emplace(layer, layers.at(layer), cell).first->second;
    here.space.tiles = layers.at(layer)[index];
    const placement::SplitProblem problem{here.table,    here.space.tiles, weights.rule,
                                          cell.per_tile, cell.per_expert,  {}};
    const placement::SplitResult planned = splitter.plan(problem, parts);
    const placement::SplitResult proved = splitter.prove(problem, parts, kNodeBudget);
    const Optimum optimum = least_load(cbc, here.space, weights, proved.load, effort());
    for (const auto& [result, tally] : {std::pair{planned, &planned_tally}, {proved, &proved_tally}}) {
      const Claim claim{result.load, result.bound};
      tally->add(claim, optimum);
      const std::string wrong = refute(claim, optimum);
      if (wrong.empty()) continue;
      ++refuted;
      fmt::print("{}layer {}, target {}: {}\n", label, layer, index, wrong);
    }
  }
  planned_tally.print();
  proved_tally.print();
  return refuted;
}

int main_of(int argc, char** argv) {
  const int each = argc == 3 || argc == 4 ? std::atoi(argv[2]) : 0, only = argc == 4 ? std::atoi(argv[3]) : 0;
  if (each < 1) {
    fmt::print(stderr, "usage: milp_real STREAM TARGETS [WORKERS]\n");
    return 2;
  }
  if (!Cbc::installed()) {
    fmt::print(stderr, "milp_real: cbc is not installed (Debian: coinor-cbc)\n");
    return 77;
  }
  const auto layers = read_stream(argv[1]);
  std::vector<std::pair<int, int>> targets;
  for (const auto& [layer, all] : layers)
    for (int i = kSeen; i < static_cast<int>(all.size()); ++i) targets.emplace_back(layer, i);
  if (targets.empty()) {
    fmt::print(stderr, "milp_real: error: {}: no layer has more than {} targets\n", argv[1], kSeen);
    return 3;
  }
  placement::testing::Random random(1);
  for (std::size_t i = targets.size(); i > 1; --i)
    std::swap(targets[i - 1], targets[random.below(static_cast<std::int64_t>(i))]);
  int refuted = 0;
  std::size_t next = 0, judged = 0;
  Tally::print_head();
  for (const Cell& cell : cells()) {
    std::vector<std::pair<int, int>> dealt;
    for (int i = 0; i < each; ++i) dealt.push_back(targets[next++ % targets.size()]);
    if (only != 0 && only != cell.workers) continue;
    refuted += run(cell, layers, dealt);
    judged += dealt.size();
  }
  fmt::print("{} targets judged, of {} in the stream; {} claims refuted\n", judged, targets.size(), refuted);
  return refuted == 0 ? 0 : 1;
}

}  // namespace
}  // namespace afore::test

int main(int argc, char** argv) {
  try {
    return afore::test::main_of(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "milp_real: error: {}\n", error.what());
    return 3;
  }
}
