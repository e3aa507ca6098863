#include "host/closed_loop.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "pipeline/yardstick.h"
#include "util/error.h"

namespace afore::host {
namespace {

using batch::Chunk;
using batch::ServingStep;

struct RequestRouting {  // that a request reads its experts from
  std::shared_ptr<const SequenceRecord> sequence;
  std::int64_t offset = 0;
};

struct PlannedLater {  // a target on its way to the scheduler
  std::optional<Batch> batch;
  Demand demand;
};

ServingLoopOptions loop_options(const ClosedLoopOptions& options) {
  ServingLoopOptions loop;
  loop.serving = options.serving;
  loop.objectives = options.objectives;
  loop.end_ns = options.end_ns;
  loop.layers = options.sim.model.moe_layers.size();
  return loop;
}

}  // namespace

struct ClosedLoop::Impl final : StepRunner {
  Impl(const ClosedLoopOptions& o, ClosedLoopSink s)
      : model(o.sim.model),
        sink(std::move(s)),
        yardstick(o.sim.cluster, o.sim.layer_cost, o.planner.limits.objective),
        plans(pipeline::live_plans(o.sim.model, o.sim.cluster, o.sim.layer_cost, o.planner,
                                   [this](const pipeline::PlannedTarget& planned) { on_planned(planned); })),
        host(o.sim, *plans, sim_sink()),
        steps(o.serving.microbatches),
        loop(loop_options(o), *this, sink.completion) {
    row_bytes = model.moe_layers.size() * static_cast<std::size_t>(model.top_k);
  }

  struct Step {                             // of a microbatch, under way
    std::vector<const std::uint8_t*> rows;  // one per token
    Phase phase = Phase::decode;
    Batch record;
    bool sampled = false;
  };

  SimSink sim_sink() {
    SimSink to;
    to.observed = sink.observed;
    to.operation = sink.operation;
    to.membership = sink.membership;
    to.step_done = [this](std::int64_t, int microbatch) { steps[microbatch].sampled = true; };
    return to;
  }

  Nanos now() const override { return host.now(); }
  Nanos copying_ns() const override { return host.copying_ns(); }
  void on_admitted(int slot, const IncomingRequest& request) override;
  void on_closed(int slot) override { routing[slot] = {}; }
  void begin_step(std::int64_t step, int microbatch, const ServingStep& composed, const Batch& record,
                  Phase phase) override;
  void next_layer(int microbatch, std::size_t layer) override;
  bool wait_sampled(int microbatch, const RunLimits& limits) override;
  bool ends(int) override { return false; }  // recorded routing has no token ids
  void fill(int, Completion&) override {}
  void wait_until(Nanos at_ns, const RunLimits& limits) override;
  void finish() override { host.finish(); }
  void on_planned(const pipeline::PlannedTarget& planned);

  ModelSpec model;
  ClosedLoopSink sink;
  pipeline::Yardstick yardstick;
  std::unique_ptr<pipeline::PlanSource> plans;
  SimHost host;
  std::vector<RequestRouting> routing;  // by slot
  std::size_t row_bytes = 0;
  std::vector<Step> steps;  // by microbatch
  std::deque<PlannedLater> to_plan;
  ServingLoop loop;
};

void ClosedLoop::Impl::on_admitted(int slot, const IncomingRequest& request) {
  if (routing.size() <= static_cast<std::size_t>(slot)) routing.resize(slot + 1);
  routing[slot] = {request.sequence, request.record.offset};
}

void ClosedLoop::Impl::begin_step(std::int64_t, int microbatch, const ServingStep& composed, const Batch& record,
                                  Phase phase) {
  Step& mine = steps[microbatch];
  mine.rows.clear();
  for (const Chunk& chunk : composed.chunks) {
    const RequestRouting& from = routing[chunk.slot];
    const SequenceRecord& sequence = *from.sequence;
    std::int64_t row = (from.offset + chunk.first) % sequence.tokens;
    for (std::int64_t i = 0; i < chunk.tokens; ++i) {
      mine.rows.push_back(sequence.experts.data() + static_cast<std::size_t>(row) * row_bytes);
      if (++row == sequence.tokens) row = 0;
    }
  }
  mine.phase = phase;
  mine.record = record;
  mine.sampled = false;
  next_layer(microbatch, 0);
}

void ClosedLoop::Impl::next_layer(int microbatch, std::size_t layer) {
  const Step& mine = steps[microbatch];
  PlannedLater& later = to_plan.emplace_back();
  if (layer == 0) later.batch = mine.record;
  Demand& demand = later.demand;
  demand.target = {mine.record.step, model.moe_layers[layer], microbatch};
  demand.phase = mine.phase;
  demand.tokens = static_cast<std::int64_t>(mine.rows.size());
  demand.counts.assign(static_cast<std::size_t>(model.experts), 0);
  const std::size_t from = layer * static_cast<std::size_t>(model.top_k), to = from + model.top_k;
  for (const std::uint8_t* row : mine.rows)
    for (std::size_t k = from; k < to; ++k) ++demand.counts[row[k]];
  host.enqueue(demand, &mine.record, yardstick.measure(demand));
}

void ClosedLoop::Impl::on_planned(const pipeline::PlannedTarget& planned) {
  if (host.epoch() > 0 && (to_plan.empty() || to_plan.front().demand.target != planned.plan.target)) {
    if (sink.replanned) sink.replanned(planned);
    return;
  }
  AFORE_CHECK(!to_plan.empty() && to_plan.front().demand.target == planned.plan.target, "plans come in stream order");
  const PlannedLater& first = to_plan.front();
  if (sink.planned) sink.planned(first.batch ? &*first.batch : nullptr, first.demand, planned);
  to_plan.pop_front();
}

bool ClosedLoop::Impl::wait_sampled(int microbatch, const RunLimits& limits) {
  host.end_step(microbatch);
  while (!steps[microbatch].sampled) {
    if (limits.reached(host.now())) return false;
    AFORE_CHECK(host.advance(), "a step is never sampled");
  }
  return true;
}

void ClosedLoop::Impl::wait_until(Nanos at_ns, const RunLimits& limits) {
  host.wake_at(std::max(at_ns, host.now()));
  while (host.now() < at_ns && !limits.signalled()) AFORE_CHECK(host.advance(), "time stands still");
}

ClosedLoop::ClosedLoop(const ClosedLoopOptions& options, ClosedLoopSink sink)
    : impl_(std::make_unique<Impl>(options, std::move(sink))) {}
ClosedLoop::~ClosedLoop() = default;

bool ClosedLoop::run(RequestSource& source, const StopFlag* stop) { return impl_->loop.run(source, stop); }

Summary ClosedLoop::summary() const {
  Summary summary = impl_->host.summary();
  impl_->loop.fill(summary);
  return summary;
}

}  // namespace afore::host
