#pragma once
// What a Hugging Face folder says about its model: config.json and generation_config.json, for the architectures that
// this project computes (Glm4MoeForCausalLM, Qwen3MoeForCausalLM, MixtralForCausalLM). Whatever a config asks for that
// is not computed (another architecture, activation, rotary scaling, sliding window) is refused by name.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/model_spec.h"

namespace afore::nn {

enum class Architecture { glm4_moe, qwen3_moe, mixtral };

// How the gate turns logits into experts and weights.
//   sigmoid_bias: scores = sigmoid(logits); chosen by score + bias (within the best groups), weighted by score.
//   softmax:      scores = softmax(logits); chosen and weighted by score.
// Then, with `normalize`, weights are divided by their sum (sigmoid: + 1e-20), and multiplied by `scaling`.
struct GateConfig {
  enum class Rule { sigmoid_bias, softmax };
  Rule rule = Rule::softmax;
  int experts = 0, top_k = 0;
  int groups = 1, top_groups = 1;  // sigmoid_bias: only experts of the best groups (by their two best scores) compete
  bool normalize = true;
  float scaling = 1;
};

struct ModelConfig {
  Architecture architecture = Architecture::glm4_moe;
  std::string name;  // of the folder
  int layers = 0, hidden = 0, vocab = 0;
  int heads = 0, kv_heads = 0, head_dim = 0;
  int rotary_dim = 0;  // the first dimensions of each head that are rotated, half-split form; even
  double rope_theta = 10000;
  int max_positions = 0;
  float rms_eps = 1e-5f;
  bool attention_bias = false;  // on q, k and v
  bool qk_norm = false;         // RMSNorm of each head of q and k
  bool tied_embeddings = false;
  std::vector<bool> is_moe;  // by layer
  int dense_intermediate = 0;
  GateConfig gate;
  int moe_intermediate = 0;
  int shared_intermediate = 0;  // of the shared experts together; 0 = none
  std::vector<int> eos_ids;     // of generation_config.json, else of config.json; may be empty
};

// Error{data} naming file, key and value.
ModelConfig read_config(const std::filesystem::path& folder);

// As planning and records see it: experts stored in bf16, cached keys and values in float32.
ModelSpec model_spec(const ModelConfig& config);

}  // namespace afore::nn
