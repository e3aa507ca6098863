#include "predict/train.h"

#include <gtest/gtest.h>

#include "made_up.h"
#include "util/error.h"

namespace afore::predict {
namespace {

Part by_number(const std::string& id) {
  const int number = std::stoi(id.substr(1));
  return number % 5 == 0 ? Part::test : number % 5 == 1 ? Part::check : Part::train;
}

CascadeModel trained(const Dataset& data, int threads, bool with_tokens, std::uint64_t seed = 1) {
  CascadeModel model;
  model.shape = small_shape();
  if (with_tokens) model.tokens = small_table();
  TrainOptions options;
  options.epochs = 30;
  options.seed = seed;
  options.threads = threads;
  train(data, options, model);
  return model;
}

TEST(Train, LearnsARule) {
  const Dataset data = dataset_of(made_up_steps(20, 10, 20, 1), by_number);
  const auto layers = evaluate(data, trained(data, 1, true), 1);
  ASSERT_EQ(layers.size(), 2u);
  for (const LayerAccuracy& layer : layers) {
    EXPECT_EQ(layer.rows, 800);
    EXPECT_GT(layer.recall, 0.95);
    EXPECT_LT(layer.popular_recall, 0.4);
    EXPECT_LT(layer.counts_error, 0.1);
    EXPECT_GT(layer.popular_counts_error, 0.3);
  }
}

TEST(Train, WithoutTokensTheSecondLayerFollowsFromTheFirst) {
  const Dataset data = dataset_of(made_up_steps(20, 10, 20, 1, /*with_ids=*/false), by_number);
  const auto layers = evaluate(data, trained(data, 1, false), 1);
  EXPECT_LT(layers[0].recall, 0.5);  // drawn anew for every token
  EXPECT_GT(layers[1].recall, 0.95);
}

TEST(Train, SameBytesWhateverTheThreads) {
  const Dataset data = dataset_of(made_up_steps(10, 5, 6, 2), by_number);
  const std::string one = predictor_bytes(trained(data, 1, true));
  EXPECT_EQ(one, predictor_bytes(trained(data, 2, true)));
  EXPECT_NE(one, predictor_bytes(trained(data, 1, true, 2)));
}

TEST(Dataset, LinksTokensOfARequest) {
  DatasetBuilder builder(small_shape());
  builder.begin_stream();
  const auto step = [&](std::int64_t number, std::vector<RowSpan> rows, std::int64_t routed) {
    Batch batch;
    batch.step = number;
    batch.rows = std::move(rows);
    builder.add(batch, [](const std::string&) { return Part::train; });
    for (const int layer : {1, 3}) {
      Routing routing{{number, layer, 0}, {}, {}};
      routing.experts.assign(static_cast<std::size_t>(routed), {0, 1});
      builder.add(routing);
    }
  };
  step(0, {{"a", 0, 2, {5, 6}}, {"b", 0, 1, {7}}}, 3);
  step(1, {{"a", 2, 2, {1, 2}}}, 2);
  EXPECT_THROW(step(2, {{"a", 4, 1, {}}}, 2), Error);  // more routing than rows
  const Dataset data = builder.take();
  EXPECT_EQ(data.token, (std::vector<std::int64_t>{5, 6, 7, 1, 2}));
  EXPECT_EQ(data.previous, (std::vector<std::int64_t>{kOff, 0, kOff, 1, 3}));
  EXPECT_EQ(data.known, (std::vector<std::int64_t>{kOff, kOff, kOff, 1, 1}));
  EXPECT_EQ(data.batch, (std::vector<std::int32_t>{0, 0, 0, 1, 1}));
}

TEST(Dataset, ARequestStaysInOneMicrobatch) {
  DatasetBuilder builder(small_shape());
  builder.begin_stream();
  for (const int microbatch : {0, 1}) {
    Batch batch;
    batch.step = 0;
    batch.microbatch = microbatch;
    batch.rows = {{"a", 0, 1, {5}}};
    if (microbatch == 1) batch.finished = {"a"};
    builder.add(batch, [](const std::string&) { return Part::train; });
  }
  const auto route = [&](int microbatch) {
    for (const int layer : {1, 3}) builder.add(Routing{{0, layer, microbatch}, {{0, 1}}, {}});
  };
  route(1);
  EXPECT_THROW(route(0), Error);
}

}  // namespace
}  // namespace afore::predict
