// EPLB in the background: within its budget, never without a replica, to the map it wanted.
#include "pipeline/eplb_background.h"

#include <map>

#include "fixtures.h"
#include "migrate/transition.h"
#include "placement/eplb.h"

namespace afore::pipeline {
namespace {

constexpr int kExperts = 12, kWorkers = 4, kRedundant = 1, kMicrobatches = 2;
constexpr std::int64_t kExpertBytes = 1000;

PlannerOptions eplb_options(std::int64_t interval, std::int64_t step_bytes) {
  PlannerOptions o;
  o.policy = "eplb";
  o.window_steps = 5;
  o.eplb.interval_steps = static_cast<int>(interval);
  o.eplb.step_bytes = step_bytes;
  o.eplb.allow_duplicates = false;
  return o;
}

Planner make(const PlannerOptions& o) {
  return Planner(model(kExperts), cluster(1, kWorkers, kRedundant, 16, kMicrobatches), small_cost(16), o);
}

// Popularity that differs by layer and moves slowly.
Demand skewed(Draw& draw, std::int64_t step, int layer, int microbatch) {
  std::vector<std::int64_t> counts(kExperts);
  for (int e = 0; e < kExperts; ++e) counts[e] = draw(((e * 7 + layer * 5 + step / 20) % kExperts == 0) ? 900 : 90);
  return demand({step, layer, microbatch}, counts);
}

struct Seen {
  std::map<std::int64_t, std::int64_t> copies_of_step;
  std::vector<std::pair<std::int64_t, PlacementRecord>> completed;
  std::int64_t copies = 0;
};

// Applies every plan to maps of its own and looks at each.
Seen run(Planner& planner, int steps, int layers) {
  Draw draw{3};
  Seen seen;
  std::map<int, LayerPlacement> maps;
  for (int step = 0; step < steps; ++step)
    for (int layer = 1; layer <= layers; ++layer)
      for (int mb = 0; mb < kMicrobatches; ++mb) {
        const Demand d = skewed(draw, step, layer, mb);
        const PlannedTarget planned = planner.plan(d);
        const Plan& plan = planned.plan;
        LayerPlacement& map =
            maps.try_emplace(layer, LayerPlacement::initial(kExperts, kWorkers, kRedundant)).first->second;
        for (const Copy& copy : plan.copies) {
          EXPECT_TRUE(map.holds(copy.expert, copy.from));
          migrate::Transition::apply(map, copy);
        }
        EXPECT_EQ(map.physical_to_logical(), planner.placement(layer).physical_to_logical());
        for (int e = 0; e < kExperts; ++e) EXPECT_FALSE(map.holders(e).empty()) << "expert " << e << " is lost";
        EXPECT_TRUE(plan.rehomes);
        EXPECT_EQ(plan.exposed_ns, 0);
        seen.copies_of_step[step] += static_cast<std::int64_t>(plan.copies.size());
        seen.copies += static_cast<std::int64_t>(plan.copies.size());
        if (planned.completed) seen.completed.emplace_back(step, *planned.completed);

        std::vector<std::int64_t> tokens(kExperts, 0), most(kExperts, 0), least(kExperts, 1 << 30);
        for (const TokenShare& share : plan.assignment_tokens) {
          tokens[share.expert] += share.tokens;
          most[share.expert] = std::max(most[share.expert], share.tokens);
          least[share.expert] = std::min(least[share.expert], share.tokens);
        }
        EXPECT_EQ(tokens, d.counts);
        for (int e = 0; e < kExperts; ++e)
          EXPECT_LE(tokens[e] > 0 ? most[e] - least[e] : 0, 1) << "expert " << e << " is not split evenly";
      }
  return seen;
}

TEST(EplbBackground, KeepsItsBudgetAndEveryExpert) {
  Planner planner = make(eplb_options(10, 3 * kExpertBytes));
  const Seen seen = run(planner, 200, 3);
  EXPECT_GT(seen.copies, 20);
  for (const auto& [step, copies] : seen.copies_of_step) {
    EXPECT_LE(copies, 3) << "step " << step;
    EXPECT_TRUE(copies == 0 || step >= 10) << "before the first interval has passed";
  }
  EXPECT_GE(seen.completed.size(), 3u);
}

TEST(EplbBackground, ABudgetBelowOneExpertAddsUpOverSteps) {
  Planner planner = make(eplb_options(10, kExpertBytes / 4));
  const Seen seen = run(planner, 200, 1);
  EXPECT_GT(seen.copies, 5);
  std::int64_t last = -100;
  for (const auto& [step, copies] : seen.copies_of_step) {
    EXPECT_LE(copies, 1);
    if (copies == 0) continue;
    EXPECT_GE(step - last, 4) << "a copy of " << kExpertBytes << " bytes every four steps at most";
    last = step;
  }
}

TEST(EplbBackground, EndsAtTheMapThatEplbWants) {
  constexpr int kInterval = 20, kWindow = 5;
  Planner planner = make(eplb_options(kInterval, 100 * kExpertBytes));
  Draw draw{8};
  std::vector<double> load(kExperts, 0);
  std::vector<int> wanted;
  std::optional<PlacementRecord> completed;
  for (int step = 0; step < 2 * kInterval; ++step) {
    if (step == kInterval) {  // what the window before the rebalance asks for
      placement::EplbOptions eplb;
      eplb.workers = kWorkers;
      eplb.replicas = kWorkers * planner.placement(1).slots_per_worker();
      eplb.allow_duplicates = false;
      wanted = placement::eplb_physical_to_logical(load, eplb);
    }
    for (int mb = 0; mb < kMicrobatches; ++mb) {
      const Demand d = skewed(draw, step, 1, mb);
      for (int e = 0; e < kExperts; ++e)
        load[e] += step >= kInterval - kWindow ? static_cast<double>(d.counts[e]) : 0.0;
      const PlannedTarget planned = planner.plan(d);
      EXPECT_TRUE(planned.plan.copies.empty() || step >= kInterval);
      if (planned.completed) completed = planned.completed;
    }
  }
  ASSERT_TRUE(completed);
  ASSERT_EQ(wanted.size(), completed->physical_to_logical.size());
  const std::size_t slots = wanted.size() / kWorkers;
  for (std::size_t w = 0; w < kWorkers; ++w) {  // within a worker the order of slots is free
    std::vector<int> want(wanted.begin() + w * slots, wanted.begin() + (w + 1) * slots);
    std::vector<int> have(completed->physical_to_logical.begin() + w * slots,
                          completed->physical_to_logical.begin() + (w + 1) * slots);
    std::sort(want.begin(), want.end());
    std::sort(have.begin(), have.end());
    EXPECT_EQ(have, want) << "worker " << w;
  }
}

TEST(EplbBackground, ANewReplicaIsUsedFromTheNextStepOn) {
  Planner planner = make(eplb_options(5, 100 * kExpertBytes));
  Draw draw{8};
  std::map<std::pair<int, int>, std::int64_t> made;  // expert, worker -> step of its copy
  std::int64_t used = 0;
  for (int step = 0; step < 12; ++step)
    for (int mb = 0; mb < kMicrobatches; ++mb) {
      const LayerPlacement before = planner.placement(1);
      const Plan plan = planner.plan(skewed(draw, step, 1, mb)).plan;
      for (const Copy& copy : plan.copies)
        if (!before.holds(copy.expert, copy.to)) made[{copy.expert, copy.to}] = step;
      for (const TokenShare& share : plan.assignment_tokens) {
        const auto it = made.find({share.expert, share.worker});
        if (it == made.end()) continue;
        EXPECT_GT(step, it->second);
        ++used;
      }
    }
  EXPECT_GT(used, 0);
}

}  // namespace
}  // namespace afore::pipeline
