#pragma once
// The whole model on the calling thread: no workers, no plans. What a pipeline's output is compared with, and how
// routing is recorded. Its clock counts steps, a millisecond each, so that a run is the same whenever it is made.
#include "device/cpu/expert_side.h"
#include "host/model_runner.h"
#include "host/predictor.h"

namespace afore::host {

struct MonolithOptions {
  int microbatches = 1;
  std::int64_t kv_budget_tokens = 0;  // of each attention worker that the steps are composed for
  int attention_workers = 1;          // whose parts all run here
  int threads = 1;
  device::cpu::Isa isa = device::cpu::Isa::scalar;
  bool wall_clock = false;               // now() is the time since the start
  bool routing = false;                  // the sink's records have it, and which tokens the rows are
  std::vector<Predictor*> predictors{};  // asked in this order; they outlive the run
};

// In the order of a stream: predictions stand between batch and demand. May be empty.
using MonolithSink = std::function<void(const Batch* batch, std::span<const Prediction> predictions,
                                        const Demand& demand, const Routing* routing)>;

class Monolith final : public ModelRunner {
 public:
  Monolith(const LoadedModel& model, const MonolithOptions& options, MonolithSink sink, TextSink text);

  Nanos now() const override;
  Nanos copying_ns() const override { return 0; }
  void begin_step(std::int64_t step, int microbatch, const batch::ServingStep& composed, const Batch& record,
                  Phase phase) override;
  void next_layer(int microbatch, std::size_t layer) override;
  bool wait_sampled(int microbatch, const RunLimits& limits) override;
  void wait_until(Nanos at_ns, const RunLimits& limits) override;
  void finish() override;

  device::cpu::AttentionSide& side() { return side_; }

 protected:
  device::Step& state(int, int microbatch) override { return microbatches_[microbatch].state; }
  device::PagePool& pages(int) override { return side_.pages(); }

 private:
  struct Microbatch {
    device::cpu::StepState state;
    Batch record;
    Phase phase = Phase::decode;
    int layer = -1;                       // MoE layer whose gate was last
    std::vector<Prediction> predictions;  // that stand ahead of its next demand
  };
  void to_gate(int microbatch, int layer);
  void experts(Microbatch& mine);

  MonolithOptions options_;
  MonolithSink sink_;
  const LoadedModel& model_;
  std::vector<int> moe_layers_;
  device::cpu::RotaryTable rotary_;
  std::shared_ptr<device::cpu::ThreadPool> pool_;
  device::cpu::AttentionSide side_;
  device::cpu::ExpertSide experts_;
  std::vector<device::cpu::Block> blocks_;  // [MoE layer][expert]
  std::vector<device::cpu::PackedShare> shares_;
  std::vector<Microbatch> microbatches_;
  Nanos start_ns_ = 0, virtual_ns_ = 0;
};

}  // namespace afore::host
