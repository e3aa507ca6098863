// Targets from a stream: every target's outputs come back exactly once, steps end in order, plans and copies use living
// workers only, observed times fit together.
#include <algorithm>
#include <map>
#include <set>

#include "chaos.h"

namespace afore::chaos {
namespace {

using namespace host;

std::string name(const Target& t) {
  return std::to_string(t.step) + ":" + std::to_string(t.layer) + ":" + std::to_string(t.microbatch);
}

struct Run {
  Shape shape;
  std::vector<Demand> stream;
  std::vector<Fault> faults;
  std::uint64_t fault_seed = 0;
};

Run draw_run(std::uint64_t seed) {
  Draw draw{seed * 2 + 1};
  Run run;
  Shape& s = run.shape = random_shape(draw);
  s.planner.policy = random_policy(draw);
  s.planner.eplb.interval_steps = static_cast<int>(1 + draw(3));
  s.planner.window_steps = static_cast<int>(1 + draw(3));
  const int layers = static_cast<int>(1 + draw(3));
  for (int layer = 1; layer <= layers; ++layer) s.sim.model.moe_layers.push_back(layer);
  s.sim.reload_ns = draw(300'000);
  draw_traits(draw, s.sim, s.planner);
  run.stream = random_stream(draw, s, static_cast<int>(2 + draw(8)), layers, draw(2) == 0);
  // As long as the run takes without faults, so that most of them strike.
  Nanos duration_ns = 1'000'000;
  SimSink sink;
  const auto plans = pipeline::live_plans(s.sim.model, s.sim.cluster, s.sim.layer_cost, s.planner,
                                          [](const pipeline::PlannedTarget&) {});
  SimHost host(s.sim, *plans, sink);
  for (const Demand& demand : run.stream) host.push(demand, nullptr, {});
  host.finish();
  duration_ns = std::max<Nanos>(duration_ns / 100, host.now());
  run.faults = random_faults(draw, s.sim.cluster, duration_ns);
  run.fault_seed = seed;
  return run;
}

// What the host told, checked as it comes.
class Witness {
 public:
  Witness(const Run& run) : run_(run), alive_(run.shape.sim.cluster.ffn_workers, true) {}

  void on_plan(const Plan& plan) {
    for (const TileShare& share : plan.assignment)
      require(alive_[share.worker], "the plan of " + name(plan.target) + " uses a lost worker");
    for (const Copy& copy : plan.copies) {
      require(alive_[copy.from] && alive_[copy.to], "a copy of " + name(plan.target) + " needs a lost worker");
      if (plan.rehomes) continue;  // the balancer in the background knows neither
      const auto& traits = run_.shape.sim.cluster.workers;
      const auto& pinned = run_.shape.planner.pinned;
      require(traits.empty() || !traits[copy.to].draining, "a copy of " + name(plan.target) + " goes where it drains");
      require(!std::binary_search(pinned.begin(), pinned.end(), copy.expert), "a pinned expert is copied");
    }
  }
  void on_observed(const Observed& o) {
    require(observed_.insert(o.target).second, name(o.target) + " is observed twice");
    require(o.exposed_ns == std::max<Nanos>(0, o.migration_ns - o.window_ns) || o.migration_ns == 0,
            name(o.target) + ": exposed time is not migration beyond the window");
  }
  void on_membership(const Membership& m) {
    require(m.epoch == ++epoch_, "epochs are not counted one by one");
    for (const int worker : m.lost_workers) alive_[worker] = false;
    for (const Membership::Reload& reload : m.reloads) require(alive_[reload.worker], "a reload goes to a lost worker");
  }
  void on_step(std::int64_t step, int microbatch) {
    const auto [it, first] = last_step_.try_emplace(microbatch, step);
    require(first || it->second < step, "steps of a microbatch end out of order");
    it->second = step;
    steps_ += 1;
  }

  void at_end(const SimHost& host) const {
    require(observed_.size() == run_.stream.size(),
            std::to_string(observed_.size()) + " targets of " + std::to_string(run_.stream.size()) + " are observed");
    std::set<std::pair<std::int64_t, int>> steps;
    for (const Demand& demand : run_.stream) {
      require(observed_.contains(demand.target), name(demand.target) + " is lost");
      steps.insert({demand.target.step, demand.target.microbatch});
    }
    require(steps_ == static_cast<std::int64_t>(steps.size()), "not every step of every microbatch ended once");
    require(host.summary().targets == static_cast<std::int64_t>(run_.stream.size()),
            "the summary counts other targets");
  }

 private:
  const Run& run_;
  std::vector<bool> alive_;
  std::set<Target> observed_;
  std::map<int, std::int64_t> last_step_;
  std::int64_t steps_ = 0, epoch_ = 0;
};

}  // namespace

void run_stream(std::uint64_t seed, Tally& tally) {
  Run run = draw_run(seed);
  Witness witness(run);
  run.shape.sim.faults = run.faults;
  run.shape.sim.fault_seed = run.fault_seed;
  const Shape& s = run.shape;
  const auto plans =
      pipeline::live_plans(s.sim.model, s.sim.cluster, s.sim.layer_cost, s.planner,
                           [&](const pipeline::PlannedTarget& planned) { witness.on_plan(planned.plan); });
  SimSink sink;
  sink.observed = [&](const Observed& observed) { witness.on_observed(observed); };
  sink.membership = [&](const Membership& membership) {
    witness.on_membership(membership);
    count(membership, tally);
  };
  sink.step_done = [&](std::int64_t step, int microbatch) { witness.on_step(step, microbatch); };
  SimHost host(s.sim, *plans, std::move(sink));
  try {
    for (const Demand& demand : run.stream) host.push(demand, nullptr, {});
    host.finish();
  } catch (const Error& error) {
    if (!is_unservable(error)) throw;
    tally.unservable += 1;
    return;
  }
  witness.at_end(host);
}

std::string describe_stream(std::uint64_t seed) {
  const Run run = draw_run(seed);
  return run.shape.text() + ", " + std::to_string(run.stream.size()) + " targets; " + text(run.faults);
}

}  // namespace afore::chaos
