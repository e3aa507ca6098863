#pragma once
// The inside of the simulator host, shared by its files: sim_host.cc runs the pipeline, sim_compute.cc what takes time
// on a device, sim_faults.cc what goes wrong.
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "device/copy_ports.h"
#include "device/sim/copy_traffic.h"
#include "host/compute_units.h"
#include "host/event_queue.h"
#include "host/sim_host.h"
#include "host/sim_transfers.h"
#include "pipeline/attention_worker.h"
#include "pipeline/coordinator.h"
#include "pipeline/ffn_worker.h"
#include "pipeline/plan_ring.h"
#include "pipeline/scheduler.h"

namespace afore::host {

using pipeline::AttentionWorker;
using pipeline::Coordinator;
using pipeline::FfnWorker;
using pipeline::PlanPtr;
using pipeline::Scheduler;
using pipeline::WorkItem;

constexpr int kRingPlans = 64;

enum class EventKind : std::uint8_t {
  attention_done,
  sampling_done,
  demand_part,
  planned,
  plan_available,
  rows,
  copy_done,
  ffn_done,
  outputs,
  wake,
  copy_noticed,
  copy_released,
  worker_lost,
  loss_noticed,
  reloaded
};

struct Event {
  EventKind kind;
  int worker = 0;
  std::int64_t serial = 0;  // of the target; of the plan for copies
  int index = 0;            // of the copy, of the demand part's buffer
  bool receives = false;    // which end of a copy
  int epoch = 0;            // when it was caused; most events of an older epoch are void
};

// One target on its way through the pipeline.
struct Flight {
  Demand demand;
  Batch batch;
  std::vector<std::int64_t> tokens, kv_tokens;  // per attention worker
  TargetRows rows;                              // once there is a plan
  pipeline::YardTimes yard;
  PlanPtr plan;
  bool published = false, returned = false;  // its plan; its outputs, by all FFN workers
  int a2f_joined = 0, f2a_joined = 0, outputs_back = 0;
  Nanos a2f_ready_ns = 0, f2a_last_start_ns = 0, f2a_last_sent_ns = 0;
};

struct SimHost::Impl final : AttentionWorker::Actions,
                             FfnWorker::Actions,
                             Scheduler::Actions,
                             Coordinator::Actions,
                             ComputeUnits::Actions {
  Impl(const SimOptions& o, pipeline::PlanSource& p, SimSink s)
      : options(o),
        plans(p),
        sink(std::move(s)),
        metrics(o.cluster, o.layer_cost),
        coordinator(attention_count(), static_cast<int>(2 * o.cluster.microbatches + 2), *this),
        scheduler(attention_count(), *this),
        ring(kRingPlans, ffn_count()),
        traffic(ffn_count(), chunk_ns(o)),
        transfers(make_transfers(o, shares_links() ? &traffic : nullptr)),
        units(o.topology == Topology::colocated ? ffn_count() : 0, *this),
        ports(ffn_count()),
        clock(o.faults, attention_count(), ffn_count(), o.fault_seed),
        alive(ffn_count(), true),
        members(ffn_count(), true),
        member_count(ffn_count()),
        taken_serial(ffn_count(), -1),
        received_until(ffn_count(), 0),
        sent_until(ffn_count(), 0) {
    for (int a = 0; a < attention_count(); ++a) attention.emplace_back(a, *this);
    for (int w = 0; w < ffn_count(); ++w) ffn.emplace_back(w, o.overlap, *this);
    for (const Fault& fault : clock.faults()) schedule_loss(fault);
  }

  int attention_count() const { return static_cast<int>(options.cluster.attention_workers); }
  int ffn_count() const { return static_cast<int>(options.cluster.ffn_workers); }
  bool shares_links() const { return options.shared_chunk_bytes != kAbsent; }
  static Nanos chunk_ns(const SimOptions& options);
  Nanos now() const { return events.now(); }
  Flight& flight(std::int64_t serial) { return flights[static_cast<std::size_t>(serial - first_flight)]; }
  std::int64_t serial_of(const Target& target) const { return serials.at(target); }

  void enqueue(const Demand& demand, const Batch* batch, const pipeline::YardTimes& yard);
  void run();
  void handle(const Event& event);
  void split_over_attention(Flight& flight) const;
  void start_attention(int worker, const WorkItem& item);
  void start_sampling(int worker, const WorkItem& item);
  void start_a2f(Flight& flight);
  void start_copies(const std::vector<CopyId>& started);
  void finish_copy(const CopyId& id);
  void take_plans(int worker, std::int64_t serial);
  void return_outputs(Flight& flight);
  void retire_flights();
  void timeline(const char* pool, int worker, const char* lane, const char* op, const Target& target, Nanos start,
                Nanos end);

  // Faults
  Event caused(EventKind kind, int worker, std::int64_t serial, int index = 0, bool receives = false) const {
    return {kind, worker, serial, index, receives, epoch};
  }
  bool is_void(const Event& event) const;
  void schedule_loss(const Fault& fault);
  void end_epoch();
  std::map<int, std::vector<int>> inventories();
  void set_maps(const pipeline::Recovery& recovery, int first_layer, Membership& record);

  // Coordinator
  void send_work(const Demand& demand, const Batch& batch, const WorkItem& item) override;
  void step_done(std::int64_t step, int microbatch) override {
    metrics.on_step_done(now(), step, microbatch);
    if (sink.step_done) sink.step_done(step, microbatch);
  }
  // ComputeUnits
  void start(const ComputeTask& task) override;
  // AttentionWorker
  void run_attention(int worker, const WorkItem& item) override {
    units.ready({ComputeTask::Kind::attention, worker, item, 0});
  }
  void run_sampling(int worker, const WorkItem& item) override {
    units.ready({ComputeTask::Kind::sampling, worker, item, 0});
  }
  void send_rows(int worker, const Target& target) override;
  void send_demand(int worker, const Target& target, std::span<const std::int64_t> counts) override;
  void item_done(int, const WorkItem& item) override { coordinator.on_item_done(item); }
  // Scheduler
  void start_planning(const Demand& demand) override;
  bool publish(const Target& target) override;
  // FfnWorker
  void post_copy(int, const CopyId& id, const Copy& copy, bool receives, int, int) override {
    ports.post(id, copy, receives);
  }
  void release_copy(int, const CopyId& id, bool receives) override;
  void run_ffn(int worker, const Target& target, std::int64_t tiles, std::int64_t activated,
               std::span<const int> slots) override;
  void send_outputs(int worker, const Target& target) override;
  void report(int worker, const Target& target, const pipeline::WorkerTimes& times) override;

  SimOptions options;
  pipeline::PlanSource& plans;
  SimSink sink;
  pipeline::RunMetrics metrics;
  EventQueue<Event> events;
  Coordinator coordinator;
  Scheduler scheduler;
  pipeline::PlanRing ring;
  device::CopyTraffic traffic;  // where links are shared
  std::unique_ptr<SimTransfers> transfers;
  ComputeUnits units;
  device::CopyPorts ports;
  FaultClock clock;
  std::vector<bool> alive, members;  // FFN workers: that run; that this epoch counts on
  int member_count;
  int epoch = 0;
  std::int64_t redone_targets = 0, abandoned_copies = 0, reloaded_experts = 0;
  std::deque<AttentionWorker> attention;
  std::deque<FfnWorker> ffn;

  std::deque<Flight> flights;  // by serial - first_flight, in stream order
  std::int64_t first_flight = 0, next_serial = 0;
  std::map<Target, std::int64_t> serials;
  std::map<Target, pipeline::YardTimes> yards;  // pushed, not yet sent out
  std::vector<std::int64_t> taken_serial;       // by FFN worker: of the last plan it took
  std::map<int, bool> placed_layers;
  std::map<int, std::int64_t> last_step;                        // of each microbatch, as pushed
  std::map<int, std::vector<std::int64_t>> sampling_sequences;  // per attention worker, of the step sent out last
  std::vector<std::vector<std::int64_t>> parts;                 // demand parts under way
  std::vector<int> free_parts;
  std::map<CopyId, std::int64_t> running_copies;  // start, for the timeline
  std::vector<Nanos> received_until, sent_until;  // by FFN worker: its link is taken, for the timeline
  std::vector<Nanos> arrivals;
  std::vector<std::int64_t> part;
};

}  // namespace afore::host
