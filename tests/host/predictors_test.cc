// What is guessed of later demand while the bundled model runs.
#include <gtest/gtest.h>

#include "device/cpu/thread_pool.h"
#include "host/frozen_gate.h"
#include "host/replica.h"
#include "nn/quantised.h"
#include "real_model.h"

namespace afore::host {
namespace {

using Ids = std::vector<std::vector<int>>;  // [token][k]

// Everything a run tells, in order.
struct Told {
  std::vector<Prediction> predictions;
  std::map<std::tuple<std::int64_t, int, int>, Ids> truth;  // by step, layer, microbatch
  std::map<std::string, Completion> completions;
  std::int64_t late = 0;  // predictions of a target whose demand was told before

  const Ids& truth_of(const Target& t) const { return truth.at({t.step, t.layer, t.microbatch}); }
};

ModelRun chunked_run(std::uint64_t seed, std::int64_t requests) {
  Draw draw(seed);
  std::vector<IncomingRequest> list;
  for (std::int64_t i = 0; i < requests; ++i)
    list.push_back(
        ask(std::string(1, 'r') + std::to_string(i), words(draw, 20 + static_cast<std::size_t>(draw(60))), 6, 7 + i));
  ModelRun run = plain_run(std::move(list));
  run.serving.serving.max_num_seqs = 3;             // others wait, and take their pages
  run.serving.serving.max_num_batched_tokens = 24;  // prompts go in pieces
  return run;
}

Told record(const LoadedModel& model, const ModelRun& run, std::vector<Predictor*> predictors) {
  Told told;
  MonolithOptions options;
  options.microbatches = run.serving.serving.microbatches;
  options.kv_budget_tokens = run.threads.kv_budget_tokens;
  options.isa = run.threads.isa;
  options.routing = true;
  options.predictors = std::move(predictors);
  Monolith monolith(
      model, options,
      [&](const Batch*, std::span<const Prediction> predictions, const Demand& demand, const Routing* routing) {
        for (const Prediction& p : predictions) {
          told.late +=
              static_cast<std::int64_t>(told.truth.count({p.target.step, p.target.layer, p.target.microbatch}));
          told.predictions.push_back(p);
        }
        told.truth[{demand.target.step, demand.target.layer, demand.target.microbatch}] = routing->experts;
      },
      {});
  told.completions = serve(monolith, run).completions;
  return told;
}

std::int64_t pages_of(const ModelRun& run) { return run.threads.kv_budget_tokens / device::kPageTokens; }

// Of the experts that were chosen, the share among those guessed.
double recall(const Ids& guessed, const Ids& truth) {
  std::int64_t found = 0, all = 0;
  for (std::size_t t = 0; t < truth.size(); ++t) {
    for (const int expert : truth[t]) found += std::ranges::count(guessed[t], expert);
    all += std::ssize(truth[t]);
  }
  return static_cast<double>(found) / static_cast<double>(all);
}

double recall(const Told& told) {
  double sum = 0, tokens = 0;
  for (const Prediction& p : told.predictions) {
    const Ids& truth = told.truth_of(p.target);
    sum += recall(p.experts, truth) * static_cast<double>(truth.size());
    tokens += static_cast<double>(truth.size());
  }
  return sum / tokens;
}

void expect_same(const Told& a, const Told& b) {
  EXPECT_EQ(a.truth, b.truth);
  ASSERT_EQ(a.predictions.size(), b.predictions.size());
  for (std::size_t i = 0; i < a.predictions.size(); ++i) {
    EXPECT_EQ(a.predictions[i].counts, b.predictions[i].counts) << i;
    EXPECT_EQ(a.predictions[i].experts, b.predictions[i].experts) << i;
  }
}

std::shared_ptr<const nn::Model> tiny() {
  static const auto model = std::make_shared<const nn::Model>(nn::open_model(AFORE_SOURCE_DIR "/models/tiny"));
  return model;
}

// A model whose matrices are what its replica's become when they are unpacked: it computes the same.
class Unpacked {
 public:
  static nn::Model of(nn::Model model) {
    const auto memory = std::make_shared<Unpacked>();
    for (nn::LayerTensors& layer : model.tensors.layers) {
      for (nn::Tensor* matrix : {&layer.q, &layer.k, &layer.v, &layer.o}) memory->replace(*matrix);
      if (layer.dense) memory->replace(*layer.dense);
      if (layer.shared) memory->replace(*layer.shared);
      for (nn::MlpTensors& expert : layer.experts) memory->replace(expert);
    }
    memory->original_ = std::exchange(model.memory, memory);
    return model;
  }

