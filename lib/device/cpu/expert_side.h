#pragma once
// An FFN worker's part of a target: the rows of its shares, through its experts, to where they are combined.
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/attention_side.h"
#include "device/cpu/kernels.h"
#include "device/cpu/step_state.h"

namespace afore::device::cpu {

// A share whose expert's packed weights lie at `block`.
struct PackedShare {
  int expert = 0;
  std::int64_t first = 0, tokens = 0;  // as in RowShare
  const std::byte* block = nullptr;
};

class ExpertSide {
 public:
  // `pool` may be null.
  ExpertSide(const Kernels& kernels, const ExpertShape& shape, int top_k, ThreadPool* pool)
      : kernels_(kernels), shape_(shape), top_k_(top_k), pool_(pool) {}

  // `steps`: StepStates, through the gate. exact: writes the shares' rows of y. partial: overwrites part `worker` of
  // each y with the weighted sums of the shares' rows.
  void run(std::span<Step* const> steps, std::span<const PackedShare> shares, Combine mode, int worker);

 private:
  void gather(std::span<Step* const> steps, const PackedShare& share, bool exact);
  void add_up(std::span<Step* const> steps, int worker);

  struct Place {  // of a row, partial only
    StepState* step = nullptr;
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

}  // namespace afore::device::cpu
