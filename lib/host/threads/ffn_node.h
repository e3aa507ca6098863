#pragma once
// One FFN worker: its actor, its device with the memory of expert weights, and two threads for what it does at the same
// time: compute, and on the lane take plans and copy replicas. Which of them does what is not fixed. Who has just taken
// the plan that a target waited for computes it at once, and the other is woken only when the lane has something to do
// meanwhile.
//
// The actor is run by whoever brings an event, under the node's mutex; what it wants done outside is done after the
// mutex is released, so that no two nodes' mutexes are held at once.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "device/copy_ports.h"
#include "device/device.h"
#include "pipeline/ffn_worker.h"

namespace afore::host {

class ThreadEngine;

// A copy, and the slots that its two ends' actors named when they posted it.
struct PostedCopy {
  Copy copy;
  int layer = 0;    // whose slots it is between: for a copy made ahead, not the target's
  Target target{};  // of the plan that lists it
  int from_slot = -1, to_slot = -1;
  Nanos started_ns = kAbsent;  // when both its ends had released it
};

struct MovingCopy {  // that a worker receives now
  CopyId id;
  PostedCopy posted;
  device::Ticket ticket = 0;
  bool moved = false;  // all of it
  Nanos start_ns = 0, end_ns = 0;
};

class FfnNode final : pipeline::FfnWorker::Actions {
 public:
  FfnNode(ThreadEngine& engine, int index);
  ~FfnNode() override;

  void load();  // the experts that the layers' first maps put here; before start()
  void start();
  void stop();

  void on_rows(const Target& target);
  void on_plan_available();  // one more plan of the ring has reached this worker
  void on_copy_ready(const CopyId& id, const PostedCopy& posted);
  void on_copy_done(const CopyId& id, bool receives);

  std::int64_t queue();  // plans that have reached it, not finished
  device::ExpertWorker& device() { return *device_; }

 private:
  struct Job {
    Target target;
    pipeline::PlanPtr plan;
    std::vector<int> slots;
    Nanos start_ns = 0;
  };
  struct Deed {  // to do when the mutex is released
    enum class Kind { done_at_once, done, start_copy } kind;
    Target target;
    pipeline::WorkerTimes times;
    CopyId id;
  };
  template <class Event>
  void react(Event&& event);
  void perform(const Deed& deed);
  Target target_of(std::int64_t serial) const;  // of a plan taken and not finished

  void loop();
  bool wait_for_job(Job& job);  // serves the lane meanwhile; false: the run ends
  void compute(const Job& job);
  void ffn_done(Nanos now, const Target& target);

  // The lane's, one thread at a time. False: there was nothing to do.
  template <class Change>
  void add_to_lane(Change&& change);
  bool lane_has_work() const;
  void serve_lane();
  bool take_plan();
  bool start_copy();
  bool advance_copy();

  // Actions
  void post_copy(int worker, const CopyId& id, const Copy& copy, bool receives, int layer, int slot) override;
  void release_copy(int worker, const CopyId& id, bool receives) override;
  void run_ffn(int worker, const Target& target, std::int64_t tiles, std::int64_t activated,
               std::span<const int> slots) override;
  void send_outputs(int, const Target&) override {}  // with report(), which follows
  void report(int worker, const Target& target, const pipeline::WorkerTimes& times) override;

  ThreadEngine& engine_;
  const int index_;
  std::unique_ptr<device::ExpertWorker> device_;
  std::vector<device::RowShare> shares_;

  std::mutex mutex_;  // of the actor and what it touches
  pipeline::FfnWorker actor_;
  std::vector<Deed> deeds_;
  std::deque<pipeline::PlanPtr> taken_;              // plans taken, not finished
  std::deque<std::pair<CopyId, PostedCopy>> ready_;  // copies into this worker that may start
  std::int64_t plans_available_ = 0, plans_taken_ = 0;
  bool has_job_ = false, lane_served_ = false;
  Job job_;
  std::condition_variable idle_, lane_;  // threads without a task; the one that waits on the lane

  std::optional<MovingCopy> moving_;  // of the thread on the lane

  std::thread threads_[2];
};

}  // namespace afore::host
