#pragma once
// Streams whose routing follows a rule.
#include <fmt/core.h>

#include <functional>
#include <string>

#include "predict/dataset.h"
#include "util/rng.h"

namespace afore::predict {

inline PredictorShape small_shape() {
  PredictorShape shape;
  shape.model = "made-up";
  shape.moe_layers = {1, 3};
  shape.experts = 8;
  shape.top_k = 2;
  shape.hidden = 16;
  shape.window = 4;
  return shape;
}

// Eight tokens of vectors that are all different.
inline TokenTable small_table() {
  TokenTable table{8, 8, std::vector<std::uint16_t>(64, 0)};
  for (std::size_t i = 0; i < 8; ++i) table.values[i * 8 + i] = 0x4000;  // 2
  return table;
}

// The experts follow from the token, and in the second layer from the first layer's too: {t, t + 1} and {a + b, t}.
inline std::vector<std::vector<int>> experts_of(std::int64_t token) {
  const int t = static_cast<int>(token), next = (t + 1) % 8, both = (t + next + 1) % 8;
  return {{t, next}, {both == t ? next : both, t}};
}

struct MadeUpStep {
  Batch batch;
  std::vector<Routing> routing;  // by MoE layer
};

// `requests` live ones of `length` tokens each, one token a step; then the next ones.
inline std::vector<MadeUpStep> made_up_steps(int requests, int length, int rounds, std::uint64_t seed,
                                             bool with_ids = true) {
  Rng rng(seed, "made up");
  const PredictorShape shape = small_shape();
  std::vector<MadeUpStep> steps;
  for (int round = 0; round < rounds; ++round)
    for (int position = 0; position < length; ++position) {
      MadeUpStep step;
      step.batch.step = std::ssize(steps);
      step.batch.sequences = requests;
      for (int layer = 0; layer < 2; ++layer)
        step.routing.push_back({{step.batch.step, shape.moe_layers[layer], 0}, {}, {}});
      for (int r = 0; r < requests; ++r) {
        const std::string id = fmt::format("r{}", round * requests + r);
        const auto token = static_cast<std::int64_t>(rng.below(8));
        RowSpan span{id, position, 1, {}};
        if (with_ids) span.token_ids = {token};
        step.batch.rows.push_back(span);
        const auto experts = experts_of(token);
        for (int layer = 0; layer < 2; ++layer) step.routing[layer].experts.push_back(experts[layer]);
        if (position + 1 == length) step.batch.finished.push_back(id);
      }
      steps.push_back(std::move(step));
    }
  return steps;
}

inline Dataset dataset_of(const std::vector<MadeUpStep>& steps,
                          const std::function<Part(const std::string&)>& part_of) {
  DatasetBuilder builder(small_shape());
  builder.begin_stream();
  for (const MadeUpStep& step : steps) {
    builder.add(step.batch, part_of);
    for (const Routing& routing : step.routing) builder.add(routing);
  }
  return builder.take();
}

}  // namespace afore::predict
