// The first step from an empty pipeline: fill + cycle x (targets - 1), whichever stage is the slowest.
#include "harness.h"

namespace afore::host {
namespace {

struct Stages {
  const char* name;
  Nanos attention_ns;
  double link_ns_per_byte;
  Nanos tile_ns;
  int attention_workers, ffn_workers, top_k;
};

constexpr int kExperts = 120, kLayers = 6;
constexpr std::int64_t kTokens = 120 * 64, kRowBytes = 8;

// Uniform demand: every expert gets whole tiles, every FFN worker as many experts.
Shape shape(const Stages& stages, int microbatches) {
  Shape s;
  s.sim.model.experts = kExperts;
  s.sim.model.top_k = stages.top_k;
  s.sim.cluster = {.attention_workers = stages.attention_workers,
                   .ffn_workers = stages.ffn_workers,
                   .redundant_slots = 0,
                   .tile_tokens = 64,
                   .microbatches = microbatches};
  s.sim.layer_cost = {.c0_ns = 1000, .c1_ns = stages.tile_ns, .c2_ns = 10, .tile_tokens = 64, .copy_ns = 1};
  s.sim.pipeline_cost.attention_c0_ns = stages.attention_ns;
  s.sim.pipeline_cost.link_ns_per_byte = stages.link_ns_per_byte;
  s.sim.pipeline_cost.link_latency_ns = 3000;
  s.sim.pipeline_cost.activation_bytes = kRowBytes;
  s.sim.pipeline_cost.control_latency_ns = 1000;  // demand, planning and plan take less than the transfer
  s.sim.pipeline_cost.scheduler_ns = 500;
  s.sim.pipeline_cost.sampling_ns = 7000;
  s.planner.policy = "static";
  return s;
}

class EmptyPipeline : public testing::TestWithParam<Stages> {};

TEST_P(EmptyPipeline, FirstStepIsFillAndCycles) {
  const Stages& stages = GetParam();
  const PipelineCost link = shape(stages, 1).sim.pipeline_cost;
  const std::int64_t pairs = kTokens * stages.top_k;
  const std::int64_t copies = std::min(stages.top_k, stages.ffn_workers);
  const Nanos t_a = stages.attention_ns;
  const Nanos t_a2f =
      std::max(link.transfer_ns(static_cast<double>(kTokens / stages.attention_workers * copies * kRowBytes)),
               link.transfer_ns(static_cast<double>(pairs / stages.ffn_workers * kRowBytes)));
  const Nanos t_f =
      shape(stages, 1).sim.layer_cost.ffn_ns(pairs / 64 / stages.ffn_workers, kExperts / stages.ffn_workers);
  const Nanos t_f2a = std::max(link.transfer_ns(static_cast<double>(pairs / stages.ffn_workers * kRowBytes)),
                               link.transfer_ns(static_cast<double>(pairs / stages.attention_workers * kRowBytes)));
  const Nanos fill = t_a + t_a2f + t_f + t_f2a;
  const Nanos cycle = std::max({t_a, t_a2f, t_f, t_f2a});
  const int least = static_cast<int>((fill + cycle - 1) / cycle);
  for (const int microbatches : {least, least + 1, least + 3}) {
    const Shape s = shape(stages, microbatches);
    std::vector<Demand> stream;
    for (int layer = 1; layer <= kLayers; ++layer)
      for (int mb = 0; mb < microbatches; ++mb) {
        Demand d;
        d.target = {0, layer, mb};
        d.tokens = kTokens;
        d.counts.assign(kExperts, pairs / kExperts);
        stream.push_back(d);
      }
    const Result result = simulate(s, stream);
    const double expected = static_cast<double>(fill + cycle * (microbatches * kLayers - 1));
    EXPECT_NEAR(static_cast<double>(result.first_step_ns), expected, 0.01 * expected)
        << microbatches << " microbatches; attention " << t_a << ", to FFN " << t_a2f << ", FFN " << t_f << ", back "
        << t_f2a;
    EXPECT_EQ(result.summary.copies, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Bottlenecks, EmptyPipeline,
    testing::Values(Stages{"attention_4_4", 400'000, 1, 2'000, 4, 4, 2},
                    Stages{"attention_1_4", 900'000, 1, 2'000, 1, 4, 2},
                    Stages{"attention_3_5", 700'000, 1, 2'000, 3, 5, 4}, Stages{"ffn_4_4", 50'000, 1, 20'000, 4, 4, 2},
                    Stages{"ffn_4_1", 20'000, 1, 9'000, 4, 1, 2}, Stages{"ffn_3_5", 20'000, 1, 9'000, 3, 5, 4},
                    Stages{"ffn_1_4", 20'000, 0.1, 9'000, 1, 4, 4},
                    // every token leaves as often as it comes back: both links are as slow
                    Stages{"links_4_4", 20'000, 12, 500, 4, 4, 2}, Stages{"links_1_4", 20'000, 12, 500, 1, 4, 4},
                    // the few FFN workers' ports, both ways
                    Stages{"links_4_1", 20'000, 12, 500, 4, 1, 2},
                    // more experts per token than FFN workers: only the way back carries them all
                    Stages{"back_3_5", 20'000, 12, 500, 3, 5, 6}, Stages{"back_1_4", 20'000, 12, 500, 1, 4, 6}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace afore::host
