// How well trained networks do on rows that they did not see.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "predict/counts.h"
#include "predict/gather.h"
#include "predict/layers_at_once.h"
#include "predict/train.h"

namespace afore::predict {
namespace {

constexpr int kCheckedAtOnce = 256;

// Sum over experts of |expected - true|, by the sum of the true ones.
double error_of(const std::vector<double>& expected, const std::vector<double>& taken) {
  double off = 0, sum = 0;
  for (std::size_t e = 0; e < taken.size(); ++e) {
    off += std::abs(expected[e] - taken[e]);
    sum += taken[e];
  }
  return off / sum;
}

class LayerEvaluation {
 public:
  LayerEvaluation(const Dataset& data, const LayerRows& rows, const Network& network, int ordinal)
      : data_(data), rows_(rows), network_(network), expected_(data.experts, data.top_k) {
    popularity_.resize(static_cast<std::size_t>(data.experts));
    double assignments = 0;
    for (std::int64_t row = 0; row < data.rows(); ++row) {
      if (data.part[row] != Part::train) continue;
      for (int k = 0; k < data.top_k; ++k) ++popularity_[data.experts_of(row, ordinal)[k]];
      assignments += data.top_k;
    }
    for (double& share : popularity_) share /= std::max(assignments, 1.0);
    const std::vector<float> scores(popularity_.begin(), popularity_.end());
    popular_.resize(static_cast<std::size_t>(data.top_k));
    best_experts(scores, popular_);
    best_.resize(popular_.size());
  }

  LayerAccuracy run() {
    std::vector<std::int64_t> some;
    for (std::int64_t row = 0; row < data_.rows();) {  // a microbatch at a time
      const std::int32_t batch = data_.batch[row];
      expected_.clear();
      taken_.assign(popularity_.size(), 0);
      std::int64_t tested = 0;
      while (row < data_.rows() && data_.batch[row] == batch) {
        some.clear();
        for (; row < data_.rows() && data_.batch[row] == batch && std::ssize(some) < kCheckedAtOnce; ++row)
          if (data_.part[row] == Part::test) some.push_back(row);
        tested += std::ssize(some);
        look(some);
      }
      if (tested > 0) end_batch(tested);
    }
    if (sum_.rows > 0) {
      const double assignments = static_cast<double>(sum_.rows) * data_.top_k;
      sum_.recall /= assignments;
      sum_.popular_recall /= assignments;
      sum_.counts_error /= static_cast<double>(batches_);
      sum_.popular_counts_error /= static_cast<double>(batches_);
    }
    return sum_;
  }

 private:
  void look(std::span<const std::int64_t> rows) {
    if (rows.empty()) return;
    rows_.gather(rows, inputs_);
    forward(network_, inputs_, activations_);
    const std::size_t columns = static_cast<std::size_t>(network_.shape.score_columns());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::span<const float> scores(activations_.scores.data() + i * columns, popularity_.size());
      expected_.add(scores);
      best_experts(scores, best_);
      for (int k = 0; k < data_.top_k; ++k) {
        const std::uint16_t expert = rows_.chosen(rows[i])[k];
        ++taken_[expert];
        sum_.recall += static_cast<double>(std::count(best_.begin(), best_.end(), expert));
        sum_.popular_recall += static_cast<double>(std::count(popular_.begin(), popular_.end(), expert));
      }
    }
  }

  void end_batch(std::int64_t tested) {
    sum_.rows += tested;
    ++batches_;
    expected_.round(counts_);
    guess_.assign(counts_.begin(), counts_.end());
    sum_.counts_error += error_of(guess_, taken_);
    for (std::size_t e = 0; e < guess_.size(); ++e)
      guess_[e] = popularity_[e] * static_cast<double>(tested * data_.top_k);
    sum_.popular_counts_error += error_of(guess_, taken_);
  }

  const Dataset& data_;
  const LayerRows& rows_;
  const Network& network_;
  ExpectedCounts expected_;
  std::vector<double> popularity_, taken_, guess_;
  std::vector<std::uint16_t> popular_, best_;
  std::vector<std::int64_t> counts_;
  Inputs inputs_;
  Activations activations_;
  LayerAccuracy sum_;
  std::int64_t batches_ = 0;
};

}  // namespace

std::vector<LayerAccuracy> evaluate(const Dataset& data, const CascadeModel& model, int threads) {
  const std::vector<float> tokens = token_features(data, model.tokens);
  std::vector<LayerAccuracy> layers(model.networks.size());
  layers_at_once(model.shape.layers(), threads, [&](int ordinal) {
    const LayerRows rows(data, FeatureLayout(model.shape, model.tokens.dims, ordinal), ordinal, tokens);
    layers[ordinal] = LayerEvaluation(data, rows, model.networks[ordinal], ordinal).run();
  });
  return layers;
}

}  // namespace afore::predict
