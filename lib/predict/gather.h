#pragma once
// A dataset's rows as inputs of networks.
#include <span>
#include <vector>

#include "predict/dataset.h"

namespace afore::predict {

// Of all rows, for every layer: [rows][token_values]. Empty without a table.
std::vector<float> token_features(const Dataset& data, const TokenTable& table);

// One MoE layer's inputs. `tokens` as token_features() gives it; everything outlives it.
class LayerRows {
 public:
  LayerRows(const Dataset& data, const FeatureLayout& layout, int ordinal, const std::vector<float>& tokens);

  void gather(std::span<const std::int64_t> rows, Inputs& out) const;
  const std::uint16_t* chosen(std::int64_t row) const { return data_.experts_of(row, ordinal_); }

 private:
  void write(std::int64_t row, std::span<float> dense, std::span<std::int32_t> on) const;

  const Dataset& data_;
  const FeatureLayout layout_;
  const int ordinal_;
  const std::vector<float>& tokens_;
  std::vector<float> sums_, weights_;  // of the request's routing up to a row: [rows][experts], [rows]
};

}  // namespace afore::predict
