#pragma once
// What the sections of gpu_check share. A section is a file; each may run alone.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "bench/gpu/gpu.h"
#include "bench/gpu/report.h"
#include "kernels/attention.h"
#include "kernels/bf16.h"

namespace afore::bench::gpu {

// Of GLM-4.5-Air, or of a model so small that the stand-in takes seconds.
struct Sizes {
  bool tiny = false;
  std::int32_t hidden = 4096, intermediate = 1408, experts = 128, top_k = 8, vocab = 151552;
  kernels::AttentionShape attention{96, 8, 128, 64};
};
inline Sizes tiny_sizes() {
  return {.tiny = true,
          .hidden = 64,
          .intermediate = 40,
          .experts = 8,
          .top_k = 2,
          .vocab = 600,
          .attention = {4, 2, 16, 8}};
}

struct Context {
  Report& report;
  Sizes sizes;
  double read_bytes_per_s = 0;  // by the ceilings; 0 before
};

// Kernels against their twins.
void check_vectors(Context& context);
void check_gate(Context& context);
void check_rows(Context& context);
void check_expert_ffn(Context& context);
void check_attention(Context& context);
void check_sample(Context& context);
// The same rows among others give the same bits.
void check_invariance(Context& context);
// Measurements.
void measure_ceilings(Context& context);
void measure_expert_ffn(Context& context);
void measure_attention(Context& context);
void measure_overheads(Context& context);

inline Figure time_figure(const std::string& section, const std::string& name, const Times& times,
                          const std::string& note = {}) {
  return {.section = section,
          .name = name,
          .unit = "us",
          .value = times.median / 1e3,
          .p95 = times.p95 / 1e3,
          .n = times.n,
          .note = note,
          .goal = {},
          .met = false};
}

// "" where the bytes are the same, else where they first differ.
template <class T>
std::string first_difference(const std::vector<T>& got, const std::vector<T>& expected) {
  if (got.size() != expected.size()) return fmt::format("{} elements, not {}", got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::memcmp(&got[i], &expected[i], sizeof(T)) == 0) continue;
    if constexpr (std::is_arithmetic_v<T>)
      return fmt::format("element {} of {} is {}, not {}", i, got.size(), got[i], expected[i]);
    return fmt::format("element {} of {} differs", i, got.size());
  }
  return "";
}

// "" where |got - expected| <= bound(i) everywhere; not a number never is.
template <class T, class Bound>
std::string first_beyond(const std::vector<T>& got, const std::vector<T>& expected, const Bound& bound) {
  const auto value = [](T x) {
    if constexpr (std::is_same_v<T, std::uint16_t>) return double{kernels::float_of(x)};
    else return double{x};
  };
  for (std::size_t i = 0; i < got.size(); ++i)
    if (const double error = std::abs(value(got[i]) - value(expected[i])); !(error <= bound(i)))
      return fmt::format("element {} of {} is {}, not {}: off by {:.3g}, at most {:.3g}", i, got.size(), value(got[i]),
                         value(expected[i]), error, bound(i));
  return "";
}

inline std::size_t area(std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b); }

}  // namespace afore::bench::gpu
