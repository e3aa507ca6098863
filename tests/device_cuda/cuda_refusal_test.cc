// What the CUDA device says when it cannot.
#include "cuda_support.h"
#include "util/error.h"

namespace afore::device {
namespace {

Error error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::internal, "nothing was refused");
}

bool says(const Error& error, const std::string& text) {
  return std::string(error.what()).find(text) != std::string::npos;
}

class CudaRefusal : public testing::Test {
 protected:
  void SetUp() override {
    shim::set_devices(1);
    shim::set_schedule(0);
  }
  void TearDown() override { shim::set_devices(1); }

  Error open_error(const nn::ModelConfig& config, DeviceOptions options = {1, 1, Combine::exact, 1024, 16}) {
    const nn::Model model = nn::random_model(config, 1);
    return error_of([&] { open_cuda(model, options); });
  }
};

TEST_F(CudaRefusal, NoDevice) {
  EXPECT_EQ(plugin().unavailable(), "");
  shim::set_devices(0);
  EXPECT_EQ(plugin().unavailable().find("no CUDA device: "), 0u) << plugin().unavailable();
  EXPECT_NE(plugin().unavailable().find("cudaErrorNoDevice"), std::string::npos) << plugin().unavailable();
  EXPECT_EQ(plugin().unavailable().find('\n'), std::string::npos);
  const Error error = error_of([&] { open_cuda(tiny_model(), {1, 1, Combine::exact, 1024, 16}); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_TRUE(says(error, "cudaErrorNoDevice")) << error.what();
}

TEST_F(CudaRefusal, AnotherVersion) {
  const char* why = "";
  EXPECT_EQ(afore_device_plugin("0.0.0", &why), nullptr);
  EXPECT_NE(std::string(why).find(AFORE_VERSION), std::string::npos) << why;
}

TEST_F(CudaRefusal, Shapes) {
  const nn::ModelConfig good = tiny_model().config;
  const auto refused = [&](auto change, const std::string& text) {
    nn::ModelConfig config = good;
    change(config);
    const Error error = open_error(config);
    EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
    EXPECT_TRUE(says(error, text)) << error.what();
  };
  refused([](auto& c) { c.hidden = 252; }, "hidden_size is 252, not a multiple of 8");
  refused([](auto& c) { c.moe_intermediate = 20; }, "moe_intermediate_size is 20, not a multiple of 8");
  refused([](auto& c) { c.dense_intermediate = 36; }, "intermediate_size is 36, not a multiple of 8");
  refused([](auto& c) { c.shared_intermediate = 12; }, "the shared experts' width is 12, not a multiple of 8");
  refused([](auto& c) { c.head_dim = 12; }, "head_dim is 12, not a multiple of 8");
  refused([](auto& c) { c.head_dim = 264; }, "head_dim is 264, more than 256");
  refused([](auto& c) { c.gate.experts = 1032; }, "the number of experts is 1032, more than 1024");
  refused([](auto& c) { c.gate.experts = 64, c.gate.top_k = 40; }, "num_experts_per_tok is 40, more than 32");
}

TEST_F(CudaRefusal, Tile) {
  EXPECT_TRUE(plugin().is_tile(16));
  EXPECT_FALSE(plugin().is_tile(8));
  const Error error = open_error(tiny_model().config, {1, 1, Combine::exact, 1024, 8});
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_TRUE(says(error, "tile of 8 tokens")) << error.what();
}

TEST_F(CudaRefusal, OutOfMemory) {
  shim::set_devices(1, 24 << 20);
  EXPECT_LE(plugin().free_bytes(), 24 << 20);
  const DeviceOptions options{1, 1, Combine::exact, 1 << 20, 16};
  const auto device = open_cuda(tiny_model(), options);
  const Error cache = error_of([&] { device->make_attention(0); });
  EXPECT_EQ(cache.kind(), ErrorKind::io);
  EXPECT_TRUE(says(cache, "cached keys and values")) << cache.what();
  EXPECT_TRUE(says(cache, "cudaErrorMemoryAllocation")) << cache.what();
  EXPECT_NE(cache.hint().find("--kv-budget-tokens"), std::string::npos) << cache.hint();
  const Error experts = error_of([&] { device->make_experts(0, 1 << 20); });
  EXPECT_NE(experts.hint().find("--slots"), std::string::npos) << experts.what();
  EXPECT_NO_THROW(device->make_experts(0, 4)) << "an error before shows";
}

// Values that are finite one by one overflow together.
TEST_F(CudaRefusal, NotFinite) {
  nn::Model model = nn::open_model(kRoot / "models/tiny");
  const nn::Tensor& norm = model.tensors.layers[1].post_attention_norm;
  const std::vector<std::uint16_t> huge(static_cast<std::size_t>(norm.count()), 0x7f00);  // 1.7e38
  model.tensors.layers[1].post_attention_norm.dtype = nn::Dtype::bf16;
  model.tensors.layers[1].post_attention_norm.bytes = std::as_bytes(std::span(huge));
  const Error error = error_of([&] { on_cuda(model, {}, {{{1, 2, 3}, {}}}, 1); });
  EXPECT_EQ(error.kind(), ErrorKind::data) << error.what();
  EXPECT_TRUE(says(error, "the gate's logits in layer 1 of a token are not finite")) << error.what();
}

TEST_F(CudaRefusal, NotFiniteAtTheEnd) {
  nn::Model model = nn::open_model(kRoot / "models/tiny");
  const std::vector<std::uint16_t> huge(static_cast<std::size_t>(model.tensors.final_norm.count()), 0x7f00);
  model.tensors.final_norm.dtype = nn::Dtype::bf16;
  model.tensors.final_norm.bytes = std::as_bytes(std::span(huge));
  const Error error = error_of([&] { on_cuda(model, {}, {{{1, 2, 3}, {}}}, 1); });
  EXPECT_EQ(error.kind(), ErrorKind::data) << error.what();
  EXPECT_TRUE(says(error, "the logits of a token are not finite")) << error.what();
}

TEST_F(CudaRefusal, NameSaysWhatItIs) {
  const DeviceOptions options{1, 1, Combine::exact, 1024, 16};
  EXPECT_NE(open_cuda(tiny_model(), options)->name().find("CPU stand-in for CUDA"), std::string::npos);
  EXPECT_EQ(open_cuda(tiny_model(), options)->sharing(),
            "2 virtual workers on one GPU, 2 of 4 SMs each (green contexts)");
  shim::set_devices(2);
  EXPECT_EQ(open_cuda(tiny_model(), options)->sharing(), "");
}

}  // namespace
}  // namespace afore::device
