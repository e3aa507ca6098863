// Calibration finds the costs that a run was made with: a stream is laid out by known times, and the fit must return
// them, hop by hop.
#include "fit/run_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "util/error.h"
#include "util/rng.h"

namespace afore::fit {
namespace {

// One attention and one FFN worker, one microbatch, four MoE layers: everything happens one after the other.
struct Machine {
  double attention_c0 = 20'000, attention_token = 6'000, attention_kv = 50;
  double step_c0 = 9'000, step_token = 4'000;
  double ffn_c0 = 8'000, ffn_tile = 7'000, ffn_expert = 900;
  double sampling_c0 = 30'000, sampling_sequence = 20'000;
  double to_ffn = 60'000, to_attention = 5'000, next_step = 80'000, noise = 0;
};

class Layout {
 public:
  Layout(const Machine& machine, std::uint64_t seed) : machine_(machine), rng_(seed) {
    Header header;
    header.measured = true;
    header.model.moe_layers = {1, 2, 3, 4};
    header.model.expert_bytes = 98'304;
    header.cluster.attention_workers = header.cluster.ffn_workers = 1;
    header.cluster.tile_tokens = 8;
    fit_.on_header(header);
  }

  void step() {
    Batch batch;
    batch.step = step_;
    batch.sequences = 1 + static_cast<std::int64_t>(rng_.below(64));
    batch.kv_tokens = static_cast<std::int64_t>(rng_.below(20'000));
    batch.per_attention_worker = {batch.sequences};
    fit_.on_batch(batch);
    const double tokens = static_cast<double>(batch.sequences), kv = static_cast<double>(batch.kv_tokens);
    for (int layer = 1; layer <= 4; ++layer) {
      const Target target{step_, layer, 0};
      now_ += layer == 1 ? machine_.next_step : machine_.to_attention;
      double ns = machine_.attention_c0 + machine_.attention_token * tokens + machine_.attention_kv * kv;
      if (layer == 1) ns += machine_.step_c0 + machine_.step_token * tokens;
      operation("A0", "attention", target, ns);
      plan(target, batch.sequences);
      now_ += machine_.to_ffn;
      operation("F0", "expert_ffn", target,
                machine_.ffn_c0 + machine_.ffn_tile * tiles_ + machine_.ffn_expert * experts_);
    }
    now_ += machine_.to_attention;
    operation("A0", "sampling", {step_, 4, 0}, machine_.sampling_c0 + machine_.sampling_sequence * tokens);
    ++step_;
  }
  RunFitResult result() const { return fit_.result(); }

 private:
  void plan(const Target& target, std::int64_t tokens) {
    Demand demand;
    demand.target = target;
    demand.tokens = tokens;
    fit_.on_demand(demand);
    Plan plan;
    plan.target = target;
    experts_ = 1 + static_cast<double>(rng_.below(16));
    tiles_ = 0;
    for (int e = 0; e < static_cast<int>(experts_); ++e) {
      plan.assignment.push_back({e, 0, 1 + static_cast<std::int64_t>(rng_.below(6))});
      tiles_ += static_cast<double>(plan.assignment.back().tiles);
    }
    fit_.on_plan(plan);
  }
  void operation(const char* worker, const char* op, const Target& target, double ns) {
    ns *= 1 + machine_.noise * (2 * rng_.uniform() - 1);
    fit_.on_operation({worker, "compute", op, target, std::llround(now_), std::llround(now_ + ns)});
    now_ += ns;
  }

  Machine machine_;
  Rng rng_;
  RunFit fit_;
  std::int64_t step_ = 0;
  double now_ = 0, tiles_ = 0, experts_ = 0;
};

void expect_near(double value, double wanted, double relative) { EXPECT_NEAR(value, wanted, relative * wanted); }

TEST(RunFit, FindsTheCostsOfARun) {
  const Machine machine;
  Layout layout(machine, 1);
  for (int i = 0; i < 200; ++i) layout.step();
  const RunFitResult result = layout.result();
  expect_near(result.attention.model.c[0], machine.attention_c0, 0.01);
  expect_near(result.attention.model.c[1], machine.attention_token, 0.01);
  expect_near(result.attention.model.c[2], machine.attention_kv, 0.01);
  expect_near(result.ffn.model.c[0], machine.ffn_c0, 0.01);
  expect_near(result.ffn.model.c[1], machine.ffn_tile, 0.01);
  expect_near(result.ffn.model.c[2], machine.ffn_expert, 0.01);
  expect_near(result.sampling.model.c[1], machine.sampling_sequence, 0.01);
  expect_near(result.first.model.c[0], machine.step_c0, 0.02);
  expect_near(result.first.model.c[1], machine.step_token, 0.02);
  expect_near(result.to_ffn_ns.value(), machine.to_ffn, 0.01);
  expect_near(result.to_attention_ns.value(), machine.to_attention, 0.01);
  expect_near(result.next_step_ns.value(), machine.next_step, 0.01);
  EXPECT_FALSE(result.copy_ns);

  Header header;
  header.cluster.tile_tokens = 8;
  const HardwareProfile profile = calibrated(*find_hardware_profile("cpu"), result, header, 10'000.0);
  EXPECT_EQ(profile.ffn_tile_tokens, 8);
  EXPECT_EQ(profile.scheduler_ns, 10'000);
  expect_near(static_cast<double>(profile.control_latency_ns), (machine.to_ffn - 10'000) / 2, 0.01);
  // Sampling, the way to the next step and what its first attention takes more, whatever its size, are one thing.
  expect_near(static_cast<double>(profile.sampling_ns), machine.sampling_c0 + machine.next_step + machine.step_c0,
              0.02);
  expect_near(profile.step_token_ns, machine.step_token, 0.02);
  expect_near(profile.sampling_token_ns, machine.sampling_sequence, 0.02);
}

TEST(RunFit, TimesAddUpUnderNoise) {
  Machine machine;
  machine.noise = 0.5;
  Layout layout(machine, 2);
  for (int i = 0; i < 300; ++i) layout.step();
  const RunFitResult result = layout.result();
  for (const FittedOperation* operation : {&result.attention, &result.ffn, &result.sampling}) {
    double measured = 0, predicted = 0;
    for (const Point& point : operation->points) {
      measured += point.time_ns;
      predicted += operation->model.predict(point.columns);
    }
    EXPECT_NEAR(predicted / measured, 1, 1e-9);
  }
  expect_near(result.attention.model.c[1], machine.attention_token, 0.15);
  EXPECT_GT(result.attention.errors.median, 0.05);
}

TEST(RunFit, RefusesARunThatIsTooShort) {
  Layout layout({}, 3);
  layout.step();
  EXPECT_THROW(layout.result(), Error);
}

}  // namespace
}  // namespace afore::fit
