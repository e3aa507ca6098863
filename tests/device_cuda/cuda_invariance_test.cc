// What must not show in what a model says: how many workers and GPUs there are, who computes which rows, what is copied
// meanwhile, how prompts are cut, which microbatch a request is in, and in which order streams run.
#include "cuda_support.h"

namespace afore::device {
namespace {

std::vector<Conversation> conversations() {
  Rng rng(7, "prompts");
  std::vector<Conversation> all;
  for (const std::int64_t tokens : {1, 5, 19}) all.push_back({some_tokens(rng, tokens, 4000), {}});
  all[1].sampling = {.temperature = 0.8, .top_p = 0.9, .seed = 11};
  all[2].sampling = {.temperature = 1.2, .top_p = 1, .seed = 12};
  return all;
}

constexpr int kTokens = 3;

const Transcript& plain() {
  static const Transcript transcript = on_cuda(tiny_model(), {}, conversations(), kTokens);
  return transcript;
}

void expect_same(const Transcript& got, const Transcript& expected) {
  EXPECT_EQ(got.tokens, expected.tokens);
  EXPECT_EQ(got.logits, expected.logits);  // bit for bit
  EXPECT_EQ(got.gate_tokens, expected.gate_tokens);
}

TEST(CudaInvariance, WorkersSplitsCopiesAndMicrobatches) {
  RunSetup setup;
  setup.options = {2, 3, Combine::exact, 1024, 16};
  setup.microbatches = 2;
  setup.drive = {.seed = 3, .split = true, .copies = true};
  const Transcript got = on_cuda(tiny_model(), setup, conversations(), kTokens);
  expect_same(got, plain());
  EXPECT_GE(got.copies, 5);
}

TEST(CudaInvariance, OrdersOfStreams) {
  for (std::uint64_t schedule = 1; schedule <= 3; ++schedule) {
    SCOPED_TRACE(schedule);
    RunSetup setup;
    setup.options = {2, 2, Combine::exact, 1024, 32};
    setup.microbatches = 2;
    setup.schedule = schedule;
    setup.drive = {.seed = schedule, .split = true, .copies = true};
    expect_same(on_cuda(tiny_model(), setup, conversations(), kTokens), plain());
  }
}

// A slot is used when its copy is enqueued, and given away when its use is: the worker's lanes wait for each other.
TEST(CudaInvariance, LanesOfAWorkerWaitForEachOther) {
  for (std::uint64_t schedule = 1; schedule <= 3; ++schedule) {
    SCOPED_TRACE(schedule);
    RunSetup setup;
    setup.options = {1, 2, Combine::exact, 1024, 16};
    setup.schedule = schedule;
    setup.drive = {.seed = schedule, .hasty = true};
    expect_same(on_cuda(tiny_model(), setup, conversations(), kTokens), plain());
  }
}

TEST(CudaInvariance, CutsOfPrompts) {
  RunSetup setup;
  setup.chunk = 7;
  const Transcript got = on_cuda(tiny_model(), setup, conversations(), kTokens);
  expect_same(got, plain());
}

class Gpus : public testing::TestWithParam<std::pair<int, bool>> {};

TEST_P(Gpus, Several) {
  RunSetup setup;
  std::tie(setup.gpus, setup.peers) = GetParam();
  setup.options = {2, 3, Combine::exact, 1024, 16};
  setup.microbatches = 2;
  setup.schedule = 5;
  setup.drive = {.seed = 9, .split = true, .copies = true};
  const Transcript got = on_cuda(tiny_model(), setup, conversations(), kTokens);
  expect_same(got, plain());
  EXPECT_GE(got.copies, 5);
}

INSTANTIATE_TEST_SUITE_P(CudaInvariance, Gpus,
                         testing::Values(std::pair{2, true}, std::pair{4, true}, std::pair{5, true},
                                         std::pair{2, false}, std::pair{5, false}),
                         [](const auto& gpus) {
                           return std::to_string(gpus.param.first) + (gpus.param.second ? "Peers" : "Strangers");
                         });

// Sums of workers are added in another order than rows: close, not equal.
TEST(CudaInvariance, PartialSumsAreClose) {
  constexpr float kTolerance = 2e-2f;
  for (const bool peers : {true, false}) {
    RunSetup setup;
    setup.gpus = 3;
    setup.peers = peers;
    setup.options = {1, 3, Combine::partial, 1024, 16};
    setup.drive = {.seed = 4, .split = true, .copies = true};
    const Transcript got = on_cuda(tiny_model(), setup, conversations(), 1);
    for (std::size_t i = 0; i < got.logits.size(); ++i)
      for (std::size_t v = 0; v < got.logits[i][0].size(); ++v) {
        ASSERT_NEAR(got.logits[i][0][v], plain().logits[i][0][v], kTolerance) << i << " " << v;
      }
  }
}

}  // namespace
}  // namespace afore::device
