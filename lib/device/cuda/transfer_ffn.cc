#include "device/cuda/transfer_ffn.h"

#include <numeric>

#include "device/cuda/check.h"
#include "device/cuda/gpus.h"
#include "kernels/bf16.h"
#include "util/error.h"
#include "util/rng.h"

namespace afore::device::cuda {

TransferFfn::TransferFfn(int gpu, cudaStream_t stream, const ExpertSizes& sizes, int most_experts,
                         std::int64_t most_rows, std::uint64_t seed)
    : gpu_(gpu),
      stream_(stream),
      x_({gpu, false, "activations", "use fewer tokens or experts"}, most_rows * sizes.hidden),
      xs_(x_.place(), most_rows * sizes.hidden),
      h_(x_.place(), most_rows * sizes.intermediate),
      weights_(x_.place(), most_rows),
      y_(x_.place(), most_rows * sizes.hidden),
      out_(x_.place(), most_rows * sizes.hidden),
      counts_(x_.place(), most_experts),
      begin_(x_.place(), std::int64_t{most_experts} + 1),
      sorted_(x_.place(), most_rows),
      row_of_pair_(x_.place(), most_rows),
      part_(x_.place(), 1),
      shares_(x_.place(), most_experts),
      work_(x_.place(), 1),
      rows_(x_.place(), most_rows),
      tiles_(x_.place(), most_rows) {
  const auto rows = static_cast<std::size_t>(most_rows);
  Rng rng(seed);
  std::vector<std::uint16_t> x(rows * static_cast<std::size_t>(sizes.hidden));
  for (std::uint16_t& value : x) value = kernels::bf16_of(static_cast<float>(rng.normal()));
  send(x_, x);
  send(weights_, std::vector<float>(rows, 1));
  std::vector<std::int32_t> sorted(rows);  // row r is token r's only pair
  std::iota(sorted.begin(), sorted.end(), 0);
  send(sorted_, sorted);
}

template <class T>
void TransferFfn::send(const Buffer<T>& to, const std::vector<T>& values) {
  use(gpu_);
  check(cudaMemcpyAsync(to.data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice, stream_),
        "sending the lists of an FFN");
  check(cudaStreamSynchronize(stream_), "sending the lists of an FFN");
}

void TransferFfn::set_work(const kernels::ExpertArena& arena, int experts, std::int64_t tokens,
                           std::int32_t tile_tokens) {
  const auto each = static_cast<std::int32_t>(tokens);
  arena_ = arena;
  tile_tokens_ = tile_tokens;
  bounds_ = {1, experts, experts * each, experts * ((each + tile_tokens - 1) / tile_tokens), experts * each, 1};
  std::vector<std::int32_t> begin;
  std::vector<kernels::Share> shares;
  for (int e = 0; e < experts; ++e) {
    begin.push_back(e * each);
    shares.push_back({e, 0, each, e});
  }
  begin.push_back(experts * each);
  send(counts_, std::vector<std::int32_t>(static_cast<std::size_t>(experts), each));
  send(begin_, begin);
  send(shares_, shares);
  send(work_, std::vector<kernels::WorkCounts>{{experts, 0, 0}});
  send(part_, std::vector<kernels::Part>{{x_.data(), counts_.data(), begin_.data(), sorted_.data(), weights_.data(),
                                          row_of_pair_.data(), out_.data(), bounds_.rows}});
}

void TransferFfn::launch(cudaStream_t stream) {
  kernels::list_work(part_.data(), shares_.data(), work_.data(), bounds_, tile_tokens_, rows_.data(), tiles_.data(),
                     stream);
  kernels::gather_rows(part_.data(), rows_.data(), work_.data(), bounds_, arena_.hidden, xs_.data(), stream);
  kernels::expert_gate_up(arena_, xs_.data(), tiles_.data(), work_.data(), bounds_.tiles, tile_tokens_, h_.data(),
                          stream);
  kernels::expert_down(arena_, h_.data(), tiles_.data(), work_.data(), bounds_.tiles, tile_tokens_, y_.data(), stream);
  kernels::sum_rows(part_.data(), bounds_, arena_.hidden, y_.data(), stream);
  check_launches("an expert FFN");
}

}  // namespace afore::device::cuda
