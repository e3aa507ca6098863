// The checker and the planner share no code: random targets, planned by the real policies, must pass.
#include <gtest/gtest.h>

#include <map>

#include "placement/registry.h"
#include "placement/tiles/planner.h"
#include "streams.h"

#ifndef AFORE_AGREEMENT_ROUNDS
#define AFORE_AGREEMENT_ROUNDS 300
#endif

namespace afore::verify {
namespace {

struct Draw {
  std::uint64_t state;
  std::int64_t operator()(std::int64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(below));
  }
};

struct Shape {
  std::string policy;
  bool tile_planner = false;  // in place of the policy, whose promises it must keep
  Objective objective = Objective::time;
  int experts = 1, workers = 1, redundant = 0, microbatches = 1;
  std::int64_t tile_tokens = 1, copy_budget = 0;
  bool gain_rule = true;
  placement::Split split = placement::Split::own;
  LayerCost cost;
  std::vector<WorkerTraits> traits;
  std::vector<std::uint8_t> pinned;
};

// The roofline rule, slow and draining workers, pinned experts: each in some of the shapes.
void draw_traits(Draw& draw, Shape& s) {
  if (draw(2)) s.cost.rule = LoadRule::roofline;
  if (draw(4) == 0) {
    s.pinned.resize(s.experts);
    for (auto& pinned : s.pinned) pinned = draw(3) == 0;
  }
  if (draw(3) == 0) return;
  s.traits.resize(s.workers);
  const bool slow = draw(4) > 0, drains = draw(2) == 0;
  for (WorkerTraits& traits : s.traits) {
    if (slow && draw(2)) traits.slowdown_permille = draw(5) ? 700 + draw(1800) : 100 + draw(9000);
    if (draw(3) == 0) traits.copy_slowdown_permille = 100 + draw(4000);
    traits.draining = drains && draw(3) == 0;
  }
  s.traits[draw(s.workers)].draining = false;
}

Shape random_shape(Draw& draw, const std::string& policy, Objective objective, bool traits) {
  Shape s;
  s.policy = policy;
  s.objective = objective;
  s.workers = static_cast<int>(1 + draw(8));
  s.experts = static_cast<int>(1 + draw(24));
  s.redundant = static_cast<int>(draw(4));
  s.microbatches = static_cast<int>(1 + draw(4));
  s.tile_tokens = 1 + draw(64);
  s.copy_budget = draw(2 * s.workers + 1);
  s.gain_rule = draw(3) > 0;
  s.split = draw(2) ? placement::Split::exact : placement::Split::own;
  s.cost = {.c0_ns = draw(1000),
            .c1_ns = 1 + draw(300),
            .c2_ns = draw(600),
            .tile_tokens = s.tile_tokens,
            .expert_bytes = 1,
            .copy_ns = draw(3000)};
  if (traits) draw_traits(draw, s);
  return s;
}

std::unique_ptr<placement::Policy> make(const Shape& s) {
  if (s.tile_planner) return placement::make_tiles({s.objective, s.copy_budget, s.gain_rule, s.split}, 200);
  placement::Limits limits{s.objective, s.copy_budget, s.gain_rule, s.split};
  limits.microbatches = s.microbatches;
  limits.node_budget = s.copy_budget % 2 == 0 ? 100 : 0;
  return placement::find_policy(s.policy)->make(limits);
}

// One layer's standing replicas and recent work, kept as docs/records.md states it.
struct Layer {
  explicit Layer(const Shape& s)
      : placement(LayerPlacement::initial(s.experts, s.workers, s.redundant)),
        last_used(placement.index_count(), -1),
        microbatches(s.microbatches) {}

  std::vector<std::uint8_t> busy() const {
    std::vector<std::uint8_t> flags(last_used.size());
    for (std::size_t i = 0; i < flags.size(); ++i)
      flags[i] = last_used[i] >= 0 && last_used[i] > targets - microbatches;
    return flags;
  }

