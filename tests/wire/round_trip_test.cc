// decode(to_json(x)) is x, field by field, and encodes to the same bytes again.
#include "wire_test_util.h"

namespace afore::wire {
namespace {

template <class T>
T round_trip(const T& record) {
  const std::string line = to_json(record);
  RecordDecoder decoder("stdin");
  const T back = std::get<T>(decoder.decode(line, 1));
  EXPECT_EQ(to_json(back), line);
  return back;
}

Header full_header() {
  Header header;
  header.producer = "afore-trace 0.1.0";
  header.via = {"afore-plan 0.1.0", "afore-serve 0.1.0"};
  header.seed = 9007199254740992;
  header.source = "synthetic";
  header.model = {"name", 46, {1, 2, 45}, 128, 8, 4096, 1408, 34'603'008, 5, 6};
  header.cluster = {4, 8, 2, 64, 3};
  PlannerSpec planner;
  planner.policy = "afore";
  planner.demand_source = "window";
  planner.objective = Objective::tiles;
  planner.copy_budget = 8;
  planner.gain_rule = false;
  planner.cost = {5, 6, 7, 64, 8, 9};
  planner.cost_name = "h100";
  header.planner = planner;
  return header;
}

TEST(RoundTrip, Header) {
  const Header header = full_header();
  EXPECT_EQ(to_json(header),
            R"({"kind":"header","v":1,"producer":"afore-trace 0.1.0","via":["afore-plan 0.1.0","afore-serve 0.1.0"],)"
            R"("seed":9007199254740992,"source":"synthetic","model":{"name":"name","layers":46,"moe_layers":[1,2,45],)"
            R"("experts":128,"top_k":8,"hidden":4096,"moe_intermediate":1408,"expert_bytes":34603008,)"
            R"("attention_bytes":5,"kv_bytes_per_token":6},"cluster":{"attention_workers":4,"ffn_workers":8,)"
            R"("redundant_slots":2,"tile_tokens":64,"microbatches":3},"planner":{"policy":"afore",)"
            R"("demand_source":"window","objective":"tiles","copy_budget":8,"gain_rule":false,"cost":{"name":"h100",)"
            R"("c0_ns":5,"c1_ns":6,"c2_ns":7,"tile_tokens":64,"expert_bytes":8,"copy_ns":9}}})");
  const Header back = round_trip(header);
  EXPECT_EQ(back.v, 1);
  EXPECT_EQ(back.producer, header.producer);
  EXPECT_EQ(back.via, header.via);
  EXPECT_EQ(back.seed, header.seed);
  EXPECT_EQ(back.source, header.source);
  EXPECT_EQ(back.model, header.model);
  EXPECT_EQ(back.cluster, header.cluster);
  EXPECT_TRUE(back.planner == header.planner);
}

TEST(RoundTrip, HeaderWritesNoAbsentValues) {
  Header header;
  header.cluster.ffn_workers = 8;
  EXPECT_EQ(to_json(header), R"({"kind":"header","v":1,"via":[],"seed":0,"cluster":{"ffn_workers":8}})");
  EXPECT_EQ(round_trip(header).cluster, header.cluster);
  header.planner = PlannerSpec{};  // empty names stay readable
  EXPECT_TRUE(round_trip(header).planner == header.planner);
}

TEST(RoundTrip, HeaderSeedBeyondJsonIntegersIsRefused) {
  Header header;
  header.seed = 9007199254740993u;
  EXPECT_EQ(error_of([&] { to_json(header); }, ErrorKind::usage),
            "the seed 9007199254740993 is beyond 2^53 | headers carry the seed as a JSON integer");
}

TEST(RoundTrip, ValuesBeyondJsonIntegersAreTheInputsFault) {
  const std::string hint = " | check the sizes, counts and costs of the input: records carry integers up to 2^53";
  Batch batch;
  batch.kv_tokens = (std::int64_t{1} << 53) + 1;
  EXPECT_EQ(error_of([&] { to_json(batch); }), "a value computed from the input is beyond 2^53 (kv_tokens)" + hint);
  batch.kv_tokens = std::int64_t{1} << 53;
  EXPECT_EQ(error_of([&] { to_json(batch); }), "no error");
  batch.per_attention_worker = {1, std::numeric_limits<std::int64_t>::min()};
  EXPECT_EQ(error_of([&] { to_json(batch); }),
            "a value computed from the input is beyond 2^53 (per_attention_worker)" + hint);
}

TEST(RoundTrip, Batch) {
  const Batch batch{17, 1, 128, 3, 91022, {64, 64}, {"r7", "r\"8\n"}, {"r2"}};
  const Batch back = round_trip(batch);
  EXPECT_EQ(back.step, 17);
  EXPECT_EQ(back.microbatch, 1);
  EXPECT_EQ(back.sequences, 128);
  EXPECT_EQ(back.prefill_tokens, 3);
  EXPECT_EQ(back.kv_tokens, 91022);
  EXPECT_EQ(back.per_attention_worker, batch.per_attention_worker);
  EXPECT_EQ(back.admitted, batch.admitted);
  EXPECT_EQ(back.finished, batch.finished);
}

TEST(RoundTrip, Demand) {
  for (const Phase phase : {Phase::decode, Phase::prefill, Phase::mixed, Phase::warmup}) {
    const Demand back = round_trip(Demand{{17, 3, 1}, phase, 4, {0, 5, 1, 2}, 0});
    EXPECT_EQ(back.target, (Target{17, 3, 1}));
    EXPECT_EQ(back.phase, phase);
    EXPECT_EQ(back.tokens, 4);
    EXPECT_EQ(back.counts, (std::vector<std::int64_t>{0, 5, 1, 2}));
    EXPECT_EQ(back.dropped, 0);
  }
  EXPECT_EQ(to_json(Demand{{17, 3, 1}, Phase::decode, 4, {0, 5, 1, 2}, 0}), kDemand);
  EXPECT_EQ(round_trip(Demand{{1, 3, 1}, Phase::decode, 4, {0, 5}, 3}).dropped, 3);
}

TEST(RoundTrip, RowsOfABatch) {
  Batch batch;
  batch.rows = {{"r\"7", 12, 1, {2310}}, {"r8", 0, 3, {}}};
  EXPECT_NE(to_json(batch).find(R"("rows":[{"request":"r\"7","position":12,"tokens":1,"token_ids":[2310]},)"
                                R"({"request":"r8","position":0,"tokens":3}])"),
            std::string::npos);
  const Batch back = round_trip(batch);
  ASSERT_EQ(back.rows.size(), 2U);
  EXPECT_EQ(back.rows[0].token_ids, std::vector<std::int64_t>{2310});
  EXPECT_EQ(back.rows[1].tokens, 3);
}

