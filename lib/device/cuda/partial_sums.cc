#include "device/cuda/partial_sums.h"

#include "device/cuda/check.h"
#include "device/cuda/gpus.h"

namespace afore::device::cuda {
namespace {

constexpr SumGroup::Timeout kPutWithin{30'000};  // onto the streams, which takes some tens of microseconds

std::unique_ptr<SumGroup> make_group(const SumGroupMaker& make, int gpu, std::span<Lane* const> ffn) {
  std::vector<LocalRank> ranks;
  for (const Lane* lane : ffn) ranks.push_back({static_cast<int>(ranks.size()), lane->gpu()});
  ranks.push_back({static_cast<int>(ranks.size()), gpu});
  return make(ranks);
}

void clear(const Lane& lane, float* values, std::int64_t count) {
  use(lane.gpu());
  check(cudaMemsetAsync(values, 0, static_cast<std::size_t>(count) * sizeof(float), lane.stream()), "clearing a sum");
}

}  // namespace

PartialSums::PartialSums(const SumGroupMaker& make, int gpu, std::span<Lane* const> ffn)
    : lane_(gpu, Lane::Kind::compute), group_(make_group(make, gpu, ffn)) {}

void PartialSums::sum(CudaStep& step, const std::vector<bool>& used, std::int64_t count) {
  const std::lock_guard lock(gpu_memory_mutex());  // of all sums, and of what may wait for them
  std::vector<SumPart> parts;
  const auto add_part = [&](const Lane& lane, float* values) {
    parts.push_back({static_cast<int>(parts.size()), lane.stream(), values, values, static_cast<std::size_t>(count)});
  };
  for (std::size_t w = 0; w < step.partial.size(); ++w) {
    PartialOutput& mine = step.partial[w];
    if (used[w]) mine.computes->order(mine.sums->stream(), mine.written);
    else clear(*mine.sums, mine.rows.data(), count);
    add_part(*mine.sums, mine.rows.data());
  }
  step.lane().order(lane_.stream(), step.gated);  // behind which nothing reads y of the layer before
  clear(lane_, step.y.data(), count);
  add_part(lane_, step.y.data());
  group_->all_reduce(next_++, parts, kPutWithin);
  for (PartialOutput& mine : step.partial) mine.summed = mine.sums->record();
  lane_.order(step.lane().stream(), lane_.record());
}

}  // namespace afore::device::cuda
