#pragma once
// The four actors on threads of one process: what they send each other, the targets in flight, the plan ring in shared
// memory, the copies between workers' memories, and what is measured. Public functions are called from the nodes'
// threads with no node's mutex held, unless they say otherwise.
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "device/copy_ports.h"
#include "device/sim/links.h"
#include "host/serving_loop.h"
#include "host/threads/attention_node.h"
#include "host/threads/ffn_node.h"
#include "host/threads/health.h"
#include "host/threads/options.h"
#include "host/threads/scheduler_node.h"
#include "host/threads/shared_ring.h"
#include "host/threads/timer.h"
#include "pipeline/coordinator.h"
#include "pipeline/plan_source.h"
#include "pipeline/run_metrics.h"

namespace afore::host {

class ThreadEngine final : pipeline::Coordinator::Actions {
 public:
  // All of them outlive the engine. Loads experts before it returns.
  ThreadEngine(const ThreadOptions& options, device::Device& device, const pipeline::PlannerOptions& planner,
               ThreadSink sink);
  ~ThreadEngine() override;

  // For the thread that serves.
  AttentionNode& attention(int worker) { return *attention_[worker]; }
  void on_target(const Target& target, Phase phase, std::int64_t tokens, const Batch& batch);
  void end_step(int microbatch);
  // Until the microbatch's step is sampled; false when the run reached its limits before. Error: whatever failed on any
  // thread, or the deadline passed.
  bool wait_sampled(int microbatch, const RunLimits& limits);
  void wait_until(Nanos at_ns, const RunLimits& limits);
  Nanos now() const { return clock_.now(); }
  Nanos copying_ns();
  // Planner::change(), from the next plan on; from any thread. Error{usage}.
  void change_plans(const pipeline::PlannerOptions& options);
  EngineHealth health();             // from any thread; waits for nothing but mutexes that are held for moments
  void throw_failure();              // Error: whatever failed on any thread
  void deliver_news();               // to the sink
  void drain();                      // when all steps are sampled: until no copy is under way. Error as wait_sampled()
  void stop();                       // all threads; what is in flight is dropped
  Summary summary();                 // after stop(), without producer
  std::int64_t gate_tokens() const;  // after stop(): how often gates were evaluated, by token
  std::int64_t copies_done() const { return copies_done_; }

  // For the nodes.
  const ThreadOptions& options() const { return options_; }
  device::Device& device() const { return device_; }
  device::ExpertWorker& ffn_device(int worker) { return ffn_[worker]->device(); }
  std::int64_t arena_slots() const;  // every layer's and its staging buffer
  std::int64_t slot_index(int layer, int slot) const;
  const LayerPlacement& first_placement(int layer) const { return first_placements_.at(layer); }
  std::int64_t everywhere(int layer, int expert) const;  // the slot, for plans that own none

  bool stopping() const { return stopping_.load(std::memory_order_acquire); }
  std::thread start(const std::string& name, std::function<void()> body);  // what it throws ends the run
  void fail(const std::string& thread, const std::exception_ptr& error);   // ends the run

  void on_demand(int source, const Target& target, const std::vector<std::int64_t>& counts);
  void on_rows(const Target& target);
  void on_item_done(const pipeline::WorkItem& item);
  void on_ffn_done(int worker, const Target& target, const pipeline::WorkerTimes& times);
  std::span<device::Step* const> steps(const Target& target);

  void lend_to_scheduler() { scheduler_->lend(); }
  void disturb_plan();                 // ThreadFaults
  void plan(const Demand& demand);     // one at a time
  bool publish(const Target& target);  // by the scheduler, its mutex held; false: the ring is full
  pipeline::PlanPtr take_plan(int worker, std::int64_t serial);  // that is available

  // With the caller's mutex held: post, release. Without: the rest.
  void post_copy(const CopyId& id, const PostedCopy& copy, bool receives, int slot);
  std::vector<CopyId> release_copy(const CopyId& id, bool receives);
  void start_copy(const CopyId& id);
  Nanos on_copy_started(const Copy& copy, Nanos start_ns);  // when it may end
  bool copy_may_end(Nanos end_ns) const;
  void on_copy_ended(const CopyId& id, const Copy& copy);

