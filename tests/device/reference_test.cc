// Against other implementations: the golden outputs of models/tiny (an independent float32 one) and of tests/reference
// (Hugging Face transformers, three architectures).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "decoder.h"

namespace afore::device::cpu {
namespace {

using nlohmann::json;
using Ids = std::vector<int>;

const std::filesystem::path kRoot = AFORE_SOURCE_DIR;
constexpr double kClearMargin = 1e-2, kClearGap = 1e-4;  // below, another order of sums may choose otherwise

json read_json(const std::filesystem::path& path) {
  std::ifstream in(path);
  return json::parse(in);
}

int argmax(const std::vector<float>& logits) {
  return static_cast<int>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double log_probability(const std::vector<float>& logits, int id) {
  const double top = logits[argmax(logits)];
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - top);
  return logits[id] - top - std::log(sum);
}

// Greedy, up to the first step whose choice the reference says is not clear.
void expect_greedy(Decoder& decoder, int next, const Ids& ids, const std::vector<double>& margins) {
  for (std::size_t i = 0; i < ids.size() && margins[i] > kClearMargin; ++i) {
    ASSERT_EQ(next, ids[i]) << "token " << i;
    next = argmax(decoder.feed({next})[0].logits);
  }
}

class ReferenceTest : public testing::TestWithParam<Isa> {};

TEST_P(ReferenceTest, BundledModel) {
  const DecoderModel model(kRoot / "models/tiny");
  const json prompts = read_json(kRoot / "models/tiny/golden/reference.json");
  std::ifstream file(kRoot / "models/tiny/golden/last_logits.f32", std::ios::binary);
  std::vector<float> golden(prompts.size() * 4096);
  file.read(reinterpret_cast<char*>(golden.data()), static_cast<std::streamsize>(golden.size() * sizeof(float)));
  ASSERT_TRUE(file);
  double worst = 0;
  std::int64_t other_experts = 0, choices = 0;
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    const json& prompt = prompts[p];
    Decoder decoder(model, GetParam());
    const Ids ids = prompt["ids"].get<Ids>();
    const auto positions = decoder.feed(ids);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto experts = prompt["experts"][i].get<std::vector<Ids>>();
      choices += static_cast<std::int64_t>(experts.size());
      for (std::size_t l = 0; l < experts.size(); ++l) other_experts += positions[i].experts[l] != experts[l];
      if (prompt["margin"][i].get<double>() > kClearMargin) {
        EXPECT_EQ(argmax(positions[i].logits), prompt["argmax"][i].get<int>()) << "prompt " << p << " at " << i;
      }
      if (i + 1 < ids.size()) {
        EXPECT_NEAR(log_probability(positions[i].logits, ids[i + 1]), prompt["next_logprob"][i].get<double>(), 2e-3);
      }
    }
    for (std::size_t v = 0; v < 4096; ++v)
      worst = std::max(worst, std::abs(double{positions.back().logits[v]} - golden[p * 4096 + v]));
    expect_greedy(decoder, argmax(positions.back().logits), prompt["greedy_ids"].get<Ids>(),
                  prompt["greedy_margin"].get<std::vector<double>>());
  }
  EXPECT_LE(worst, 2e-3);
  EXPECT_EQ(other_experts, 0) << "of " << choices;
  RecordProperty("worst_logit_error", std::to_string(worst));
  std::printf("largest logit error %.2e, other experts %ld of %ld\n", worst, other_experts, choices);
}

// In one step, and token by token: how a prompt is cut must not show. False: at a choice that is too close to call the
// reference went another way, and nothing behind it can be compared.
bool follows_reference(const DecoderModel& model, const json& prompt, Isa isa, bool whole) {
  const Ids ids = prompt["ids"].get<Ids>();
  Decoder decoder(model, isa);
  std::vector<Decoder::Position> positions;
  if (whole) positions = decoder.feed(ids);
  else
    for (const int id : ids) positions.push_back(decoder.feed({id})[0]);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto experts = prompt["experts"][i].get<std::vector<Ids>>();
    for (std::size_t l = 0; l < experts.size(); ++l) {
      if (positions[i].experts[l] == experts[l]) continue;
      EXPECT_LT(prompt["gap"][i][l].get<double>(), kClearGap) << "position " << i << " MoE layer " << l;
      return false;
    }
    if (prompt["margin"][i].get<double>() > kClearMargin) {
      EXPECT_EQ(argmax(positions[i].logits), prompt["argmax"][i].get<int>());
    }
  }
  const auto last = prompt["last_logits"].get<std::vector<float>>();
  double worst = 0;
  for (std::size_t v = 0; v < last.size(); ++v)
    worst = std::max(worst, std::abs(double{positions.back().logits[v]} - last[v]));
  EXPECT_LE(worst, 2e-3);
  expect_greedy(decoder, argmax(positions.back().logits), prompt["greedy_ids"].get<Ids>(),
                prompt["greedy_margin"].get<std::vector<double>>());
  return true;
}

TEST_P(ReferenceTest, Architectures) {
  for (const char* name : {"qwen3-moe", "qwen3-moe-dense", "mixtral", "glm4-moe", "glm4-moe-tied"}) {
    SCOPED_TRACE(name);
    const DecoderModel model(kRoot / "tests/reference" / name);
    const json golden = read_json(kRoot / "tests/reference" / name / "golden.json");
    EXPECT_EQ(golden["moe_layers"].get<Ids>(), model.moe_layers);
    int followed = 0;
    for (const json& prompt : golden["prompts"])
      for (const bool whole : {true, false}) followed += follows_reference(model, prompt, GetParam(), whole);
    EXPECT_GE(followed, 4) << "of 6: the fixture is too close to call";
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, ReferenceTest, testing::ValuesIn(supported_isas()),
                         [](const auto& isa) { return std::string(to_string(isa.param)); });

}  // namespace
}  // namespace afore::device::cpu
