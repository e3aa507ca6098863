#include "wire/foreign/layers.h"

#include <gtest/gtest.h>

#include "util/error.h"
#include "wire/foreign/check_map.h"
#include "wire/foreign/convert.h"
#include "wire_test_util.h"

namespace afore::wire {
namespace {

using Ints = std::vector<int>;

ModelSpec model(std::int64_t layers, Ints moe_layers) {
  ModelSpec spec;
  spec.layers = layers;
  spec.moe_layers = std::move(moe_layers);
  return spec;
}

ErrorKind refusal(LayerAxis axis, std::int64_t rows, const ModelSpec& spec, const std::vector<bool>* empty = nullptr) {
  try {
    resolve_layers(axis, rows, {}, spec, empty, "f");
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::internal;  // accepted
}

TEST(ForeignLayers, HiddenRowsLeaveDenseOnesOut) {
  const LayerRows known = resolve_layers(LayerAxis::hidden, 4, {}, model(4, {1, 3}), nullptr, "f");
  EXPECT_EQ(known.rows, (Ints{1, 3}));
  EXPECT_EQ(known.moe_layers, (Ints{1, 3}));
  EXPECT_EQ(known.dense_rows, (Ints{0, 2}));
  const std::vector<bool> empty = {true, false, true, false};
  EXPECT_EQ(resolve_layers(LayerAxis::hidden, 4, {}, {}, &empty, "f").moe_layers, (Ints{1, 3}));
}

TEST(ForeignLayers, OrdinalRowsTakeTheModelsLayers) {
  const LayerRows rows = resolve_layers(LayerAxis::moe, 2, {}, model(5, {3, 4}), nullptr, "f");
  EXPECT_EQ(rows.rows, (Ints{0, 1}));
  EXPECT_EQ(rows.moe_layers, (Ints{3, 4}));
  EXPECT_EQ(rows.hidden_layers, 5);
}

TEST(ForeignLayers, KeyedRowsSayTheirLayers) {
  const LayerRows rows = resolve_layers(LayerAxis::keyed, 2, {3, 10}, {}, nullptr, "f");
  EXPECT_EQ(rows.moe_layers, (Ints{3, 10}));
  const LayerRows descending = resolve_layers(LayerAxis::keyed, 2, {10, 3}, {}, nullptr, "f");
  EXPECT_EQ(descending.rows, (Ints{1, 0}));
  EXPECT_EQ(descending.moe_layers, (Ints{3, 10}));
  EXPECT_EQ(error_of([] {
              resolve_layers(LayerAxis::keyed, 3, {3, 10, 3}, {}, nullptr, "f");
            }),
            "f: layer 3 is there twice | a layer has one row: remove one of them");
  EXPECT_THROW(resolve_layers(LayerAxis::keyed, 1, {2}, model(4, {1, 3}), nullptr, "f"), Error);
}

// Where the file leaves it open, and the flags too, the user is asked: exit 2, never a guess.
TEST(ForeignLayers, AsksForWhatIsOpen) {
  EXPECT_EQ(refusal(LayerAxis::hidden, 4, {}), ErrorKind::usage);
  EXPECT_EQ(refusal(LayerAxis::moe, 4, {}), ErrorKind::usage);
  EXPECT_EQ(refusal(LayerAxis::unsaid, 4, {}), ErrorKind::usage);
  EXPECT_EQ(refusal(LayerAxis::unsaid, 3, model(4, {1, 2, 3})), ErrorKind::usage);
  // All layers are MoE layers: both readings are one.
  EXPECT_EQ(resolve_layers(LayerAxis::unsaid, 2, {}, model(2, {0, 1}), nullptr, "f").moe_layers, (Ints{0, 1}));
}

TEST(ForeignLayers, RefusesAnotherModel) {
  EXPECT_EQ(refusal(LayerAxis::hidden, 3, model(4, {1, 3})), ErrorKind::data);
  EXPECT_EQ(refusal(LayerAxis::moe, 4, model(4, {1, 3})), ErrorKind::data);
  EXPECT_EQ(error_of([] {
              resolve_layers(LayerAxis::moe, 4, {}, model(4, {1, 3}), nullptr, "f");
            }),
            "f: 4 rows, the model has 2 MoE layers | the file has as many rows as the model has hidden layers");
  const std::vector<bool> empty = {false, false, true, false};  // counts in a dense layer
  EXPECT_EQ(refusal(LayerAxis::hidden, 4, model(4, {1, 3}), &empty), ErrorKind::data);
  ModelSpec beyond;
  beyond.moe_layers = {1, 9};
  EXPECT_EQ(refusal(LayerAxis::hidden, 4, beyond), ErrorKind::data);
}

TEST(ForeignConvert, PhysicalCountsAreSharedOutByTheMap) {
  CountsFile counts;
  counts.ids = ExpertIds::physical;
  counts.steps = 2;
  counts.rows = 1;
  counts.cells = 3;
  counts.counts = {5, 1, 2, 0, 7, 1};
  const CountsFile logical = to_logical(counts, {1, 0, 1}, 0, "f");
  EXPECT_EQ(logical.cells, 2);
  EXPECT_EQ(logical.counts, (std::vector<std::int64_t>{1, 7, 7, 1}));
  EXPECT_THROW(to_logical(counts, {1, 0}, 0, "f"), Error);
  EXPECT_THROW(to_logical(counts, {1, 0, -1}, 0, "f"), Error);
  EXPECT_THROW(to_logical(counts, {1, 0, 2}, 2, "f"), Error);
  counts.counts[0] = counts.counts[2] = std::int64_t{1} << 53;
  EXPECT_THROW(to_logical(counts, {1, 0, 1}, 0, "f"), Error);
}

TEST(ForeignConvert, PassesAreCountedWithoutPadding) {
  RoutingFile routing;
  routing.passes = true;
  routing.rows = 1;
  routing.top_k = 2;
  routing.tokens = 3;
  routing.ids = {0, 2, 1, -1, 2, 0};
  routing.spans = {{"0", 0, 2, 0, false}, {"1", 2, 1, 0, false}};
  const CountsFile counts = count_passes(routing, 3, "f");
  EXPECT_EQ(counts.steps, 2);
  EXPECT_EQ(counts.counts, (std::vector<std::int64_t>{1, 1, 1, 1, 0, 1}));
  EXPECT_THROW(count_passes(routing, 2, "f"), Error);
  EXPECT_EQ(counts.step_ids, (std::vector<std::int64_t>{0, 1}));
  routing.spans[0].id = "100";
  routing.spans[1].id = "107";
  EXPECT_EQ(count_passes(routing, 3, "f").step_ids, (std::vector<std::int64_t>{100, 107}));
  routing.spans[1].id = "a.npy";
  EXPECT_EQ(count_passes(routing, 3, "f").step_ids, (std::vector<std::int64_t>{0, 1}));
}

MapFile map_of(std::vector<std::vector<std::int64_t>> rows, LayerAxis axis) {
  MapFile map;
  map.axis = axis;
  for (auto& row : rows) map.rows.push_back({static_cast<std::int64_t>(map.rows.size()), {std::move(row)}});
  return map;
}

std::vector<std::string> rules_of(const MapReport& report) {
  std::vector<std::string> rules;
  for (const MapViolation& v : report.violations) rules.push_back((v.fatal ? "" : "~") + v.rule);
  return rules;
}

using Rules = std::vector<std::string>;

TEST(CheckMap, NamesEachRule) {
  MapContext context;
  context.ranks = 2;
  context.experts = 3;
  const auto check = [&](std::vector<std::vector<std::int64_t>> rows, MapTarget target = MapTarget::sglang) {
    return rules_of(check_map(map_of(std::move(rows), LayerAxis::hidden), target, context));
  };
  EXPECT_EQ(check({{0, 1, 2, 0}}), Rules{});
  EXPECT_EQ(check({{0, 1, 2, 2}}), Rules{"~duplicate on one rank"});
  EXPECT_EQ(check({{0, 1, 2, 2}}, MapTarget::ascend), Rules{"duplicate on one rank"});
  EXPECT_EQ(check({{0, 1, 3, 0}}), (Rules{"id out of range", "missing replica"}));
  EXPECT_EQ(check({{0, 1, 2, 0}, {0, 1, 2}}), (Rules{"ragged", "divisibility"}));
  EXPECT_EQ(check({{0, 1, 2}}), (Rules{"divisibility"}));
  EXPECT_EQ(check({{0, 1}}), (Rules{"sizes"}));
  EXPECT_EQ(check({{0, 1, 2, 0}, {}}), (Rules{"sizes"}));
  EXPECT_EQ(rules_of(check_map(map_of({{}}, LayerAxis::keyed), MapTarget::trtllm, {})), (Rules{"sizes"}));
}

TEST(CheckMap, CountsWhatItLeavesOut) {
  MapContext context;
  context.experts = 20;
  std::vector<std::int64_t> row(20, 0);
  const MapReport report = check_map(map_of({row}, LayerAxis::hidden), MapTarget::sglang, context);
  ASSERT_EQ(report.violations.size(), static_cast<std::size_t>(kViolationsPerRow) + 1);
  EXPECT_EQ(report.violations.back().fact, "and 15 more of this kind");
}

TEST(CheckMap, DenseRowsByTheLayerAxis) {
  MapContext context;
  context.experts = 2;
  context.hidden_layers = 3;
  context.moe_layers = {1, 2};
  const std::vector<std::vector<std::int64_t>> two = {{0, 1}, {1, 0}}, three = {{0, 1}, {0, 1}, {1, 0}};
  EXPECT_EQ(rules_of(check_map(map_of(three, LayerAxis::hidden), MapTarget::sglang, context)), Rules{});
  EXPECT_EQ(rules_of(check_map(map_of(two, LayerAxis::hidden), MapTarget::sglang, context)), Rules{"dense rows"});
  EXPECT_EQ(rules_of(check_map(map_of(two, LayerAxis::moe), MapTarget::vllm, context)), Rules{});
  EXPECT_EQ(rules_of(check_map(map_of(three, LayerAxis::moe), MapTarget::vllm, context)), Rules{"~layers"});
  EXPECT_EQ(rules_of(check_map(map_of(three, LayerAxis::moe), MapTarget::ascend, context)), Rules{"layers"});
  const std::vector<std::vector<std::int64_t>> four = {{0, 1}, {0, 1}, {1, 0}, {0, 1}};
  EXPECT_EQ(check_map(map_of(four, LayerAxis::moe), MapTarget::vllm, context).violations[0].fact,
            "4 rows for 2 MoE layers: only the last ones are used");
  EXPECT_EQ(check_map(map_of(four, LayerAxis::moe), MapTarget::ascend, context).violations[0].fact,
            "4 rows for 2 MoE layers");
  EXPECT_EQ(rules_of(check_map(map_of(two, LayerAxis::keyed), MapTarget::trtllm, context)),
            (Rules{"dense rows", "layers"}));
}

}  // namespace
}  // namespace afore::wire
