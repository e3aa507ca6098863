#pragma once
// What runners of a real model share: the requests' tokens, pages and text, and the order of their records.
#include <filesystem>
#include <memory>
#include <mutex>
#include <vector>

#include "device/cpu/weights.h"
#include "device/device.h"
#include "host/sequences.h"
#include "host/serving_loop.h"
#include "host/step_output.h"
#include "nn/model.h"

namespace afore::host {

// A model and its tokenizer, with what all workers on processors share of it.
class LoadedModel {
 public:
  explicit LoadedModel(const std::filesystem::path& folder);
  // `tokenizer_folder`: of a model that is made up, and has no text of its own.
  LoadedModel(nn::Model made_up, const std::filesystem::path& tokenizer_folder);

  const nn::Model model;
  const nn::Tokenizer tokenizer;

  const nn::ModelConfig& config() const { return model.config; }
  const device::cpu::AttentionWeights& weights() const;  // packed when first asked for; thread-safe

 private:
  mutable std::once_flag packed_;
  mutable std::unique_ptr<const device::cpu::AttentionWeights> weights_;
};

class ModelRunner : public StepRunner {
 public:
  void on_admitted(int slot, const IncomingRequest& request) final { sequences_.admit(slot, request); }
  void on_closed(int slot) final;
  bool ends(int slot) final;
  void fill(int slot, Completion& completion) final { sequences_.answer(slot, completion); }
  void on_idle() override { release(); }

 protected:
  // `attention_workers` kAllInOne: worker 0 computes whatever the composer gives to any.
  static constexpr int kAllInOne = 0;
  ModelRunner(const LoadedModel& model, int microbatches, int attention_workers, TextSink text);

  virtual device::Step& state(int attention_worker, int microbatch) = 0;
  virtual device::PagePool& pages(int attention_worker) = 0;

  // Sets the workers' states up for a step that begins.
  void compose(std::int64_t step, int microbatch, const batch::ServingStep& composed);
  // Its tokens are sampled.
  void take(int microbatch);
  // Lets records out whose steps are over, all microbatches included.
  void release();

  std::int64_t step_of(int microbatch) const { return under_way_[microbatch]; }
  // Whose tokens a composed step's rows are.
  std::vector<RowSpan> rows_of(const device::Step& step) const;
  StepOutput output_;

 private:
  Sequences sequences_;
  int attention_workers_;                // kAllInOne or more
  std::vector<std::int64_t> under_way_;  // step of each microbatch
  int sampled_ = -1;  // the microbatch whose tokens are being taken; its step ends with the next call
  std::vector<std::string> early_;
};

}  // namespace afore::host
