#pragma once
// A worker's expert FFN without attention workers: one part of made-up rows, each expert's one after the other.
#include <cstdint>
#include <vector>

#include "device/cuda/buffer.h"
#include "device/transfers.h"
#include "kernels/expert_ffn.h"
#include "kernels/expert_rows.h"

namespace afore::device::cuda {

class TransferFfn {
 public:
  // Room for the rows on `gpu`, and activations there.
  TransferFfn(int gpu, cudaStream_t stream, const ExpertSizes& sizes, int most_experts, std::int64_t most_rows,
              std::uint64_t seed);

  // `experts` experts of slots 0, 1, …, `tokens` rows each. Returns when the lists are there.
  void set_work(const kernels::ExpertArena& arena, int experts, std::int64_t tokens, std::int32_t tile_tokens);
  // From the lists to the sums of rows that a worker sends: all that c0 + c1 tiles + c2 experts is to stand for.
  void launch(cudaStream_t stream);

 private:
  template <class T>
  void send(const Buffer<T>& to, const std::vector<T>& values);

  const int gpu_;
  const cudaStream_t stream_;
  kernels::ExpertArena arena_;
  kernels::WorkBounds bounds_;
  std::int32_t tile_tokens_ = 0;
  Buffer<std::uint16_t> x_, xs_, h_;
  Buffer<float> weights_, y_, out_;
  Buffer<std::int32_t> counts_, begin_, sorted_, row_of_pair_;
  Buffer<kernels::Part> part_;
  Buffer<kernels::Share> shares_;
  Buffer<kernels::WorkCounts> work_;
  Buffer<kernels::Row> rows_;
  Buffer<kernels::Tile> tiles_;
};

}  // namespace afore::device::cuda
