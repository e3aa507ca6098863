#pragma once
// Serves requests with a real model: attention workers, FFN workers and the scheduler on threads of this process,
// replicas moving between the FFN workers' memories while they compute.
#include "host/model_runner.h"
#include "host/threads/engine.h"

namespace afore::host {

class ThreadRunner final : public ModelRunner {
 public:
  // `model` outlives it. Returns when experts are loaded.
  ThreadRunner(const LoadedModel& model, const ThreadOptions& options, const pipeline::PlannerOptions& planner,
               const ThreadSink& sink, TextSink text);
  // On a device that is made already.
  ThreadRunner(const LoadedModel& model, const ThreadOptions& options, const pipeline::PlannerOptions& planner,
               const ThreadSink& sink, TextSink text, std::unique_ptr<device::Device> device);

  Nanos now() const override { return engine_->now(); }
  Nanos copying_ns() const override { return engine_->copying_ns(); }
  void begin_step(std::int64_t step, int microbatch, const batch::ServingStep& composed, const Batch& record,
                  Phase phase) override;
  void next_layer(int microbatch, std::size_t layer) override;
  bool wait_sampled(int microbatch, const RunLimits& limits) override;
  void wait_until(Nanos at_ns, const RunLimits& limits) override;
  void on_idle() override;
  void finish() override;

  ThreadEngine& engine() { return *engine_; }

 protected:
  device::Step& state(int worker, int microbatch) override { return engine_->attention(worker).step(microbatch); }
  device::PagePool& pages(int worker) override { return engine_->attention(worker).device().pages(); }

 private:
  struct Microbatch {
    Batch record;
    Phase phase = Phase::decode;
    std::int64_t tokens = 0;
    bool under_way = false;
  };
  ThreadSink held_back(const ThreadSink& sink);

  std::vector<int> moe_layers_;
  std::vector<Microbatch> microbatches_;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<ThreadEngine> engine_;
};

}  // namespace afore::host
