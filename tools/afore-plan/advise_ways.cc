#include "afore-plan/advise_ways.h"

#include <algorithm>
#include <memory>

#include "advice/verdict.h"
#include "common/progress.h"
#include "host/sim_host.h"
#include "pipeline/standing_plans.h"
#include "util/error.h"

namespace afore::plan {
namespace {

host::SimOptions sim_options(const cli::Setup& setup, const AdviseFlags& flags) {
  host::SimOptions options;
  options.model = setup.model;
  options.cluster = setup.cluster;
  options.layer_cost = setup.cost;
  options.pipeline_cost = pipeline_cost(setup.profile, setup.sized);
  options.overlap = setup.planner.overlap;
  options.kv_tokens = flags.kv_tokens;
  if (flags.links == "shared") options.shared_chunk_bytes = 1 << 20;
  return options;
}

// When each microbatch's steps ended, in step order.
class StepEnds {
 public:
  void add(std::int64_t step, int microbatch, Nanos at_ns) { ends_[microbatch].emplace_back(step, at_ns); }

  // From the end of step `from` to that of step `to`, a mean over the microbatches that had begun by `from`.
  double between_ns(std::int64_t from, std::int64_t to) const {
    double sum = 0;
    int count = 0;
    for (const auto& [microbatch, ends] : ends_) {
      const Nanos begin = last(ends, from);
      if (begin < 0) continue;
      sum += static_cast<double>(last(ends, to) - begin);
      ++count;
    }
    return count == 0 ? 0 : sum / count;
  }

 private:
  using Ends = std::vector<std::pair<std::int64_t, Nanos>>;
  static Nanos last(const Ends& ends, std::int64_t step) {
    const auto after = std::upper_bound(ends.begin(), ends.end(), step,
                                        [](std::int64_t value, const auto& end) { return value < end.first; });
    return after == ends.begin() ? -1 : std::prev(after)->second;
  }
  std::map<int, Ends> ends_;
};

// Blocks of `steps`, equal but for one step; `before` is the step that the first of them follows, -1 = leave it out.
std::vector<double> block_times(const StepEnds& ends, const std::vector<std::int64_t>& steps, std::int64_t before) {
  const std::size_t blocks = advice::blocks_of(static_cast<std::int64_t>(steps.size()));
  std::vector<double> times;
  for (std::size_t b = before < 0 ? 1 : 0; b < blocks; ++b) {
    const std::size_t begin = b * steps.size() / blocks, end = (b + 1) * steps.size() / blocks;
    times.push_back(ends.between_ns(begin == 0 ? before : steps[begin - 1], steps[end - 1]));
  }
  return times;
}

class Simulation {
 public:
  // `ways`: how many will be run.
  Simulation(const Workload& work, const cli::Setup& setup, const AdviseFlags& flags, std::size_t ways)
      : work_(work),
        setup_(setup),
        options_(sim_options(setup, flags)),
        progress_("targets", static_cast<std::int64_t>(work.targets.size() * ways), cli::Progress::Output::at_end) {
    std::map<std::pair<std::int64_t, int>, std::int64_t> tokens;
    for (const Demand& demand : work.targets)
      if (work.in_evaluation(demand.target.step))
        tokens.try_emplace({demand.target.step, demand.target.microbatch}, demand.tokens);
    for (const auto& [key, count] : tokens) tokens_ += static_cast<double>(count);
  }

  // What sees each plan, and the plan source that tells it.
  using Emit = std::function<void(const pipeline::PlannedTarget&)>;
  using Make = std::function<std::unique_ptr<pipeline::PlanSource>(Emit)>;

  Way standing() const {
    return run("standing", "",
               [&](const Emit&) { return pipeline::even_plans(setup_.model, setup_.cluster, setup_.cost); });
  }
  Way live(const std::string& name, const std::string& policy, const pipeline::PlannerOptions& options) const {
    return run(name, policy, [&](Emit emit) {
      return pipeline::live_plans(setup_.model, setup_.cluster, setup_.cost, options, std::move(emit));
    });
  }
  Way held(const std::string& policy, const pipeline::PlannerOptions& options) const {
    return run(policy + " held", policy, [&](Emit emit) {
      return pipeline::held_plans(setup_.model, setup_.cluster, setup_.cost, options, work_.evaluation.front(),
                                  std::move(emit));
    });
  }

 private:
  WindowSums& window_of(Way& way, const Target& target) const {
    return work_.in_evaluation(target.step) ? way.evaluation : way.history;
  }

  Way run(const std::string& name, const std::string& policy, const Make& make) const {
    Way way;
    way.name = name;
    way.policy = policy;
    const std::unique_ptr<pipeline::PlanSource> plans = make([&](const pipeline::PlannedTarget& planned) {
      window_of(way, planned.plan.target).copies += static_cast<std::int64_t>(planned.plan.copies.size());
    });
    StepEnds ends;
    std::unique_ptr<host::SimHost> host;
    host::SimSink sink;
    sink.observed = [&](const Observed& observed) {
      WindowSums& sums = window_of(way, observed.target);
      sums.targets += 1;
      sums.exposed_targets += observed.exposed_ns > 0 ? 1 : 0;
      sums.ffn_ns += static_cast<double>(observed.ffn_ns);
      sums.exposed_ns += static_cast<double>(observed.exposed_ns);
    };
    sink.step_done = [&](std::int64_t step, int microbatch) { ends.add(step, microbatch, host->now()); };
    for (const auto& [layer, record] : work_.placements) plans->on_placement(record);
    host = std::make_unique<host::SimHost>(options_, *plans, std::move(sink));
    for (std::size_t i = 0; i < work_.targets.size(); ++i) {
      const int batch = work_.batch_of[i];
      host->push(work_.targets[i], batch < 0 ? nullptr : &work_.batches[batch], {});
      progress_.add();
    }
    host->finish();
    const std::int64_t border = work_.history.back();
    way.history_blocks_ns = block_times(ends, work_.history, -1);
    way.evaluation_blocks_ns = block_times(ends, work_.evaluation, border);
    way.evaluation_ns = ends.between_ns(border, work_.evaluation.back());
    way.tokens_per_s = way.evaluation_ns > 0 ? tokens_ / way.evaluation_ns * 1e9 : 0;
    return way;
  }

  const Workload& work_;
  const cli::Setup& setup_;
  host::SimOptions options_;
  double tokens_ = 0;  // of the evaluation
  mutable cli::Progress progress_;
};

}  // namespace

std::vector<Way> simulate_ways(const Workload& work, const cli::Setup& setup, const AdviseFlags& flags,
                               const std::vector<std::string>& policies) {
  const Simulation simulation(work, setup, flags, 3 + 2 * policies.size());
  std::vector<Way> ways;
  ways.push_back(simulation.standing());
  ways.push_back(simulation.live("exact split", "", pipeline::exact_split(setup.planner)));
  for (const std::string& policy : policies) {
    pipeline::PlannerOptions options = setup.planner;
    options.policy = policy;
    ways.push_back(simulation.held(policy, options));
    ways.push_back(simulation.live(policy, policy, options));
  }
  pipeline::PlannerOptions options = setup.planner;
  options.policy = "ideal";
  ways.push_back(simulation.live("ideal", "ideal", options));
  return ways;
}

}  // namespace afore::plan
