#include "predict/train.h"

#include <fmt/core.h>

#include <algorithm>
#include <mutex>

#include "predict/adam.h"
#include "predict/counts.h"
#include "predict/gather.h"
#include "predict/layers_at_once.h"
#include "util/error.h"
#include "util/fmath.h"
#include "util/rng.h"

namespace afore::predict {
namespace {

constexpr int kBatch = 256;  // rows of a step
constexpr AdamOptions kAdam{.rate = 4e-3F, .weight_decay = 0.1F};
// Share of the rows whose request's past is hidden from the network while it learns: that of a prompt is not there.
constexpr double kDropPast = 0.05;

// One layer's training.
class LayerTraining {
 public:
  LayerTraining(const LayerRows& rows, const FeatureLayout& layout, const Dataset& data, const TrainOptions& options,
                int ordinal, Network& network)
      : rows_(rows),
        layout_(layout),
        options_(options),
        rng_(options.seed, fmt::format("predict/layer {}", ordinal)),
        network_(network),
        gradient_(make_network(network.shape)),
        adam_(network.shape, kAdam) {
    for (std::int64_t row = 0; row < data.rows(); ++row) {
      if (data.part[row] == Part::train) train_.push_back(row);
      if (data.part[row] == Part::check) check_.push_back(row);
    }
    start();
  }

  // `tick` after every epoch.
  void run(const std::function<void()>& tick) {
    Network best;
    double least = 0;
    const std::int64_t steps = (std::ssize(train_) + kBatch - 1) / kBatch * options_.epochs;
    std::int64_t step = 0;
    for (int epoch = 0; epoch < options_.epochs; ++epoch) {
      shuffle();
      for (std::size_t at = 0; at < train_.size(); at += kBatch, ++step) {
        if (options_.interrupted != nullptr && *options_.interrupted != 0)
          throw Error(ErrorKind::interrupted, "interrupted");
        const std::size_t count = std::min<std::size_t>(kBatch, train_.size() - at);
        take_step({train_.data() + at, count}, static_cast<float>(steps - step) / static_cast<float>(steps));
      }
      const double loss = check_.empty() ? -epoch : loss_of_check();
      if (epoch == 0 || loss < least) {
        least = loss;
        best = network_;
      }
      tick();
    }
    network_ = std::move(best);
  }

 private:
  // Small random values where symmetry must break, and the experts' shares as the first guess.
  void start() {
    const NetworkShape& shape = network_.shape;
    const auto draw = [&](float scale) { return scale * static_cast<float>(rng_.normal()); };
    for (int i = 0; i < shape.inputs(); ++i)
      for (int h = 0; h < shape.hidden; ++h)
        network_.input[static_cast<std::size_t>(i) * shape.columns() + h] = draw(0.1F);
    for (int h = 0; h < shape.hidden; ++h)
      for (int e = 0; e < shape.experts; ++e)
        network_.output[static_cast<std::size_t>(h) * shape.score_columns() + e] = draw(0.02F);
    std::vector<double> taken(static_cast<std::size_t>(shape.experts), 0.5);
    for (const std::int64_t row : train_)
      for (int k = 0; k < layout_.top_k; ++k) ++taken[rows_.chosen(row)[k]];
    const double all = static_cast<double>(train_.size()) + 1;
    for (int e = 0; e < shape.experts; ++e)
      network_.bias[static_cast<std::size_t>(shape.hidden + e)] =
          static_cast<float>(fmath::log(taken[e] / (all - std::min(taken[e], all - 0.5))));
  }

  void shuffle() {
    for (std::size_t i = train_.size(); i > 1; --i) std::swap(train_[i - 1], train_[rng_.below(i)]);
  }

  void hide() {
    for (int t = 0; t < inputs_.tokens; ++t) {
      if (rng_.uniform() >= kDropPast) continue;
      const auto on = inputs_.on_of(t);
      const auto dense = inputs_.dense_of(t);
      std::fill(on.begin(), on.begin() + layout_.top_k, kOff);
      std::fill(dense.begin() + layout_.token_values, dense.end(), 0.0F);
    }
  }

  // Cross entropy summed over the rows of inputs_, and its gradient by the scores where that is wanted.
  double loss(std::span<const std::int64_t> rows, bool with_gradient) {
    const NetworkShape& shape = network_.shape;
    double sum = 0;
    const float share = 1 / static_cast<float>(rows.size());
    if (with_gradient) d_scores_.assign(activations_.scores.size(), 0);
    for (std::size_t t = 0; t < rows.size(); ++t) {
      const float* scores = activations_.scores.data() + t * shape.score_columns();
      const std::uint16_t* chosen = rows_.chosen(rows[t]);
      if (with_gradient) {
        float* d = d_scores_.data() + t * shape.score_columns();
        for (int e = 0; e < shape.experts; ++e) d[e] = share * chance(scores[e]);
        for (int k = 0; k < layout_.top_k; ++k) d[chosen[k]] -= share;
        continue;
      }
      for (int e = 0; e < shape.experts; ++e)
        sum -= fmath::log(std::max(1 - static_cast<double>(chance(scores[e])), 1e-9));
      for (int k = 0; k < layout_.top_k; ++k) sum -= scores[chosen[k]];
    }
    return sum;
  }

  void take_step(std::span<const std::int64_t> rows, float rate_scale) {
    rows_.gather(rows, inputs_);
    hide();
    forward(network_, inputs_, activations_);
    loss(rows, true);
    std::fill(gradient_.input.begin(), gradient_.input.end(), 0.0F);
    std::fill(gradient_.bias.begin(), gradient_.bias.end(), 0.0F);
    std::fill(gradient_.output.begin(), gradient_.output.end(), 0.0F);
    backward(network_, inputs_, activations_, d_scores_, gradient_, scratch_);
    adam_.step(gradient_, rate_scale, network_);
  }

  double loss_of_check() {
    double sum = 0;
    for (std::size_t at = 0; at < check_.size(); at += kBatch) {
      const std::span<const std::int64_t> rows(check_.data() + at, std::min<std::size_t>(kBatch, check_.size() - at));
      rows_.gather(rows, inputs_);
      forward(network_, inputs_, activations_);
      sum += loss(rows, false);
    }
    return sum;
  }

  const LayerRows& rows_;
  const FeatureLayout layout_;
  const TrainOptions& options_;
  Rng rng_;
  Network& network_;
  Network gradient_;
  Adam adam_;
  std::vector<std::int64_t> train_, check_;
  Inputs inputs_;
  Activations activations_;
  std::vector<float> d_scores_, scratch_;
};

}  // namespace

void train(const Dataset& data, const TrainOptions& options, CascadeModel& model) {
  AFORE_CHECK(data.rows_of(Part::train) > 0, "there is nothing to learn from");
  const std::vector<float> tokens = token_features(data, model.tokens);
  const int layers = model.shape.layers();
  model.networks.resize(static_cast<std::size_t>(layers));
  std::mutex mutex;
  std::int64_t done = 0;
  layers_at_once(layers, options.threads, [&](int ordinal) {
    const FeatureLayout layout(model.shape, model.tokens.dims, ordinal);
    Network& network = model.networks[ordinal];
    network = make_network(layout.network(model.shape.hidden));
    const LayerRows rows(data, layout, ordinal, tokens);
    LayerTraining(rows, layout, data, options, ordinal, network).run([&] {
      if (!options.progress) return;
      const std::lock_guard lock(mutex);
      options.progress(++done, static_cast<std::int64_t>(layers) * options.epochs);
    });
  });
  round_weights(model);
}

}  // namespace afore::predict
