#include "predict/cascade.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "util/error.h"

namespace afore::predict {
namespace {

constexpr int kRowsAtOnce = 256;
constexpr std::int64_t kMostRows = 1 << 24;  // of a microbatch's step

}  // namespace

Cascade::Cascade(CascadeModel model, int layers_ahead)
    : model_(std::move(model)), layers_ahead_(layers_ahead), expected_(model_.shape.experts, model_.shape.top_k) {
  AFORE_CHECK(layers_ahead >= 1, "nothing ahead");
}

const std::shared_ptr<Cascade::Request>& Cascade::request_of(const std::string& id) {
  std::shared_ptr<Request>& request = requests_[id];
  if (!request) {
    const std::size_t layers = static_cast<std::size_t>(model_.shape.layers());
    request = std::make_shared<Request>(
        Request{TokenContext(model_.tokens.dims), std::vector<std::int32_t>(layers * model_.shape.top_k, kOff),
                std::vector<float>(layers * model_.shape.experts), std::vector<float>(layers)});
  }
  return request;
}

void Cascade::forget(Step& step) {
  for (const std::string& id : step.finished) requests_.erase(id);
  step.finished.clear();
}

void Cascade::resize(Step& step, std::int64_t rows) {
  if (rows > kMostRows)
    throw Error(ErrorKind::data, fmt::format("{} rows of one microbatch, at most {}", rows, kMostRows));
  step.rows = static_cast<int>(rows);
  step.requests.assign(static_cast<std::size_t>(rows), nullptr);
  step.tokens.assign(static_cast<std::size_t>(rows) * token_values(model_.tokens.dims), 0);
  step.chosen.assign(static_cast<std::size_t>(rows) * model_.shape.layers() * model_.shape.top_k, kUnknown);
}

void Cascade::begin_step(const Batch& batch, std::vector<Prediction>& out) {
  Step& step = steps_[batch.microbatch];
  forget(step);
  step.step = batch.step;
  step.finished = batch.finished;
  std::int64_t rows = 0;
  for (const RowSpan& span : batch.rows) rows += std::min(span.tokens, kMostRows + 1);
  resize(step, rows);
  const std::size_t width = static_cast<std::size_t>(token_values(model_.tokens.dims));
  std::size_t row = 0;
  for (const RowSpan& span : batch.rows) {
    const std::shared_ptr<Request>& request = request_of(span.request);
    for (std::int64_t i = 0; i < span.tokens; ++i, ++row) {
      const std::int64_t token = span.token_ids.empty() ? kOff : span.token_ids[static_cast<std::size_t>(i)];
      step.requests[row] = request;
      request->tokens.write(model_.tokens, token, {step.tokens.data() + row * width, width});
      request->tokens.add(model_.tokens, token);
    }
  }
  if (rows > 0) predict(step, {batch.step, static_cast<int>(kAbsent), batch.microbatch}, 0, out);
}

void Cascade::observe(const Routing& routing, std::vector<Prediction>& out) {
  const PredictorShape& shape = model_.shape;
  const auto at = std::lower_bound(shape.moe_layers.begin(), shape.moe_layers.end(), routing.target.layer);
  if (at == shape.moe_layers.end() || *at != routing.target.layer) return;  // a layer that the predictor does not know
  const int ordinal = static_cast<int>(at - shape.moe_layers.begin());
  Step& step = steps_[routing.target.microbatch];
  if (step.step != routing.target.step || step.rows == 0) {
    if (step.step != routing.target.step) forget(step);
    step.step = routing.target.step;
    resize(step, std::ssize(routing.experts));
  }
  take(step, ordinal, routing);
  predict(step, routing.target, ordinal + 1, out);
}

void Cascade::take(Step& step, int ordinal, const Routing& routing) {
  const PredictorShape& shape = model_.shape;
  if (std::ssize(routing.experts) != step.rows)
    throw Error(ErrorKind::data,
                fmt::format("{} rows of routing, the batch has {}", routing.experts.size(), step.rows));
  std::uint16_t* chosen = step.chosen.data() + static_cast<std::size_t>(ordinal) * step.rows * shape.top_k;
  for (int row = 0; row < step.rows; ++row, chosen += shape.top_k) {
    const std::vector<int>& experts = routing.experts[row];
    if (std::ssize(experts) != shape.top_k ||
        std::any_of(experts.begin(), experts.end(), [&](int e) { return e < 0 || e >= shape.experts; }))
      throw Error(ErrorKind::data,
                  fmt::format("row {} of the routing is not {} of {} experts", row, shape.top_k, shape.experts));
    std::copy(experts.begin(), experts.end(), chosen);
    if (Request* request = step.requests[row].get(); request != nullptr) {
      const std::size_t count = static_cast<std::size_t>(shape.experts);
      add_routing({chosen, experts.size()}, {request->sums.data() + ordinal * count, count}, request->weights[ordinal]);
      std::copy(experts.begin(), experts.end(), request->last.begin() + ordinal * shape.top_k);
    }
  }
}

void Cascade::gather(const Step& step, int ordinal, int first_row, int rows) {
  const FeatureLayout layout(model_.shape, model_.tokens.dims, ordinal);
  const std::size_t experts = static_cast<std::size_t>(layout.experts), top_k = static_cast<std::size_t>(layout.top_k);
  const std::size_t width = static_cast<std::size_t>(layout.token_values);
  inputs_.dense_per_token = layout.dense();
  inputs_.on_per_token = layout.on_per_token();
  inputs_.resize(rows);
  for (int i = 0; i < rows; ++i) {
    const std::size_t row = static_cast<std::size_t>(first_row + i);
    const auto dense = inputs_.dense_of(i);
    const auto on = inputs_.on_of(i);
    std::copy_n(step.tokens.data() + row * width, width, dense.data());
    const Request* request = step.requests[row].get();
    if (request == nullptr || request->weights[ordinal] == 0) {
      std::fill(dense.begin() + layout.token_values, dense.end(), 0.0F);
      std::fill_n(on.begin(), top_k, kOff);
    } else {
      for (std::size_t e = 0; e < experts; ++e)
        dense[width + e] = request->sums[ordinal * experts + e] / request->weights[ordinal];
      std::copy_n(request->last.begin() + ordinal * layout.top_k, top_k, on.begin());
    }
    for (int back = 0; back < layout.preceding; ++back) {
      const std::uint16_t* chosen =
          step.chosen.data() + (static_cast<std::size_t>(ordinal - 1 - back) * step.rows + row) * top_k;
      for (std::size_t k = 0; k < top_k; ++k)
        on[(1 + back) * top_k + k] = chosen[k] == kUnknown ? kOff : (1 + back) * layout.experts + chosen[k];
    }
  }
}

void Cascade::predict(Step& step, const Target& of, int first, std::vector<Prediction>& out) {
  const PredictorShape& shape = model_.shape;
  const std::size_t top_k = static_cast<std::size_t>(shape.top_k);
  const int end = std::min(first + layers_ahead_, shape.layers());
  for (int ordinal = first; ordinal < end; ++ordinal) {
    const Network& network = model_.networks[ordinal];
    expected_.clear();
    for (int row = 0; row < step.rows; row += kRowsAtOnce) {
      const int rows = std::min(kRowsAtOnce, step.rows - row);
      gather(step, ordinal, row, rows);
      forward(network, inputs_, activations_);
      std::uint16_t* chosen = step.chosen.data() + (static_cast<std::size_t>(ordinal) * step.rows + row) * top_k;
      for (int i = 0; i < rows; ++i) {
        const std::span<const float> scores(
            activations_.scores.data() + static_cast<std::size_t>(i) * network.shape.score_columns(),
            static_cast<std::size_t>(shape.experts));
        expected_.add(scores);
        if (ordinal + 1 < end) best_experts(scores, {chosen + i * top_k, top_k});
      }
    }
    Prediction prediction;
    prediction.target = {of.step, shape.moe_layers[ordinal], of.microbatch};
    prediction.predictor = "cascade";
    prediction.after_layer = of.layer;
    expected_.round(prediction.counts);
    out.push_back(std::move(prediction));
  }
}

std::unique_ptr<Predictor> open_predictor(const std::filesystem::path& file, const ModelSpec& model, int layers_ahead) {
  CascadeModel read = read_predictor(file);
  const PredictorShape& shape = read.shape;
  const auto refuse = [&](const std::string& fact) {
    throw Error(ErrorKind::data, fmt::format("{}: {}", file.string(), fact),
                fmt::format("it was trained for {}", shape.model.empty() ? "another model" : shape.model));
  };
  if (model.experts != shape.experts)
    refuse(fmt::format("{} experts, the stream has {}", shape.experts, model.experts));
  if (model.top_k != shape.top_k) refuse(fmt::format("top_k {}, the stream has {}", shape.top_k, model.top_k));
  if (model.moe_layers != shape.moe_layers)
    refuse(fmt::format("MoE layers {}, the stream has {}", fmt::join(shape.moe_layers, ","),
                       fmt::join(model.moe_layers, ",")));
  return std::make_unique<Cascade>(std::move(read), layers_ahead);
}

}  // namespace afore::predict