TEST(RoundTrip, Prediction) {
  const Prediction prediction{{17, 3, 1}, "cascade", 2, {1, 0, 2, 1}, {{0, 2}, {2, 3}}};
  EXPECT_EQ(to_json(prediction), R"({"kind":"prediction","step":17,"layer":3,"microbatch":1,"predictor":"cascade",)"
                                 R"("after_layer":2,"counts":[1,0,2,1],"experts":[[0,2],[2,3]]})");
  const Prediction back = round_trip(prediction);
  EXPECT_EQ(back.target, prediction.target);
  EXPECT_EQ(back.after_layer, 2);
  EXPECT_EQ(back.counts, prediction.counts);
  EXPECT_EQ(back.experts, prediction.experts);
  EXPECT_EQ(round_trip(Prediction{{0, 1, 0}, "replica", kAbsent, {4}, {}}).after_layer, kAbsent);
}

TEST(RoundTrip, Routing) {
  const Routing routing{{17, 3, 1}, {{4, 17}, {2, 9}}, {{0.41, 0.1}, {1.0, 1e-9}}};
  EXPECT_EQ(to_json(routing), R"({"kind":"routing","step":17,"layer":3,"microbatch":1,"experts":[[4,17],[2,9]],)"
                              R"("weights":[[0.41,0.1],[1.0,1e-09]]})");
  const Routing back = round_trip(routing);
  EXPECT_EQ(back.target, routing.target);
  EXPECT_EQ(back.experts, routing.experts);
  EXPECT_EQ(back.weights, routing.weights);
  EXPECT_TRUE(round_trip(Routing{{17, 3, 1}, {{4, 17}}, {}}).weights.empty());
  EXPECT_TRUE(round_trip(Routing{{17, 3, 1}, {}, {}}).experts.empty());
}

