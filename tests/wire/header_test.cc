#include "wire_test_util.h"

namespace afore::wire {
namespace {

TEST(Headers, MustComeFirst) {
  RecordDecoder decoder("stdin");
  decoder.decode(kDemand, 1);
  EXPECT_EQ(error_of([&] { decoder.decode(to_json(small_header()), 2); }),
            "stdin:2: the header comes after other records | put the header line first");
  EXPECT_FALSE(decoder.header().has_value());
}

TEST(Headers, EqualOnesAndComplementsMerge) {
  RecordDecoder decoder = small_decoder();
  decoder.decode(kDemand, 2);
  decoder.decode(to_json(small_header()), 3);
  const Record own = decoder.decode(
      R"({"kind":"header","v":1,"producer":"other","seed":0,"model":{"hidden":64,"top_k":2},"cluster":{"tile_tokens":16}})",
      4);
  EXPECT_EQ(std::get<Header>(own).model.experts, kAbsent);  // as written on its line
  EXPECT_EQ(decoder.header()->producer, "afore-trace 0.1.0");
  EXPECT_EQ(decoder.header()->model.hidden, 64);
  EXPECT_EQ(decoder.header()->model.experts, 4);
  EXPECT_EQ(decoder.header()->cluster.tile_tokens, 16);
  EXPECT_EQ(decoder.header()->cluster.ffn_workers, 2);
}

TEST(Headers, ALaterOneAgreesWithTheFirstDemand) {
  RecordDecoder decoder("stdin");
  decoder.decode(R"({"kind":"header","v":1})", 1);
  decoder.decode(kDemand, 2);
  EXPECT_EQ(error_of([&] { decoder.decode(R"({"kind":"header","v":1,"model":{"experts":5}})", 3); }),
            "stdin:3: this header says model/experts = 5, the stream's first demand has 4 | "
            "streams of different runs cannot be joined");
  EXPECT_EQ(error_of([&] { decoder.decode(R"({"kind":"header","v":1,"model":{"experts":4}})", 4); }), "no error");
}

TEST(Headers, Conflicts) {
  const std::string hint = " | streams of different runs cannot be joined";
  EXPECT_EQ(error_after_header(R"({"kind":"header","v":1,"model":{"top_k":4}})"),
            "stdin:2: this header says model/top_k = 4, the one before it 2" + hint);
  EXPECT_EQ(error_after_header(R"({"kind":"header","v":1,"seed":5})"),
            "stdin:2: this header says seed = 5, the one before it 0" + hint);
  EXPECT_EQ(error_after_header(R"({"kind":"header","v":1,"source":"sampled"})"),
            "stdin:2: this header says source = \"sampled\", the one before it \"routing\"" + hint);
  EXPECT_EQ(error_after_header(R"({"kind":"header","v":1,"model":{"moe_layers":[1,2]}})"),
            "stdin:2: this header says model/moe_layers = [1,2], the one before it [1,2,3]" + hint);
  RecordDecoder decoder("stdin");
  decoder.decode(R"({"kind":"header","v":1,"model":{"top_k":8}})", 1);
  EXPECT_EQ(error_of([&] { decoder.decode(R"({"kind":"header","v":1,"model":{"experts":4}})", 2); }),
            "stdin:2: /model: with the header before it, top_k 8 is above experts 4");
}

TEST(Headers, MeasuredIsWrittenOnlyWhereItIs) {
  Header header = small_header();
  EXPECT_EQ(to_json(header).find("measured"), std::string::npos);
  header.measured = true;
  const std::string line = to_json(header);
  EXPECT_NE(line.find(R"("source":"routing","measured":true,)"), std::string::npos) << line;
  RecordDecoder decoder("stdin");
  EXPECT_TRUE(std::get<Header>(decoder.decode(line, 1)).measured);
  decoder.decode(to_json(small_header()), 2);  // one that does not say
  EXPECT_TRUE(decoder.header()->measured);
  EXPECT_EQ(error_of([&] { RecordDecoder("stdin").decode(replaced(line, ":true,", ":1,"), 1); }),
            "stdin:1: /measured: expected a boolean, found an integer");
}

TEST(Headers, AnUnwrittenSeedIsNoConflict) {
  RecordDecoder decoder("stdin");
  decoder.decode(R"({"kind":"header","v":1})", 1);
  decoder.decode(R"({"kind":"header","v":1,"seed":5})", 2);
  EXPECT_EQ(decoder.header()->seed, 5u);
  decoder.decode(R"({"kind":"header","v":1})", 3);
  EXPECT_EQ(decoder.header()->seed, 5u);
}

TEST(Headers, BadValues) {
  auto with = [](const std::string& rest) { return error_alone(R"({"kind":"header","v":1,)" + rest + "}"); };
  EXPECT_EQ(with(R"("model":{"experts":0})"), "stdin:1: /model/experts: experts 0 is below 1");
  EXPECT_EQ(with(R"("model":{"experts":-1})"), "stdin:1: /model/experts: experts -1 is below 1");
  EXPECT_EQ(with(R"("cluster":{"ffn_workers":9007199254740991})"),
            "stdin:1: /cluster/ffn_workers: ffn_workers 9007199254740991 is above 100000");
  EXPECT_EQ(with(R"("cluster":{"redundant_slots":10001})"),
            "stdin:1: /cluster/redundant_slots: redundant_slots 10001 is above 10000");
  EXPECT_EQ(with(R"("cluster":{"tile_tokens":1048577})"),
            "stdin:1: /cluster/tile_tokens: tile_tokens 1048577 is above 1048576");
  EXPECT_EQ(with(R"("cluster":{"microbatches":1001})"),
            "stdin:1: /cluster/microbatches: microbatches 1001 is above 1000");
  EXPECT_EQ(with(R"("model":{"hidden":16777217})"), "stdin:1: /model/hidden: hidden 16777217 is above 16777216");
  EXPECT_EQ(with(R"("model":{"expert_bytes":1125899906842625})"),
            "stdin:1: /model/expert_bytes: expert_bytes 1125899906842625 is above 1125899906842624");
  EXPECT_EQ(with(R"("model":{"kv_bytes_per_token":4294967297})"),
            "stdin:1: /model/kv_bytes_per_token: kv_bytes_per_token 4294967297 is above 4294967296");
  const auto with_cost = [&](const std::string& key, const std::string& value) {
    std::string cost = R"("c0_ns":1,"c1_ns":1,"c2_ns":0,"tile_tokens":64,"expert_bytes":0,"copy_ns":0})";
    const std::size_t at = cost.find(key) + key.size() + 2;
    cost.replace(at, cost.find_first_of(",}", at) - at, value);
    return with(R"("planner":{"policy":"afore","demand_source":"prefetch","objective":"time","copy_budget":1,)"
                R"("gain_rule":true,"cost":{"name":"x",)" +
                cost + "}");
  };
  EXPECT_EQ(with_cost("c1_ns", "1"), "no error");
  EXPECT_EQ(with_cost("c1_ns", "0"), "stdin:1: /planner/cost/c1_ns: c1_ns 0 is below 1");
  EXPECT_EQ(with_cost("c1_ns", "1000000001"), "stdin:1: /planner/cost/c1_ns: c1_ns 1000000001 is above 1000000000");
  EXPECT_EQ(with_cost("c0_ns", "1000000001"), "stdin:1: /planner/cost/c0_ns: c0_ns 1000000001 is above 1000000000");
  EXPECT_EQ(with_cost("copy_ns", "1000000000000001"),
            "stdin:1: /planner/cost/copy_ns: copy_ns 1000000000000001 is above 1000000000000000");
  EXPECT_EQ(with(R"("model":{"experts":4,"top_k":5})"), "stdin:1: /model: top_k 5 is above experts 4");
  EXPECT_EQ(with(R"("model":{"layers":4,"moe_layers":[1,4]})"),
            "stdin:1: /model: moe_layers reach layer 4, layers is 4");
  EXPECT_EQ(with(R"("model":{"moe_layers":[2,2]})"), "stdin:1: /model/moe_layers/1: layers are not ascending");
  EXPECT_EQ(with(R"("model":{"moe_layers":[]})"), "stdin:1: /model/moe_layers: the list is empty");
  EXPECT_EQ(with(R"("model":[])"), "stdin:1: /model: expected an object, found an array");
  EXPECT_EQ(with(R"("via":["a",1])"), "stdin:1: /via/1: expected a string, found an integer");
  EXPECT_EQ(with(R"("planner":{"policy":"afore"})"), "stdin:1: /planner/demand_source: the key is missing");
}

TEST(Headers, WorkersThatDiffer) {
  Header header = small_header();
  header.cluster.workers = {{}, {1500, 2000, true}};
  const std::string text = to_json(header);
  EXPECT_NE(text.find(R"("cluster":{"attention_workers":2,"ffn_workers":2,"workers":[{"worker":1,)"
                      R"("slowdown_permille":1500,"copy_slowdown_permille":2000,"draining":true}]})"),
            std::string::npos)
      << text;
  RecordDecoder decoder("stdin");
  EXPECT_EQ(std::get<Header>(decoder.decode(text, 1)).cluster, header.cluster);
  // A later header may add them and must not contradict them.
  RecordDecoder later = small_decoder();
  later.decode(text, 2);
  EXPECT_EQ(later.header()->cluster, header.cluster);
  EXPECT_EQ(error_of([&] { later.decode(replaced(text, "1500", "1600"), 3); }).substr(0, 60),
            "stdin:3: this header says cluster/workers = [{\"worker\":1,\"sl");
  auto with = [](const std::string& workers) {
    return error_alone(R"({"kind":"header","v":1,"cluster":{"ffn_workers":2,"workers":)" + workers + "}}");
  };
  EXPECT_EQ(with(R"([{"worker":1,"slowdown_permille":1000}])"), "no error");
  EXPECT_EQ(with("[]"), "stdin:1: /cluster/workers: the list is empty");
  EXPECT_EQ(with(R"([{"worker":2}])"), "stdin:1: /cluster/workers/0/worker: worker 2 is above 1");
  EXPECT_EQ(with(R"([{"draining":true}])"), "stdin:1: /cluster/workers/0/worker: the key is missing");
  EXPECT_EQ(with(R"([{"worker":1},{"worker":1}])"), "stdin:1: /cluster/workers/1/worker: workers are not ascending");
  EXPECT_EQ(with(R"([{"worker":0,"slowdown_permille":99}])"),
            "stdin:1: /cluster/workers/0/slowdown_permille: slowdown_permille 99 is below 100");
  EXPECT_EQ(error_alone(R"({"kind":"header","v":1,"cluster":{"workers":[{"worker":0}]}})"),
            "stdin:1: /cluster/workers: ffn_workers is absent | cluster.ffn_workers says how many there are");
}

TEST(Headers, RuleAndPinnedExpertsOfThePlanner) {
  Header header = small_header();
  header.planner = PlannerSpec{};
  header.planner->cost.tile_tokens = 64;
  const std::string usual = to_json(header);
  EXPECT_EQ(usual.find("rule\":\""), std::string::npos);
  EXPECT_EQ(usual.find("pinned"), std::string::npos);
  header.planner->cost.rule = LoadRule::roofline;
  header.planner->pinned_experts = {0, 3};
  const std::string text = to_json(header);
  EXPECT_NE(text.find(R"("rule":"roofline"},"pinned_experts":[0,3]}})"), std::string::npos) << text;
  RecordDecoder decoder("stdin");
  EXPECT_TRUE(std::get<Header>(decoder.decode(text, 1)).planner == header.planner);
  EXPECT_EQ(error_alone(replaced(text, "[0,3]", "[3,0]")),
            "stdin:1: /planner/pinned_experts/1: experts are not ascending");
  EXPECT_EQ(error_alone(replaced(text, "roofline", "roof")),
            "stdin:1: /planner/cost/rule: unknown rule \"roof\" | rules are additive and roofline");
}

TEST(ExtendHeader, GainsOnlyAbsentKeysAndKeepsOrder) {
  Header gained;
  gained.producer = "afore-plan 0.1.0";
  gained.model.top_k = 8;
  gained.model.hidden = 4096;
  gained.cluster.ffn_workers = 8;
  EXPECT_EQ(
      extend_header(R"({"zeta":[1.5,{"b":1,"a":2}],"v":1,"kind":"header","producer":"x","model":{"top_k":8,"own":1}})",
                    gained, "afore-plan 0.1.0"),
      R"({"zeta":[1.5,{"b":1,"a":2}],"v":1,"kind":"header","producer":"x","model":{"top_k":8,"own":1,"hidden":4096},)"
      R"("cluster":{"ffn_workers":8},"via":["afore-plan 0.1.0"]})");
}

TEST(ExtendHeader, WithNothingToGainOnlyViaGrows) {
  Header header = small_header();
  header.planner = PlannerSpec{};
  const std::string line = to_json(header);
  EXPECT_EQ(extend_header(line, Header{}, "b"), replaced(line, "\"via\":[]", "\"via\":[\"b\"]"));
  EXPECT_EQ(extend_header(line, header, "b"), replaced(line, "\"via\":[]", "\"via\":[\"b\"]"));
  EXPECT_EQ(extend_header(extend_header(line, header, "b"), header, "c"),
            replaced(line, "\"via\":[]", "\"via\":[\"b\",\"c\"]"));
}

TEST(ExtendHeader, GainsThePlanner) {
  Header gained;
  gained.planner = PlannerSpec{};
  gained.planner->policy = "afore";
  const std::string line = extend_header(to_json(small_header()), gained, "p");
  RecordDecoder decoder("stdin");
  EXPECT_TRUE(std::get<Header>(decoder.decode(line, 1)).planner == gained.planner);
}

TEST(ExtendHeader, PlannedAnew) {
  Header planned = small_header();
  planned.planner = PlannerSpec{};
  EXPECT_EQ(without_planner(to_json(planned)), to_json(small_header()));
  EXPECT_EQ(without_planner(to_json(small_header())), to_json(small_header()));
  Header gained;
  gained.planner = PlannerSpec{};
  gained.planner->policy = "eplb";
  EXPECT_EQ(error_of([&] { extend_header(to_json(planned), gained, "p"); }, ErrorKind::usage),
            "the stream's header says planner/policy = \"\", not \"eplb\" | "
            "leave the flag out, or make the stream anew with the other value");
  EXPECT_EQ(error_of([&] { extend_header(without_planner(to_json(planned)), gained, "p"); }, ErrorKind::usage),
            "no error");
}

TEST(ExtendHeader, ContradictionsAreUsageErrors) {
  const std::string hint = " | leave the flag out, or make the stream anew with the other value";
  auto error = [](const Header& gained) {
    Header present = small_header();
    present.seed = 3;
    return error_of([&] { extend_header(to_json(present), gained, "x"); }, ErrorKind::usage);
  };
  Header gained;
  gained.cluster.ffn_workers = 16;
  EXPECT_EQ(error(gained), "the stream's header says cluster/ffn_workers = 2, not 16" + hint);
  gained = {};
  gained.model.name = "other";
  EXPECT_EQ(error(gained), "the stream's header says model/name = \"small\", not \"other\"" + hint);
  gained = {};
  EXPECT_EQ(error(gained), "no error");  // seed 0: the tool has none
  gained.seed = 4;
  EXPECT_EQ(error(gained), "the stream's header says seed = 3, not 4" + hint);
  gained = {};
  gained.model.top_k = 8;
  EXPECT_EQ(error_of([&] { extend_header(R"({"kind":"header","v":1,"model":{"experts":4}})", gained, "x"); },
                     ErrorKind::usage),
            "with the stream's header, top_k 8 is above experts 4");
}

}  // namespace
}  // namespace afore::wire
