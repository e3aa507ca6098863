// Copies made ahead, in runs of every shape: nothing is lost or late, slots need no wait, the checker accepts the
// plans, and plans read from a stream run as those made on the way.
#include <map>

#include "harness.h"
#include "util/error.h"
#include "verify/verify.h"

namespace afore::host {
namespace {

struct Foretold {
  Demand demand;
  std::vector<Prediction> before;  // known when the demand is
};

// Of the next layer's demand: as it will be, another one, or nothing.
std::vector<Foretold> foretell(Draw& draw, const Shape& s, const std::vector<Demand>& stream) {
  std::map<Target, const Demand*> by_target;
  for (const Demand& demand : stream) by_target[demand.target] = &demand;
  std::vector<Foretold> told;
  for (const Demand& demand : stream) {
    Foretold& next = told.emplace_back(Foretold{demand, {}});
    for (int ahead = 1; ahead <= 2; ++ahead) {
      Target target = demand.target;
      target.layer += ahead;
      const auto it = by_target.find(target);
      if (draw(5) == 0) continue;
      const bool right = it != by_target.end() && draw(3) > 0;
      next.before.push_back({target,
                             "test",
                             demand.target.layer,
                             right ? it->second->counts : random_demand(draw, s, target).counts,
                             {}});
    }
  }
  return told;
}

Header header_of(const Shape& s) {
  Header header;
  header.model = s.sim.model;
  header.cluster = s.sim.cluster;
  PlannerSpec planner;
  planner.policy = s.planner.policy;
  planner.demand_source = to_string(pipeline::effective_source(s.planner.policy, s.planner.source));
  planner.objective = s.planner.limits.objective;
  planner.copy_budget = s.planner.limits.copy_budget;
  planner.gain_rule = s.planner.limits.gain_rule;
  planner.cost = s.sim.layer_cost;
  header.planner = planner;
  return header;
}

struct Outcome {
  std::vector<Plan> plans;
  std::vector<std::string> observed;
  std::int64_t ahead = 0;
};

Outcome simulate_told(const Shape& s, const std::vector<Foretold>& stream, const std::vector<Plan>* given) {
  Outcome run;
  std::unique_ptr<pipeline::PlanSource> plans;
  pipeline::EmbeddedPlans* embedded = nullptr;
  if (given != nullptr) {
    auto fixed = std::make_unique<pipeline::EmbeddedPlans>(s.sim.model, s.sim.cluster, s.sim.layer_cost);
    embedded = fixed.get();
    plans = std::move(fixed);
  } else {
    plans = pipeline::live_plans(s.sim.model, s.sim.cluster, s.sim.layer_cost, s.planner,
                                 [&](const pipeline::PlannedTarget& planned) { run.plans.push_back(planned.plan); });
  }
  SimSink sink;
  sink.observed = [&](const Observed& observed) {
    run.observed.push_back(text(observed));
    EXPECT_EQ(observed.slot_wait_ns, 0) << text(observed);
  };
  SimHost host(s.sim, *plans, std::move(sink));
  for (std::size_t i = 0; i < stream.size(); ++i) {
    for (const Prediction& prediction : stream[i].before) plans->on_prediction(prediction);
    if (embedded != nullptr) embedded->push(stream[i].demand, &(*given)[i]);
    host.push(stream[i].demand, nullptr, {});
  }
  host.finish();
  for (const Plan& plan : run.plans) run.ahead += std::ssize(plan.ahead);
  return run;
}

void expect_verified(const Shape& s, const std::vector<Foretold>& stream, const std::vector<Plan>& plans) {
  verify::Verifier verifier;
  verifier.feed(header_of(s));
  for (std::size_t i = 0; i < plans.size(); ++i) {
    verifier.feed(stream[i].demand);
    verifier.feed(plans[i]);
  }
  verifier.finish();
}

TEST(AheadProperty, RandomShapesFinishAndAreVerified) {
  const char* policies[] = {"joined", "paper", "llep", "quota", "libra", "lina"};
  std::int64_t ahead = 0, joined = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Draw draw{seed};
    Shape s = random_shape(draw, 6, 16);
    s.planner.policy = policies[seed % 6];
    s.planner.source =
        s.planner.policy == std::string("joined") ? pipeline::DemandSource::usual : pipeline::DemandSource::prediction;
    s.planner.layers_ahead = static_cast<int>(1 + draw(2));
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + s.text());
    const std::vector<Foretold> stream =
        foretell(draw, s, random_stream(draw, s, seed % 6 == 0 ? 40 : 12, 3, seed % 4 == 0));
    Outcome run;
    ASSERT_NO_THROW(run = simulate_told(s, stream, nullptr));
    ASSERT_EQ(run.observed.size(), stream.size());
    ASSERT_NO_THROW(expect_verified(s, stream, run.plans));
    EXPECT_EQ(simulate_told(s, stream, &run.plans).observed, run.observed);
    (s.planner.policy == std::string("joined") ? joined : ahead) += run.ahead;
  }
  EXPECT_GT(ahead, 200);
  EXPECT_GT(joined, 20);
}

TEST(AheadProperty, TheSamePlansWhenPredictionsAreReadEarly) {
  Draw draw{77};
  for (int round = 0; round < 20; ++round) {
    Shape s = random_shape(draw, 6, 16);
    s.planner.policy = "paper";
    s.planner.source = pipeline::DemandSource::prediction;
    std::vector<Foretold> stream = foretell(draw, s, random_stream(draw, s, 5, 3, false));
    const Outcome run = simulate_told(s, stream, nullptr);
    for (std::size_t i = 1; i < stream.size(); ++i) {
      std::vector<Prediction>& all = stream[0].before;
      all.insert(all.end(), stream[i].before.begin(), stream[i].before.end());
      stream[i].before.clear();
    }
    EXPECT_EQ(simulate_told(s, stream, nullptr).observed, run.observed) << s.text();
  }
}

}  // namespace
}  // namespace afore::host