TEST(RoundTrip, Placement) {
  const PlacementRecord back = round_trip(PlacementRecord{3, 3, {0, 1, -1, 2, 3, -1}});
  EXPECT_EQ(back.layer, 3);
  EXPECT_EQ(back.slots_per_worker, 3);
  EXPECT_EQ(back.physical_to_logical, (std::vector<int>{0, 1, -1, 2, 3, -1}));
}

Plan full_plan() {
  Plan plan;
  plan.seq = 412;
  plan.target = {17, 3, 1};
  plan.policy = "eplb";
  plan.demand_source = "prefetch";
  plan.objective = Objective::tiles;
  plan.rehomes = plan.is_virtual = plan.certified = true;
  plan.copies = {{5, 0, 3, 17}, {6, 1, 2, kStagingSlot}};
  plan.ahead = {{4, {7, 0, 1, 2}}};
  plan.assignment = {{5, 0, 4}, {5, 3, 3}, {6, 1, 1}};
  plan.assignment_tokens = {{5, 0, 200}, {5, 3, 0}};
  plan.tile_load = {4, 1, 0, 3};
  plan.max_tile_load_before = 19;
  plan.max_tile_load = 4;
  plan.lower_bound = 2;
  plan.ffn_ns_before = 91000;
  plan.ffn_ns = 60000;
  plan.ffn_bound_ns = 59000;
  plan.cut = {0, 3};
  plan.split_bound_ns = 58500;
  plan.budget_hit = true;
  plan.relaxation_bound_ns = 58200;
  plan.unready = {{5, 2}, {6, 0}};
  plan.backlog_ns = {0, 7, 0, 30000};
  plan.completion_ns = 61000;
  plan.gain_bound_ns = 32000;
  plan.gain_ns = -31000;
  plan.migration_ns = 115000;
  plan.window_ns = 2000000;
  plan.window_source = "flag";
  plan.exposed_ns = 7;
  plan.predicted_max_tile_load = 3;
  plan.predicted_ffn_ns = 58000;
  return plan;
}

void expect_equal(const Plan& a, const Plan& b) {
  EXPECT_EQ(a.seq, b.seq);
  EXPECT_EQ(a.target, b.target);
  EXPECT_EQ(a.policy, b.policy);
  EXPECT_EQ(a.demand_source, b.demand_source);
  EXPECT_EQ(a.objective, b.objective);
  EXPECT_EQ(a.rehomes, b.rehomes);
  EXPECT_EQ(a.is_virtual, b.is_virtual);
  EXPECT_EQ(a.copies, b.copies);
  EXPECT_EQ(a.assignment, b.assignment);
  EXPECT_EQ(a.assignment_tokens, b.assignment_tokens);
  EXPECT_EQ(a.tile_load, b.tile_load);
  EXPECT_EQ(a.max_tile_load_before, b.max_tile_load_before);
  EXPECT_EQ(a.max_tile_load, b.max_tile_load);
  EXPECT_EQ(a.lower_bound, b.lower_bound);
  EXPECT_EQ(a.ffn_ns_before, b.ffn_ns_before);
  EXPECT_EQ(a.ffn_ns, b.ffn_ns);
  EXPECT_EQ(a.ffn_bound_ns, b.ffn_bound_ns);
  EXPECT_EQ(a.certified, b.certified);
  EXPECT_EQ(a.cut, b.cut);
  EXPECT_EQ(a.split_bound_ns, b.split_bound_ns);
  EXPECT_EQ(a.budget_hit, b.budget_hit);
  EXPECT_EQ(a.ahead, b.ahead);
  EXPECT_EQ(a.relaxation_bound_ns, b.relaxation_bound_ns);
  EXPECT_EQ(a.unready, b.unready);
  EXPECT_EQ(a.backlog_ns, b.backlog_ns);
  EXPECT_EQ(a.completion_ns, b.completion_ns);
  EXPECT_EQ(a.gain_bound_ns, b.gain_bound_ns);
  EXPECT_EQ(a.gain_ns, b.gain_ns);
  EXPECT_EQ(a.migration_ns, b.migration_ns);
  EXPECT_EQ(a.window_ns, b.window_ns);
  EXPECT_EQ(a.window_source, b.window_source);
  EXPECT_EQ(a.exposed_ns, b.exposed_ns);
  EXPECT_EQ(a.predicted_max_tile_load, b.predicted_max_tile_load);
  EXPECT_EQ(a.predicted_ffn_ns, b.predicted_ffn_ns);
}

