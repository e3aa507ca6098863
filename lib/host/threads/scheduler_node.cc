#include "host/threads/scheduler_node.h"

#include "host/threads/engine.h"

namespace afore::host {

SchedulerNode::SchedulerNode(ThreadEngine& engine)
    : engine_(engine),
      lent_(engine.options().cluster.microbatches == 1 && !engine.options().paced),
      plan_ns_(engine.options().latency_sample),
      actor_(static_cast<int>(engine.options().cluster.attention_workers), *this) {}

SchedulerNode::~SchedulerNode() { stop(); }

void SchedulerNode::start() {
  if (!lent_) thread_ = engine_.start("scheduler", [this] { loop(); });
}

void SchedulerNode::stop() {
  {
    const std::lock_guard lock(mutex_);  // so that nobody is between looking and waiting
  }
  job_ready_.notify_all();
  if (thread_.joinable()) thread_.join();
}

template <class Event>
void SchedulerNode::react(Event&& event) {
  bool job = false;
  {
    const std::lock_guard lock(mutex_);
    event();
    job = has_job_;
  }
  if (job && !lent_) job_ready_.notify_one();
}

void SchedulerNode::on_target(const Demand& demand) {
  const int experts = static_cast<int>(engine_.options().model.experts);
  react([&] { actor_.on_target(demand.target, demand.phase, demand.tokens, experts); });
}

void SchedulerNode::on_demand(int source, const Target& target, std::span<const std::int64_t> counts) {
  react([&] { actor_.on_demand(source, target, counts); });
}

void SchedulerNode::on_ring_free() {
  react([&] { actor_.on_ring_free(); });
}

void SchedulerNode::start_planning(const Demand& demand) {
  awaited_ = {demand.target, engine_.now()};
  job_ = demand;
  has_job_ = true;
}

bool SchedulerNode::publish(const Target& target) {
  if (!engine_.publish(target)) return false;
  awaited_.reset();
  last_plan_ns_ = engine_.now();
  return true;
}

void SchedulerNode::fill(EngineHealth& health) {
  const std::lock_guard lock(mutex_);
  health.awaited_plan = awaited_;
  health.waiting_targets = actor_.waiting();
  health.last_plan_ns = last_plan_ns_;
}

void SchedulerNode::loop() {
  Demand demand;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      job_ready_.wait(lock, [this] { return has_job_ || engine_.stopping(); });
      if (engine_.stopping()) return;
      std::swap(demand, job_);
      has_job_ = false;
    }
    plan(demand);
  }
}

void SchedulerNode::lend() {
  if (!lent_) return;
  Demand demand;
  {
    const std::lock_guard lock(mutex_);
    if (!has_job_) return;
    std::swap(demand, job_);
    has_job_ = false;
  }
  try {
    plan(demand);
  } catch (...) {
    engine_.fail("scheduler", std::current_exception());
  }
}

void SchedulerNode::plan(const Demand& demand) {
  engine_.disturb_plan();
  const Nanos start_ns = engine_.now();
  engine_.plan(demand);
  plan_ns_.add(static_cast<double>(engine_.now() - start_ns));
  engine_.pace(start_ns, engine_.options().pipeline_cost.scheduler_ns);
  if (!engine_.stopping()) react([&] { actor_.on_planned(demand.target); });
}

}  // namespace afore::host
