#include "predict/cascade.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <numeric>

#include "made_up.h"
#include "predict/train.h"
#include "util/error.h"

namespace afore::predict {
namespace {

const CascadeModel& trained() {
  static const CascadeModel model = [] {
    CascadeModel made;
    made.shape = small_shape();
    made.tokens = small_table();
    TrainOptions options;
    options.epochs = 20;
    train(dataset_of(made_up_steps(20, 10, 20, 1), [](const std::string&) { return Part::train; }), options, made);
    return made;
  }();
  return model;
}

double met(const std::vector<std::int64_t>& predicted, const Routing& routing) {
  std::vector<std::int64_t> left = predicted;
  double hits = 0, all = 0;
  for (const auto& row : routing.experts)
    for (const int expert : row) {
      ++all;
      if (left[expert]-- > 0) ++hits;
    }
  return hits / all;
}

TEST(Cascade, TellsLayersAheadOfTheirGates) {
  Cascade cascade(trained(), 1);
  double hits = 0, targets = 0;
  for (const MadeUpStep& step : made_up_steps(10, 10, 4, 9)) {
    std::vector<Prediction> out;
    cascade.begin_step(step.batch, out);
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0].target, (Target{step.batch.step, 1, 0}));
    EXPECT_EQ(out[0].after_layer, kAbsent);
    EXPECT_EQ(std::accumulate(out[0].counts.begin(), out[0].counts.end(), std::int64_t{0}), 20);
    cascade.observe(step.routing[0], out);
    ASSERT_EQ(out.size(), 2u);
    EXPECT_EQ(out[1].target, (Target{step.batch.step, 3, 0}));
    EXPECT_EQ(out[1].after_layer, 1);
    cascade.observe(step.routing[1], out);
    EXPECT_EQ(out.size(), 2u);  // nothing lies ahead
    hits += met(out[0].counts, step.routing[0]) + met(out[1].counts, step.routing[1]);
    targets += 2;
  }
  EXPECT_GT(hits / targets, 0.95);
  EXPECT_EQ(cascade.live_requests(), 10u);  // until their microbatch begins another step
}

TEST(Cascade, TwoAheadRestsOnWhatItPredictedItself) {
  Cascade cascade(trained(), 2);
  double hits = 0, targets = 0;
  for (const MadeUpStep& step : made_up_steps(10, 10, 4, 9)) {
    std::vector<Prediction> out;
    cascade.begin_step(step.batch, out);
    ASSERT_EQ(out.size(), 2u);
    EXPECT_EQ(out[1].target.layer, 3);
    EXPECT_EQ(out[1].after_layer, kAbsent);
    hits += met(out[1].counts, step.routing[1]);
    ++targets;
    cascade.observe(step.routing[0], out);
    ASSERT_EQ(out.size(), 3u);
    EXPECT_EQ(out[2].after_layer, 1);
    cascade.observe(step.routing[1], out);
  }
  EXPECT_GT(hits / targets, 0.9);
}

TEST(Cascade, ForgetsRequestsThatFinished) {
  Cascade cascade(trained(), 1);
  std::vector<Prediction> out;
  for (const MadeUpStep& step : made_up_steps(10, 3, 50, 4)) {
    cascade.begin_step(step.batch, out);
    for (const Routing& routing : step.routing) cascade.observe(routing, out);
    ASSERT_LE(cascade.live_requests(), 10u);
  }
}

TEST(Cascade, WithoutRowsOnlyTheStepsRoutingCounts) {
  Cascade cascade(trained(), 1);
  for (MadeUpStep step : made_up_steps(10, 4, 2, 9)) {
    step.batch.rows.clear();
    std::vector<Prediction> out;
    cascade.begin_step(step.batch, out);
    EXPECT_TRUE(out.empty());
    for (const Routing& routing : step.routing) cascade.observe(routing, out);
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0].target.layer, 3);
    EXPECT_EQ(std::accumulate(out[0].counts.begin(), out[0].counts.end(), std::int64_t{0}), 20);
  }
  EXPECT_EQ(cascade.live_requests(), 0u);
}

TEST(Cascade, RefusesRoutingThatDoesNotFit) {
  Cascade cascade(trained(), 1);
  std::vector<Prediction> out;
  const auto steps = made_up_steps(4, 4, 1, 9);
  cascade.begin_step(steps[0].batch, out);
  Routing routing = steps[0].routing[0];
  routing.experts.pop_back();
  EXPECT_THROW(cascade.observe(routing, out), Error);
  routing.experts.push_back({0, 8});
  EXPECT_THROW(cascade.observe(routing, out), Error);
  routing.experts.back() = {0, 1, 2};
  EXPECT_THROW(cascade.observe(routing, out), Error);
  Batch huge = steps[0].batch;
  huge.rows[0].tokens = std::int64_t{1} << 50;
  huge.rows[0].token_ids.clear();
  EXPECT_THROW(cascade.begin_step(huge, out), Error);
}

