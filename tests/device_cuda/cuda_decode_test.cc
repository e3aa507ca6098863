// The CUDA device against the CPU's. Between them lie roundings to bf16 of what the CPU keeps in float32: activations,
// keys and values. So logits agree within a tolerance, experts but where the gate's choice is close, and tokens but
// where two are.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "cuda_support.h"
#include "device/cpu/step_state.h"

namespace afore::device {
namespace {

using nlohmann::json;
using Ids = std::vector<int>;

std::vector<float> row_of(const nn::Tensor& tensor, std::int64_t row, std::int64_t width) {
  std::vector<float> values(static_cast<std::size_t>(width));
  nn::read_f32(tensor, row * width, values);
  return values;
}

// By how much the last expert chosen beats the first that is not, in what the gate chooses by; one token, one group.
double gap(const nn::Model& model, int layer, const std::vector<float>& x) {
  const nn::GateConfig& gate = model.config.gate;
  const nn::LayerTensors& tensors = model.tensors.layers[static_cast<std::size_t>(layer)];
  std::vector<double> score;
  double sum = 0;
  for (int e = 0; e < gate.experts; ++e) {
    const std::vector<float> w = row_of(*tensors.gate, e, model.config.hidden);
    double logit = 0;
    for (std::size_t i = 0; i < w.size(); ++i) logit += double{w[i]} * x[i];
    const bool sigmoid = gate.rule == nn::GateConfig::Rule::sigmoid_bias;
    score.push_back(sigmoid ? 1 / (1 + std::exp(-logit)) : std::exp(logit));
    sum += score.back();
  }
  for (int e = 0; e < gate.experts; ++e) {
    if (gate.rule == nn::GateConfig::Rule::softmax) score[e] /= sum;
    if (tensors.gate_bias) score[e] += row_of(*tensors.gate_bias, e, 1)[0];
  }
  std::sort(score.rbegin(), score.rend());
  return score[gate.top_k - 1] - score[gate.top_k];
}

struct Choice {
  std::set<int> experts;
  double gap = 0;
};
struct Trail {  // of one sequence, token by token
  std::vector<std::vector<Choice>> choices;
  std::vector<std::vector<float>> logits;
};

Trail follow(const nn::Model& model, Device& device, const DeviceOptions& options, const Ids& ids) {
  Driver driver(model, device, options, {});
  Trail trail;
  driver.gated = [&](const Step& step, int layer) {
    Choice choice;
    for (std::size_t e = 0; e < step.counts.size(); ++e)
      if (step.counts[e] > 0) choice.experts.insert(static_cast<int>(e));
    if (const auto* cpu = dynamic_cast<const cpu::StepState*>(&step)) choice.gap = gap(model, layer, cpu->x);
    trail.choices.back().push_back(choice);
  };
  Sequence sequence;
  for (const int id : ids) {
    trail.choices.emplace_back();
    driver.step({{{&sequence, {id}}}});
    trail.logits.push_back(sequence.logits);
  }
  return trail;
}

// Below: too close to call. Measured on the stand-in: no other choice above 9e-4, logits apart by 4e-2.
constexpr double kCloseGap = 2e-3, kLogitTolerance = 8e-2, kClearMargin = 2 * kLogitTolerance;

int argmax(const std::vector<float>& logits) {
  return static_cast<int>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// Up to the first choice that was too close to call and went the other way: nothing behind it can be compared. How many
// positions that were.
std::size_t expect_followed(const Trail& cuda, const Trail& cpu) {
  for (std::size_t i = 0; i < cpu.choices.size(); ++i) {
    for (std::size_t l = 0; l < cpu.choices[i].size(); ++l) {
      if (cuda.choices[i][l].experts == cpu.choices[i][l].experts) continue;
      EXPECT_LT(cpu.choices[i][l].gap, kCloseGap) << "position " << i << ", MoE layer " << l;
      return i;
    }
    double worst = 0;
    for (std::size_t v = 0; v < cpu.logits[i].size(); ++v)
      worst = std::max(worst, std::abs(double{cuda.logits[i][v]} - cpu.logits[i][v]));
    EXPECT_LT(worst, kLogitTolerance) << "position " << i;
  }
  return cpu.choices.size();
}

Trail cuda_trail(const nn::Model& model, const Ids& ids) {
  const DeviceOptions options{1, 2, Combine::exact, 1024, 16};
  shim::set_devices(1);
  shim::set_schedule(1);
  const auto device = open_cuda(model, options);
  return follow(model, *device, options, ids);
}

Trail cpu_trail(const nn::Model& model, const Ids& ids) {
  const DeviceOptions options{1, 2, Combine::exact, 1024, cpu::kTileTokens};
  const cpu::AttentionWeights weights(model);
  cpu::CpuDevice device(model, weights, options, cpu::best_isa(), 1);
  return follow(model, device, options, ids);
}

json golden() {
  std::ifstream in(kRoot / "models/tiny/golden/reference.json");
  return json::parse(in);
}

TEST(CudaDecode, FollowsTheCpu) {
  const json prompts = golden();
  for (const std::size_t p : {0, 3}) {
    const Ids ids = prompts[p]["ids"].get<Ids>();
    const Trail cuda = cuda_trail(tiny_model(), ids);
    const std::size_t followed = expect_followed(cuda, cpu_trail(tiny_model(), ids));
    EXPECT_GE(followed, 10u) << "the prompt is too close to call";
    for (std::size_t i = 0; i < followed; ++i)
      if (prompts[p]["margin"][i].get<double>() > kClearMargin) {
        EXPECT_EQ(argmax(cuda.logits[i]), prompts[p]["argmax"][i].get<int>()) << "position " << i;
      }
  }
}

// Greedy, up to the first step whose choice the reference says is not clear.
TEST(CudaDecode, AnswersAsTheReference) {
  const json prompt = golden()[0];
  const Ids expected = prompt["greedy_ids"].get<Ids>();
  const auto margins = prompt["greedy_margin"].get<std::vector<double>>();
  std::size_t clear = 0;
  while (clear < expected.size() && margins[clear] > kClearMargin) ++clear;
  ASSERT_GE(clear, 8u);
  RunSetup setup;
  setup.options.combine = Combine::partial;
  setup.options.ffn_workers = 2;
  const Transcript got = on_cuda(tiny_model(), setup, {{prompt["ids"].get<Ids>(), {}}}, static_cast<int>(clear));
  EXPECT_EQ(got.tokens[0], Ids(expected.begin(), expected.begin() + static_cast<std::int64_t>(clear)));
}

// What the bundled model has not: the softmax gate, biases, no shared experts, a head of its own, a dense layer
// behind the last MoE layer.
TEST(CudaDecode, OtherArchitectures) {
  nn::ModelConfig qwen = small_config(nn::Architecture::qwen3_moe);
  qwen.qk_norm = true;
  qwen.is_moe = {true, false, false};
  nn::ModelConfig mixtral = small_config(nn::Architecture::mixtral);
  mixtral.is_moe = {true, true, true};
  mixtral.gate.top_k = 2;
  nn::ModelConfig glm = small_config(nn::Architecture::glm4_moe);
  glm.attention_bias = true;
  glm.rotary_dim = 8;
  glm.shared_intermediate = 40;
  glm.gate.rule = nn::GateConfig::Rule::sigmoid_bias;
  glm.gate.scaling = 2.5f;
  Rng rng(5, "ids");
  for (const nn::ModelConfig& config : {qwen, mixtral, glm}) {
    const nn::Model model = nn::random_model(config, 3);
    const Ids ids = some_tokens(rng, 20, config.vocab);
    EXPECT_GE(expect_followed(cuda_trail(model, ids), cpu_trail(model, ids)), 5u) << "the seed is too close to call";
  }
}

}  // namespace
}  // namespace afore::device
