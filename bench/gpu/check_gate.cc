#include "bench/gpu/context.h"
#include "kernels/gate.h"
#include "tests/kernels/inputs.h"

namespace afore::bench::gpu {
namespace {

using namespace kernels;

// The choice, then what follows from it: counts, and the pairs in their experts' order.
void check_rule(Report& report, const std::string& name, const GateRule& rule, std::int32_t tokens, bool with_bias) {
  Numbers numbers(3);
  const std::vector<float> logits = numbers.floats(area(tokens, rule.experts), 4);
  const std::vector<float> bias = numbers.floats(area(1, rule.experts));
  const std::int32_t pairs = tokens * rule.top_k;
  const auto size = static_cast<std::size_t>(pairs), experts = static_cast<std::size_t>(rule.experts);
  std::vector<std::int32_t> ids(size), counts(experts), begin(experts + 1), sorted(size);
  std::vector<float> weights(size);
  std::int32_t not_finite = 0;
  twin::gate(rule, logits.data(), with_bias ? bias.data() : nullptr, tokens, ids.data(), weights.data(), &not_finite);
  twin::demand_histogram(ids.data(), pairs, rule.experts, counts.data());
  twin::sort_pairs(ids.data(), pairs, rule.experts, counts.data(), begin.data(), sorted.data());

  const Buffer<float> d_logits(logits), d_bias(bias), d_weights(size);
  const Buffer<std::int32_t> d_ids(size), d_counts(experts), d_begin(experts + 1), d_sorted(size);
  const Buffer<std::int32_t> d_not_finite(std::vector<std::int32_t>{0});
  gate(rule, d_logits.data(), with_bias ? d_bias.data() : nullptr, tokens, d_ids.data(), d_weights.data(),
       d_not_finite.data(), stream());
  report.check("gate", name + ": ids", first_difference(d_ids.values(), ids));
  report.check("gate", name + ": weights", first_difference(d_weights.values(), weights));
  report.check("gate", name + ": finite", first_difference(d_not_finite.values(), {not_finite}));
  const Buffer<std::int32_t> given(ids);
  demand_histogram(given.data(), pairs, rule.experts, d_counts.data(), stream());
  report.check("gate", name + ": demand", first_difference(d_counts.values(), counts));
  sort_pairs(given.data(), pairs, rule.experts, d_counts.data(), d_begin.data(), d_sorted.data(), stream());
  report.check("gate", name + ": begin", first_difference(d_begin.values(), begin));
  report.check("gate", name + ": sorted", first_difference(d_sorted.values(), sorted));
}

void check_says_not_finite(Report& report) {
  std::vector<float> logits(2 * 64, 0.5f);
  logits[70] = kNaN;
  const GateRule rule{.sigmoid = true, .experts = 64, .top_k = 8};
  const Buffer<float> d_logits(logits), weights(16);
  const Buffer<std::int32_t> ids(16), not_finite(std::vector<std::int32_t>{0});
  gate(rule, d_logits.data(), nullptr, 2, ids.data(), weights.data(), not_finite.data(), stream());
  report.check("gate", "a logit that is no number is told", first_difference(not_finite.values(), {1}));
}

}  // namespace

void check_gate(Context& context) {
  const GateRule air{.sigmoid = true, .experts = 128, .top_k = 8};
  const GateRule groups{.sigmoid = true, .experts = 256, .top_k = 8, .groups = 8, .top_groups = 4, .scaling = 2.5f};
  const GateRule softmax{.experts = 128, .top_k = 8};
  for (const std::int32_t tokens : {1, context.sizes.tiny ? 7 : 1023}) {
    const std::string of = fmt::format(", {} tokens", tokens);
    check_rule(context.report, "sigmoid 128 top 8" + of, air, tokens, true);
    check_rule(context.report, "8 groups of 32 top 8" + of, groups, tokens, true);
    check_rule(context.report, "softmax 128 top 8" + of, softmax, tokens, false);
  }
  check_says_not_finite(context.report);
}

}  // namespace afore::bench::gpu