// A request that two microbatches claim: whoever ends it first must not pull it from under the other.
TEST(Cascade, OutlivesARequestOfTwoMicrobatches) {
  Cascade cascade(trained(), 1);
  std::vector<Prediction> out;
  MadeUpStep step = made_up_steps(4, 1, 1, 9)[0];
  cascade.begin_step(step.batch, out);
  step.batch.microbatch = step.routing[0].target.microbatch = 1;
  cascade.begin_step(step.batch, out);
  Batch next;
  next.step = 1;
  cascade.begin_step(next, out);  // forgets all four
  EXPECT_EQ(cascade.live_requests(), 0u);
  cascade.observe(step.routing[0], out);
  EXPECT_EQ(out.back().target.microbatch, 1);
}

class PredictorFile : public ::testing::Test {
 protected:
  PredictorFile() {
    std::string pattern = ::testing::TempDir() + "/predictorXXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~PredictorFile() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path write(const std::string& bytes) {
    const auto path = folder_ / "file";
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    return path;
  }
  std::string refusal(const std::string& bytes) {
    const auto path = write(bytes);
    try {
      read_predictor(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data) << error.what();
      return error.what();
    }
    return "";
  }
  std::filesystem::path folder_;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_EQ(from.size(), to.size());
  return text.replace(at, from.size(), to);
}

TEST_F(PredictorFile, ComesBackAsItWas) {
  const std::string bytes = predictor_bytes(trained());
  const CascadeModel read = read_predictor(write(bytes));
  EXPECT_EQ(predictor_bytes(read), bytes);
  EXPECT_EQ(read.shape.moe_layers, trained().shape.moe_layers);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(read.networks[i].input, trained().networks[i].input);
}

TEST_F(PredictorFile, RefusedAtEveryLength) {
  const std::string bytes = predictor_bytes(trained());
  for (std::size_t length = 0; length < bytes.size(); length += length < 1200 ? 1 : 997)
    ASSERT_NE(refusal(bytes.substr(0, length)), "") << length;
  EXPECT_NE(refusal(bytes + "x"), "");
}

TEST_F(PredictorFile, RefusesWhatDoesNotFitTogether) {
  const std::string bytes = predictor_bytes(trained());
  EXPECT_NE(refusal(replaced(bytes, R"("top_k":"2")", R"("top_k":"9")")).find("top_k is 9"), std::string::npos);
  EXPECT_NE(refusal(replaced(bytes, R"("experts":"8")", R"("experts":"7")")), "");
  EXPECT_NE(refusal(replaced(bytes, R"("experts":"8")", R"("experts":"x")")), "");
  EXPECT_NE(refusal(replaced(bytes, R"("version":"1")", R"("version":"2")")).find("version is 2"), std::string::npos);
  EXPECT_NE(refusal(replaced(bytes, R"("moe_layers":"1,3")", R"("moe_layers":"3,1")")), "");
  EXPECT_NE(refusal(replaced(bytes, R"("moe_layers":"1,3")", R"("moe_layers":"1,,")")), "");
  EXPECT_NE(refusal(replaced(bytes, R"("hidden":"16")", R"("hidden":"17")")), "");
  EXPECT_NE(refusal(replaced(bytes, R"("window":"4")", R"("window":"0")")), "");
  EXPECT_NE(refusal(replaced(bytes, R"("token_dims":"8")", R"("token_dims":"0")")), "");
  EXPECT_NE(refusal(replaced(bytes, R"("format":"afore-predictor")", R"("format":"afore-predictxr")")), "");
  EXPECT_NE(refusal(replaced(bytes, R"("layers.3.input")", R"("layers.4.input")")), "");
  EXPECT_NE(refusal(replaced(bytes, "tokens 0.6", "tokens 0.5")), "");
}

TEST_F(PredictorFile, RefusesValuesThatAreNotFinite) {
  std::string bytes = predictor_bytes(trained());
  bytes[bytes.size() - 1] = '\x7F';
  bytes[bytes.size() - 2] = '\xC0';
  EXPECT_NE(refusal(bytes), "");
}

TEST_F(PredictorFile, MustFitTheStreamsModel) {
  const auto path = write(predictor_bytes(trained()));
  ModelSpec model;
  model.moe_layers = {1, 3};
  model.experts = 8;
  model.top_k = 2;
  EXPECT_NE(open_predictor(path, model, 1), nullptr);
  ModelSpec other = model;
  other.experts = 16;
  EXPECT_THROW(open_predictor(path, other, 1), Error);
  other = model;
  other.top_k = 1;
  EXPECT_THROW(open_predictor(path, other, 1), Error);
  other = model;
  other.moe_layers = {1, 2};
  EXPECT_THROW(open_predictor(path, other, 1), Error);
}

}  // namespace
}  // namespace afore::predict
