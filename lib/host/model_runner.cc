#include "host/model_runner.h"

#include <algorithm>

namespace afore::host {

LoadedModel::LoadedModel(const std::filesystem::path& folder) : model(nn::open_model(folder)), tokenizer(folder) {}

LoadedModel::LoadedModel(nn::Model made_up, const std::filesystem::path& tokenizer_folder)
    : model(std::move(made_up)), tokenizer(tokenizer_folder) {}

const device::cpu::AttentionWeights& LoadedModel::weights() const {
  std::call_once(packed_, [this] { weights_ = std::make_unique<const device::cpu::AttentionWeights>(model); });
  return *weights_;
}

ModelRunner::ModelRunner(const LoadedModel& model, int microbatches, int attention_workers, TextSink text)
    : sequences_(model.tokenizer, model.config().eos_ids, std::move(text)),
      attention_workers_(attention_workers),
      under_way_(static_cast<std::size_t>(microbatches), -1) {}

void ModelRunner::compose(std::int64_t step, int microbatch, const batch::ServingStep& composed) {
  release();
  under_way_[microbatch] = step;
  output_.begin(step);
  if (attention_workers_ == kAllInOne) sequences_.fill(composed, Sequences::kAllWorkers, state(0, microbatch));
  for (int a = 0; a < attention_workers_; ++a) sequences_.fill(composed, a, state(a, microbatch));
}

void ModelRunner::take(int microbatch) {
  release();
  for (int a = 0; a < std::max(attention_workers_, 1); ++a) sequences_.take(state(a, microbatch));
  sampled_ = microbatch;
}

std::vector<RowSpan> ModelRunner::rows_of(const device::Step& step) const {
  std::vector<RowSpan> rows;
  rows.reserve(step.slices.size());
  auto id = step.token_ids.begin();
  for (std::size_t s = 0; s < step.slices.size(); ++s) {
    const device::Slice& slice = step.slices[s];
    rows.push_back({sequences_.id(step.slots[s]), slice.first, slice.tokens, {id, id + slice.tokens}});
    id += slice.tokens;
  }
  return rows;
}

// The loop asks ends() of every request that sampled before it begins anything else.
bool ModelRunner::ends(int slot) {
  if (!sequences_.ended(slot)) return false;
  if (sequences_.early(slot)) early_.push_back(sequences_.id(slot));
  return true;
}

void ModelRunner::release() {
  if (sampled_ >= 0) {
    output_.end(under_way_[sampled_], sampled_, std::move(early_));
    early_.clear();
    sampled_ = -1;
  }
  output_.release();
}

void ModelRunner::on_closed(int slot) {
  if (!sequences_.open(slot)) return;  // it never ran
  if (const int worker = sequences_.attention_worker(slot); worker >= 0) pages(worker).release(sequences_.pages(slot));
  sequences_.close(slot);
}

}  // namespace afore::host
