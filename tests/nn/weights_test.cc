// Which tensor plays which part, for each architecture.
#include "nn/weights.h"

#include <set>

#include "nn_test_util.h"
#include "safetensors_writer.h"

namespace afore::nn {
namespace {

using Shapes = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;

ModelConfig small_config(Architecture architecture) {
  ModelConfig config;
  config.architecture = architecture;
  config.layers = 2;
  config.hidden = 6;
  config.vocab = 11;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 5;
  config.is_moe = {architecture == Architecture::mixtral, true};
  config.dense_intermediate = 7;
  config.gate.experts = 3;
  config.moe_intermediate = 8;
  config.qk_norm = architecture != Architecture::mixtral;
  config.attention_bias = architecture == Architecture::glm4_moe;
  if (architecture == Architecture::glm4_moe) {
    config.gate.rule = GateConfig::Rule::sigmoid_bias;
    config.shared_intermediate = 16;
  }
  return config;
}

void add_mlp(Shapes& shapes, const std::string& prefix, std::int64_t width) {
  shapes.insert(shapes.end(), {{prefix + "gate_proj.weight", {width, 6}},
                               {prefix + "up_proj.weight", {width, 6}},
                               {prefix + "down_proj.weight", {6, width}}});
}

Shapes common_shapes() {
  Shapes shapes = {{"model.embed_tokens.weight", {11, 6}}, {"model.norm.weight", {6}}, {"lm_head.weight", {11, 6}}};
  for (const std::string layer : {"model.layers.0.", "model.layers.1."})
    shapes.insert(shapes.end(), {{layer + "input_layernorm.weight", {6}},
                                 {layer + "post_attention_layernorm.weight", {6}},
                                 {layer + "self_attn.q_proj.weight", {20, 6}},
                                 {layer + "self_attn.k_proj.weight", {10, 6}},
                                 {layer + "self_attn.v_proj.weight", {10, 6}},
                                 {layer + "self_attn.o_proj.weight", {6, 20}}});
  return shapes;
}

Shapes qwen3_shapes() {
  Shapes shapes = common_shapes();
  for (const std::string layer : {"model.layers.0.", "model.layers.1."})
    shapes.insert(shapes.end(), {{layer + "self_attn.q_norm.weight", {5}}, {layer + "self_attn.k_norm.weight", {5}}});
  add_mlp(shapes, "model.layers.0.mlp.", 7);
  shapes.push_back({"model.layers.1.mlp.gate.weight", {3, 6}});
  for (const char* expert : {"0.", "1.", "2."}) add_mlp(shapes, std::string("model.layers.1.mlp.experts.") + expert, 8);
  return shapes;
}

Shapes glm4_shapes() {
  Shapes shapes = qwen3_shapes();
  for (const std::string layer : {"model.layers.0.", "model.layers.1."})
    shapes.insert(shapes.end(), {{layer + "self_attn.q_proj.bias", {20}},
                                 {layer + "self_attn.k_proj.bias", {10}},
                                 {layer + "self_attn.v_proj.bias", {10}}});
  shapes.push_back({"model.layers.1.mlp.gate.e_score_correction_bias", {3}});
  add_mlp(shapes, "model.layers.1.mlp.shared_experts.", 16);
  return shapes;
}

Shapes mixtral_shapes() {
  Shapes shapes = common_shapes();
  for (const std::string layer : {"model.layers.0.block_sparse_moe.", "model.layers.1.block_sparse_moe."}) {
    shapes.push_back({layer + "gate.weight", {3, 6}});
    for (const char* expert : {"experts.0.", "experts.1.", "experts.2."})
      shapes.insert(shapes.end(), {{layer + expert + "w1.weight", {8, 6}},
                                   {layer + expert + "w3.weight", {8, 6}},
                                   {layer + expert + "w2.weight", {6, 8}}});
  }
  return shapes;
}

Shapes shapes_of(Architecture architecture) {
  switch (architecture) {
    case Architecture::glm4_moe: return glm4_shapes();
    case Architecture::qwen3_moe: return qwen3_shapes();
    case Architecture::mixtral: return mixtral_shapes();
  }
  return {};
}

Checkpoint checkpoint_of(const TempFolder& folder, const Shapes& shapes) {
  SafetensorsWriter writer;
  for (const auto& [name, shape] : shapes) writer.add_bf16(name, shape);
  folder.write("model.safetensors", writer.file());
  return Checkpoint(folder.path());
}

class Binding : public testing::TestWithParam<Architecture> {};

// Without any one of its tensors, or with one of another shape, a model does not bind, and the line names the tensor.
TEST_P(Binding, NeedsEveryTensorInItsShape) {
  const ModelConfig config = small_config(GetParam());
  const Shapes shapes = shapes_of(GetParam());
  {
    const TempFolder folder;
    EXPECT_EQ(error_of([&] { bind_tensors(checkpoint_of(folder, shapes), config); }), "no error");
  }
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const TempFolder folder;
    Shapes without = shapes, other = shapes;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(folder.clean(error_of([&] { bind_tensors(checkpoint_of(folder, without), config); })),
              "FOLDER: tensor \"" + shapes[i].first + "\" is missing");
    ++other[i].second.back();
    EXPECT_NE(error_of([&] { bind_tensors(checkpoint_of(folder, other), config); }).find('"' + shapes[i].first + '"'),
              std::string::npos);
  }
}

TEST_P(Binding, BeyondTheLastLayerNothingIsBound) {
  const TempFolder folder;
  Shapes shapes = shapes_of(GetParam());
  shapes.push_back({"model.layers.2.eh_proj.weight", {6, 12}});
  shapes.push_back({"model.layers.2.input_layernorm.weight", {1}});
  const Checkpoint checkpoint = checkpoint_of(folder, shapes);
  EXPECT_EQ(bind_tensors(checkpoint, small_config(GetParam())).layers.size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Architectures, Binding,
                         testing::Values(Architecture::glm4_moe, Architecture::qwen3_moe, Architecture::mixtral));

TEST(Weights, GlmParts) {
  const TempFolder folder;
  const Checkpoint checkpoint = checkpoint_of(folder, glm4_shapes());
  const ModelTensors model = bind_tensors(checkpoint, small_config(Architecture::glm4_moe));
  const LayerTensors &dense = model.layers[0], &moe = model.layers[1];
  EXPECT_EQ(model.lm_head.name, "lm_head.weight");
  EXPECT_TRUE(dense.dense && !dense.gate && !dense.gate_bias && dense.experts.empty() && !dense.shared);
  EXPECT_EQ(dense.dense->up.name, "model.layers.0.mlp.up_proj.weight");
  EXPECT_FALSE(moe.dense);
  EXPECT_EQ(moe.gate->name, "model.layers.1.mlp.gate.weight");
  EXPECT_EQ(moe.gate_bias->name, "model.layers.1.mlp.gate.e_score_correction_bias");
  EXPECT_EQ(moe.experts.at(2).down.name, "model.layers.1.mlp.experts.2.down_proj.weight");
  EXPECT_EQ(moe.shared->gate.name, "model.layers.1.mlp.shared_experts.gate_proj.weight");
  EXPECT_EQ(moe.q_bias->name, "model.layers.1.self_attn.q_proj.bias");
  EXPECT_EQ(moe.k_norm->name, "model.layers.1.self_attn.k_norm.weight");
}

TEST(Weights, MixtralParts) {
  const TempFolder folder;
  const Checkpoint checkpoint = checkpoint_of(folder, mixtral_shapes());
  const ModelTensors model = bind_tensors(checkpoint, small_config(Architecture::mixtral));
  const LayerTensors& layer = model.layers[0];
  EXPECT_EQ(layer.experts[1].gate.name, "model.layers.0.block_sparse_moe.experts.1.w1.weight");
  EXPECT_EQ(layer.experts[1].up.name, "model.layers.0.block_sparse_moe.experts.1.w3.weight");
  EXPECT_EQ(layer.experts[1].down.name, "model.layers.0.block_sparse_moe.experts.1.w2.weight");
  EXPECT_TRUE(!layer.dense && !layer.shared && !layer.gate_bias && !layer.q_bias && !layer.q_norm);
}

TEST(Weights, TiedEmbeddings) {
  const TempFolder folder;
  Shapes shapes = qwen3_shapes();
  std::erase_if(shapes, [](const auto& shape) { return shape.first == "lm_head.weight"; });
  ModelConfig config = small_config(Architecture::qwen3_moe);
  config.tied_embeddings = true;
  const Checkpoint checkpoint = checkpoint_of(folder, shapes);
  EXPECT_EQ(bind_tensors(checkpoint, config).lm_head.name, "model.embed_tokens.weight");
}

// Every tensor of the bundled model has a part, and its values are finite.
TEST(Weights, BundledModel) {
  const ModelConfig config = read_config(kTinyFolder);
  const Checkpoint checkpoint(kTinyFolder);
  const ModelTensors model = bind_tensors(checkpoint, config);
  std::int64_t parameters = 0;
  const auto add = [&](const Tensor& tensor) {
    parameters += tensor.count();
    std::vector<std::uint16_t> values(static_cast<std::size_t>(tensor.count()));
    read_bf16(tensor, 0, values);
  };
  const auto add_mlp = [&](const MlpTensors& mlp) { add(mlp.gate), add(mlp.up), add(mlp.down); };
  add(model.embed);
  add(model.final_norm);
  for (const LayerTensors& layer : model.layers) {
    for (const Tensor* tensor : {&layer.input_norm, &layer.post_attention_norm, &layer.q, &layer.k, &layer.v, &layer.o})
      add(*tensor);
    for (const auto* optional : {&layer.q_norm, &layer.k_norm, &layer.gate, &layer.gate_bias})
      if (*optional) add(**optional);
    if (layer.dense) add_mlp(*layer.dense);
    for (const MlpTensors& expert : layer.experts) add_mlp(expert);
    if (layer.shared) add_mlp(*layer.shared);
  }
  EXPECT_EQ(model.layers[1].gate_bias->dtype, Dtype::f32);
  const nlohmann::json header = [] {
    const std::string file = text_of(kTinyFolder / "model.safetensors");
    std::uint64_t size = 0;
    std::memcpy(&size, file.data(), 8);
    return nlohmann::json::parse(file.substr(8, size));
  }();
  std::int64_t stored = 0;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    std::int64_t count = 1;
    for (const std::int64_t extent : entry["shape"]) count *= extent;
    stored += count;
  }
  EXPECT_EQ(parameters, stored);
}

}  // namespace
}  // namespace afore::nn