TEST(RoundTrip, Plan) {
  EXPECT_EQ(
      to_json(full_plan()),
      R"({"kind":"plan","seq":412,"step":17,"layer":3,"microbatch":1,"policy":"eplb","demand_source":"prefetch",)"
      R"("objective":"tiles","rehomes":true,"virtual":true,"copies":[{"expert":5,"from":0,"to":3,"slot":17},)"
      R"({"expert":6,"from":1,"to":2,"slot":-1}],"ahead":[{"layer":4,"expert":7,"from":0,"to":1,"slot":2}],)"
      R"("assignment":[[5,0,4],[5,3,3],[6,1,1]],)"
      R"("assignment_tokens":[[5,0,200],[5,3,0]],"tile_load":[4,1,0,3],"max_tile_load_before":19,"max_tile_load":4,)"
      R"("lower_bound":2,"ffn_ns_before":91000,"ffn_ns":60000,"ffn_bound_ns":59000,"certified":true,"cut":[0,3],)"
      R"("predicted_max_tile_load":3,"predicted_ffn_ns":58000,"split_bound_ns":58500,"budget_hit":true,)"
      R"("relaxation_bound_ns":58200,"unready":[[5,2],[6,0]],)"
      R"("backlog_ns":[0,7,0,30000],"completion_ns":61000,"gain_ns":-31000,"gain_bound_ns":32000,"migration_ns":115000,)"
      R"("window_ns":2000000,"window_source":"flag","exposed_ns":7})");
  expect_equal(round_trip(full_plan()), full_plan());
}

TEST(RoundTrip, PlanWithoutOptionalParts) {
  Plan plan;
  plan.tile_load = {0};
  const std::string line = to_json(plan);
  for (const char* key : {"rehomes", "virtual", "assignment_tokens", "cut", "predicted", "ahead", "relaxation"})
    EXPECT_EQ(line.find(key), std::string::npos) << key;
  expect_equal(round_trip(plan), plan);
}

TEST(RoundTrip, Observed) {
  const Observed back = round_trip(Observed{{17, 3, 1}, 412, 1, 2, -3, 4, 5, 6});
  EXPECT_EQ(back.target, (Target{17, 3, 1}));
  EXPECT_EQ(back.seq, 412);
  EXPECT_EQ(back.ffn_ns, 1);
  EXPECT_EQ(back.migration_ns, 2);
  EXPECT_EQ(back.window_ns, -3);
  EXPECT_EQ(back.exposed_ns, 4);
  EXPECT_EQ(back.slack_ns, 5);
  EXPECT_EQ(back.slot_wait_ns, 6);
}

TEST(RoundTrip, Operation) {
  const Operation back = round_trip(Operation{"F3", "compute", "expert_ffn", {17, 3, 1}, 123, 456});
  EXPECT_EQ(back.worker, "F3");
  EXPECT_EQ(back.lane, "compute");
  EXPECT_EQ(back.op, "expert_ffn");
  EXPECT_EQ(back.target, (Target{17, 3, 1}));
  EXPECT_EQ(back.start_ns, 123);
  EXPECT_EQ(back.end_ns, 456);
}

