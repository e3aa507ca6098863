#include "device/cpu/expert_side.h"

#include <algorithm>

#include "util/error.h"

namespace afore::device::cpu {

void ExpertSide::gather(std::span<Step* const> steps, const PackedShare& share, bool exact) {
  std::int64_t skip = share.first, left = share.tokens;
  for (Step* const given : steps) {
    StepState* const step = static_cast<StepState*>(given);
    const std::int64_t here = step->counts[share.expert];
    if (skip >= here) {
      skip -= here;
      continue;
    }
    const std::int64_t take = std::min(left, here - skip);
    const std::int32_t* pair = step->pairs.data() + step->begin[share.expert] + skip;
    for (std::int64_t i = 0; i < take; ++i, ++pair) {
      x_.push_back(step->x.data() + *pair / top_k_ * shape_.hidden);
      if (exact) y_.push_back(step->y.data() + std::int64_t{*pair} * shape_.hidden);
      else places_.push_back({step, *pair});
    }
    skip = 0;
    left -= take;
    if (left == 0) break;
  }
  AFORE_CHECK(left == 0, "a share has more tokens than its expert");
  ends_.push_back(x_.size());
}

void ExpertSide::run(std::span<Step* const> steps, std::span<const PackedShare> shares, Combine mode, int worker) {
  const bool exact = mode == Combine::exact;
  x_.clear();
  y_.clear();
  ends_.clear();
  places_.clear();
  for (const PackedShare& share : shares) gather(steps, share, exact);
  if (!exact) {
    rows_.resize(x_.size() * static_cast<std::size_t>(shape_.hidden));
    for (std::size_t i = 0; i < x_.size(); ++i)
      y_.push_back(rows_.data() + i * static_cast<std::size_t>(shape_.hidden));
  }
  experts_.clear();
  std::size_t begin = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (const std::size_t rows = ends_[i] - begin; rows > 0)
      experts_.push_back({shares[i].block, std::span(x_).subspan(begin, rows), std::span(y_).subspan(begin, rows)});
    begin = ends_[i];
  }
  kernels_.expert_ffn(shape_, experts_, scratch_, pool_);
  if (!exact) add_up(steps, worker);
}

// In the order of the shares, so by ascending expert.
void ExpertSide::add_up(std::span<Step* const> steps, int worker) {
  const auto sums = [&](StepState& step) {
    return step.y.data() + static_cast<std::int64_t>(worker) * step.tokens() * shape_.hidden;
  };
  for (Step* step : steps) std::fill_n(sums(static_cast<StepState&>(*step)), step->tokens() * shape_.hidden, 0.0f);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const auto& [step, pair] = places_[i];
    kernels_.axpy(step->weights[pair], y_[i], sums(*step) + pair / top_k_ * shape_.hidden, shape_.hidden);
  }
}

}  // namespace afore::device::cpu
