// Partial outputs that a group of GPUs sums: the same model as where FFN workers return them, in any order of streams.
#include <map>

#include "cuda_support.h"
#include "device/cuda/device.h"
#include "fake_sums.h"

namespace afore::device {
namespace {

using cuda::FakeSums;

constexpr float kTolerance = 2e-2f;  // of sums in another order, rounded to bf16 on the way
constexpr int kTokens = 2;

std::vector<Conversation> conversations(int vocab) {
  Rng rng(7, "prompts");
  std::vector<Conversation> all;
  for (const std::int64_t tokens : {1, 5, 19, 3}) all.push_back({some_tokens(rng, tokens, vocab), {}});
  all[1].sampling = {.temperature = 0.8, .top_p = 0.9, .seed = 11};
  return all;
}

// Two experts of a token, no shared ones: with three FFN workers or more, some have nothing to do in a step of a token.
const nn::Model& sparse_model() {
  static const nn::Model model = [] {
    nn::ModelConfig config = small_config(nn::Architecture::mixtral);
    config.is_moe = {true, true, true};
    config.dense_intermediate = 0;
    config.gate.top_k = 2;
    return nn::random_model(config, 3);
  }();
  return model;
}

RunSetup partial(int attention, int ffn) {
  RunSetup setup;
  setup.gpus = attention + ffn;
  setup.options = {attention, ffn, Combine::partial, 1024, 16};
  setup.microbatches = 2;
  setup.drive = {.seed = 9, .split = true, .copies = true};
  return setup;
}

Transcript summed(const nn::Model& model, const RunSetup& setup, FakeSums& sums,
                  const std::vector<Conversation>& conversations, int tokens = kTokens) {
  shim::set_devices(setup.gpus);
  shim::set_peer_access(setup.peers);
  shim::set_schedule(setup.schedule);
  cuda::CudaDevice device(cuda::find_gpus(), model.config, model.tensors, setup.options, sums.maker());
  return converse(model, device, setup, conversations, tokens);
}

void expect_near(const Transcript& got, const Transcript& expected) {
  for (std::size_t i = 0; i < got.logits.size(); ++i)
    for (std::size_t v = 0; v < got.logits[i][0].size(); ++v) {
      ASSERT_NEAR(got.logits[i][0][v], expected.logits[i][0][v], kTolerance) << i << " " << v;
    }
}

struct Workers {
  int attention, ffn;
  bool sparse, peers;
};
class CudaSums : public testing::TestWithParam<Workers> {};

TEST_P(CudaSums, AreWhatFfnWorkersReturn) {
  const auto [attention, ffn, sparse, peers] = GetParam();
  const nn::Model& model = sparse ? sparse_model() : tiny_model();
  const std::vector<Conversation> said = conversations(model.config.vocab);
  RunSetup setup = partial(attention, ffn);
  setup.peers = peers;
  const Transcript returned = on_cuda(model, setup, said, kTokens);
  std::vector<Transcript> runs;
  for (const std::uint64_t schedule : {0, 1, 2, 3, 4}) {
    SCOPED_TRACE(schedule);
    FakeSums sums;
    sums.seed = setup.schedule = schedule;
    runs.push_back(summed(model, setup, sums, said));
    expect_near(runs.back(), returned);
    EXPECT_EQ(runs.back().tokens, runs.front().tokens);
    EXPECT_EQ(runs.back().logits, runs.front().logits);  // bit for bit
    EXPECT_GT(runs.back().copies, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, CudaSums,
                         testing::Values(Workers{1, 2, false, true}, Workers{2, 2, false, true},
                                         Workers{1, 4, true, true}, Workers{2, 2, true, false}),
                         [](const auto& tested) {
                           const Workers& w = tested.param;
                           return std::to_string(w.attention) + "to" + std::to_string(w.ffn) +
                                  (w.sparse ? "Sparse" : "") + (w.peers ? "" : "Strangers");
                         });

std::vector<std::uint64_t> counted(std::size_t count) {
  std::vector<std::uint64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  return numbers;
}

TEST(CudaSumGroups, RanksAreWorkersAndSumsAreCounted) {
  FakeSums sums;
  const auto said = conversations(sparse_model().config.vocab);
  summed(sparse_model(), partial(2, 3), sums, said);
  ASSERT_EQ(sums.groups.size(), 2u);
  EXPECT_EQ(sums.groups[0].gpus, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(sums.groups[1].gpus, (std::vector<int>{0, 1, 2, 4}));
  // Each has two conversations, in one microbatch; three layers.
  const std::size_t hidden = 64;
  const std::map<std::size_t, std::vector<std::size_t>> prompts = {{0, {1, 19}}, {1, {5, 3}}};
  for (const auto& [index, tokens] : prompts) {
    const FakeSums::Group& group = sums.groups[index];
    EXPECT_EQ(group.sequence, counted(3 * kTokens));
    EXPECT_EQ(group.counts[0], (tokens[0] + tokens[1]) * hidden);
  }
}

TEST(CudaSumGroups, CountTheSumsOfTwoMicrobatchesTogether) {
  FakeSums sums;
  summed(sparse_model(), partial(1, 2), sums, conversations(sparse_model().config.vocab));
  const FakeSums::Group& group = sums.groups.at(0);
  EXPECT_EQ(group.sequence, counted(2 * 3 * kTokens));
  EXPECT_EQ(group.counts[0], (1u + 19u) * 64u);
  EXPECT_EQ(group.counts[1], (5u + 3u) * 64u);
}

TEST(CudaSumGroups, OfAWorkerWithoutTokensHasNothingToSum) {
  FakeSums sums;
  auto said = conversations(sparse_model().config.vocab);
  said.resize(1);
  summed(sparse_model(), partial(2, 2), sums, said);
  EXPECT_EQ(sums.groups[0].sequence.size(), 3u * kTokens);
  EXPECT_EQ(sums.groups[1].sequence.size(), 0u);
}

// One group of ranks has one GPU for each.
TEST(CudaSumGroups, AreOfWorkersWithGpusOfTheirOwn) {
  const nn::Model& model = sparse_model();
  const auto name_with = [&](int gpus, Combine combine, FakeSums& sums) {
    shim::set_devices(gpus);
    const DeviceOptions options{1, 2, combine, 1024, 16};
    return cuda::CudaDevice(cuda::find_gpus(), model.config, model.tensors, options, sums.maker()).name();
  };
  FakeSums sums;
  EXPECT_EQ(name_with(1, Combine::partial, sums).find("all-reduce"), std::string::npos);
  EXPECT_EQ(name_with(2, Combine::partial, sums).find("all-reduce"), std::string::npos);
  EXPECT_EQ(name_with(4, Combine::exact, sums).find("all-reduce"), std::string::npos);
  EXPECT_EQ(sums.groups.size(), 0u);
  EXPECT_NE(name_with(4, Combine::partial, sums).find("all-reduce"), std::string::npos);
  EXPECT_EQ(sums.groups.size(), 1u);
  shim::set_devices(1);
}

}  // namespace
}  // namespace afore::device