TEST(RoundTrip, Completion) {
  for (const char* reason : {"stop", "length", "timeout", "cancelled", "rejected"}) {
    const Completion back =
        round_trip(Completion{"r7", 12, 2, reason, {17, 4095}, "caf\u00e9 \u4e16 \"x\"\t\x01\x7f", "", {}});
    EXPECT_EQ(back.id, "r7");
    EXPECT_EQ(back.prompt_tokens, 12);
    EXPECT_EQ(back.output_tokens, 2);
    EXPECT_EQ(back.finish_reason, reason);
    EXPECT_EQ(back.token_ids, (std::vector<std::int64_t>{17, 4095}));
    EXPECT_EQ(back.text, "caf\u00e9 \u4e16 \"x\"\t\x01\x7f");
  }
}

TEST(RoundTrip, BytesThatAreNotUtf8AreReplaced) {
  Completion completion{"r", 0, 0, "stop", {}, "a\xFF\xC3(\xED\xA0\x80\xE4\xB8", "", {}};
  const std::string lost = "\xEF\xBF\xBD";
  EXPECT_EQ(round_trip(completion).text, "a" + lost + lost + "(" + lost + lost + lost + lost + lost);
}

Summary full_summary() {
  Summary s;
  s.producer = "afore-serve 0.1.0";
  s.duration = 12;
  s.completed = 1;
  s.failed = 2;
  s.total_input_tokens = 3;
  s.total_output_tokens = 4;
  s.request_throughput = 0.1;
  s.request_goodput = 0.05;
  s.max_concurrent_requests = 15;
  s.output_throughput = 1e22;
  s.total_token_throughput = 1.0 / 3;
  s.ttft = {1.5, 2.5, 0.75, 3.5, 4.5, 100};
  s.itl = {1.25, {}, {}, 3.25, {}, 7};
  s.policy = "afore";
  s.host = "sim";
  s.targets = 5;
  s.certified_targets = 4;
  s.imbalance_tokens = 1.5;
  s.gain_captured = -0.25;
  s.gain_captured_tiles = 0.5;
  s.copies = 6;
  s.copied_bytes = 7;
  s.ffn_ns = 8.5;
  s.ffn_ns_before = 9.5;
  s.migration_ns = 10.5;
  s.window_ns = 11.5;
  s.exposed_ns = 0;
  s.exposed_targets = 12;
  s.slot_waits = 13;
  s.migrating_share = 0.25;
  s.itl_during_migration = {{}, 6.5, {}, {}, 7.5, 200};
  s.step_ns = 14.5;
  s.plan_ns = Summary::PlanTime{1, 2, 3};
  s.injected = 16;
  s.queued = 17;
  s.running = 18;
  s.rejected = 19;
  s.timed_out = 20;
  s.peak_queued = 21;
  s.peak_running = 22;
  s.mean_queue_ms = 23.5;
  s.saturation = "STABLE";
  s.interrupted = true;
  s.notes = {{"a note", "with \"quotes\""}, {"window_source", "flag"}};
  return s;
}

