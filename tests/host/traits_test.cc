// Workers that differ, through the whole pipeline: planned for, executed and told apart.
#include <map>

#include "harness.h"

namespace afore::host {
namespace {

constexpr int kWorkers = 4, kExperts = 16;

// FFN workers are the bottleneck; loads are skewed, the same in every step, on two layers.
Shape busy_shape(const std::string& policy) {
  Shape s;
  s.sim.model.experts = kExperts;
  s.sim.model.top_k = 1;
  s.sim.model.moe_layers = {1, 2};
  s.sim.cluster = {
      .attention_workers = 2, .ffn_workers = kWorkers, .redundant_slots = 4, .tile_tokens = 4, .microbatches = 3};
  s.sim.layer_cost = {.c0_ns = 1'000, .c1_ns = 1'000, .c2_ns = 500, .tile_tokens = 4, .copy_ns = 20'000};
  s.planner.policy = policy;
  s.planner.limits.copy_budget = kWorkers;
  return s;
}

std::vector<Demand> busy_stream(int steps) {
  std::vector<Demand> stream;
  for (int step = 0; step < steps; ++step)
    for (const int layer : {1, 2})
      for (int mb = 0; mb < 3; ++mb) {
        Demand d;
        d.target = {step, layer, mb};
        for (int e = 0; e < kExperts; ++e) d.counts.push_back(16 + (e * 7 + layer) % 5 * 8);
        for (const std::int64_t count : d.counts) d.tokens += count;
        stream.push_back(d);
      }
  return stream;
}

Result run(Shape s, const std::vector<WorkerTraits>& traits, int steps = 60) {
  s.sim.cluster.workers = traits;
  const std::vector<Demand> stream = busy_stream(steps);
  return simulate(s, stream, stream.size(), true);
}

// Tiles by worker in the last third of the plans, when slots are filled.
std::vector<std::int64_t> late_tiles(const Result& result) {
  std::vector<std::int64_t> tiles(kWorkers, 0);
  for (std::size_t i = result.plans.size() * 2 / 3; i < result.plans.size(); ++i)
    for (int w = 0; w < kWorkers; ++w) tiles[w] += result.plans[i].tile_load[w];
  return tiles;
}

Nanos end_of(const Result& result) {
  Nanos end = 0;
  for (const Operation& o : result.operations) end = std::max(end, o.end_ns);
  return end;
}

const std::vector<WorkerTraits> kOneSlow = {{}, {}, {2000, 1000, false}, {}};
const std::vector<WorkerTraits> kOneDrains = {{}, {}, {1000, 1000, true}, {}};

TEST(WorkerTraits, ASlowWorkerGetsLessWorkUnderAforeAndThatPays) {
  const std::vector<std::int64_t> alike = late_tiles(run(busy_shape("afore"), {}));
  const Result slow = run(busy_shape("afore"), kOneSlow);
  const std::vector<std::int64_t> tiles = late_tiles(slow);
  // At half the speed it deserves 2/7 of the three others' mean share, from a quarter: let it have 70 % of an even one.
  EXPECT_LT(tiles[2] * 10, alike[2] * 7);
  for (const int other : {0, 1, 3}) EXPECT_LT(tiles[2], tiles[other]);
  EXPECT_LT(end_of(slow), end_of(run(busy_shape("static"), kOneSlow)));
  EXPECT_LT(end_of(run(busy_shape("afore"), {})), end_of(slow));
}

TEST(WorkerTraits, TheSimulatorTakesTheSlowWorkersTime) {
  const Result result = run(busy_shape("static"), kOneSlow, 2);
  std::map<Target, Nanos> planned;
  for (const Plan& plan : result.plans) {
    planned[plan.target] = plan.ffn_ns;
    EXPECT_GE(plan.ffn_ns, plan.ffn_bound_ns);
  }
  std::map<Target, Nanos> longest;
  for (const Operation& o : result.operations)
    if (o.op == "expert_ffn") longest[o.target] = std::max(longest[o.target], o.end_ns - o.start_ns);
  EXPECT_EQ(longest, planned);
}

TEST(WorkerTraits, TheSimulatorCopiesAtTheSlowerEndsRate) {
  const Result result = run(busy_shape("split"), {{}, {1000, 3000, false}, {}, {}});
  std::map<Nanos, int> seen;
  for (const Operation& o : result.operations)
    if (o.op == "copy_expert") ++seen[o.end_ns - o.start_ns];
  EXPECT_GT(seen[20'000], 0);
  EXPECT_GT(seen[60'000], 0);
  EXPECT_EQ(seen.size(), 2u);
}

TEST(WorkerTraits, ADrainingWorkerEndsWithoutWorkWhereReplicasAllow) {
  // All its experts have a replica elsewhere: nothing is left for it from the first target on.
  for (const std::string policy : {"afore", "paper", "split"}) {
    Shape s = busy_shape(policy);
    pipeline::InitialMaps maps;
    LayerPlacement map = LayerPlacement::initial(kExperts, kWorkers, 4);
    for (int i = 0; i < 4; ++i) map.set(i % 2 == 0 ? 0 : 3, 4 + i / 2, 8 + i);
    for (const int layer : {1, 2}) maps[layer] = {layer, map.slots_per_worker(), map.physical_to_logical()};
    s.planner.initial = std::make_shared<const pipeline::InitialMaps>(maps);
    const Result result = run(s, kOneDrains, 20);
    for (const Plan& plan : result.plans) {
      EXPECT_EQ(plan.tile_load[2], 0) << policy;
      for (const Copy& copy : plan.copies) EXPECT_NE(copy.to, 2) << policy;
    }
  }
}

}  // namespace
}  // namespace afore::host
