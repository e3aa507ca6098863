#pragma once
// The ranks among which partial outputs of FFN workers are summed. Copies of experts never go through it.
#include "device/cuda/nccl_ranks.h"
#include "device/cuda/sum_group.h"
#include "device/cuda/turnstile.h"

namespace afore::device::cuda {

class NcclGroup final : public SumGroup {
 public:
  // As NcclRanks has it.
  NcclGroup(const ncclUniqueId& id, int world_size, std::span<const LocalRank> ranks, Timeout timeout);
  ~NcclGroup() override;
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  // As one NCCL group.
  void all_reduce(std::uint64_t sequence, std::span<const SumPart> parts, Timeout timeout) override;
  void check() override;
  void abort(const std::string& why) noexcept override;

 private:
  const SumPart& part_of(int rank, std::span<const SumPart> parts) const;

  NcclRanks ranks_;
  Turnstile turnstile_;  // broken as the ranks are, or before them
};

}  // namespace afore::device::cuda
