// What must hold of every run, whatever the shape: nothing is lost, nothing is early, the past does not depend on the
// future, and observed times agree with each other and with what plans predict.
#include <map>
#include <set>

#include "harness.h"
#include "util/error.h"

namespace afore::host {
namespace {

void expect_identities(const Result& result, const std::string& where) {
  for (const Observed& o : result.observed) {
    if (o.slot_wait_ns > 0) continue;
    ASSERT_EQ(o.exposed_ns, std::max<Nanos>(0, o.migration_ns - o.window_ns)) << where << ": " << text(o);
    ASSERT_EQ(o.slack_ns, std::max<Nanos>(0, o.window_ns - o.migration_ns)) << where << ": " << text(o);
  }
}

std::int64_t output_tokens(const std::vector<Demand>& stream) {
  std::int64_t sum = 0;
  std::set<std::pair<std::int64_t, int>> seen;
  for (const Demand& d : stream)
    if (seen.emplace(d.target.step, d.target.microbatch).second) sum += d.tokens;
  return sum;
}

TEST(SimContract, ExposureIsMigrationLessWindow) {
  Draw draw{11};
  std::int64_t exposed = 0, hidden = 0;
  for (int round = 0; round < 120; ++round) {
    Shape s = random_shape(draw, 6, 16);
    s.planner.policy = "afore";
    const std::vector<Demand> stream = random_stream(draw, s, 6, 3, false);
    const Result result = simulate(s, stream);
    expect_identities(result, s.text());
    for (const Observed& o : result.observed) {
      exposed += o.exposed_ns > 0 ? 1 : 0;
      hidden += o.migration_ns > 0 && o.exposed_ns == 0 ? 1 : 0;
      ASSERT_EQ(o.slot_wait_ns, 0) << "slots that are not busy need no wait: " << s.text() << ": " << text(o);
      ASSERT_TRUE(s.sim.overlap || o.window_ns == 0) << s.text();
    }
  }
  EXPECT_GT(exposed, 100);
  EXPECT_GT(hidden, 100);
}

TEST(SimContract, ThePastDoesNotDependOnTheFuture) {
  Draw draw{12};
  for (const char* policy : {"static", "eplb", "afore", "ideal"})
    for (int round = 0; round < 4; ++round) {
      Shape s = random_shape(draw);
      s.planner.policy = policy;
      s.planner.eplb.interval_steps = 2;
      const std::vector<Demand> stream = random_stream(draw, s, 6, 2, round % 2 == 1);
      const Result whole = simulate(s, stream);
      for (std::size_t n = 0; n < stream.size(); ++n) {
        const Result part = simulate(s, stream, n);
        ASSERT_EQ(part.observed.size(), n) << s.text();
        ASSERT_LE(part.observed_before_end, n);
        // On shared links the last copies are slower where more hidden states follow: that is the future's doing.
        const std::size_t decided = s.sim.shared_chunk_bytes == kAbsent ? n : part.observed_before_end;
        for (std::size_t i = 0; i < decided; ++i)
          ASSERT_EQ(text(part.observed[i]), text(whole.observed[i])) << s.text() << ", " << n << " targets";
      }
    }
}

TEST(SimContract, RandomShapesFinishWithEverythingDone) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Draw draw{seed};
    Shape s = random_shape(draw);
    const char* policies[] = {"static", "eplb", "afore", "ideal"};
    s.planner.policy = policies[seed % 4];
    s.planner.eplb.interval_steps = 1 + static_cast<int>(draw(3));
    s.planner.eplb.step_bytes = 500 + 500 * draw(8);
    const std::vector<Demand> stream = random_stream(draw, s, 1 + static_cast<int>(draw(8)), 3, true);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + s.text());
    Result result;
    ASSERT_NO_THROW(result = simulate(s, stream, true));
    ASSERT_EQ(result.observed.size(), stream.size());
    ASSERT_EQ(result.plans.size(), stream.size());
    for (std::size_t i = 0; i < stream.size(); ++i) {
      ASSERT_EQ(result.observed[i].target, stream[i].target);
      ASSERT_EQ(result.observed[i].ffn_ns, result.plans[i].ffn_ns);
    }
    if (result.summary.duration) {
      ASSERT_EQ(result.summary.total_output_tokens, output_tokens(stream));
    }
    expect_identities(result, s.text());

