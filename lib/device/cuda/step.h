#pragma once
// An attention worker's part of a step, as GPUs have it. FFN workers on other GPUs reach what they read and write:
// where GPUs read each other's memory it stays on the attention worker's GPU, else a copy of what experts read lies in
// pinned memory of the host, and so do the rows that they return.
#include <deque>
#include <vector>

#include "device/cuda/parcel.h"
#include "kernels/attention.h"
#include "kernels/expert_rows.h"
#include "kernels/gate.h"
#include "kernels/sample.h"

namespace afore::device::cuda {

// What the gate decided, and what experts need of it: one block of memory, so that it is one copy.
struct Routed {
  std::int32_t* counts = nullptr;      // [experts]
  std::int32_t* not_finite = nullptr;  // [2]: the gate's logits, the sampled ones
  std::int32_t* begin = nullptr;       // [experts + 1]
  std::int32_t* sorted = nullptr;      // [tokens * top_k]
  float* weights = nullptr;            // [tokens][top_k]
  std::uint16_t* x = nullptr;          // [tokens][hidden]

  std::int64_t told_bytes = 0;  // counts and not_finite, which the host reads
  std::int64_t bytes = 0;
};
// `base` null: sizes alone.
Routed routed_at(std::byte* base, std::int64_t tokens, std::int32_t experts, std::int32_t top_k, std::int32_t hidden);

// The step's tokens as the host composes them, in device memory.
struct StepInput {
  std::int32_t* ids = nullptr;  // [tokens]
  kernels::TokenPlaces places;
  std::int32_t* singles = nullptr;  // tokens that are alone in their slice
  kernels::QueryRun* runs = nullptr;
  std::int32_t single_count = 0, run_count = 0, most_positions = 0, most_single_positions = 0;
  std::int32_t* sample_rows = nullptr;  // [samples]: the last tokens of slices that sample
  kernels::SampleRow* sample_options = nullptr;
  std::int32_t samples = 0;
};

// What a step has of each GPU's memory, and how it is shared.
struct StepPlace {
  int gpu = 0;
  bool peers = true;  // every FFN worker's GPU reaches this one's memory
  std::vector<int> gpus;
  std::vector<Lane*> sums;  // of FFN workers, where each adds up its partial outputs on its own GPU; else none
};

// What an FFN worker returns of a step, on its own GPU.
struct PartialOutput {
  Buffer<float> rows;        // [tokens][hidden]
  Lane* sums = nullptr;      // where it is summed
  Ticket summed = 0;         // of `sums`: the last sum has read it
  Lane* computes = nullptr;  // where it is computed
  Ticket written = 0;        // of `computes`: it is there
};

class CudaStep final : public Step {
 public:
  CudaStep(const StepPlace& place, Lane& lane);
  ~CudaStep() override;

  // Writes the parcel and sends it.
  void send_input(std::int64_t max_positions);
  // Room for the step's tokens. `y_rows`: of each token that experts return.
  void grow(const kernels::GateRule& gate, std::int32_t hidden, std::int64_t y_rows);
  // From the GPU to where the host (`told`), and FFN workers without peers, read it.
  void publish();

  std::int32_t count() const { return static_cast<std::int32_t>(token_ids.size()); }
  Lane& lane() const { return lane_; }
  const Routed& routed() const { return routed_; }  // on the attention worker's GPU
  const Routed& for_experts() const { return place_.peers ? routed_ : told_; }
  const Routed& told() const { return told_; }  // pinned; counts and not_finite alone with peers

  StepInput input;
  Buffer<float> residual, shared;  // [tokens][hidden]
  // exact: [tokens][top_k][hidden]; partial: [FFN workers][tokens][hidden], or their sum.
  Buffer<float> y;
  std::deque<PartialOutput> partial;  // by FFN worker, where they return it on their own GPUs
  Buffer<std::int32_t> tokens_out;    // [samples], pinned
  Buffer<float> logits_out;           // [samples][vocab], pinned; only when somebody observes
  Parcel used;                        // partial: a bit for each FFN worker that returned something
  Ticket gated = 0;                   // experts may read
  int next_layer = 0;                 // the first that has not run

 private:
  const StepPlace place_;
  Lane& lane_;
  Parcel parcel_;
  Buffer<std::byte> routed_memory_, told_memory_;
  Routed routed_, told_;
};

}  // namespace afore::device::cuda
