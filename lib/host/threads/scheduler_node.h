#pragma once
// The scheduler: its actor, and a thread that plans. Events as in FfnNode; a plan is published under the mutex, as the
// actor asks for it. With one microbatch in flight nothing can come for an attention worker before the plan for what it
// has just sent is carried out: then its thread plans, which saves waking another.
#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "host/threads/health.h"
#include "pipeline/latency.h"
#include "pipeline/scheduler.h"

namespace afore::host {

class ThreadEngine;

class SchedulerNode final : pipeline::Scheduler::Actions {
 public:
  explicit SchedulerNode(ThreadEngine& engine);
  ~SchedulerNode() override;

  void start();
  void stop();

  void on_target(const Demand& demand);  // without counts
  void on_demand(int source, const Target& target, std::span<const std::int64_t> counts);
  void on_ring_free();
  void lend();  // after on_demand(): the thread of an attention worker, where it has nothing else to do
  void fill(EngineHealth& health);  // the plans' part
  // Wall-clock times of the plans so far; when it is stopped.
  const pipeline::Latencies& plan_ns() const { return plan_ns_; }

 private:
  template <class Event>
  void react(Event&& event);
  void loop();
  void plan(const Demand& demand);

  // Actions
  void start_planning(const Demand& demand) override;
  bool publish(const Target& target) override;

  ThreadEngine& engine_;
  const bool lent_;
  pipeline::Latencies plan_ns_;  // of one plan at a time, whoever makes it

  std::mutex mutex_;
  pipeline::Scheduler actor_;
  std::condition_variable job_ready_;
  bool has_job_ = false;
  Demand job_;
  std::optional<EngineHealth::AwaitedPlan> awaited_;
  std::optional<Nanos> last_plan_ns_;
  std::thread thread_;
};

}  // namespace afore::host