  LayerPlacement placement;
  std::vector<std::int64_t> last_used;
  std::int64_t targets = 0;
  int microbatches;
};

Plan plan_target(const Shape& s, const Header& h, placement::Policy& policy, Layer& layer, const Demand& d,
                 std::int64_t seq, Nanos window) {
  const std::vector<std::uint8_t> busy = layer.busy();
  placement::Decision decision =
      policy.decide({d.target, d.counts, layer.placement, busy, layer.last_used, s.cost, window, s.pinned, s.traits});
  Plan p = plan(seq, d.target, h);
  p.window_ns = window;
  p.window_source = "preceding_ffn";
  p.is_virtual = policy.is_virtual();
  p.copies = decision.copies;
  p.assignment = decision.assignment;
  p.assignment_tokens = decision.assignment_tokens;
  for (const Copy& copy : p.copies) layer.placement.set(copy.to, copy.slot, copy.expert);
  const WorkerLoads loads = worker_loads(p.assignment, s.workers, s.cost, s.traits);
  p.tile_load = loads.tiles;
  p.max_tile_load = loads.max_tiles;
  p.ffn_ns = loads.max_ns;
  p.max_tile_load_before = decision.max_tiles_before;
  p.ffn_ns_before = decision.ffn_ns_before;
  p.lower_bound = decision.lower_bound_tiles;
  p.ffn_bound_ns = decision.lower_bound_ns;
  p.cut = decision.cut;
  p.certified = decision.certified;
  p.migration_ns = migration_ns(p.copies, s.workers, s.cost, s.traits);
  p.exposed_ns = std::max<Nanos>(0, awaited_ns(p.copies, p.assignment, s.workers, s.cost, s.traits) - window);
  p.gain_ns = (s.objective == Objective::tiles ? s.cost.c1_ns * (p.max_tile_load_before - p.max_tile_load)
                                               : p.ffn_ns_before - p.ffn_ns) -
              p.exposed_ns;
  p.gain_bound_ns = s.objective == Objective::tiles ? s.cost.c1_ns * (p.max_tile_load_before - p.lower_bound)
                                                    : p.ffn_ns_before - p.ffn_bound_ns;
  p.backlog_ns = decision.backlog_ns;
  p.unready = decision.unready;
  for (int w = 0; w < s.workers && !p.backlog_ns.empty(); ++w)
    if (loads.activated[w] > 0)
      p.completion_ns =
          std::max(p.completion_ns, p.backlog_ns[w] + ffn_ns(s.cost, s.traits, w, loads.tiles[w], loads.activated[w]));
  if (!p.backlog_ns.empty()) p.completion_ns = std::max<Nanos>(0, p.completion_ns);
  if (!p.is_virtual)
    for (const TileShare& share : p.assignment)
      layer.last_used[layer.placement.index(share.worker, layer.placement.slot_of(share.expert, share.worker))] =
          layer.targets;
  ++layer.targets;
  return p;
}

Stream random_stream(Draw& draw, const Shape& s) {
  Header h = header(s.policy, s.objective, s.experts, s.workers, s.redundant);
  h.cluster.microbatches = s.microbatches;
  h.cluster.tile_tokens = s.tile_tokens;
  h.planner->copy_budget = s.copy_budget;
  h.planner->gain_rule = s.gain_rule;
  h.planner->cost = s.cost;
  h.cluster.workers = s.traits;
  for (int e = 0; e < s.experts && !s.pinned.empty(); ++e)
    if (s.pinned[e]) h.planner->pinned_experts.push_back(e);
  const auto policy = make(s);
  std::map<int, Layer> layers;
  Stream stream{h};
  std::int64_t seq = 0;
  for (int step = 0; step < 4; ++step)
    for (const int index : {3, 5})
      for (int mb = 0; mb < s.microbatches; ++mb) {
        std::vector<std::int64_t> counts(s.experts);
        for (auto& count : counts) count = draw(3) ? draw(draw(4) ? 100 : 3000) : 0;
        const Demand d = demand({step, index, mb}, counts);
        stream.push_back(d);
        stream.push_back(plan_target(s, h, *policy, layers.try_emplace(index, s).first->second, d, seq++, draw(6000)));
      }
  for (const auto& [index, layer] : layers)
    stream.push_back(PlacementRecord{index, layer.placement.slots_per_worker(), layer.placement.physical_to_logical()});
  return stream;
}

constexpr int kRounds = AFORE_AGREEMENT_ROUNDS;

class Agreement : public testing::TestWithParam<std::tuple<const char*, Objective>> {};  // every policy there is

Verifier::Counts run_rounds(Draw draw, const std::string& policy, Objective objective, bool traits) {
  Verifier::Counts seen;
  for (int round = 0; round < kRounds; ++round) {
    const Shape s = random_shape(draw, policy, objective, traits);
    const Stream stream = random_stream(draw, s);
    const std::string found = verdict(stream);
    EXPECT_EQ(found, "") << "round " << round << ": " << s.experts << " experts, " << s.workers << " workers, "
                         << s.redundant << " slots, " << s.microbatches << " microbatches, " << to_string(s.cost.rule);
    if (!found.empty()) return seen;
    Verifier verifier;
    for (const Record& record : stream) verifier.feed(record);
    seen.copies += verifier.counts().copies;
    seen.certified += verifier.counts().certified;
    seen.cuts += verifier.counts().cuts;
  }
  return seen;
}

TEST_P(Agreement, RandomTargetsPass) {
  const auto [policy, objective] = GetParam();
  const Verifier::Counts seen = run_rounds({objective == Objective::time ? 21u : 22u}, policy, objective, false);
  EXPECT_GT(seen.certified, 0);
  if (std::string(policy) == "afore") {
    EXPECT_GT(seen.copies, kRounds / 3);
    if (objective == Objective::tiles) {
      EXPECT_GT(seen.cuts, kRounds / 3);
    }
  }
}

TEST(TilePlanner, RandomTargetsPass) {
  Draw draw{23u};
  Verifier::Counts seen;
  for (int round = 0; round < 1500; ++round) {
    Shape s = random_shape(draw, "afore", Objective::tiles, false);
    s.tile_planner = true;
    const Stream stream = random_stream(draw, s);
    ASSERT_EQ(verdict(stream), "") << "round " << round << ": " << s.experts << " experts, " << s.workers
                                   << " workers, " << s.redundant << " slots, " << s.microbatches << " microbatches";
    Verifier verifier;
    for (const Record& record : stream) verifier.feed(record);
    seen.copies += verifier.counts().copies;
    seen.certified += verifier.counts().certified;
    seen.cuts += verifier.counts().cuts;
  }
  EXPECT_GT(seen.certified, 10'000);
  EXPECT_GT(seen.copies, 1000);
  EXPECT_GT(seen.cuts, 1000);
}

TEST_P(Agreement, RulesAndTraitsPass) {
  const auto [policy, objective] = GetParam();
  const Verifier::Counts seen = run_rounds({objective == Objective::time ? 31u : 32u}, policy, objective, true);
  EXPECT_GT(seen.certified, 0);
  if (std::string(policy) == "afore" || std::string(policy) == "paper") {
    EXPECT_GT(seen.copies, kRounds / 6);
  }
}

std::vector<const char*> names() {
  std::vector<const char*> names;
  for (const placement::PolicyInfo& policy : placement::policies())
    if (policy.make != nullptr) names.push_back(policy.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Policies, Agreement,
                         testing::Combine(testing::ValuesIn(names()),
                                          testing::Values(Objective::time, Objective::tiles)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" + to_string(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace afore::verify
