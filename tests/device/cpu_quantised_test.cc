#include <gtest/gtest.h>

#include "cpu_support.h"
#include "decoder.h"
#include "device/cpu/layer_gate.h"
#include "device/cpu/quantised_weights.h"

namespace afore::device::cpu {
namespace {

TEST(CpuQuantised, UnpacksWhatPackingItsValuesGives) {
  Rng rng(1, "quantised");
  for (const auto& [n, k] : {std::pair<int, int>{1, 1}, {16, 64}, {17, 77}, {5, 130}, {33, 512}, {256, 64}}) {
    std::vector<std::uint16_t> rows;
    for (const float value : noise(rng, std::int64_t{n} * k)) rows.push_back(to_bf16(value));
    for (const int group : {2, 64, 128}) {
      const nn::QuantisedMatrix matrix = nn::quantise(rows, n, k, group);
      Lines from_codes(packed_bytes(n, k)), from_values(packed_bytes(n, k));
      std::memset(from_codes.data, 0xFF, packed_bytes(n, k));
      unpack(matrix, from_codes.data);
      pack(nn::unpack(matrix), n, k, from_values.data);
      EXPECT_EQ(std::memcmp(from_codes.data, from_values.data, packed_bytes(n, k)), 0) << n << "x" << k << " " << group;
    }
  }
}

TEST(CpuLayerGate, ChoosesOfTheResidualWhatTheStepChose) {
  const DecoderModel model(AFORE_SOURCE_DIR "/models/tiny");
  for (const Isa isa : supported_isas()) {
    AttentionSide side(Kernels::of(isa), model.weights, model.rotary, 4, Combine::exact, 1, nullptr);
    LayerGate gate(Kernels::of(isa), model.weights, nullptr);
    std::vector<std::int32_t> pages, chosen;
    std::vector<float> weights;
    StepState step;
    for (int id = 100; id < 140; ++id) step.token_ids.push_back(id);
    step.slices.push_back({&pages, 0, 40, false, {}, 0});
    side.begin(step);
    side.to_gate(step, 1);
    gate.choose_of_residual(1, step.residual.data(), step.tokens(), chosen, weights);
    EXPECT_EQ(chosen, step.experts) << to_string(isa);
    EXPECT_EQ(weights, step.weights) << to_string(isa);
    gate.choose_of_residual(2, step.residual.data(), step.tokens(), chosen, weights);
    EXPECT_NE(chosen, step.experts) << "the gate of another layer";
  }
}

}  // namespace
}  // namespace afore::device::cpu
