#pragma once
// Demand ahead of its gate, by Director's cascade (arXiv 2607.08782): one small network per MoE layer, which sees the
// token, its routing in the layers before, and what its request chose earlier. docs/predictors.md has the details.
#include <filesystem>
#include <memory>
#include <vector>

#include "core/model_spec.h"
#include "core/records.h"

namespace afore::predict {

// Told of one stream, in order. Keeps a small state per request of batch.rows until the request is finished.
class Predictor {
 public:
  virtual ~Predictor() = default;
  // A step of a microbatch begins. Appends what is known before its first gate: the first `layers_ahead` MoE layers.
  // Without rows nothing is known of the tokens, and predictions come with the first routing.
  virtual void begin_step(const Batch& batch, std::vector<Prediction>& out) = 0;
  // A layer's gate has run. Appends predictions of the next `layers_ahead` MoE layers, of those beyond the first by the
  // routing that is predicted of the ones between. Of a step that was not begun: only the step's routing is used.
  // Error{data}: not as many rows as the batch has.
  virtual void observe(const Routing& routing, std::vector<Prediction>& out) = 0;
};

// Error{io}; Error{data} naming what is wrong with the file, or does not fit the stream's model: MoE layers, experts,
// top_k. `layers_ahead` is at least 1.
std::unique_ptr<Predictor> open_predictor(const std::filesystem::path& file, const ModelSpec& model, int layers_ahead);

}  // namespace afore::predict
