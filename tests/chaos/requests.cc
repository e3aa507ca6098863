// Requests in a closed loop: every request is answered exactly once, with all its tokens when it is complete, whoever
// is lost meanwhile; the host checks at every change that none is lost.
#include <map>
#include <set>

#include "../host/load.h"
#include "chaos.h"

namespace afore::chaos {
namespace {

using namespace host;

const StopFlag kNoSignal{0};

struct Run {
  Load load;
  std::vector<Fault> faults;
};

bool run_loop(const Load& load, const ClosedLoopSink& sink, Summary& summary) {
  ClosedLoop loop(load.options, sink);
  FiniteRequests source = feed(load.requests);
  const bool stopped = loop.run(source, &kNoSignal);
  summary = loop.summary();
  return !stopped;
}

Run draw_run(std::uint64_t seed) {
  Draw draw{seed * 2};
  Run run{random_load(draw), {}};
  ClosedLoopOptions& options = run.load.options;
  options.planner.policy = random_policy(draw);
  options.sim.reload_ns = draw(300'000);
  draw_traits(draw, options.sim, options.planner);
  // As long as the run takes without faults, so that most of them strike.
  Nanos last_ns = 10'000;
  ClosedLoopSink sink;
  sink.completion = [&](const Completion& completion) { last_ns = std::max(last_ns, completion.times->finished_ns); };
  Summary summary;
  run_loop(run.load, sink, summary);
  run.faults = random_faults(draw, options.sim.cluster, last_ns);
  options.sim.faults = run.faults;
  options.sim.fault_seed = seed;
  return run;
}

std::string about(const std::string& id, const char* what) {
  std::string text = "request ";
  return text.append(id).append(what);
}

// Completions, checked against what was asked.
class Answers {
 public:
  explicit Answers(const Load& load) : load_(load) {}

  void on_completion(const Completion& done) {
    require(ids_.insert(done.id).second, about(done.id, " is answered twice"));
    const RequestRecord& asked = load_.requests[std::stoul(done.id)].record;
    require(done.times->arrival_ns == asked.arrival_ns, about(done.id, " has another arrival"));
    require(done.finish_reason != "length" || done.output_tokens == asked.output_tokens,
            about(done.id, " is complete without all its tokens"));
  }
  void at_end(const Summary& s, std::int64_t plans, std::int64_t replans, std::int64_t observed) const {
    require(*s.injected == *s.completed + *s.queued + *s.running + *s.rejected + *s.timed_out,
            "requests do not add up");
    require(static_cast<std::int64_t>(ids_.size()) == *s.completed + *s.rejected + *s.timed_out,
            "answers do not add up");
    if (!load_.options.end_ns)
      require(ids_.size() == load_.requests.size(),
              std::to_string(load_.requests.size() - ids_.size()) + " requests are never answered");
    require(plans == observed, std::to_string(observed) + " targets are observed, " + std::to_string(plans) +
                                   " were planned, " + std::to_string(replans) + " of them again");
  }

 private:
  const Load& load_;
  std::set<std::string> ids_;
};

}  // namespace

void run_requests(std::uint64_t seed, Tally& tally) {
  const Run run = draw_run(seed);
  Answers answers(run.load);
  std::int64_t plans = 0, replans = 0, observed = 0;
  ClosedLoopSink sink;
  sink.planned = [&](const Batch*, const Demand&, const pipeline::PlannedTarget&) { ++plans; };
  sink.replanned = [&](const pipeline::PlannedTarget&) { ++replans; };
  sink.observed = [&](const Observed&) { ++observed; };
  sink.membership = [&](const Membership& membership) { count(membership, tally); };
  sink.completion = [&](const Completion& completion) { answers.on_completion(completion); };
  Summary summary;
  try {
    run_loop(run.load, sink, summary);
  } catch (const Error& error) {
    if (!is_unservable(error)) throw;
    tally.unservable += 1;
    return;
  }
  answers.at_end(summary, plans, replans, observed);
  tally.completed += *summary.completed;
  tally.failed += *summary.failed;
}

std::string describe_requests(std::uint64_t seed) {
  const Run run = draw_run(seed);
  const Shape shape{run.load.options.sim, run.load.options.planner};
  return shape.text() + ", " + std::to_string(run.load.requests.size()) + " requests; " + text(run.faults);
}

}  // namespace afore::chaos
