#pragma once
// An FFN worker's part of a target: the rows of its shares, through its experts, to where they are combined.
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/attention_side.h"
#include "device/cpu/kernels.h"
#include "device/cpu/step_state.h"

namespace afore::device::cpu {

// Occurrences first … first + tokens - 1 of an expert in a target, numbered over the attention workers in their order
// and within one in token order.
struct RowShare {
  int expert = 0;
  std::int64_t first = 0, tokens = 0;
  const std::byte* block = nullptr;  // its packed weights here
};

class ExpertSide {
 public:
  // `pool` may be null.
  ExpertSide(const Kernels& kernels, const ExpertShape& shape, int top_k, ThreadPool* pool)
      : kernels_(kernels), shape_(shape), top_k_(top_k), pool_(pool) {}

  // `parts`: the step's state on each attention worker, through the gate, with `y` large enough. exact: writes the
  // shares' rows of y. partial: overwrites part `worker` of each y with the weighted sums of the shares' rows.
  void run(std::span<StepState* const> parts, std::span<const RowShare> shares, Combine mode, int worker);

 private:
  void gather(std::span<StepState* const> parts, const RowShare& share, bool exact);
  void add_up(std::span<StepState* const> parts, int worker);

  struct Place {  // of a row, partial only
    StepState* part = nullptr;
    std::int32_t pair = 0;
  };
  const Kernels& kernels_;
  ExpertShape shape_;
  int top_k_;
  ThreadPool* pool_;
  Scratch scratch_;
  std::vector<const float*> x_;
  std::vector<float*> y_;
  std::vector<std::size_t> ends_;  // of each share's rows
  std::vector<ExpertRows> experts_;
  std::vector<Place> places_;
  std::vector<float> rows_;
};

// Room for what the experts of a target return.
void size_outputs(StepState& step, const nn::ModelConfig& config, Combine mode, int ffn_workers);

}  // namespace afore::device::cpu