 private:
  void replace(nn::MlpTensors& mlp) {
    for (nn::Tensor* matrix : {&mlp.gate, &mlp.up, &mlp.down}) replace(*matrix);
  }
  void replace(nn::Tensor& matrix) {
    std::vector<std::uint16_t> rows(static_cast<std::size_t>(matrix.count()));
    nn::read_bf16(matrix, 0, rows);
    values_.push_back(
        nn::unpack(nn::quantise(rows, matrix.shape[0], matrix.shape[1], device::cpu::QuantisedWeights::kGroup)));
    matrix.dtype = nn::Dtype::bf16;
    matrix.bytes = std::as_bytes(std::span(values_.back()));
  }
  std::shared_ptr<const void> original_;
  std::deque<std::vector<std::uint16_t>> values_;
};

TEST(Replica, OfAModelWithItsOwnWeightsIsNeverWrong) {
  const LoadedModel model(Unpacked::of(*tiny()), AFORE_SOURCE_DIR "/models/tiny");
  for (const device::cpu::Isa isa : isas()) {
    ModelRun run = chunked_run(1, 8);
    run.threads.isa = isa;
    Replica replica(*tiny(), isa, nullptr, pages_of(run), true);
    const Told told = record(model, run, {&replica});
    ASSERT_EQ(told.predictions.size(), told.truth.size()) << "one of each target";
    for (const Prediction& p : told.predictions) {
      ASSERT_EQ(p.experts, told.truth_of(p.target)) << "step " << p.target.step << " layer " << p.target.layer;
      EXPECT_EQ(p.predictor, "replica");
      EXPECT_EQ(p.after_layer, kAbsent);
    }
    EXPECT_EQ(told.late, 0);
  }
}

// Without shared experts, with dense layers between, biases, groups of experts, and matrices that fill no panel.
TEST(Replica, OfOtherArchitecturesIsNeverWrongEither) {
  for (const char* name : {"qwen3-moe", "qwen3-moe-dense", "mixtral", "glm4-moe", "glm4-moe-tied"}) {
    SCOPED_TRACE(name);
    const nn::Model stored = nn::open_model(std::string(AFORE_SOURCE_DIR "/tests/reference/") + name);
    const LoadedModel model(Unpacked::of(stored), AFORE_SOURCE_DIR "/models/tiny");
    Draw draw(9);
    std::vector<IncomingRequest> requests;
    for (int i = 0; i < 4; ++i) {
      std::vector<int> ids;
      for (int t = 0; t < 10 + i; ++t) ids.push_back(static_cast<int>(draw(stored.config.vocab)));
      requests.push_back(ask(std::string(1, static_cast<char>('a' + i)), std::move(ids), 5, 1));
    }
    ModelRun run = plain_run(std::move(requests));
    run.serving.layers = nn::model_spec(stored.config).moe_layers.size();
    Replica replica(stored, run.threads.isa, nullptr, pages_of(run), true);
    const Told told = record(model, run, {&replica});
    ASSERT_EQ(told.predictions.size(), told.truth.size());
    for (const Prediction& p : told.predictions)
      ASSERT_EQ(p.experts, told.truth_of(p.target)) << "step " << p.target.step << " layer " << p.target.layer;
  }
}

TEST(Replica, InFourBitsIsRightMostly) {
  const ModelRun run = chunked_run(2, 10);
  Replica replica(*tiny(), run.threads.isa, nullptr, pages_of(run), true);
  const double right = recall(record(tiny_model(), run, {&replica}));
  RecordProperty("recall", std::to_string(right));
  EXPECT_GT(right, 0.8);
  EXPECT_LT(right, 1);
}

TEST(Replica, TakesAThirdOfTheModelsMemory) {
  const Replica replica(*tiny(), device::cpu::Isa::scalar, nullptr, 1, false);
  const auto whole = static_cast<double>(nn::stored_bytes(tiny()->tensors));
  EXPECT_NEAR(whole, 17.6e6, 0.1e6);
  EXPECT_GT(static_cast<double>(replica.weight_bytes()) / whole, 0.25);
  EXPECT_LT(static_cast<double>(replica.weight_bytes()) / whole, 0.35);
}

TEST(FrozenGate, TellsTheNextLayerAheadOfItsDemand) {
  const ModelRun run = chunked_run(3, 8);
  FrozenGate gate(tiny_model().weights(), run.threads.isa, nullptr, true);
  const Told told = record(tiny_model(), run, {&gate});
  const std::size_t layers = run.serving.layers;
  ASSERT_EQ(told.predictions.size(), told.truth.size() / layers * (layers - 1)) << "all layers but the first";
  EXPECT_EQ(told.late, 0);
  for (const Prediction& p : told.predictions) {
    EXPECT_EQ(p.predictor, "gate");
    EXPECT_EQ(p.after_layer, p.target.layer - 1);
    std::vector<std::int64_t> counts(p.counts.size());
    for (const std::vector<int>& row : p.experts)
      for (const int expert : row) ++counts[expert];
    EXPECT_EQ(p.counts, counts);
    EXPECT_EQ(p.experts.size(), told.truth_of(p.target).size());
  }
  EXPECT_GT(recall(told), 0.4);
}

// What the next gate could be asked on instead. The last one is known a little later than the demand: when the shared
// expert has run.
class OtherInputs final : public Predictor {
 public:
  enum Input { residual, own_norm, with_shared, kInputs };
  explicit OtherInputs(device::cpu::Isa isa) : gate_(device::cpu::Kernels::of(isa), tiny_model().weights(), nullptr) {}

