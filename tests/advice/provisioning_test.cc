#include "advice/provisioning.h"

#include <gtest/gtest.h>

#include "advice/mean_demand.h"

namespace afore::advice {
namespace {

// t_A = 100, t_F = 0.5 * tokens + 20, t_C = 0.1 * tokens + 10 of 10 sequences a worker, one FFN device: the paper's
// case.
Coefficients plain() {
  Coefficients c;
  c.attention_ns = 100;
  c.alpha_ffn_ns = 0.5;
  c.beta_ffn_ns = 20;
  c.alpha_link_ns = 0.1;
  c.beta_link_ns = 10;
  c.batch = 10;
  return c;
}

// (100 - 20) / (0.5 * 10) = 16; sqrt(20 / 5) = 2.
TEST(Provisioning, ThePapersRatioByHand) {
  EXPECT_NEAR(provisioned_workers(plain()), 16, 1e-12);
  EXPECT_EQ(best_workers(plain(), 1000), 16);
  EXPECT_NEAR(tokens_per_worker_s(plain(), 16, 1), 160 / (17 * 100.0) * 1e9, 1e-3);
}

// FFN bound from the start: t_F(A) = 5 A + 20 over t_A = 10, so that the best is sqrt(F * 20 / 5).
TEST(Provisioning, WhereTheFfnBoundsTheSquareRootDecides) {
  Coefficients c = plain();
  c.attention_ns = 10;
  EXPECT_NEAR(provisioned_workers(c), 2, 1e-12);
  EXPECT_EQ(best_workers(c, 1000), 2);
  c.ffn_workers = 4;
  EXPECT_NEAR(provisioned_workers(c), 4, 1e-12);
  EXPECT_EQ(best_workers(c, 1000), 4);
}

// No integer beats the one that was chosen, over many shapes: the candidates are all there are.
TEST(Provisioning, TheChoiceIsTheBestInteger) {
  for (int seed = 1; seed <= 200; ++seed) {
    Coefficients c;
    c.attention_ns = 10 + seed * 37 % 400;
    c.alpha_ffn_ns = 0.01 + 0.003 * (seed * 53 % 97);
    c.beta_ffn_ns = seed * 29 % 211;
    c.alpha_link_ns = 0.01 + 0.004 * (seed * 71 % 89);
    c.beta_link_ns = seed * 31 % 61;
    c.a2f_floor_ns = seed * 41 % 131;
    c.f2a_floor_ns = seed * 43 % 173;
    c.batch = 1 + seed % 17;
    c.ffn_workers = 1 + seed % 13;
    const double found = tokens_per_worker_s(c, best_workers(c, 600), 1);
    for (int workers = 1; workers <= 600; ++workers)
      EXPECT_LE(tokens_per_worker_s(c, workers, 1), found * (1 + 1e-12)) << "seed " << seed << ", " << workers;
  }
}

// Stages 100, 20, 80, 20: MegaScale-Infer's m >= 2 (1 + 20 / 100), and a cycle of two is bound by the round trip.
TEST(Provisioning, MicrobatchesByHand) {
  const Stages s = {100, 20, 80, 20, 5};
  EXPECT_NEAR(microbatches(s), 2.4, 1e-12);
  EXPECT_NEAR(s.round_trip_ns(), 220, 1e-12);
  EXPECT_NEAR(cycle_ns(s, 2), 220, 1e-12);
  EXPECT_NEAR(cycle_ns(s, 3), 300, 1e-12);
  EXPECT_NEAR(pipe_ns(s, 3, 10), 312, 1e-12);  // 3 * 100 + 120 / 10
}

// gpt-oss-20b's layer on 8 workers: 4 experts of each, 64 tokens a tile.
TEST(Provisioning, CoefficientsOfTheCostModel) {
  LayerCost cost;
  cost.c0_ns = 5000;
  cost.c1_ns = 6400;
  cost.c2_ns = 18000;
  cost.tile_tokens = 64;
  PipelineCost pipeline;
  pipeline.attention_c0_ns = 5000;
  pipeline.kv_ns_per_token = 1;
  pipeline.link_ns_per_byte = 0.01;
  pipeline.link_latency_ns = 10'000;
  pipeline.activation_bytes = 1000;
  pipeline.control_latency_ns = 2000;
  pipeline.scheduler_ns = 10'000;
  const Coefficients c = coefficients(cost, pipeline, {32, 4, 8, 10, 100, 1});
  EXPECT_NEAR(c.attention_ns, 6000, 1e-9);
  EXPECT_NEAR(c.alpha_ffn_ns, 6400.0 * 4 / (64 * 8), 1e-9);
  EXPECT_NEAR(c.beta_ffn_ns, 5000 + 4 * (18'000 + 3200), 1e-9);
  EXPECT_NEAR(c.alpha_link_ns, 10 * 4 / 8.0, 1e-9);
  EXPECT_NEAR(c.a2f_floor_ns, 10'000 + 10 * 10 * 4, 1e-9);
  EXPECT_NEAR(c.control_ns, 14'000, 1e-9);
}

TEST(MeanDemand, CountsAreConservedAndNoExpertIsChosenTwice) {
  std::vector<std::int64_t> counts;
  apportion(shares_of(std::vector<std::int64_t>{0, 0, 0}), 4, 2, counts);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{3, 3, 2}));
  apportion(std::vector<double>{0.97, 0.01, 0.01, 0.01}, 10, 2, counts);  // 19.4 of at most 10
  EXPECT_EQ(counts, (std::vector<std::int64_t>{10, 4, 3, 3}));
  apportion(std::vector<double>{1, 0, 0}, 5, 3, counts);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{5, 5, 5}));
  EXPECT_NEAR(imbalance_of(std::vector<double>{0.4, 0.3, 0.2, 0.1}, 2), 1.4, 1e-12);
}

}  // namespace
}  // namespace afore::advice