TEST(RoundTrip, Summary) {
  EXPECT_EQ(to_json(full_summary()),
            R"({"kind":"summary","producer":"afore-serve 0.1.0","duration":12.0,"completed":1,"failed":2,)"
            R"("total_input_tokens":3,"total_output_tokens":4,"request_throughput":0.1,"request_goodput":0.05,)"
            R"("output_throughput":1e+22,"total_token_throughput":0.3333333333333333,"max_concurrent_requests":15,)"
            R"("mean_ttft_ms":1.5,"median_ttft_ms":2.5,"std_ttft_ms":0.75,"p95_ttft_ms":3.5,"p99_ttft_ms":4.5,)"
            R"("mean_tpot_ms":null,"median_tpot_ms":null,"std_tpot_ms":null,"p95_tpot_ms":null,"p99_tpot_ms":null,)"
            R"("mean_itl_ms":1.25,"median_itl_ms":null,"std_itl_ms":null,"p95_itl_ms":3.25,"p99_itl_ms":null,)"
            R"("mean_e2el_ms":null,"median_e2el_ms":null,"std_e2el_ms":null,"p95_e2el_ms":null,"p99_e2el_ms":null,)"
            R"("afore":{"policy":"afore","host":"sim",)"
            R"("device":null,"targets":5,"certified_targets":4,"imbalance_tokens":1.5,"imbalance_tiles":null,)"
            R"("load_over_bound":null,"balancedness":null,"gain_captured":-0.25,"gain_captured_tiles":0.5,"copies":6,)"
            R"("copied_bytes":7,"ffn_ns":8.5,)"
            R"("ffn_ns_before":9.5,"migration_ns":10.5,"window_ns":11.5,"exposed_ns":0.0,"slack_ns":null,)"
            R"("exposed_targets":12,"slot_waits":13,"migrating_share":0.25,"median_itl_during_migration_ms":6.5,)"
            R"("p99_itl_during_migration_ms":7.5,"itl_during_migration_n":200,)"
            R"("median_itl_outside_migration_ms":null,"p99_itl_outside_migration_ms":null,)"
            R"("itl_outside_migration_n":0,"step_ns":14.5,"plan_ns":{"mean":1.0,"p50":2.0,"p99":3.0},)"
            R"("ttft_n":100,"tpot_n":0,"itl_n":7,"e2el_n":0,"injected":16,"queued":17,"running":18,"rejected":19,)"
            R"("timed_out":20,"peak_queued":21,"peak_running":22,"mean_queue_ms":23.5,"saturation":"STABLE",)"
            R"("interrupted":true,"a note":"with \"quotes\"",)"
            R"("window_source":"flag"}})");
  const Summary s = full_summary();
  const Summary back = round_trip(s);  // the same bytes again: every field above was read
  EXPECT_EQ(back.total_token_throughput, s.total_token_throughput);
  EXPECT_EQ(back.ttft.p99, 4.5);
  EXPECT_EQ(back.itl.n, 7);
  EXPECT_EQ(back.gain_captured, -0.25);
  EXPECT_EQ(back.gain_captured_tiles, 0.5);
  EXPECT_EQ(back.plan_ns->p50, 2);
  EXPECT_EQ(back.notes, s.notes);
  EXPECT_TRUE(back.interrupted);
  round_trip(Summary{});
}

TEST(RoundTrip, SummaryOfADamagedInput) {
  EXPECT_EQ(to_json(Summary{}).find("input_lost"), std::string::npos);
  Summary s;
  s.input_lost_bytes = 40;
  EXPECT_NE(to_json(s).find(R"("interrupted":false,"input_lost_lines":0,"input_lost_bytes":40})"), std::string::npos);
  s.input_lost_lines = 3;
  const Summary back = round_trip(s);
  EXPECT_EQ(back.input_lost_lines, 3);
  EXPECT_EQ(back.input_lost_bytes, 40);
}

TEST(RoundTrip, SummaryOfRequestsThatWereCancelled) {
  EXPECT_EQ(to_json(Summary{}).find("cancelled"), std::string::npos);
  Summary s;
  s.cancelled = 5;
  s.input_lost_lines = 3;
  EXPECT_NE(to_json(s).find(R"("interrupted":false,"cancelled":5,"input_lost_lines":3,"input_lost_bytes":0})"),
            std::string::npos);
  EXPECT_EQ(round_trip(s).cancelled, 5);
}