  // Paced runs: returns at `start_ns` + `ns` or later.
  void pace(Nanos start_ns, Nanos ns);
  double stretch() const;  // how long the paced operations lasted, by how long they should have
  Nanos paced_ffn_ns(int worker, const pipeline::PublishedPlan& plan) const;
  Nanos paced_attention_ns(const pipeline::WorkItem& item) const;
  Nanos paced_sampling_ns(const device::Step& step) const;
  void timeline(char pool, int worker, const char* lane, const char* op, const Target& target, Nanos start_ns);

 private:
  struct Flight {
    Demand demand;
    std::optional<Batch> batch;  // where it begins a step
    std::int64_t serial = 0;
    std::vector<device::Step*> steps;  // by attention worker
    std::vector<std::int64_t> tokens;
    pipeline::PlanPtr plan;
    bool published = false, sent = false;  // paced runs
    int a2f_joined = 0, f2a_joined = 0;
    Nanos a2f_ready_ns = 0, f2a_last_start_ns = 0, f2a_last_sent_ns = 0;
  };
  using FlightPtr = std::shared_ptr<Flight>;
  int attention_count() const { return static_cast<int>(options_.cluster.attention_workers); }
  int ffn_count() const { return static_cast<int>(options_.cluster.ffn_workers); }
  void make_nodes();
  void load_experts();
  void start_nodes();
  FlightPtr flight(const Target& target);
  void start_a2f(const FlightPtr& flight);
  void return_outputs(const FlightPtr& flight);
  void note_times(Flight& flight, int worker, const pipeline::WorkerTimes& times);
  bool copying();
  bool is_due(const std::optional<Nanos>& after_ns) const;
  Nanos disturb_copy(Nanos end_ns) const;
  bool in_flight();
  void tell(std::function<void()> news);  // for deliver_news()

  // Coordinator, with its mutex held
  void send_work(const Demand& demand, const Batch& batch, const pipeline::WorkItem& item) override;
  void step_done(std::int64_t step, int microbatch) override;

  ThreadOptions options_;
  ThreadSink sink_;
  device::Device& device_;
  WallClock clock_;
  std::unique_ptr<pipeline::PlanSource> plans_;
  std::optional<pipeline::PlannedTarget> just_planned_;  // by plans_, for plan()
  std::mutex change_mutex_;
  pipeline::PlannerOptions planner_;          // of the plans to come
  std::atomic<bool> planner_changed_{false};  // and plans_ does not know yet
  std::map<int, LayerPlacement> first_placements_;
  std::map<int, int> ordinals_;  // of MoE layers

  std::mutex coordinator_mutex_;
  pipeline::Coordinator coordinator_;

  std::mutex flights_mutex_;
  std::map<Target, FlightPtr> flights_;
  std::int64_t next_serial_ = 0;

  std::mutex ports_mutex_;
  device::CopyPorts ports_;
  std::map<CopyId, PostedCopy> posted_;

  std::mutex links_mutex_;
  device::SimLinks links_;  // paced runs

  std::mutex metrics_mutex_;
  pipeline::RunMetrics metrics_;
  std::atomic<std::int64_t> copies_done_{0};

  std::mutex serve_mutex_;
  std::condition_variable serve_changed_;
  std::vector<std::int64_t> sampled_;  // steps of each microbatch that are done
  std::vector<std::int64_t> awaited_;
  std::vector<std::function<void()>> news_;
  std::exception_ptr failure_;
  std::string failure_text_;

  std::atomic<bool> stopping_{false}, draining_{false};
  SharedRing ring_;
  std::atomic<Nanos> paced_ns_{0}, lasted_ns_{0};
  std::unique_ptr<Timer> timer_;  // paced runs
  std::unique_ptr<SchedulerNode> scheduler_;
  std::vector<std::unique_ptr<AttentionNode>> attention_;
  std::vector<std::unique_ptr<FfnNode>> ffn_;
};

}  // namespace afore::host
