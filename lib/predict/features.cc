#include "predict/features.h"

#include <algorithm>
#include <bit>

namespace afore::predict {

FeatureLayout::FeatureLayout(const PredictorShape& shape, int token_dims, int ordinal)
    : token_values(predict::token_values(token_dims)),
      experts(shape.experts),
      top_k(shape.top_k),
      preceding(std::min(ordinal, shape.window)) {}

NetworkShape FeatureLayout::network(int hidden) const { return {dense(), experts * (1 + preceding), hidden, experts}; }

void add_routing(std::span<const std::uint16_t> experts, std::span<float> sum, float& weight) {
  for (float& value : sum) value *= kRoutingDecay;
  for (const std::uint16_t expert : experts) sum[expert] += 1 - kRoutingDecay;
  weight = decayed_weight(weight, kRoutingDecay);
}

TokenContext::TokenContext(int dims) : sums_(kTokenDecays.size() * static_cast<std::size_t>(dims)) { clear(); }

void TokenContext::clear() {
  last_.fill(kOff);
  weights_.fill(0);
  std::fill(sums_.begin(), sums_.end(), 0.0F);
}

namespace {

float widen(std::uint16_t bf16) { return std::bit_cast<float>(static_cast<std::uint32_t>(bf16) << 16); }

// Null for a token that the table does not have.
const std::uint16_t* vector_of(const TokenTable& table, std::int64_t token) {
  if (token < 0 || token >= table.vocab) return nullptr;
  return table.values.data() + token * table.dims;
}

}  // namespace

void TokenContext::write(const TokenTable& table, std::int64_t token, std::span<float> out) const {
  const std::size_t dims = static_cast<std::size_t>(table.dims);
  const auto put = [&](std::int64_t id, std::size_t block) {
    const std::uint16_t* vector = vector_of(table, id);
    for (std::size_t i = 0; i < dims; ++i) out[block * dims + i] = vector == nullptr ? 0 : widen(vector[i]);
  };
  put(token, 0);
  for (std::size_t back = 0; back < last_.size(); ++back) put(last_[back], 1 + back);
  for (std::size_t d = 0; d < kTokenDecays.size(); ++d)
    for (std::size_t i = 0; i < dims; ++i)
      out[(1 + kTokensBack + d) * dims + i] = weights_[d] > 0 ? sums_[d * dims + i] / weights_[d] : 0;
}

void TokenContext::add(const TokenTable& table, std::int64_t token) {
  std::copy_backward(last_.begin(), last_.end() - 1, last_.end());
  last_[0] = token;
  const std::uint16_t* vector = vector_of(table, token);
  if (vector == nullptr) return;
  const std::size_t dims = static_cast<std::size_t>(table.dims);
  for (std::size_t d = 0; d < kTokenDecays.size(); ++d) {
    weights_[d] = decayed_weight(weights_[d], kTokenDecays[d]);
    for (std::size_t i = 0; i < dims; ++i)
      sums_[d * dims + i] = kTokenDecays[d] * sums_[d * dims + i] + (1 - kTokenDecays[d]) * widen(vector[i]);
  }
}

}  // namespace afore::predict