    // One thing at a time on every worker and lane, nothing backwards.
    std::map<std::pair<std::string, std::string>, std::vector<std::pair<Nanos, Nanos>>> lanes;
    for (const Operation& o : result.operations) {
      ASSERT_LE(o.start_ns, o.end_ns);
      lanes[{o.worker, o.lane}].emplace_back(o.start_ns, o.end_ns);
    }
    for (auto& [lane, spans] : lanes) {
      std::sort(spans.begin(), spans.end());
      for (std::size_t i = 1; i < spans.size(); ++i)
        ASSERT_LE(spans[i - 1].second, spans[i].first) << lane.first << " " << lane.second;
    }
  }
}

TEST(SimContract, PredictedMigrationIsWhatIsSeenWhenPortsAreIdle) {
  Draw draw{14};
  int compared = 0;
  for (int round = 0; round < 60; ++round) {
    Shape s = random_shape(draw, 6, 16);
    s.planner.policy = "paper";
    s.sim.overlap = s.planner.overlap = true;
    s.sim.shared_chunk_bytes = kAbsent;
    s.sim.cluster.microbatches = 1;  // the ports are idle when a plan comes, no slot is busy
    s.planner.limits.gain_rule = true;
    s.sim.layer_cost.copy_ns = 1'000;
    s.sim.pipeline_cost.link_latency_ns = 1'000'000;  // a window that covers all copies
    s.planner.window_ns = 1'000'000;
    const std::vector<Demand> stream = random_stream(draw, s, 10, 2, false);
    const Result result = simulate(s, stream);
    for (std::size_t i = 0; i < stream.size(); ++i) {
      const Observed& o = result.observed[i];
      ASSERT_EQ(o.exposed_ns, 0) << s.text() << ": " << text(o);
      if (result.plans[i].copies.empty()) continue;
      ASSERT_EQ(o.migration_ns, result.plans[i].migration_ns) << s.text() << ": " << text(o);
      ++compared;
    }
  }
  EXPECT_GT(compared, 50);
}

// Two microbatches; the plan of the second overwrites the replica that the first still works in.
TEST(SimContract, ABusySlotDelaysTheCopyAndIsNotOverwritten) {
  Draw draw{1};
  Shape s = random_shape(draw);
  s.sim.model.experts = 3;
  s.sim.model.top_k = 1;
  s.sim.cluster = {.attention_workers = 1, .ffn_workers = 3, .redundant_slots = 1, .tile_tokens = 1, .microbatches = 2};
  s.sim.layer_cost = {.c0_ns = 1'000, .c1_ns = 100'000, .c2_ns = 0, .tile_tokens = 1, .copy_ns = 5'000};
  s.sim.pipeline_cost = {};
  s.sim.overlap = true;
  auto given = [](std::int64_t seq, int microbatch, std::vector<Copy> copies, std::vector<TileShare> assignment) {
    Plan plan;
    plan.seq = seq;
    plan.target = {0, 1, microbatch};
    plan.copies = std::move(copies);
    plan.assignment = std::move(assignment);
    return plan;
  };
  const Plan plans[] = {given(0, 0, {{0, 0, 1, 1}}, {{0, 1, 4}}), given(1, 1, {{2, 2, 1, 1}}, {{2, 1, 2}, {2, 2, 1}})};
  const std::vector<std::int64_t> counts[] = {{4, 0, 0}, {0, 0, 3}};
  pipeline::EmbeddedPlans source(s.sim.model, s.sim.cluster, s.sim.layer_cost);
  std::vector<Observed> observed;
  SimHost host(s.sim, source, {[&](const Observed& o) { observed.push_back(o); }, {}});
  for (int mb = 0; mb < 2; ++mb) {
    Demand d;
    d.target = {0, 1, mb};
    d.counts = counts[mb];
    d.tokens = mb == 0 ? 4 : 3;
    source.push(d, &plans[mb]);
    host.push(d, nullptr, {});
  }
  host.finish();
  ASSERT_EQ(observed.size(), 2u);
  EXPECT_EQ(observed[0].slot_wait_ns, 0);
  EXPECT_EQ(observed[0].exposed_ns, 5'000);
  // The first target runs from 5,000 on for 401,000; only then may its slot be filled anew.
  EXPECT_EQ(observed[1].slot_wait_ns, 406'000);
  EXPECT_EQ(observed[1].migration_ns, 411'000);
  EXPECT_EQ(observed[1].exposed_ns, 5'000);
}

TEST(SimContract, ATargetTwiceIsBadInput) {
  Draw draw{1};
  Shape s = random_shape(draw);
  s.planner.policy = "static";
  std::vector<Demand> stream = random_stream(draw, s, 1, 2, false);
  stream.insert(stream.begin() + 1, stream[0]);
  try {
    simulate(s, stream);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    EXPECT_STREQ(error.what(), "step 0 layer 1 microbatch 0 occurs twice");
  }
}

}  // namespace
}  // namespace afore::host
