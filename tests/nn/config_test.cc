// Configs: those that transformers writes, each refusal by file, key and value, and bounds.
#include "nn/config.h"

#include "nn_test_util.h"

namespace afore::nn {
namespace {

using nlohmann::json;

json glm4() {  // the keys of zai-org/GLM-4.5-Air's config.json as transformers 4 writes it
  return {{"architectures", {"Glm4MoeForCausalLM"}},
          {"attention_bias", true},
          {"attention_dropout", 0.0},
          {"eos_token_id", {151329, 151336, 151338}},
          {"first_k_dense_replace", 1},
          {"head_dim", 128},
          {"hidden_act", "silu"},
          {"hidden_size", 4096},
          {"intermediate_size", 10944},
          {"max_position_embeddings", 131072},
          {"model_type", "glm4_moe"},
          {"moe_intermediate_size", 1408},
          {"n_group", 1},
          {"n_routed_experts", 128},
          {"n_shared_experts", 1},
          {"norm_topk_prob", true},
          {"num_attention_heads", 96},
          {"num_experts_per_tok", 8},
          {"num_hidden_layers", 46},
          {"num_key_value_heads", 8},
          {"num_nextn_predict_layers", 1},
          {"partial_rotary_factor", 0.5},
          {"rms_norm_eps", 1e-05},
          {"rope_scaling", nullptr},
          {"rope_theta", 1000000},
          {"routed_scaling_factor", 1.5},
          {"tie_word_embeddings", false},
          {"topk_group", 1},
          {"torch_dtype", "bfloat16"},
          {"use_cache", true},
          {"use_qk_norm", false},
          {"vocab_size", 151552}};
}

json qwen3() {  // Qwen/Qwen3-30B-A3B
  return {{"architectures", {"Qwen3MoeForCausalLM"}},
          {"attention_bias", false},
          {"decoder_sparse_step", 1},
          {"eos_token_id", 151645},
          {"head_dim", 128},
          {"hidden_act", "silu"},
          {"hidden_size", 2048},
          {"intermediate_size", 6144},
          {"max_position_embeddings", 40960},
          {"max_window_layers", 48},
          {"mlp_only_layers", json::array()},
          {"model_type", "qwen3_moe"},
          {"moe_intermediate_size", 768},
          {"norm_topk_prob", true},
          {"num_attention_heads", 32},
          {"num_experts", 128},
          {"num_experts_per_tok", 8},
          {"num_hidden_layers", 48},
          {"num_key_value_heads", 4},
          {"rms_norm_eps", 1e-06},
          {"rope_scaling", nullptr},
          {"rope_theta", 1000000.0},
          {"sliding_window", nullptr},
          {"tie_word_embeddings", false},
          {"torch_dtype", "bfloat16"},
          {"use_sliding_window", false},
          {"vocab_size", 151936}};
}

json mixtral() {  // mistralai/Mixtral-8x7B-Instruct-v0.1
  return {{"architectures", {"MixtralForCausalLM"}},
          {"attention_dropout", 0.0},
          {"bos_token_id", 1},
          {"eos_token_id", 2},
          {"hidden_act", "silu"},
          {"hidden_size", 4096},
          {"intermediate_size", 14336},
          {"max_position_embeddings", 32768},
          {"model_type", "mixtral"},
          {"num_attention_heads", 32},
          {"num_experts_per_tok", 2},
          {"num_hidden_layers", 32},
          {"num_key_value_heads", 8},
          {"num_local_experts", 8},
          {"output_router_logits", false},
          {"rms_norm_eps", 1e-05},
          {"rope_theta", 1000000.0},
          {"router_aux_loss_coef", 0.02},
          {"sliding_window", nullptr},
          {"tie_word_embeddings", false},
          {"torch_dtype", "bfloat16"},
          {"vocab_size", 32000}};
}

// As transformers 5 writes it: rotary parameters in one object, dtype, and Qwen3's experts under their other name.
json as_transformers_5(json config) {
  config["rope_parameters"] = {{"rope_theta", config["rope_theta"]}, {"rope_type", "default"}};
  if (config.contains("partial_rotary_factor"))
    config["rope_parameters"]["partial_rotary_factor"] = config["partial_rotary_factor"];
  config["dtype"] = config["torch_dtype"];
  if (config.contains("num_experts")) config["num_local_experts"] = config["num_experts"];
  for (const char* key : {"rope_theta", "rope_scaling", "partial_rotary_factor", "torch_dtype", "num_experts"})
    config.erase(key);
  return config;
}

ModelConfig read(const json& config) {
  const TempFolder folder;
  folder.write("config.json", config.dump());
  ModelConfig read = read_config(folder.path());
  EXPECT_EQ(read.name, folder.path().filename().string());
  read.name = "model";
  return read;
}

// Without the folder and its file: "/key: fact".
std::string refusal(const std::string& text) {
  const TempFolder folder;
  folder.write("config.json", text);
  const std::string error = folder.clean(error_of([&] { read_config(folder.path()); }));
  const std::string prefix = "FOLDER/config.json: ";
  return error.rfind(prefix, 0) == 0 ? error.substr(prefix.size()) : error;
}

std::string refusal(json config, const std::string& key, const json& value) {
  config[key] = value;
  return refusal(config.dump());
}

std::string without(json config, const std::string& key) {
  config.erase(key);
  return refusal(config.dump());
}

TEST(Config, Glm4) {
  for (const json& config : {glm4(), as_transformers_5(glm4())}) {
    const ModelConfig read_back = read(config);
    EXPECT_EQ(read_back.architecture, Architecture::glm4_moe);
    EXPECT_EQ(read_back.layers, 46);
    EXPECT_EQ(read_back.hidden, 4096);
    EXPECT_EQ(read_back.vocab, 151552);
    EXPECT_EQ(read_back.heads, 96);
    EXPECT_EQ(read_back.kv_heads, 8);
    EXPECT_EQ(read_back.head_dim, 128);
    EXPECT_EQ(read_back.rotary_dim, 64);
    EXPECT_EQ(read_back.rope_theta, 1e6);
    EXPECT_EQ(read_back.max_positions, 131072);
    EXPECT_EQ(read_back.rms_eps, 1e-5f);
    EXPECT_TRUE(read_back.attention_bias);
    EXPECT_FALSE(read_back.qk_norm);
    EXPECT_FALSE(read_back.tied_embeddings);
    EXPECT_FALSE(read_back.is_moe[0]);
    EXPECT_EQ(std::count(read_back.is_moe.begin(), read_back.is_moe.end(), true), 45);
    EXPECT_EQ(read_back.dense_intermediate, 10944);
    EXPECT_EQ(read_back.gate.rule, GateConfig::Rule::sigmoid_bias);
    EXPECT_EQ(read_back.gate.experts, 128);
    EXPECT_EQ(read_back.gate.top_k, 8);
    EXPECT_EQ(read_back.gate.groups, 1);
    EXPECT_EQ(read_back.gate.top_groups, 1);
    EXPECT_TRUE(read_back.gate.normalize);
    EXPECT_EQ(read_back.gate.scaling, 1.5f);
    EXPECT_EQ(read_back.moe_intermediate, 1408);
    EXPECT_EQ(read_back.shared_intermediate, 1408);
    EXPECT_EQ(read_back.eos_ids, (std::vector<int>{151329, 151336, 151338}));
  }
}

TEST(Config, Qwen3) {
  for (const json& config : {qwen3(), as_transformers_5(qwen3())}) {
    const ModelConfig read_back = read(config);
    EXPECT_EQ(read_back.architecture, Architecture::qwen3_moe);
    EXPECT_EQ(read_back.rotary_dim, 128);
    EXPECT_EQ(read_back.rope_theta, 1e6);
    EXPECT_EQ(read_back.rms_eps, 1e-6f);
    EXPECT_TRUE(read_back.qk_norm);
    EXPECT_FALSE(read_back.attention_bias);
    EXPECT_EQ(std::count(read_back.is_moe.begin(), read_back.is_moe.end(), true), 48);
    EXPECT_EQ(read_back.dense_intermediate, 0);
    EXPECT_EQ(read_back.gate.rule, GateConfig::Rule::softmax);
    EXPECT_EQ(read_back.gate.experts, 128);
    EXPECT_TRUE(read_back.gate.normalize);
    EXPECT_EQ(read_back.gate.scaling, 1);
    EXPECT_EQ(read_back.moe_intermediate, 768);
    EXPECT_EQ(read_back.shared_intermediate, 0);
    EXPECT_EQ(read_back.eos_ids, (std::vector<int>{151645}));
  }
}

TEST(Config, Mixtral) {
  for (const json& config : {mixtral(), as_transformers_5(mixtral())}) {
    const ModelConfig read_back = read(config);
    EXPECT_EQ(read_back.architecture, Architecture::mixtral);
    EXPECT_EQ(read_back.head_dim, 128);  // hidden / heads
    EXPECT_EQ(read_back.rotary_dim, 128);
    EXPECT_EQ(read_back.rope_theta, 1e6);
    EXPECT_FALSE(read_back.qk_norm);
    EXPECT_FALSE(read_back.attention_bias);
    EXPECT_EQ(std::count(read_back.is_moe.begin(), read_back.is_moe.end(), true), 32);
    EXPECT_EQ(read_back.gate.rule, GateConfig::Rule::softmax);
    EXPECT_TRUE(read_back.gate.normalize);
    EXPECT_EQ(read_back.gate.top_k, 2);
    EXPECT_EQ(read_back.moe_intermediate, 14336);
    EXPECT_EQ(read_back.dense_intermediate, 0);
  }
}

TEST(Config, DefaultsOfTheClasses) {
  json glm = glm4(), qwen = qwen3(), mix = mixtral();
  for (json* config : {&glm, &qwen, &mix})
    for (const char* key : {"rope_theta", "rms_norm_eps", "norm_topk_prob", "partial_rotary_factor", "n_group",
                            "topk_group", "routed_scaling_factor", "n_shared_experts", "first_k_dense_replace",
                            "use_qk_norm", "attention_bias", "decoder_sparse_step", "mlp_only_layers", "model_type",
                            "tie_word_embeddings", "eos_token_id", "hidden_act", "torch_dtype", "head_dim"})
      config->erase(key);
  glm["head_dim"] = 128;  // 4096 / 96 is no whole number
  const ModelConfig g = read(glm), q = read(qwen), m = read(mix);
  EXPECT_EQ(g.rope_theta, 1e4);
  EXPECT_EQ(q.rope_theta, 1e4);
  EXPECT_EQ(m.rope_theta, 1e6);
  EXPECT_EQ(g.rms_eps, 1e-5f);
  EXPECT_EQ(q.rms_eps, 1e-6f);
  EXPECT_EQ(m.rms_eps, 1e-5f);
  EXPECT_TRUE(g.gate.normalize && m.gate.normalize);
  EXPECT_FALSE(q.gate.normalize);
  EXPECT_EQ(g.rotary_dim, 64);
  EXPECT_EQ(g.shared_intermediate, 1408);
  EXPECT_FALSE(g.attention_bias || g.qk_norm || g.is_moe[0]);
  EXPECT_EQ(q.head_dim, 64);
  EXPECT_TRUE(g.eos_ids.empty());
}

TEST(Config, LayersOfQwen3) {
  json config = qwen3();
  config["num_hidden_layers"] = 6;
  config["decoder_sparse_step"] = 2;
  EXPECT_EQ(read(config).is_moe, (std::vector<bool>{false, true, false, true, false, true}));
  config["mlp_only_layers"] = {3};
  EXPECT_EQ(read(config).is_moe, (std::vector<bool>{false, true, false, false, false, true}));
  EXPECT_EQ(read(config).dense_intermediate, 6144);
  EXPECT_EQ(refusal(config, "mlp_only_layers", {3, 6}), "/mlp_only_layers/1: 6 is above 5");
  EXPECT_EQ(refusal(config, "mlp_only_layers", {1, 3, 5}), "no layer has experts");
  EXPECT_EQ(without(config, "intermediate_size"), "/intermediate_size: the key is missing");
}

TEST(Config, GroupsOfGlm4) {
  json config = glm4();
  config["n_group"] = 8;
  config["topk_group"] = 4;
  EXPECT_EQ(read(config).gate.groups, 8);
  EXPECT_EQ(read(config).gate.top_groups, 4);
  EXPECT_EQ(refusal(config, "topk_group", 9), "/topk_group: 9 is above 8");
  EXPECT_EQ(refusal(config, "n_group", 7),
            "/n_group: 7 groups do not split 128 experts into equal ones of two or more");
  EXPECT_EQ(refusal(config, "n_group", 128),
            "/n_group: 128 groups do not split 128 experts into equal ones of two or more");
  config["num_experts_per_tok"] = 17;
  EXPECT_EQ(refusal(config, "topk_group", 1), "/topk_group: 1 groups have 16 experts, 17 are to be chosen");
}

TEST(Config, EndOfText) {
  const TempFolder folder;
  folder.write("config.json", glm4().dump());
  const auto eos = [&] { return read_config(folder.path()).eos_ids; };
  folder.write("generation_config.json", R"({"eos_token_id":[5,7]})");
  EXPECT_EQ(eos(), (std::vector<int>{5, 7}));
  folder.write("generation_config.json", R"({"eos_token_id":9})");
  EXPECT_EQ(eos(), (std::vector<int>{9}));
  for (const char* text : {R"({"eos_token_id":null})", "{}"}) {
    folder.write("generation_config.json", text);
    EXPECT_EQ(eos(), (std::vector<int>{151329, 151336, 151338}));
  }
  folder.write("generation_config.json", R"({"eos_token_id":[5,151552]})");
  EXPECT_EQ(folder.clean(error_of(eos)), "FOLDER/generation_config.json: /eos_token_id/1: 151552 is above 151551");
  EXPECT_EQ(refusal(glm4(), "eos_token_id", "</s>"), "/eos_token_id: expected an integer, found \"</s>\"");
}

TEST(Config, RefusesWhatIsNotComputed) {
  EXPECT_EQ(refusal(glm4(), "architectures", {"DeepseekV3ForCausalLM"}),
            "/architectures/0: \"DeepseekV3ForCausalLM\" is not computed | Glm4MoeForCausalLM, Qwen3MoeForCausalLM and "
            "MixtralForCausalLM are");
  EXPECT_EQ(refusal(glm4(), "architectures", json::array()), "/architectures: expected one architecture, found 0");
  EXPECT_EQ(without(glm4(), "architectures"), "/architectures: the key is missing");
  EXPECT_EQ(refusal(glm4(), "model_type", "mixtral"), "/model_type: \"mixtral\" does not go with Glm4MoeForCausalLM");
  EXPECT_EQ(refusal(qwen3(), "hidden_act", "gelu"), "/hidden_act: \"gelu\" is not computed | silu is");
  EXPECT_EQ(refusal(qwen3(), "torch_dtype", "float8_e4m3fn"),
            "/torch_dtype: \"float8_e4m3fn\" is not computed | bfloat16, float16, float32 is");
  EXPECT_EQ(refusal(qwen3(), "quantization_config", {{"quant_method", "fp8"}}),
            "/quantization_config: quantized weights are not computed | use a checkpoint with bf16 weights");
  EXPECT_EQ(
      refusal(qwen3(), "attention_bias", true),
      "/attention_bias: true is not computed | in Qwen3MoeForCausalLM the output projection would have a bias, too");
  EXPECT_EQ(refusal(qwen3(), "layer_types", {"full_attention", "sliding_attention"}),
            "/layer_types/1: \"sliding_attention\" is not computed | full_attention is");
}

TEST(Config, SlidingWindows) {
  EXPECT_EQ(refusal(mixtral(), "sliding_window", 4096),
            "/sliding_window: a window of 4096 positions out of 32768 is not computed");
  EXPECT_EQ(refusal(mixtral(), "sliding_window", 32768), "no error");  // never reached
  EXPECT_EQ(refusal(qwen3(), "sliding_window", 4096), "no error");     // switched off
  json config = qwen3();
  config["use_sliding_window"] = true;
  EXPECT_EQ(refusal(config, "sliding_window", 4096),
            "/sliding_window: a window of 4096 positions out of 40960 is not computed");
  EXPECT_EQ(refusal(glm4(), "sliding_window", 4096), "no error");  // not read by that class
}

TEST(Config, Rotary) {
  const std::string only = " is not computed | default is";
  EXPECT_EQ(refusal(qwen3(), "rope_scaling", {{"type", "linear"}, {"factor", 2.0}}),
            "/rope_scaling/type: \"linear\"" + only);
  EXPECT_EQ(refusal(qwen3(), "rope_scaling", {{"rope_type", "yarn"}}), "/rope_scaling/rope_type: \"yarn\"" + only);
  EXPECT_EQ(refusal(qwen3(), "rope_scaling", {{"rope_type", "default"}}), "no error");
  EXPECT_EQ(refusal(qwen3(), "rope_scaling", 2), "/rope_scaling: expected an object, found 2");
  json five = as_transformers_5(glm4());
  five["rope_parameters"]["rope_type"] = "llama3";
  EXPECT_EQ(refusal(five.dump()), "/rope_parameters/rope_type: \"llama3\"" + only);
  EXPECT_EQ(refusal(five, "rope_parameters", {{"full_attention", {{"rope_theta", 1e4}}}}),
            "/rope_parameters/full_attention: rotary parameters by the type of layer are not computed");
  five["rope_parameters"] = {{"rope_theta", 500.0}};
  EXPECT_EQ(read(five).rope_theta, 500);
  EXPECT_EQ(read(five).rotary_dim, 64);  // half of the head, as the class has it
  EXPECT_EQ(refusal(five, "rope_theta", 501), "/rope_parameters/rope_theta: 500.0, but /rope_theta is 501");
  EXPECT_EQ(refusal(glm4(), "rope_theta", 0), "/rope_theta: 0 is below 1");
  EXPECT_EQ(refusal(glm4(), "partial_rotary_factor", 0), "/partial_rotary_factor: 0 is not in (0, 1]");
  EXPECT_EQ(refusal(glm4(), "partial_rotary_factor", 1.5), "/partial_rotary_factor: 1.5 is not in (0, 1]");
  EXPECT_EQ(refusal(qwen3(), "partial_rotary_factor", 0.5),
            "/partial_rotary_factor: 0.5 is not computed in Qwen3MoeForCausalLM");
  EXPECT_EQ(refusal(glm4(), "head_dim", 130), "/head_dim: 130 * 0.5 rotated dimensions are no even number");
  EXPECT_EQ(refusal(glm4(), "head_dim", 2), "/head_dim: 2 * 0.5 rotated dimensions are no even number");
}

TEST(Config, Sizes) {
  EXPECT_EQ(without(glm4(), "hidden_size"), "/hidden_size: the key is missing");
  EXPECT_EQ(refusal(glm4(), "hidden_size", "4096"), "/hidden_size: expected an integer, found \"4096\"");
  EXPECT_EQ(refusal(glm4(), "hidden_size", 4096.0), "/hidden_size: expected an integer, found 4096.0");
  EXPECT_EQ(refusal(glm4(), "hidden_size", nullptr), "/hidden_size: expected an integer, found null");
  EXPECT_EQ(refusal(glm4(), "hidden_size", 0), "/hidden_size: 0 is below 1");
  EXPECT_EQ(refusal(glm4(), "hidden_size", 1 << 21), "/hidden_size: 2097152 is above 1048576");
  EXPECT_EQ(refusal(glm4(), "num_hidden_layers", -1), "/num_hidden_layers: -1 is below 1");
  EXPECT_EQ(refusal(glm4(), "vocab_size", UINT64_MAX), "/vocab_size: 18446744073709551615 is above 16777216");
  EXPECT_EQ(refusal(glm4(), "num_key_value_heads", 7), "/num_key_value_heads: 7 heads of keys do not divide 96 heads");
  EXPECT_EQ(read([] {
              json config = qwen3();
              config["num_key_value_heads"] = nullptr;  // as many as heads, in all three classes
              return config;
            }())
                .kv_heads,
            32);
  EXPECT_EQ(refusal(mixtral(), "num_attention_heads", 24), "/hidden_size: 4096 is no multiple of 24 heads");
  EXPECT_EQ(refusal(glm4(), "num_experts_per_tok", 129), "/num_experts_per_tok: 129 is above 128");
  EXPECT_EQ(refusal(glm4(), "first_k_dense_replace", 46), "no layer has experts");
  EXPECT_EQ(refusal(glm4(), "first_k_dense_replace", 47), "/first_k_dense_replace: 47 is above 46");
  EXPECT_EQ(refusal(glm4(), "rms_norm_eps", 0), "/rms_norm_eps: 0 is not in (0, 1)");
  EXPECT_EQ(refusal(glm4(), "rms_norm_eps", 1e-60), "/rms_norm_eps: 1e-60 is not in (0, 1)");
  EXPECT_EQ(refusal(glm4(), "routed_scaling_factor", -1), "/routed_scaling_factor: -1 is no scaling factor");
  EXPECT_EQ(refusal(glm4(), "routed_scaling_factor", 1e300), "/routed_scaling_factor: 1e+300 is no scaling factor");
  EXPECT_EQ(refusal(glm4(), "tie_word_embeddings", 1), "/tie_word_embeddings: expected true or false, found 1");
}

TEST(Config, Text) {
  EXPECT_EQ(refusal(""), "not valid JSON at byte 1");
  EXPECT_EQ(refusal("[]"), "expected an object, found an array");
  EXPECT_EQ(refusal("{\"a\":1,}"), "not valid JSON at byte 8");
  EXPECT_EQ(refusal("{\"a\":1e400}"), "not valid JSON at byte 10");
  EXPECT_EQ(refusal("{\"vocab_size\":1,\"vocab_size\":2}"), "the key \"vocab_size\" stands twice in one object");
  EXPECT_EQ(refusal(std::string(65, '[') + std::string(65, ']')), "the JSON text nests deeper than 64 levels");
  EXPECT_EQ(refusal(std::string(10'000'000, '[')), "the JSON text nests deeper than 64 levels");
  const TempFolder folder;
  EXPECT_EQ(folder.clean(error_of([&] { read_config(folder.path()); }, ErrorKind::io)),
            "cannot open FOLDER/config.json: No such file or directory");
}

TEST(Config, NameOfTheFolder) {
  const std::filesystem::path tiny = AFORE_SOURCE_DIR "/models/tiny";
  for (const auto& path : {tiny, tiny / "", tiny / ".", tiny / ".." / "tiny"})
    EXPECT_EQ(read_config(path).name, "tiny");
}

// The planner's presets and the configs that they were taken from agree.
TEST(Config, ModelSpecs) {
  const auto check = [](ModelSpec spec, const char* preset_name) {
    const ModelSpec* preset = find_model_preset(preset_name);
    ASSERT_NE(preset, nullptr);
    EXPECT_EQ(spec.kv_bytes_per_token, 2 * preset->kv_bytes_per_token);  // float32, the presets 16 bits
    spec.kv_bytes_per_token = preset->kv_bytes_per_token;
    spec.name = preset->name;
    EXPECT_EQ(spec, *preset);
  };
  check(model_spec(read_config(kTinyFolder)), "afore-tiny");
  check(model_spec(read(glm4())), "glm-4.5-air");
  check(model_spec(read(qwen3())), "qwen3-30b-a3b");
  check(model_spec(read(mixtral())), "mixtral-8x7b");
}

TEST(Config, BundledModel) {
  const ModelConfig config = read_config(kTinyFolder);
  EXPECT_EQ(config.rotary_dim, 16);
  EXPECT_TRUE(config.qk_norm && config.tied_embeddings);
  EXPECT_EQ(config.eos_ids, (std::vector<int>{4064, 4066}));
  EXPECT_EQ(config.shared_intermediate, 64);
}

}  // namespace
}  // namespace afore::nn
