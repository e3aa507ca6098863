// Records against the header and against themselves.
#include "wire_test_util.h"

namespace afore::wire {
namespace {

TEST(Checks, DemandSum) {
  EXPECT_EQ(error_after_header(kDemand), "no error");
  EXPECT_EQ(
      error_after_header(replaced(kDemand, "[0,5,1,2]", "[0,5,1,1]")),
      "stdin:2: /counts: counts sum to 7, not to 4 tokens x top_k 2 | --allow-drop accepts sources that drop tokens");
  EXPECT_EQ(error_after_header(replaced(kDemand, "[0,5,1,2]", "[0,5,1,3]")),
            "stdin:2: /counts: counts sum to 9, not to 4 tokens x top_k 2");
  EXPECT_EQ(error_after_header(replaced(kDemand, "[0,5,1,2]", "[0,9007199254740992,9007199254740992,2]")),
            "stdin:2: /counts: the counts sum to more than 2^53");
  EXPECT_EQ(error_after_header(replaced(kDemand, "\"tokens\":4", "\"tokens\":9007199254740992")),
            "stdin:2: /counts: counts sum to 8, not to 9007199254740992 tokens x top_k 2 | "
            "--allow-drop accepts sources that drop tokens");
  EXPECT_EQ(error_after_header(replaced(kDemand, "]", "],\"dropped\":1")),
            "stdin:2: /dropped: dropped is not 0, but no count is missing");
}

TEST(Checks, DemandSumWithTopKFromFlags) {
  RecordDecoder decoder("stdin", ReadOptions{false, 3});
  EXPECT_EQ(
      error_of([&] { decoder.decode(kDemand, 1); }),
      "stdin:1: /counts: counts sum to 8, not to 4 tokens x top_k 3 | --allow-drop accepts sources that drop tokens");
  EXPECT_EQ(error_alone(kDemand), "no error");  // nothing to check against
}

TEST(Checks, DemandThatDrops) {
  const ReadOptions drop{true, {}};
  const std::string less = replaced(kDemand, "[0,5,1,2]", "[0,5,1,0]");
  EXPECT_EQ(std::get<Demand>(small_decoder(drop).decode(less, 2)).dropped, 2);
  EXPECT_EQ(std::get<Demand>(small_decoder(drop).decode(replaced(less, "0]", "0],\"dropped\":2"), 2)).dropped, 2);
  EXPECT_EQ(std::get<Demand>(small_decoder(drop).decode(kDemand, 2)).dropped, 0);
  EXPECT_EQ(error_after_header(replaced(less, "0]", "0],\"dropped\":3"), drop),
            "stdin:2: /dropped: counts and dropped sum to 9, not to 4 tokens x top_k 2");
  EXPECT_EQ(error_after_header(replaced(less, "0]", "0],\"dropped\":-1"), drop),
            "stdin:2: /dropped: dropped is negative");
  EXPECT_EQ(error_after_header(replaced(kDemand, "[0,5,1,2]", "[0,5,1,3]"), drop),
            "stdin:2: /counts: counts sum to 9, more than 4 tokens x top_k 2");
}

TEST(Checks, Demand) {
  EXPECT_EQ(error_after_header(replaced(kDemand, "[0,5,1,2]", "[0,5,1,-2]")), "stdin:2: /counts/3: count is negative");
  EXPECT_EQ(error_after_header(replaced(kDemand, "[0,5,1,2]", "[0,5,3]")),
            "stdin:2: /counts: the list has 3 counts, the model 4 experts");
  EXPECT_EQ(error_after_header(replaced(kDemand, "[0,5,1,2]", "[]")), "stdin:2: /counts: the list is empty");
  EXPECT_EQ(error_after_header(replaced(kDemand, "[0,5,1,2]", "[[0,5],[1,2]]")),
            "stdin:2: /counts/0: expected an integer, found an array");
  EXPECT_EQ(error_after_header(replaced(kDemand, "\"layer\":3", "\"layer\":0")),
            "stdin:2: /layer: layer 0 is not among the header's moe_layers | "
            "layers are absolute indices, dense layers counted");
  EXPECT_EQ(error_after_header(replaced(kDemand, "\"layer\":3", "\"layer\":4")),
            "stdin:2: /layer: layer 4 is out of range, there are 4");
  EXPECT_EQ(error_after_header(replaced(kDemand, "decode", "dream")),
            "stdin:2: /phase: unknown phase \"dream\" | phases are decode, prefill, mixed and warmup");
  EXPECT_EQ(error_after_header(replaced(kDemand, "\"tokens\"", "\"token\"")), "stdin:2: /tokens: the key is missing");
  EXPECT_EQ(error_after_header(replaced(kDemand, "\"microbatch\":1", "\"microbatch\":2000000")),
            "stdin:2: /microbatch: microbatch 2000000 is out of range, there are 1048576");
}

TEST(Checks, TheFirstDemandSaysHowManyExpertsThereAre) {
  for (const bool with_header : {false, true}) {
    RecordDecoder decoder("stdin");
    if (with_header) decoder.decode(R"({"kind":"header","v":1,"model":{"top_k":2}})", 1);
    decoder.decode(kDemand, 2);
    const std::string shorter = replaced(kDemand, "[0,5,1,2]", "[0,5,3]");
    EXPECT_EQ(error_of([&] { decoder.decode(shorter, 3); }),
              "stdin:3: /counts: 3 experts, the stream's first demand has 4");
    EXPECT_EQ(error_of([&] { decoder.decode(kDemand, 4); }), "no error");
    EXPECT_EQ(error_of([&] {
                decoder.decode(R"({"kind":"routing","step":0,"layer":1,"microbatch":0,"experts":[[0,4]]})", 5);
              }),
              "stdin:5: /experts/0/1: expert 4 is out of range, there are 4");
  }
}

TEST(Checks, Versions) {
  EXPECT_EQ(error_after_header(replaced(kDemand, "\"step\"", "\"v\":1,\"step\"")), "no error");
  EXPECT_EQ(error_after_header(replaced(kDemand, "\"step\"", "\"v\":2,\"step\"")),
            "stdin:2: /v: record version 2 is not known | this afore reads version 1");
  EXPECT_EQ(error_alone(R"({"kind":"header","v":7})"),
            "stdin:1: /v: record version 7 is not known | this afore reads version 1");
  EXPECT_EQ(error_alone(R"({"kind":"header"})"), "stdin:1: /v: the key is missing");
}

TEST(Checks, Batch) {
  const std::string line = to_json(Batch{17, 1, 7, 0, 91022, {3, 4}, {}, {}});
  EXPECT_EQ(error_after_header(line), "no error");
  EXPECT_EQ(error_after_header(replaced(line, "[3,4]", "[3,4,0]")),
            "stdin:2: /per_attention_worker: the list has 3 entries for 2 attention workers");
  EXPECT_EQ(error_after_header(replaced(line, "[3,4]", "[3,5]")),
            "stdin:2: /per_attention_worker: the entries do not sum to 7 sequences");
  EXPECT_EQ(error_after_header(replaced(line, "\"admitted\":[]", "\"admitted\":[7]")),
            "stdin:2: /admitted/0: expected a string, found an integer");
}

TEST(Checks, SampledOfABatch) {
  Batch batch{17, 1, 7, 0, 91022, {3, 4}, {}, {}};
  batch.sampled = 7;
  const std::string line = to_json(batch);
  EXPECT_EQ(std::get<Batch>(small_decoder().decode(line, 2)).sampled, 7);
  EXPECT_EQ(error_after_header(replaced(line, "\"sampled\":7", "\"sampled\":8")),
            "stdin:2: /sampled: more sequences get a token than the 7 there are");
}

TEST(Checks, RowsOfABatch) {
  Batch batch{17, 1, 7, 0, 91022, {3, 4}, {}, {}};
  batch.rows = {{"r7", 3, 2, {8, 9}}};
  const std::string line = to_json(batch);
  EXPECT_EQ(error_after_header(line), "no error");
  EXPECT_EQ(error_after_header(replaced(line, "[8,9]", "[8]")),
            "stdin:2: /rows/0/token_ids: the list has 1 ids for 2 tokens");
  EXPECT_EQ(error_after_header(replaced(line, "\"tokens\":2", "\"tokens\":0")),
            "stdin:2: /rows/0/tokens: tokens 0 is below 1");
}

TEST(Checks, Prediction) {
  const std::string line = to_json(Prediction{{1, 3, 1}, "gate", 1, {1, 1, 0, 2}, {{0, 3}, {1, 3}}});
  EXPECT_EQ(error_after_header(line), "no error");
  EXPECT_EQ(error_after_header(replaced(line, "[1,1,0,2]", "[1,1,0]")),
            "stdin:2: /counts: the list has 3 counts, the model 4 experts");
  EXPECT_EQ(error_after_header(replaced(line, "\"after_layer\":1", "\"after_layer\":3")),
            "stdin:2: /after_layer: layer 3 is out of range, there are 3");
  EXPECT_EQ(error_after_header(replaced(line, "[1,3]]", "[1,4]]")),
            "stdin:2: /experts/1/1: expert 4 is out of range, there are 4");
}

TEST(Checks, Routing) {
  const std::string line = R"({"kind":"routing","step":1,"layer":3,"microbatch":1,"experts":[[0,3],[2,1]]})";
  EXPECT_EQ(error_after_header(line), "no error");
  EXPECT_EQ(error_after_header(replaced(line, "[2,1]", "[2,1,3]")),
            "stdin:2: /experts/1: the row has 3 entries, not 2");
  EXPECT_EQ(error_after_header(replaced(line, "[2,1]", "[2,4]")),
            "stdin:2: /experts/1/1: expert 4 is out of range, there are 4");
  EXPECT_EQ(error_after_header(replaced(line, "[2,1]", "[2,-1]")), "stdin:2: /experts/1/1: expert is negative");
  EXPECT_EQ(error_alone(replaced(line, "[2,1]", "[2]")), "stdin:1: /experts/1: the row has 1 entries, not 2");
  EXPECT_EQ(error_after_header(replaced(line, "]]", "]],\"weights\":[[0.5,0.5]]")),
            "stdin:2: /weights: there are 1 rows of weights for 2 tokens");
  EXPECT_EQ(error_after_header(replaced(line, "]]", "]],\"weights\":[[0.5,0.5],[1]]")),
            "stdin:2: /weights/1: the row has 1 weights, not 2");
  EXPECT_EQ(error_after_header(replaced(line, "]]", "]],\"weights\":[[0.5,\"x\"],[1,1]]")),
            "stdin:2: /weights/0/1: expected a number, found a string");
}

TEST(Checks, Placement) {
  const std::string line = to_json(PlacementRecord{3, 3, {0, 1, -1, 2, 3, -1}});
  EXPECT_EQ(error_after_header(line), "no error");
  EXPECT_EQ(error_after_header(replaced(line, "3,-1]", "3]")),
            "stdin:2: /physical_to_logical: the map is ragged: 5 slots are no multiple of 3 per worker");
  EXPECT_EQ(error_after_header(replaced(line, "3,-1]", "3,-1,-1,-1,-1]")),
            "stdin:2: /physical_to_logical: the map has 9 slots, not 2 workers x 3");
  EXPECT_EQ(error_after_header(replaced(line, "3,-1]", "4,-1]")),
            "stdin:2: /physical_to_logical/4: expert 4 is out of range, there are 4");
  EXPECT_EQ(error_after_header(replaced(line, "3,-1]", "3,-2]")),
            "stdin:2: /physical_to_logical/5: expert -2 is below -1");
  EXPECT_EQ(error_after_header(replaced(line, "\"slots_per_worker\":3", "\"slots_per_worker\":0")),
            "stdin:2: /slots_per_worker: slots_per_worker 0 is below 1");
}

std::string plan_line() {
  Plan plan;
  plan.target = {17, 3, 1};
  plan.copies = {{1, 0, 1, 2}};
  plan.assignment = {{0, 0, 1}, {1, 0, 2}, {1, 1, 3}};
  plan.tile_load = {3, 3};
  plan.cut = {1};
  return to_json(plan);
}

TEST(Checks, Plan) {
  const std::string line = plan_line();
  EXPECT_EQ(error_after_header(line), "no error");
  EXPECT_EQ(error_after_header(replaced(line, "[1,1,3]", "[4,1,3]")),
            "stdin:2: /assignment/2/0: expert 4 is out of range, there are 4");
  EXPECT_EQ(error_after_header(replaced(line, "[1,1,3]", "[1,2,3]")),
            "stdin:2: /assignment/2/1: worker 2 is out of range, there are 2");
  EXPECT_EQ(error_after_header(replaced(line, "[1,1,3]", "[1,1,0]")), "stdin:2: /assignment/2/2: tiles 0 is below 1");
  EXPECT_EQ(error_after_header(replaced(line, "[1,1,3]", "[1,1]")),
            "stdin:2: /assignment/2: expected [expert, worker, tiles]");
  EXPECT_EQ(error_after_header(replaced(line, "[1,1,3]", "[1,0,3]")),
            "stdin:2: /assignment: expert 1 stands twice on worker 0");
  EXPECT_EQ(error_after_header(replaced(line, "[3,3]", "[3,3,0]")),
            "stdin:2: /tile_load: the list has 3 entries for 2 FFN workers");
  EXPECT_EQ(error_after_header(replaced(line, "[3,3]", "[3,-3]")), "stdin:2: /tile_load/1: tile load is negative");
  EXPECT_EQ(error_after_header(replaced(line, "\"slot\":2", "\"slot\":-2")),
            "stdin:2: /copies/0/slot: slot -2 is below -1");
  EXPECT_EQ(error_after_header(replaced(line, "\"to\":1", "\"to\":2")),
            "stdin:2: /copies/0/to: worker 2 is out of range, there are 2");
  EXPECT_EQ(error_after_header(replaced(line, "\"expert\":1", "\"expert\":4")),
            "stdin:2: /copies/0/expert: expert 4 is out of range, there are 4");
  EXPECT_EQ(error_after_header(replaced(line, "\"from\":0", "\"of\":0")),
            "stdin:2: /copies/0/from: the key is missing");
  EXPECT_EQ(error_after_header(replaced(line, "\"cut\":[1]", "\"cut\":[2]")),
            "stdin:2: /cut/0: worker 2 is out of range, there are 2");
  EXPECT_EQ(error_after_header(replaced(line, "\"objective\":\"time\"", "\"objective\":\"fun\"")),
            "stdin:2: /objective: unknown objective \"fun\" | objectives are time and tiles");
  EXPECT_EQ(error_after_header(replaced(line, "\"certified\":false", "\"certified\":0")),
            "stdin:2: /certified: expected a boolean, found an integer");
  EXPECT_EQ(error_after_header(replaced(line, "\"exposed_ns\":0", "\"exposed_ns\":-1")),
            "stdin:2: /exposed_ns: value is negative");
}

TEST(Checks, WhatAPlanSaysOfItsWorkers) {
  const std::string line = plan_line();
  EXPECT_EQ(error_after_header(replaced(line, "[3,3]", "[]")), "stdin:2: /tile_load: the list is empty");
  const auto with = [&](const std::string& more) { return replaced(line, "\"certified\"", more + ",\"certified\""); };
  EXPECT_EQ(error_after_header(with("\"unready\":[[0,1]]")), "no error");
  EXPECT_EQ(error_after_header(with("\"unready\":[[0]]")), "stdin:2: /unready/0: expected [expert, worker]");
  EXPECT_EQ(error_after_header(with("\"unready\":[[4,1]]")),
            "stdin:2: /unready/0/0: expert 4 is out of range, there are 4");
  EXPECT_EQ(error_after_header(with("\"unready\":[[0,2]]")),
            "stdin:2: /unready/0/1: worker 2 is out of range, there are 2");
  EXPECT_EQ(error_after_header(with("\"backlog_ns\":[1,2],\"completion_ns\":3")), "no error");
  EXPECT_EQ(error_after_header(with("\"backlog_ns\":[1]")),
            "stdin:2: /backlog_ns: the list has 1 entries for 2 FFN workers");
  EXPECT_EQ(error_after_header(with("\"backlog_ns\":[1,2]")), "stdin:2: /completion_ns: the key is missing");
}

TEST(Checks, ListsThatAreEmpty) {
  EXPECT_EQ(error_after_header(replaced(to_json(PlacementRecord{3, 1, {0, 1}}), "[0,1]", "[]")),
            "stdin:2: /physical_to_logical: the map is empty");
  const std::string line = R"({"kind":"routing","step":1,"layer":3,"microbatch":1,"experts":[[],[]]})";
  EXPECT_EQ(error_alone(line), "stdin:1: /experts/0: the row is empty");
  EXPECT_EQ(error_after_header(line), "stdin:2: /experts/0: the row has 0 entries, not 2");
}

TEST(Checks, PlanAssignmentIsSortedOnReading) {
  RecordDecoder decoder = small_decoder();
  const Record record = decoder.decode(replaced(plan_line(), "[0,0,1],[1,0,2],[1,1,3]", "[1,1,3],[0,0,1],[1,0,2]"), 2);
  EXPECT_EQ(std::get<Plan>(record).assignment, (std::vector<TileShare>{{0, 0, 1}, {1, 0, 2}, {1, 1, 3}}));
}

TEST(Checks, Results) {
  const std::string operation = to_json(Operation{"F0", "compute", "attention", {1, 0, 0}, 5, 6});
  EXPECT_EQ(error_after_header(operation), "no error");  // dense layers are executed too
  EXPECT_EQ(error_after_header(replaced(operation, "\"layer\":0", "\"layer\":4")),
            "stdin:2: /layer: layer 4 is out of range, there are 4");
  EXPECT_EQ(error_after_header(replaced(operation, "\"end_ns\":6", "\"end_ns\":4")),
            "stdin:2: /end_ns: the operation ends before it starts");
  const std::string completion = to_json(Completion{"r", 1, 1, "stop", {1}, "x", "", {}});
  EXPECT_EQ(error_after_header(replaced(completion, "stop", "bored")),
            "stdin:2: /finish_reason: unknown finish_reason \"bored\" | "
            "reasons are stop, length, timeout, cancelled and rejected");
  EXPECT_EQ(error_after_header(to_json(Observed{{1, 0, 0}, 1, 1, 1, 1, 1, 1, 1})),
            "stdin:2: /layer: layer 0 is not among the header's moe_layers | "
            "layers are absolute indices, dense layers counted");
  EXPECT_EQ(error_after_header(replaced(to_json(Summary{}), "\"targets\":0", "\"targets\":0.5")),
            "stdin:2: /afore/targets: expected an integer, found 0.5");
  EXPECT_EQ(error_after_header(R"({"kind":"summary","duration":"long"})"),
            "stdin:2: /duration: expected a number, found a string");
}

TEST(Checks, AnErrorLeavesTheDecoderAsItWas) {
  RecordDecoder decoder = small_decoder();
  EXPECT_NE(error_of([&] { decoder.decode(R"({"kind":"header","v":1,"model":{"experts":9}})", 2); }), "no error");
  EXPECT_NE(error_of([&] { decoder.decode(R"({"kind":"header","v":1,"model":{"hidden":0}})", 3); }), "no error");
  EXPECT_EQ(decoder.header()->model.experts, 4);
  EXPECT_EQ(decoder.header()->model.hidden, kAbsent);
  EXPECT_EQ(std::get<Demand>(decoder.decode(kDemand, 4)).tokens, 4);
  RecordDecoder fresh("stdin");  // a bad record before the header does not count as a record
  EXPECT_NE(error_of([&] { fresh.decode(R"({"kind":"demand"})", 1); }), "no error");
  EXPECT_EQ(error_of([&] { fresh.decode(to_json(small_header()), 2); }), "no error");
}

}  // namespace
}  // namespace afore::wire
