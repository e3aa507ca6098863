#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "nn/model.h"

namespace afore::nn {
namespace {

ModelConfig config_of(const char* name) {
  ModelConfig config = read_config(std::string(AFORE_SOURCE_DIR "/data/configs/") + name);
  config.vocab = 1000;  // the largest tensors are the slowest to make
  return config;
}

TEST(RandomModel, HasTheConfigsShapes) {
  const Model model = random_model(config_of("qwen3-30b-a3b"), 1);
  ASSERT_EQ(model.tensors.layers.size(), 48u);
  const LayerTensors& layer = model.tensors.layers[7];
  ASSERT_EQ(layer.experts.size(), 128u);
  EXPECT_EQ(layer.experts[3].down.shape, (std::vector<std::int64_t>{2048, 768}));
  EXPECT_EQ(layer.experts[3].down.bytes.size(), 2u * 2048 * 768);
  EXPECT_EQ(model.tensors.embed.shape, (std::vector<std::int64_t>{1000, 2048}));
}

TEST(RandomModel, ValuesAreOfOneSeedAndScale) {
  const ModelConfig config = config_of("qwen3-30b-a3b");
  const Model a = random_model(config, 1), b = random_model(config, 1), other = random_model(config, 2);
  std::vector<float> values(1 << 16), same(values.size()), differ(values.size()), second(values.size());
  read_f32(a.tensors.layers[0].experts[0].up, 0, values);
  read_f32(b.tensors.layers[0].experts[0].up, 0, same);
  read_f32(other.tensors.layers[0].experts[0].up, 0, differ);
  read_f32(a.tensors.layers[0].experts[1].up, 0, second);
  EXPECT_EQ(values, same);
  EXPECT_NE(values, differ);
  EXPECT_NE(values, second) << "experts are windows at places of their own";
  double squares = 0;
  for (const float value : values) squares += value * value;
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(values.size())), 0.02, 0.001);
}

TEST(RandomModel, NormsKeepAndBiasesAddNothing) {
  const Model model = random_model(config_of("glm-4.5-air"), 1);
  std::vector<float> norm(4096), bias(128);
  read_f32(model.tensors.layers[1].input_norm, 0, norm);
  read_f32(*model.tensors.layers[1].gate_bias, 0, bias);
  EXPECT_EQ(norm, std::vector<float>(4096, 1.0f));
  EXPECT_EQ(bias, std::vector<float>(128, 0.0f));
}

}  // namespace
}  // namespace afore::nn