TEST(RoundTrip, SummaryNumbers) {
  const std::vector<SummaryNumber> numbers = summary_numbers(to_json(full_summary()));
  const auto value = [&](std::string_view key) {
    const auto at = std::find_if(numbers.begin(), numbers.end(), [&](const auto& n) { return n.key == key; });
    if (at == numbers.end()) ADD_FAILURE() << key << " is missing";
    return at == numbers.end() ? std::nullopt : at->value;
  };
  EXPECT_EQ(numbers.front().key, "duration");
  EXPECT_EQ(value("completed"), 1);
  EXPECT_EQ(value("p95_itl_ms"), 3.25);
  EXPECT_EQ(value("median_itl_ms"), std::nullopt);
  EXPECT_EQ(value("targets"), 5);
  EXPECT_EQ(value("e2el_n"), 0);
  EXPECT_EQ(value("exposed_ns"), 0);
  EXPECT_EQ(value("plan_ns.p50"), 2);
  EXPECT_EQ(value("mean_queue_ms"), 23.5);
  for (const SummaryNumber& number : numbers)
    for (const char* text : {"producer", "policy", "saturation", "interrupted", "a note"}) EXPECT_NE(number.key, text);

  // Of another benchmark: no "afore", and keys of its own.
  const auto others = summary_numbers(R"({"kind":"summary","duration":2,"burstiness":1.0,"input_lens":[1,2]})");
  ASSERT_EQ(others.size(), numbers.size());
  for (const SummaryNumber& number : others)
    EXPECT_EQ(number.value, number.key == "duration" ? std::optional<double>(2) : std::nullopt) << number.key;
}

TEST(RoundTrip, SummaryNoteMustNotShadowAKey) {
  Summary summary;
  summary.notes["targets"] = "5";
  EXPECT_THROW(to_json(summary), Error);
}

TEST(RoundTrip, NumbersNoReaderTakesAreNotWritten) {
  Summary summary;
  summary.duration = 1.0 / 0.0;
  EXPECT_THROW(to_json(summary), Error);
  EXPECT_THROW(to_json(Demand{{(std::int64_t{1} << 53) + 1, 0, 0}, Phase::decode, 0, {0}, 0}), Error);
}

TEST(RoundTrip, RandomDemands) {
  Random random(1);
  for (int i = 0; i < 500; ++i) {
    Header header = small_header();
    header.model.experts = 1 + random.below(300);
    header.model.top_k = 1 + random.below(header.model.experts);
    Demand demand;
    demand.target = {random.below(1 << 30), static_cast<int>(1 + random.below(3)), static_cast<int>(random.below(9))};
    demand.tokens = random.below(200);
    demand.counts.assign(header.model.experts, 0);
    for (std::int64_t n = demand.tokens * header.model.top_k; n > 0;) {
      const std::int64_t part = 1 + random.below(n);
      demand.counts[random.below(header.model.experts)] += part;
      n -= part;
    }
    RecordDecoder decoder("stdin");
    decoder.decode(to_json(header), 1);
    const std::string line = to_json(demand);
    const Demand back = std::get<Demand>(decoder.decode(line, 2));
    EXPECT_EQ(back.target, demand.target);
    EXPECT_EQ(back.tokens, demand.tokens);
    EXPECT_EQ(back.counts, demand.counts);
    EXPECT_EQ(to_json(back), line);
  }
}

TEST(RoundTrip, RandomPlans) {
  Random random(2);
  for (int i = 0; i < 500; ++i) {
    Plan plan = full_plan();
    const std::int64_t workers = 1 + random.below(40);
    auto worker = [&] { return static_cast<int>(random.below(workers)); };
    plan.seq = random.below(std::int64_t{1} << 53);
    plan.gain_ns = random.below(2'000'000) - 1'000'000;
    plan.copies.clear();
    plan.ahead.clear();
    for (std::int64_t n = random.below(9); n > 0; --n)
      plan.copies.push_back(
          {static_cast<int>(random.below(256)), worker(), worker(), static_cast<int>(random.below(20)) - 1});
    plan.assignment.clear();
    for (int expert = 0; expert < 256; expert += 1 + static_cast<int>(random.below(40)))
      plan.assignment.push_back({expert, worker(), 1 + random.below(1000)});
    plan.assignment_tokens.clear();
    plan.cut.clear();
    plan.tile_load.resize(workers);
    for (auto& load : plan.tile_load) load = random.below(1 << 20);
    plan.unready.clear();
    if (random.below(2) == 0) plan.unready.push_back({0, static_cast<int>(random.below(workers))});
    plan.backlog_ns.resize(workers);
    for (auto& backlog : plan.backlog_ns) backlog = random.below(1 << 30);
    if (random.below(2)) plan.predicted_ffn_ns.reset();
    expect_equal(round_trip(plan), plan);
  }
}

}  // namespace
}  // namespace afore::wire
