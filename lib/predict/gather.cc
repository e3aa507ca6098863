#include "predict/gather.h"

#include <algorithm>
#include <unordered_map>

namespace afore::predict {

std::vector<float> token_features(const Dataset& data, const TokenTable& table) {
  const std::size_t width = static_cast<std::size_t>(token_values(table.dims));
  std::vector<float> features(width * static_cast<std::size_t>(data.rows()));
  if (width == 0) return features;
  std::unordered_map<std::int64_t, TokenContext> after;  // by the last row
  for (std::int64_t row = 0; row < data.rows(); ++row) {
    TokenContext context(table.dims);
    if (const auto at = after.find(data.previous[row]); at != after.end()) {
      context = std::move(at->second);
      after.erase(at);
    }
    context.write(table, data.token[row], {features.data() + row * width, width});
    context.add(table, data.token[row]);
    after.emplace(row, std::move(context));
  }
  return features;
}

LayerRows::LayerRows(const Dataset& data, const FeatureLayout& layout, int ordinal, const std::vector<float>& tokens)
    : data_(data),
      layout_(layout),
      ordinal_(ordinal),
      tokens_(tokens),
      sums_(static_cast<std::size_t>(data.rows()) * layout.experts),
      weights_(static_cast<std::size_t>(data.rows())) {
  const std::size_t experts = static_cast<std::size_t>(layout.experts);
  for (std::int64_t row = 0; row < data.rows(); ++row) {
    const std::span<float> sum(sums_.data() + row * experts, experts);
    if (const std::int64_t before = data.previous[row]; before != kOff) {
      std::copy_n(sums_.data() + before * experts, experts, sum.data());
      weights_[row] = weights_[before];
    }
    add_routing({data.experts_of(row, ordinal), static_cast<std::size_t>(layout.top_k)}, sum, weights_[row]);
  }
}

void LayerRows::write(std::int64_t row, std::span<float> dense, std::span<std::int32_t> on) const {
  const std::size_t experts = static_cast<std::size_t>(layout_.experts),
                    top_k = static_cast<std::size_t>(layout_.top_k);
  const std::size_t width = static_cast<std::size_t>(layout_.token_values);
  std::copy_n(tokens_.data() + row * width, width, dense.data());
  const std::int64_t known = data_.known[row];
  if (known == kOff) {
    std::fill(dense.begin() + layout_.token_values, dense.end(), 0.0F);
    std::fill_n(on.begin(), top_k, kOff);
  } else {
    for (std::size_t e = 0; e < experts; ++e) dense[width + e] = sums_[known * experts + e] / weights_[known];
    std::copy_n(data_.experts_of(known, ordinal_), top_k, on.begin());
  }
  for (int back = 0; back < layout_.preceding; ++back) {
    const std::uint16_t* chosen = data_.experts_of(row, ordinal_ - 1 - back);
    for (std::size_t i = 0; i < top_k; ++i) on[(1 + back) * top_k + i] = (1 + back) * layout_.experts + chosen[i];
  }
}

void LayerRows::gather(std::span<const std::int64_t> rows, Inputs& out) const {
  out.dense_per_token = layout_.dense();
  out.on_per_token = layout_.on_per_token();
  out.resize(static_cast<int>(rows.size()));
  for (int i = 0; i < out.tokens; ++i) write(rows[i], out.dense_of(i), out.on_of(i));
}

}  // namespace afore::predict
