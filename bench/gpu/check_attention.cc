#include <algorithm>

#include "bench/gpu/device_scene.h"
#include "tests/kernels/bounds.h"

namespace afore::bench::gpu {
namespace {

using namespace kernels;

std::string as_twin(const Scene& scene, const std::vector<std::uint16_t>& got) {
  std::vector<std::uint16_t> expected(scene.out_size());
  parallel_for(scene.tokens(), [&](std::int64_t t) {
    const auto token = static_cast<std::int32_t>(t);
    twin::attend(scene.shape, scene.q.data(), scene.cache.data(), scene.places(), &token, 1, expected.data());
  });
  const std::size_t row = area(scene.shape.heads, scene.shape.head_dim);
  return first_beyond(got, expected, [&](std::size_t i) {
    return attend_bound(scene.shape, scene.position[i / row] + 1, double{float_of(expected[i])});
  });
}

void check_shape(Report& report, const AttentionShape& shape, const std::vector<Span>& slices) {
  const Scene scene = make_scene(shape, slices, 21, true);
  const DeviceScene there(scene);
  const std::string name = fmt::format("{} heads over {} of {}", shape.heads, shape.kv_heads, shape.head_dim);
  const std::vector<std::uint16_t> decoded = there.decode(scene.all_tokens());
  report.check("attention", "attend_decode, " + name, as_twin(scene, decoded));
  report.check("attention", "attend_prefill is attend_decode, " + name,
               first_difference(there.prefill(runs_of(scene)), decoded));
}

std::vector<float> angles(const AttentionShape& shape, std::int32_t positions) {
  std::vector<float> cos_sin;
  for (std::int32_t p = 0; p < positions; ++p)
    for (int part = 0; part < 2; ++part)
      for (std::int32_t i = 0; i < shape.rotary_dim / 2; ++i) {
        const double angle = p * std::pow(1e4, -2.0 * i / shape.rotary_dim);
        cos_sin.push_back(static_cast<float>(part == 0 ? std::cos(angle) : std::sin(angle)));
      }
  return cos_sin;
}

// A head's numbers, by the largest of them.
std::string query_difference(const std::vector<float>& got, const std::vector<float>& expected, std::size_t dim) {
  return first_beyond(got, expected, [&](std::size_t i) {
    float most = 0;
    for (std::size_t d = i / dim * dim; d < (i / dim + 1) * dim; ++d) most = std::max(most, std::abs(expected[d]));
    return query_bound(most);
  });
}

// Places that no token has are not a number on both sides, and the same bits.
std::string cache_difference(const std::vector<std::uint16_t>& got, const std::vector<std::uint16_t>& expected) {
  std::size_t beside = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i]) continue;
    ++beside;
    const float bound = cache_bound(float_of(expected[i]));
    if (!(std::abs(float_of(got[i]) - float_of(expected[i])) <= bound))
      return fmt::format("element {} of {} is {}, not {}", i, got.size(), float_of(got[i]), float_of(expected[i]));
  }
  return beside <= most_beside(got.size()) ? "" : fmt::format("{} of {} are a step beside", beside, got.size());
}

void check_store(Report& report, const AttentionShape& shape, bool bias, bool norms) {
  const Scene scene = make_scene(shape, {{0, 1}, {15, 2}, {255, 1}}, 11, false);
  const std::int64_t row = std::int64_t{shape.heads + 2 * shape.kv_heads} * shape.head_dim;
  Numbers numbers(12);
  const std::vector<float> qkv = numbers.floats(area(scene.tokens(), row), 3), biases = numbers.floats(area(1, row));
  const std::vector<float> q_norm = numbers.floats(area(1, shape.head_dim), 2);
  const std::vector<float> k_norm = numbers.floats(area(1, shape.head_dim), 2);
  const std::vector<float> cos_sin = angles(shape, scene.most_positions());
  std::vector<float> q(scene.out_size());
  std::vector<std::uint16_t> cache = scene.cache;
  twin::store_qkv(
      shape, {bias ? biases.data() : nullptr, norms ? q_norm.data() : nullptr, norms ? k_norm.data() : nullptr, 1e-5f},
      qkv.data(), scene.places(), scene.tokens(), cos_sin.data(), q.data(), cache.data());

  const DeviceScene there(scene);
  const Buffer<float> d_qkv(qkv), d_bias(biases), d_q_norm(q_norm), d_k_norm(k_norm), d_cos_sin(cos_sin), d_q(q.size());
  store_qkv(
      shape,
      {bias ? d_bias.data() : nullptr, norms ? d_q_norm.data() : nullptr, norms ? d_k_norm.data() : nullptr, 1e-5f},
      d_qkv.data(), there.places(), scene.tokens(), d_cos_sin.data(), d_q.data(), there.cache.data(), stream());
  const std::string name = fmt::format("store_qkv, {} heads of {}{}{}", shape.heads, shape.head_dim,
                                       bias ? ", bias" : "", norms ? ", norms" : "");
  report.check("attention", name + ": queries",
               query_difference(d_q.values(), q, static_cast<std::size_t>(shape.head_dim)));
  report.check("attention", name + ": cache", cache_difference(there.cache.values(), cache));
}

}  // namespace

void check_attention(Context& context) {
  const AttentionShape& model = context.sizes.attention;
  Report& report = context.report;
  // Every place where a page or a chunk begins or ends, and runs of prompts.
  std::vector<Span> slices = {{0, 3}, {250, 20}};
  for (const std::int32_t positions : {1, 16, 17, 256, 257}) slices.push_back({positions - 1, 1});
  if (!context.sizes.tiny) slices.push_back({2999, 1});
  check_shape(report, model, slices);
  check_shape(report, {5, 1, 32, 0}, {{0, 2}, {13, 6}, {37, 1}});
  check_shape(report, {4, 2, 256, 0}, {{0, 2}, {13, 6}, {37, 1}});
  check_shape(report, {20, 1, 96, 0}, {{0, 2}, {13, 6}, {37, 1}});
  for (const bool norms : {false, true})
    for (const bool bias : {false, true}) check_store(report, model, bias, norms);
  check_store(report, {6, 3, 128, 32}, true, true);
}

}  // namespace afore::bench::gpu
