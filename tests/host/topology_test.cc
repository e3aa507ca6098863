// Attention and experts on the same ranks, and rows that go everywhere: timelines worked out by hand, and what holds
// for random runs.
#include <map>
#include <tuple>

#include "harness.h"
#include "host/sim_transfers.h"

namespace afore::host {
namespace {

using Span = std::tuple<std::string, std::string, int, Nanos, Nanos>;  // worker, operation, microbatch, start, end

// Two ranks, an expert on each; attention takes 2000, sampling 300, experts 1000 + 100 per tile of four + 10; a row of
// ten bytes takes 10, a transfer 50 more.
Shape two_ranks(int microbatches) {
  Shape s;
  s.sim.topology = Topology::colocated;
  s.sim.model.experts = 2;
  s.sim.model.top_k = 1;
  s.sim.cluster = {
      .attention_workers = 2, .ffn_workers = 2, .redundant_slots = 0, .tile_tokens = 4, .microbatches = microbatches};
  s.sim.layer_cost = {.c0_ns = 1'000, .c1_ns = 100, .c2_ns = 10, .tile_tokens = 4, .copy_ns = 500};
  s.sim.pipeline_cost.attention_c0_ns = 2'000;
  s.sim.pipeline_cost.sampling_ns = 300;
  s.sim.pipeline_cost.link_latency_ns = 50;
  s.sim.pipeline_cost.link_ns_per_byte = 1;
  s.sim.pipeline_cost.activation_bytes = 10;
  s.planner.policy = "static";
  return s;
}

// Twelve of sixteen tokens choose the expert of rank 0. Each rank has eight tokens: six rows go from rank 1 to rank 0,
// two the other way.
Demand skewed(int microbatch) {
  Demand d;
  d.target = {0, 1, microbatch};
  d.counts = {12, 4};
  d.tokens = 16;
  return d;
}

std::vector<Span> spans(const Result& result) {
  std::vector<Span> all;
  for (const Operation& o : result.operations)
    all.emplace_back(o.worker, o.op, o.target.microbatch, o.start_ns, o.end_ns);
  std::sort(all.begin(), all.end());
  return all;
}

TEST(Topology, OneMicrobatchOnTwoRanks) {
  const std::vector<Span> expected = {
      {"A0", "attention", 0, 0, 2'000},    {"A0", "sampling", 0, 3'530, 3'830},   {"A1", "attention", 0, 0, 2'000},
      {"A1", "sampling", 0, 3'530, 3'830}, {"F0", "expert_ffn", 0, 2'110, 3'420}, {"F0", "receive", 0, 2'000, 2'110},
      {"F0", "send", 0, 3'420, 3'530},     {"F1", "expert_ffn", 0, 2'110, 3'220}, {"F1", "receive", 0, 2'000, 2'110},
      {"F1", "send", 0, 3'220, 3'290},
  };
  EXPECT_EQ(spans(simulate(two_ranks(1), {skewed(0)}, true)), expected);
}

// The experts of microbatch 0 wait for the attention of microbatch 1, which became ready first; its sampling waits for
// the experts of microbatch 1, which did.
TEST(Topology, TwoMicrobatchesTakeTurnsOnARank) {
  const std::vector<Span> expected = {
      {"A0", "attention", 0, 0, 2'000},      {"A0", "attention", 1, 2'000, 4'000},
      {"A0", "sampling", 0, 6'620, 6'920},   {"A0", "sampling", 1, 6'920, 7'220},
      {"A1", "attention", 0, 0, 2'000},      {"A1", "attention", 1, 2'000, 4'000},
      {"A1", "sampling", 0, 6'220, 6'520},   {"A1", "sampling", 1, 6'730, 7'030},
      {"F0", "expert_ffn", 0, 4'000, 5'310}, {"F0", "expert_ffn", 1, 5'310, 6'620},
      {"F0", "receive", 0, 2'000, 2'110},    {"F0", "receive", 1, 4'000, 4'110},
      {"F0", "send", 0, 5'310, 5'420},       {"F0", "send", 1, 6'620, 6'730},
      {"F1", "expert_ffn", 0, 4'000, 5'110}, {"F1", "expert_ffn", 1, 5'110, 6'220},
      {"F1", "receive", 0, 2'000, 2'110},    {"F1", "receive", 1, 4'000, 4'110},
      {"F1", "send", 0, 5'110, 5'180},       {"F1", "send", 1, 6'220, 6'290},
  };
  EXPECT_EQ(spans(simulate(two_ranks(2), {skewed(0), skewed(1)}, true)), expected);
}

Shape random_ranks(Draw& draw) {
  Shape s = random_shape(draw);
  s.sim.cluster.attention_workers = s.sim.cluster.ffn_workers;
  s.sim.topology = Topology::colocated;
  return s;
}

// One microbatch uses attention and experts in turn, so sharing a device costs it nothing.
TEST(Topology, OneMicrobatchWithFreeLinksIsTheSameOnBoth) {
  Draw draw{31};
  for (int round = 0; round < 60; ++round) {
    Shape s = random_ranks(draw);
    s.sim.cluster.microbatches = 1;
    s.sim.pipeline_cost.link_ns_per_byte = 0;
    s.sim.shared_chunk_bytes = kAbsent;
    s.planner.policy = round % 2 == 0 ? "static" : "afore";
    const std::vector<Demand> stream = random_stream(draw, s, 4, 3, round % 3 == 0);
    const Result ranks = simulate(s, stream, true);
    s.sim.topology = Topology::afd;
    const Result pools = simulate(s, stream, true);
    ASSERT_EQ(spans(ranks), spans(pools)) << s.text();
    ASSERT_EQ(ranks.observed.size(), pools.observed.size());
    for (std::size_t i = 0; i < ranks.observed.size(); ++i)
      ASSERT_EQ(text(ranks.observed[i]), text(pools.observed[i])) << s.text();
  }
}

TEST(Topology, RandomRanksFinishOneThingAtATime) {
  std::int64_t exposed = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Draw draw{seed};
    Shape s = random_ranks(draw);
    const char* policies[] = {"static", "eplb", "afore", "ideal"};
    s.planner.policy = policies[seed % 4];
    s.planner.eplb.interval_steps = 1 + static_cast<int>(draw(3));
    s.planner.eplb.step_bytes = 500 + 500 * draw(8);
    const std::vector<Demand> stream = random_stream(draw, s, 1 + static_cast<int>(draw(8)), 3, true);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + s.text());
    const Result result = simulate(s, stream, true);
    ASSERT_EQ(spans(result), spans(simulate(s, stream, true)));
    ASSERT_EQ(result.observed.size(), stream.size());
    for (std::size_t i = 0; i < stream.size(); ++i) {
      const Observed& o = result.observed[i];
      ASSERT_EQ(o.target, stream[i].target);
      ASSERT_EQ(o.ffn_ns, result.plans[i].ffn_ns) << "time on the device, not in its queue";
      if (o.slot_wait_ns == 0 && o.migration_ns > 0) {
        ASSERT_EQ(o.exposed_ns, std::max<Nanos>(0, o.migration_ns - o.window_ns));
      }
      exposed += o.exposed_ns > 0 ? 1 : 0;
    }
    std::map<std::pair<std::string, std::string>, std::vector<std::pair<Nanos, Nanos>>> lanes;
    for (const Operation& o : result.operations)
      lanes[{o.lane == "compute" ? o.worker.substr(1) : o.worker, o.lane}].emplace_back(o.start_ns, o.end_ns);
    for (auto& [lane, taken] : lanes) {
      std::sort(taken.begin(), taken.end());
      for (std::size_t i = 1; i < taken.size(); ++i)
        ASSERT_LE(taken[i - 1].second, taken[i].first) << lane.first << " " << lane.second;
    }
  }
  EXPECT_GT(exposed, 50);
}

TEST(Topology, ARunSaysWhereItRan) {
  Result ranks = simulate(two_ranks(1), {skewed(0)});
  EXPECT_EQ(ranks.summary.notes.at("topology"), "colocated");
  Shape s = two_ranks(1);
  s.sim.topology = Topology::afd;
  EXPECT_FALSE(simulate(s, {skewed(0)}).summary.notes.contains("topology"));
  s.sim.dispatch = Dispatch::broadcast;
  EXPECT_EQ(simulate(s, {skewed(0)}).summary.notes.at("dispatch"), "broadcast");
}

TEST(Topology, ABroadcastSendsEveryRowToEveryWorker) {
  Shape s = two_ranks(1);
  s.sim.topology = Topology::afd;
  s.sim.dispatch = Dispatch::broadcast;
  // Senders put out 8 rows twice (50 + 160), receivers take all 16 (210).
  Nanos start = 0;
  for (const Operation& o : simulate(s, {skewed(0)}, true).operations)
    if (o.op == "expert_ffn") start = o.start_ns;
  EXPECT_EQ(start, 2'210);
  TargetRows rows;
  const std::vector<std::int64_t> tokens{8, 8}, pairs{12, 4};
  make_transfers(s.sim, nullptr)->count_rows(tokens, pairs, rows);
  EXPECT_EQ(rows.received, (std::vector<std::int64_t>{16, 16}));
  EXPECT_EQ(rows.returned, pairs) << "results go back as always";
}

// Of tokens with one expert no worker has more than all of them.
TEST(Topology, ABroadcastIsNeverFaster) {
  Draw draw{32};
  int slower = 0;
  for (int round = 0; round < 100; ++round) {
    Shape s = random_shape(draw);
    s.sim.model.top_k = 1;
    s.sim.shared_chunk_bytes = kAbsent;
    s.planner.policy = "static";
    const std::vector<Demand> stream = random_stream(draw, s, 4, 3, false);
    const std::vector<Span> routed = spans(simulate(s, stream, true));
    s.sim.dispatch = Dispatch::broadcast;
    const std::vector<Span> broadcast = spans(simulate(s, stream, true));
    ASSERT_EQ(routed.size(), broadcast.size());
    for (std::size_t i = 0; i < routed.size(); ++i) {
      ASSERT_EQ(std::get<1>(routed[i]), std::get<1>(broadcast[i]));
      ASSERT_LE(std::get<4>(routed[i]), std::get<4>(broadcast[i])) << s.text();
    }
    slower += routed != broadcast ? 1 : 0;
  }
  EXPECT_GT(slower, 50);
}

}  // namespace
}  // namespace afore::host