  void at_step(const device::cpu::StepState&, std::int64_t, int, std::vector<Prediction>&) override {}
  void at_gate(const device::cpu::StepState& step, const Target& target, std::vector<Prediction>&) override {
    const Ids truth = rows(step.experts);
    for (int i = 0; i < kInputs && guessed_[{target.microbatch, i}].size() == truth.size() && target.layer > 1; ++i)
      sums_[i] += recall(guessed_[{target.microbatch, i}], truth);
    targets_ += target.layer > 1;
    if (target.layer == tiny()->config.layers - 1) return;
    std::vector<float> more = step.residual;
    for (std::size_t i = 0; i < more.size(); ++i) more[i] += step.shared[i];
    const std::int64_t tokens = step.tokens();
    for (int i = 0; i < kInputs; ++i) {
      if (i == own_norm) gate_.choose(target.layer + 1, step.x.data(), tokens, chosen_, weights_);
      else
        gate_.choose_of_residual(target.layer + 1, i == residual ? step.residual.data() : more.data(), tokens, chosen_,
                                 weights_);
      guessed_[{target.microbatch, i}] = rows(chosen_);
    }
  }
  double mean(Input input) const { return sums_[input] / targets_; }

 private:
  static Ids rows(const std::vector<std::int32_t>& flat) {
    Ids ids;
    const int top_k = tiny()->config.gate.top_k;
    for (auto row = flat.begin(); row != flat.end(); row += top_k) ids.emplace_back(row, row + top_k);
    return ids;
  }
  device::cpu::LayerGate gate_;
  std::vector<std::int32_t> chosen_;
  std::vector<float> weights_;
  std::map<std::pair<int, int>, Ids> guessed_;
  double sums_[kInputs] = {}, targets_ = 0;
};

TEST(FrozenGate, ReadsTheResidualBehindTheNextLayersNorm) {
  const ModelRun run = chunked_run(4, 10);
  OtherInputs inputs(run.threads.isa);
  record(tiny_model(), run, {&inputs});
  RecordProperty("next_norm", std::to_string(inputs.mean(OtherInputs::residual)));
  RecordProperty("own_norm", std::to_string(inputs.mean(OtherInputs::own_norm)));
  RecordProperty("with_shared", std::to_string(inputs.mean(OtherInputs::with_shared)));
  // Close together: what one layer adds to the residual matters, and all three lack it.
  EXPECT_GT(inputs.mean(OtherInputs::residual), inputs.mean(OtherInputs::own_norm) - 0.02);
  EXPECT_GT(inputs.mean(OtherInputs::with_shared), inputs.mean(OtherInputs::residual) - 0.02);
  EXPECT_GT(inputs.mean(OtherInputs::residual), 0.5);
}

TEST(Predictors, ChangeNothingAndDoNotDependOnThreads) {
  const ModelRun run = chunked_run(5, 8);
  const auto told_on = [&](int threads) {
    const auto pool = threads > 1 ? std::make_shared<device::cpu::ThreadPool>(threads) : nullptr;
    Replica replica(*tiny(), run.threads.isa, pool, pages_of(run), true);
    FrozenGate gate(tiny_model().weights(), run.threads.isa, pool, true);
    return record(tiny_model(), run, {&replica, &gate});
  };
  const Told alone = record(tiny_model(), run, {}), one = told_on(1), three = told_on(3);
  EXPECT_EQ(alone.truth, one.truth);
  for (const auto& [id, completion] : alone.completions)
    EXPECT_EQ(completion.token_ids, one.completions.at(id).token_ids) << id;
  expect_same(one, three);
}

TEST(Predictors, NameExpertsOnlyWhenAsked) {
  const ModelRun run = chunked_run(6, 3);
  FrozenGate gate(tiny_model().weights(), run.threads.isa, nullptr, false);
  const Told told = record(tiny_model(), run, {&gate});
  ASSERT_FALSE(told.predictions.empty());
  for (const Prediction& p : told.predictions) EXPECT_TRUE(p.experts.empty());
}

}  // namespace
}  // namespace afore::host
