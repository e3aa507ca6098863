// What a prediction costs: the cascade over layers of the shape of public models, of untrained networks (the work is
// the same), one thread.
//   predict_bench    TSV: processor time per row and layer, of the fastest step, and bytes of the predictor
#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "predict/cascade.h"
#include "util/rng.h"

namespace afore::bench {
namespace {

struct Shape {
  const char* name;
  int layers, experts, top_k, token_dims, rows;
};
constexpr Shape kShapes[] = {{"tiny with tokens", 4, 32, 4, 64, 256},
                             {"gpt-oss-20b", 24, 32, 4, 0, 256},
                             {"gpt-oss-20b with tokens", 24, 32, 4, 64, 256},
                             {"deepseek-v2-lite", 26, 64, 6, 0, 256},
                             {"glm-4.5-air", 45, 128, 8, 0, 256}};
constexpr int kVocab = 4096, kSteps = 12, kHidden = 64, kWindow = 8;

predict::CascadeModel untrained(const Shape& shape) {
  predict::CascadeModel model;
  Rng rng(1, shape.name);
  model.shape = {shape.name, {}, shape.experts, shape.top_k, kHidden, kWindow};
  for (int layer = 0; layer < shape.layers; ++layer) model.shape.moe_layers.push_back(layer);
  model.tokens = {kVocab, shape.token_dims, std::vector<std::uint16_t>(std::size_t{kVocab} * shape.token_dims, 0x3F80)};
  for (int layer = 0; layer < shape.layers; ++layer) {
    predict::Network network =
        predict::make_network(predict::FeatureLayout(model.shape, shape.token_dims, layer).network(kHidden));
    for (float& value : network.input) value = static_cast<float>(0.1 * rng.normal());
    for (float& value : network.output) value = static_cast<float>(0.1 * rng.normal());
    model.networks.push_back(std::move(network));
  }
  return model;
}

// Of this thread, so that other work on the machine does not count.
double processor_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

Routing drawn(const Shape& shape, const Target& target, Rng& rng) {
  Routing routing{target, {}, {}};
  for (int row = 0; row < shape.rows; ++row) {
    std::vector<int> experts;
    const int first = static_cast<int>(rng.below(shape.experts));
    for (int k = 0; k < shape.top_k; ++k) experts.push_back((first + 3 * k) % shape.experts);
    routing.experts.push_back(std::move(experts));
  }
  return routing;
}

void measure(const Shape& shape) {
  predict::CascadeModel model = untrained(shape);
  const std::size_t bytes = predict::predictor_bytes(model).size();
  predict::Cascade cascade(std::move(model), 1);
  Rng rng(2, shape.name);
  std::vector<double> row_ns;
  std::vector<Prediction> out;
  for (int step = 0; step < kSteps; ++step) {
    Batch batch;
    batch.step = step;
    for (int row = 0; row < shape.rows; ++row)
      batch.rows.push_back({fmt::format("r{}", row), step, 1, {static_cast<std::int64_t>(rng.below(kVocab))}});
    std::vector<Routing> routing;
    for (int layer = 0; layer < shape.layers; ++layer) routing.push_back(drawn(shape, {step, layer, 0}, rng));
    out.clear();
    const double start_ns = processor_ns();
    cascade.begin_step(batch, out);
    for (const Routing& of : routing) cascade.observe(of, out);
    row_ns.push_back((processor_ns() - start_ns) / shape.rows / shape.layers);
  }
  fmt::print("{}\t{}\t{:.0f}\t{}\n", shape.name, shape.rows, *std::min_element(row_ns.begin(), row_ns.end()), bytes);
}

}  // namespace
}  // namespace afore::bench

int main() {
  fmt::print("model\trows\tns_per_row_and_layer\tpredictor_bytes\n");
  for (const auto& shape : afore::bench::kShapes) afore::bench::measure(shape);
}
