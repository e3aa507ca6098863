#include "device/cpu/expert_side.h"

#include <algorithm>

#include "util/error.h"

namespace afore::device::cpu {

void ExpertSide::gather(std::span<Step* const> parts, const PackedShare& share, bool exact) {
  std::int64_t skip = share.first, left = share.tokens;
  for (Step* const step : parts) {
    StepState* const part = static_cast<StepState*>(step);
    const std::int64_t here = part->counts[share.expert];
    if (skip >= here) {
      skip -= here;
      continue;
    }
    const std::int64_t take = std::min(left, here - skip);
    const std::int32_t* pair = part->pairs.data() + part->begin[share.expert] + skip;
    for (std::int64_t i = 0; i < take; ++i, ++pair) {
      x_.push_back(part->x.data() + *pair / top_k_ * shape_.hidden);
      if (exact) y_.push_back(part->y.data() + std::int64_t{*pair} * shape_.hidden);
      else places_.push_back({part, *pair});
    }
    skip = 0;
    left -= take;
    if (left == 0) break;
  }
  AFORE_CHECK(left == 0, "a share has more tokens than its expert");
  ends_.push_back(x_.size());
}

void ExpertSide::run(std::span<Step* const> parts, std::span<const PackedShare> shares, Combine mode, int worker) {
  const bool exact = mode == Combine::exact;
  x_.clear();
  y_.clear();
  ends_.clear();
  places_.clear();
  for (const PackedShare& share : shares) gather(parts, share, exact);
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
  if (!exact) add_up(parts, worker);
}

// In the order of the shares, so by ascending expert.
void ExpertSide::add_up(std::span<Step* const> parts, int worker) {
  const auto sums = [&](StepState& part) {
    return part.y.data() + static_cast<std::int64_t>(worker) * part.tokens() * shape_.hidden;
  };
  for (Step* part : parts) std::fill_n(sums(static_cast<StepState&>(*part)), part->tokens() * shape_.hidden, 0.0f);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const auto& [part, pair] = places_[i];
    kernels_.axpy(part->weights[pair], y_[i], sums(*part) + pair / top_k_ * shape_.hidden, shape_.hidden);
  }
}

}  // namespace afore::device::cpu
