#include "verify/verify.h"

#include <gtest/gtest.h>

#include <functional>

#include "streams.h"

namespace afore::verify {
namespace {

template <class T>
T& at(Stream& stream, std::size_t index) {
  return std::get<T>(stream.at(index));
}

Verifier::Counts counts_of(const Stream& stream) {
  Verifier verifier;
  for (const Record& record : stream) verifier.feed(record);
  verifier.finish();
  return verifier.counts();
}

TEST(Verifier, AcceptsStreamsWorkedOutByHand) {
  EXPECT_EQ(verdict(static_stream()), "");
  EXPECT_EQ(verdict(copy_stream(Objective::tiles)), "");
  EXPECT_EQ(verdict(copy_stream(Objective::time)), "");
  EXPECT_EQ(verdict(cut_stream()), "");
  EXPECT_EQ(verdict(rehoming_stream()), "");
  EXPECT_EQ(verdict(virtual_stream()), "");
  EXPECT_EQ(verdict(guess_stream()), "");
}

TEST(Verifier, CountsWhatItChecked) {
  const auto copy = counts_of(copy_stream(Objective::tiles));
  EXPECT_EQ(copy.demands, 2);
  EXPECT_EQ(copy.plans, 2);
  EXPECT_EQ(copy.copies, 1);
  EXPECT_EQ(copy.certified, 2);
  EXPECT_EQ(copy.cuts, 0);
  EXPECT_EQ(copy.observed, 1);
  EXPECT_EQ(counts_of(cut_stream()).cuts, 1);
  EXPECT_EQ(counts_of(rehoming_stream()).copies, 3);
}

using Change = std::function<void(Stream&)>;

void expect(Stream stream, const std::string& message, const Change& change) {
  change(stream);
  EXPECT_EQ(verdict(stream), message);
}

// One plan of copy_stream(tiles): 2 is the plan with the copy, 5 the one without.
void expect_plan(std::size_t index, const std::string& message, const std::function<void(Plan&)>& change,
                 Objective objective = Objective::tiles) {
  const std::string place = index == 2 ? "step 17 layer 3 microbatch 0: " : "step 17 layer 3 microbatch 1: ";
  expect(copy_stream(objective), place + message, [&](Stream& s) { change(at<Plan>(s, index)); });
}

TEST(Header, MissingPartsAreBadData) {
  const auto missing = [](const std::string& message, const std::function<void(Header&)>& change) {
    Stream stream = static_stream();
    change(at<Header>(stream, 0));
    Verifier verifier;
    try {
      verifier.feed(stream[0]);
      ADD_FAILURE() << "accepted: " << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
      EXPECT_EQ(error.what(), message);
    }
  };
  missing("header: model.experts is absent", [](Header& h) { h.model.experts = kAbsent; });
  missing("header: model.top_k is absent", [](Header& h) { h.model.top_k = kAbsent; });
  missing("header: cluster.ffn_workers is absent", [](Header& h) { h.cluster.ffn_workers = kAbsent; });
  missing("header: cluster.redundant_slots is absent", [](Header& h) { h.cluster.redundant_slots = kAbsent; });
  missing("header: cluster.tile_tokens is absent", [](Header& h) { h.cluster.tile_tokens = kAbsent; });
  missing("header: cluster.microbatches is absent", [](Header& h) { h.cluster.microbatches = kAbsent; });
  missing("header: planner is absent", [](Header& h) { h.planner.reset(); });
  missing("header: model.top_k is 3, not in 1..2", [](Header& h) { h.model.top_k = 3; });
  missing("header: planner.cost.c1_ns is 0, not in 1..1000000000", [](Header& h) { h.planner->cost.c1_ns = 0; });
  missing("header: planner.cost.tile_tokens is 32, cluster.tile_tokens 64",
          [](Header& h) { h.planner->cost.tile_tokens = 32; });
  missing("header: 1048576 workers with 1048577 slots are too many to check", [](Header& h) {
    h.cluster.ffn_workers = 1 << 20;
    h.cluster.redundant_slots = 1 << 20;
  });
}

TEST(Header, ComesFirstAndStays) {
  expect(static_stream(), "the stream does not start with a header", [](Stream& s) { s.erase(s.begin()); });
  expect(static_stream(), "the stream is empty", [](Stream& s) { s.clear(); });
  expect(static_stream(), "", [](Stream& s) { s.push_back(s[0]); });
  expect(static_stream(), "", [](Stream& s) { s.push_back(Header{}); });
  expect(static_stream(), "", [](Stream& s) {
    s.push_back(s[0]);
    at<Header>(s, 4).planner.reset();
    at<Header>(s, 4).cluster = {};
    at<Header>(s, 4).model.top_k = kAbsent;
  });
  expect(static_stream(), "a later header differs from the first in model, cluster or planner", [](Stream& s) {
    s.push_back(s[0]);
    at<Header>(s, 4).planner->copy_budget += 1;
  });
  expect(static_stream(), "a later header differs from the first in model, cluster or planner", [](Stream& s) {
    Header later;
    later.model.experts = 77;
    s.push_back(later);
  });
  expect(static_stream(), "a later header differs from the first in model, cluster or planner", [](Stream& s) {
    s.push_back(s[0]);
    at<Header>(s, 4).cluster.ffn_workers = 3;
  });
}

TEST(Demands, ConserveTokens) {
  const std::string place = "step 0 layer 5 microbatch 0: ";
  const auto demand_with = [&](const std::string& message, const std::function<void(Demand&)>& change) {
    expect(static_stream(), place + message, [&](Stream& s) { change(at<Demand>(s, 2)); });
  };
  demand_with("counts sum to 193, expected tokens * top_k - dropped = 194", [](Demand& d) { d.tokens = 194; });
  demand_with("counts sum to 193, expected tokens * top_k - dropped = 192", [](Demand& d) { d.dropped = 1; });
  demand_with("demand has 3 counts, expected 2", [](Demand& d) { d.counts.push_back(0); });
  demand_with("count of expert 1 is -1, not in range", [](Demand& d) { d.counts[1] = -1; });
  demand_with("demand has -1 tokens and 0 dropped, not in range", [](Demand& d) { d.tokens = -1; });
  expect(static_stream(), "step 0 layer 4 microbatch 0: layer 4 is not one of the header's moe_layers",
         [](Stream& s) { at<Demand>(s, 2).target.layer = 4; });
  expect(static_stream(), "step 0 layer 5 microbatch 2: microbatch is not below the header's 2",
         [](Stream& s) { at<Demand>(s, 2).target.microbatch = 2; });
}

TEST(Demands, AreAnsweredByOnePlanEach) {
  expect(static_stream(), "step 0 layer 5 microbatch 0: demand has no plan before the end of the stream",
         [](Stream& s) { s.pop_back(); });
  expect(copy_stream(Objective::tiles),
         "step 17 layer 3 microbatch 0: demand has no plan before the next demand (step 17 layer 3 microbatch 1)",
         [](Stream& s) { s.erase(s.begin() + 2, s.begin() + 4); });
  expect(static_stream(), "step 0 layer 5 microbatch 0: plan 0 answers no demand",
         [](Stream& s) { s.push_back(s.back()); });
  expect(static_stream(), "step 1 layer 5 microbatch 0: plan 0 follows the demand of step 0 layer 5 microbatch 0",
         [](Stream& s) { at<Plan>(s, 3).target.step = 1; });
  expect_plan(5, "plan has seq 2, expected 1", [](Plan& p) { p.seq = 2; });
  expect_plan(2, "policy is static, expected the header's afore", [](Plan& p) { p.policy = "static"; });
  expect_plan(2, "objective is time, expected the header's tiles", [](Plan& p) { p.objective = Objective::time; });
}

TEST(Placements, AgreeWithTheCopies) {
  const auto record_with = [](const std::string& message, const std::function<void(PlacementRecord&)>& change) {
    expect(copy_stream(Objective::tiles), message, [&](Stream& s) { change(at<PlacementRecord>(s, 6)); });
  };
  record_with("placement of layer 3: slot 1 of worker 1 holds -1, after the copies it must be 0",
              [](PlacementRecord& r) { r.physical_to_logical[3] = -1; });
  record_with("placement of layer 3: slots_per_worker is 1, expected 2", [](auto& r) { r.slots_per_worker = 1; });
  record_with("placement of layer 3: has 3 entries, expected 4", [](auto& r) { r.physical_to_logical.pop_back(); });
  record_with("placement of layer 3: slot 1 of worker 0 names expert 2 of 2",
              [](PlacementRecord& r) { r.physical_to_logical[1] = 2; });
  // Before the first plan it says what stands, so it must name every expert.
  record_with("placement of layer 5: expert 0 has no slot", [](PlacementRecord& r) {
    r.layer = 5;
    r.physical_to_logical = {-1, -1, 1, -1};
  });
  expect(cut_stream(), "step 0 layer 3 microbatch 0: expert 0 has 4 tiles on worker 2, which does not hold it",
         [](Stream& s) { s.erase(s.begin() + 1); });
}

TEST(Placements, MakeTheLowestHolderPrimaryWhereHomeLacksTheExpert) {
  Stream stream = copy_stream(Objective::tiles);
  stream.insert(stream.begin() + 1, PlacementRecord{3, 2, {1, -1, 0, -1}});
  EXPECT_EQ(verdict(stream),
            "step 17 layer 3 microbatch 0: copy 1 takes expert 0 from worker 0, which does not hold it");
  at<Plan>(stream, 3).copies = {{1, 0, 1, 0}};
  EXPECT_EQ(verdict(stream),
            "step 17 layer 3 microbatch 0: copy 1 overwrites slot 0 of worker 1, the primary of expert 0");
  at<Plan>(stream, 3).copies = {{0, 1, 0, 0}};
  EXPECT_EQ(verdict(stream),
            "step 17 layer 3 microbatch 0: copy 1 overwrites slot 0 of worker 0, the primary of expert 1");
  // Where its home holds an expert, the lowest holder is a replica like others.
  std::get<PlacementRecord>(stream[1]) = PlacementRecord{3, 2, {1, -1, 1, 0}};
  at<Plan>(stream, 3).rehomes = true;
  at<Plan>(stream, 3).copies = {{0, 1, 0, 0}, {0, 0, 1, 0}};
  EXPECT_EQ(verdict(stream),
            "step 17 layer 3 microbatch 0: copy 2 overwrites slot 0 of worker 1, the last replica of expert 1");
}

TEST(Bounds, LeaveOutReplicasOnTheirWay) {
  // What stands but is not there yet must stand, and not as a primary.
  expect_plan(5, "unready names expert 1 on worker 0, which does not hold it", [](Plan& p) { p.unready = {{1, 0}}; });
  expect_plan(5, "unready names expert 0 on worker 0, its primary", [](Plan& p) { p.unready = {{0, 0}}; });
}

TEST(Copies, NameWhatExists) {
  expect_plan(2, "copy 1 names expert 2 of 2", [](Plan& p) { p.copies[0].expert = 2; });
  expect_plan(2, "copy 1 goes from worker 0 to 2, of 2", [](Plan& p) { p.copies[0].to = 2; });
  expect_plan(2, "copy 1 goes from worker -1 to 1, of 2", [](Plan& p) { p.copies[0].from = -1; });
  expect_plan(2, "copy 1 names slot 2 of 2", [](Plan& p) { p.copies[0].slot = 2; });
  expect_plan(2, "copy 1 names slot -2 of 2", [](Plan& p) { p.copies[0].slot = -2; });
  expect_plan(2, "copy 1 uses the staging buffer of worker 1, but the plan does not re-home",
              [](Plan& p) { p.copies[0].slot = -1; });
}

TEST(Copies, ComeFromAHolderAndGoWhereTheyMay) {
  expect_plan(2, "copy 1 takes expert 1 from worker 0, which does not hold it",
              [](Plan& p) { p.copies[0].expert = 1; });
  expect_plan(2, "copy 1 overwrites slot 0 of worker 1, the primary of expert 1",
              [](Plan& p) { p.copies[0].slot = 0; });
  expect_plan(2, "copy 1 brings expert 0 to worker 0, which already holds it", [](Plan& p) { p.copies[0].to = 0; });
  expect_plan(2, "plan has 2 copies, the budget is 1", [](Plan& p) { p.copies.push_back({1, 1, 0, 1}); });
  expect(copy_stream(Objective::tiles), "step 17 layer 3 microbatch 0: copy 2 writes slot 1 of worker 1 a second time",
         [](Stream& s) {
           at<Header>(s, 0).planner->copy_budget = 2;
           at<Plan>(s, 2).copies.push_back({0, 0, 1, 1});
         });
  // In list order: what the first copy brought may be the second one's source.
  Stream chain = rehoming_stream();
  at<Plan>(chain, 2).copies = {{1, 1, 0, -1}, {1, 0, 1, -1}};
  at<Plan>(chain, 2).migration_ns = 500;
  EXPECT_EQ(verdict(chain), "step 0 layer 3 microbatch 0: expert 0 has 2 tiles on worker 1, which does not hold it");
}

TEST(Copies, NeverOverwriteRecentWork) {
  // The replica of the first microbatch is busy for the second one (two microbatches), but no longer.
  const std::string busy =
      "step 17 layer 3 microbatch 1: copy 1 overwrites slot 1 of worker 1, which has work in step 17 microbatch 0";
  expect(copy_stream(Objective::tiles), busy, [](Stream& s) {
    at<Plan>(s, 5).rehomes = true;
    at<Plan>(s, 5).copies = {{1, 1, 1, 1}};
  });
  expect(copy_stream(Objective::tiles),
         "step 17 layer 3 microbatch 1: expert 0 has 3 tiles on worker 1, which does not hold it", [](Stream& s) {
           at<Header>(s, 0).cluster.microbatches = 2;
           Plan& first = at<Plan>(s, 2);  // same copy, but no work on it
           first.assignment = {{0, 0, 7}, {1, 1, 1}};
           first.tile_load = {7, 1};
           first.max_tile_load = 7;
           first.ffn_ns = 715;
           first.certified = false;
           first.rehomes = true;
           first.exposed_ns = 0;  // nobody waits for it
           at<Plan>(s, 5).rehomes = true;
           at<Plan>(s, 5).copies = {{1, 1, 1, 1}};
         });
  // Three microbatches: work two targets back still counts.
  Stream three = rehoming_stream();
  at<Header>(three, 0).cluster.microbatches = 3;
  EXPECT_EQ(verdict(three), "");
  at<Header>(three, 0).cluster.microbatches = 4;
  EXPECT_EQ(verdict(three),
            "step 2 layer 3 microbatch 0: copy 1 overwrites slot 0 of worker 1, which has work in step 0 microbatch 1");
}

TEST(Copies, NeverLoseTheLastReplica) {
  expect(rehoming_stream(),
         "step 0 layer 3 microbatch 0: copy 1 overwrites slot 0 of worker 1, the last replica of expert 1",
         [](Stream& s) { at<Plan>(s, 2).copies[0].slot = 0; });
  // Staging is free once its worker has the expert in a slot: it then keeps nothing alive.
  Stream stream = rehoming_stream();
  stream.pop_back();
  for (const Target t : {Target{2, 3, 1}, Target{3, 3, 0}}) {
    Plan p = at<Plan>(stream, 10);
    p.seq = t.step == 2 ? 5 : 6;
    p.target = t;
    p.copies.clear();
    p.assignment = {{1, 0, 1}};
    p.assignment_tokens = {{1, 0, 50}};
    p.tile_load = {1, 0};
    p.max_tile_load = p.lower_bound = 1;
    p.ffn_ns = 115;
    p.ffn_bound_ns = 62;
    p.migration_ns = 0;
    stream.push_back(demand(t, {0, 50}));
    stream.push_back(p);
  }
  EXPECT_EQ(verdict(stream), "");
  at<Plan>(stream, 14).copies = {{1, 0, 1, 0}};
  EXPECT_EQ(verdict(stream),
            "step 3 layer 3 microbatch 0: copy 1 overwrites slot 0 of worker 1, the last replica of expert 0");
}

TEST(Copies, OfVirtualPlansDoNotExist) {
  expect(virtual_stream(), "step 0 layer 3 microbatch 0: a virtual plan has 1 copies, expected none", [](Stream& s) {
    at<Plan>(s, 2).copies = {{0, 0, 1, 1}};
  });
  expect(virtual_stream(), "step 0 layer 3 microbatch 0: expert 0 has 3 tiles on worker 1, which does not hold it",
         [](Stream& s) { at<Plan>(s, 2).is_virtual = false; });
}

TEST(Assignment, CoversTheDemandOverHolders) {
  expect_plan(2, "expert 0 has 6 tiles in the assignment, expected 7 for a count of 448",
              [](Plan& p) { p.assignment[0].tiles = 3; });
  expect_plan(2, "expert 1 has 0 tiles in the assignment, expected 1 for a count of 64",
              [](Plan& p) { p.assignment.pop_back(); });
  expect_plan(2, "expert 0 has 0 tiles on worker 0 for a count of 448", [](Plan& p) { p.assignment[0].tiles = 0; });
  expect_plan(2, "expert 1 has 65 tiles on worker 1 for a count of 64", [](Plan& p) { p.assignment[2].tiles = 65; });
  expect_plan(2, "assignment entry 2 (expert 0 on worker 0) is out of order",
              [](Plan& p) { p.assignment[1].worker = 0; });
  expect_plan(2, "assignment entry 3 names expert 2 on worker 1, of 2 and 2",
              [](Plan& p) { p.assignment[2].expert = 2; });
  expect_plan(2, "expert 1 has 1 tiles on worker 0, which does not hold it",
              [](Plan& p) { p.assignment[2].worker = 0; });
}

TEST(Assignment, TokensAgreeWithTiles) {
  const std::string place = "step 0 layer 3 microbatch 0: ";
  const auto tokens_with = [&](const std::string& message, const std::function<void(Plan&)>& change) {
    expect(rehoming_stream(), place + message, [&](Stream& s) { change(at<Plan>(s, 2)); });
  };
  tokens_with("assignment_tokens has 1 entries, expected 2 as assignment",
              [](Plan& p) { p.assignment_tokens.pop_back(); });
  tokens_with("assignment_tokens entry 2 is expert 1 on worker 0, expected expert 1 on worker 1",
              [](Plan& p) { p.assignment_tokens[1].worker = 0; });
  tokens_with("expert 1 has 51 tokens on worker 1, of 50", [](Plan& p) { p.assignment_tokens[1].tokens = 51; });
  tokens_with("expert 1 has 0 tokens on worker 1, of 50", [](Plan& p) { p.assignment_tokens[1].tokens = 0; });
  tokens_with("expert 1 has 49 tokens in assignment_tokens, expected 50",
              [](Plan& p) { p.assignment_tokens[1].tokens = 49; });
  tokens_with("expert 0 has 2 tiles on worker 1, expected 1 for 64 tokens",
              [](Plan& p) { p.assignment_tokens[0].tokens = 64; });
}

TEST(Assignment, LoadsAreRecomputed) {
  expect_plan(2, "tile_load has 1 entries, expected 2", [](Plan& p) { p.tile_load.pop_back(); });
  expect_plan(2, "tile_load of worker 1 is 5, expected 4", [](Plan& p) { p.tile_load[1] = 5; });
  expect_plan(2, "max_tile_load is 5, expected 4", [](Plan& p) { p.max_tile_load = 5; });
  expect_plan(2, "ffn_ns is 415, expected 420", [](Plan& p) { p.ffn_ns = 415; });
}

TEST(Before, IsTheBestWithoutCopies) {
  expect_plan(2, "max_tile_load_before is 8, but 7 is reachable without copies",
              [](Plan& p) { p.max_tile_load_before = 8; });
  expect_plan(2, "max_tile_load_before is 6, not reachable without copies",
              [](Plan& p) { p.max_tile_load_before = 6; });
  expect_plan(5, "max_tile_load is 5, above max_tile_load_before 4", [](Plan& p) {
    p.assignment = {{0, 0, 5}, {0, 1, 2}, {1, 1, 1}};
    p.tile_load = {5, 3};
    p.max_tile_load = 5;
    p.ffn_ns = 515;
    p.certified = false;
  });
  const auto time_plan = [](std::size_t index, const std::string& message, const std::function<void(Plan&)>& change) {
    expect_plan(index, message, change, Objective::time);
  };
  time_plan(2, "ffn_ns_before is 716, but everything on the primaries takes 715",
            [](Plan& p) { p.ffn_ns_before = 716; });
  time_plan(2, "ffn_ns_before is 714, less than any split over the standing replicas takes",
            [](Plan& p) { p.ffn_ns_before = 714; });
  time_plan(5, "ffn_ns is 515, above ffn_ns_before 420", [](Plan& p) {
    p.assignment = {{0, 0, 5}, {0, 1, 2}, {1, 1, 1}};
    p.tile_load = {5, 3};
    p.max_tile_load = 5;
    p.ffn_ns = 515;
  });
  time_plan(5, "ffn_ns_before is 520, but the plan takes 420 without copies", [](Plan& p) { p.ffn_ns_before = 520; });
}

TEST(BoundClaims, ArePossibleAndProven) {
  expect_plan(2, "lower_bound is 5, above max_tile_load 4", [](Plan& p) { p.lower_bound = 5; });
  expect_plan(2, "lower_bound is 3, expected at least 4 (8 tiles on 2 workers)", [](Plan& p) { p.lower_bound = 3; });
  expect_plan(2, "ffn_bound_ns is 421, above ffn_ns 420", [](Plan& p) { p.ffn_bound_ns = 421; });
  expect_plan(
      2, "ffn_bound_ns is 414, expected at least 415 (810 ns of work on 2 workers)",
      [](Plan& p) { p.ffn_bound_ns = 414; }, Objective::time);
  // The split pays for a second activation: 420 is attained and nothing below it, for two workers.
  expect_plan(
      2, "certified with ffn_ns 420 and ffn_bound_ns 416",
      [](Plan& p) {
        p.ffn_bound_ns = 416;
        p.certified = true;
      },
      Objective::time);
  // A wrong certificate: five tiles are the least only where copies could not reach another worker.
  expect(cut_stream(), "step 0 layer 3 microbatch 0: lower_bound 5 is not proven, expected at most 4", [](Stream& s) {
    at<Header>(s, 0).planner->policy = "afore";
    at<Plan>(s, 3).policy = "afore";
    at<Plan>(s, 3).cut.clear();
  });
  expect(cut_stream(), "step 0 layer 3 microbatch 0: ffn_bound_ns 515 is not proven, expected at most 415",
         [](Stream& s) {
           at<Header>(s, 0).planner->policy = "afore";
           Plan& p = at<Plan>(s, 3);
           p.policy = "afore";
           p.cut.clear();
           p.lower_bound = 4;
           p.certified = false;
         });
  expect(cut_stream(), "step 0 layer 3 microbatch 0: certified with max_tile_load 5 and lower_bound 4",
         [](Stream& s) { at<Plan>(s, 3).lower_bound = 4; });
}

TEST(BoundClaims, CutsProveWhatTheySay) {
  const std::string place = "step 0 layer 3 microbatch 0: ";
  const auto cut_of = [&](std::vector<int> cut, const std::string& message) {
    expect(cut_stream(), place + message, [&](Stream& s) { at<Plan>(s, 3).cut = std::move(cut); });
  };
  cut_of({0, 1}, "cut proves a bound of 1, expected lower_bound 5");
  cut_of({0, 1, 2}, "cut proves a bound of 4, expected lower_bound 5");
  cut_of({0, 0}, "cut names worker 0 twice or beyond 3 workers");
  cut_of({0, 3}, "cut names worker 3 twice or beyond 3 workers");
  // With a budget, a copy to worker 1's free slot takes the expert out of the cut.
  expect(cut_stream(), place + "cut proves a bound of 0, expected lower_bound 5", [](Stream& s) {
    at<Header>(s, 0).planner->policy = "afore";
    at<Plan>(s, 3).policy = "afore";
  });
}

TEST(Timing, FollowsFromTheCopies) {
  expect_plan(2, "migration_ns is 251, expected 250 for 1 copies", [](Plan& p) { p.migration_ns = 251; });
  expect_plan(2, "window_ns is -1, negative", [](Plan& p) { p.window_ns = -1; });
  expect_plan(2, "exposed_ns is 151, expected 150 (awaited copies take 250 in a window of 100)",
              [](Plan& p) { p.exposed_ns = 151; });
  expect_plan(2, "exposed_ns is 0, expected 150 (awaited copies take 250 in a window of 100)",
              [](Plan& p) { p.exposed_ns = 0; });
  expect_plan(2, "gain_ns is 151, expected 150 (saves 300, exposes 150)", [](Plan& p) { p.gain_ns = 151; });
  expect_plan(
      2, "gain_ns is 150, expected 145 (saves 295, exposes 150)", [](Plan& p) { p.gain_ns = 150; }, Objective::time);
  expect_plan(5, "window_ns is 99, expected 100 as in every plan with a window from a flag",
              [](Plan& p) { p.window_ns = 99; });
}

TEST(Timing, CopiesSerialiseOnPortsInListOrder) {
  // Three copies out of worker 0: the out port takes them one by one. Then one between idle ports.
  Header h = header("afore", Objective::tiles, 4, 4, 2);
  h.planner->copy_budget = 4;
  h.planner->gain_rule = false;
  const Target t{0, 3, 0};
  Plan p = plan(0, t, h);
  p.copies = {{0, 0, 1, 1}, {0, 0, 2, 1}, {0, 0, 3, 1}, {1, 1, 0, 1}};
  p.assignment = {{0, 0, 1}, {0, 1, 1}, {0, 2, 1}, {0, 3, 1}};
  p.tile_load = {1, 1, 1, 1};
  p.max_tile_load_before = 4;
  p.max_tile_load = p.lower_bound = 1;
  p.ffn_ns_before = 415;
  p.ffn_ns = 115;
  p.ffn_bound_ns = 111;
  p.migration_ns = 750;
  p.window_ns = 0;
  p.exposed_ns = 750;
  p.gain_ns = 300 - 750;
  Stream s{h, demand(t, {256, 0, 0, 0}), p};
  EXPECT_EQ(verdict(s), "");
  at<Header>(s, 0).planner->gain_rule = true;
  EXPECT_EQ(verdict(s), "step 0 layer 3 microbatch 0: 4 copies are installed for a gain of -450 ns");
}

TEST(Timing, BackgroundCopiesMayBeHidden) {
  Stream s = rehoming_stream();
  at<Plan>(s, 2).exposed_ns = 150;
  EXPECT_EQ(verdict(s), "");
  at<Plan>(s, 2).exposed_ns = 149;
  EXPECT_EQ(
      verdict(s),
      "step 0 layer 3 microbatch 0: exposed_ns is 149, expected 150 (awaited copies take 250 in a window of 100)");
}

TEST(Observed, AgreesWithItselfAndItsPlan) {
  const std::string place = "step 17 layer 3 microbatch 0: ";
  const auto observed_with = [&](const std::string& message, const std::function<void(Observed&)>& change) {
    expect(copy_stream(Objective::tiles), message.empty() ? "" : place + message,
           [&](Stream& s) { change(at<Observed>(s, 3)); });
  };
  observed_with("observed refers to plan 2, which the stream does not have", [](Observed& o) { o.seq = 2; });
  observed_with("observed refers to plan 1, which the stream does not have", [](Observed& o) { o.seq = 1; });
  observed_with("observed exposed_ns is 179, expected 180 (migration_ns 300 in a window of 120)",
                [](Observed& o) { o.exposed_ns = 179; });
  observed_with("observed slack_ns is 1, expected 0 (migration_ns 300 in a window of 120)",
                [](Observed& o) { o.slack_ns = 1; });
  observed_with("", [](Observed& o) {
    o.exposed_ns = 500;  // the copy waited for its slot
    o.slot_wait_ns = 320;
  });
  expect(copy_stream(Objective::tiles),
         "step 17 layer 3 microbatch 1: observed refers to plan 0, which is for step 17 layer 3 microbatch 0",
         [](Stream& s) { at<Observed>(s, 3).target.microbatch = 1; });
}

// Random single-number changes in valid plans. Numbers that nothing in a stream can contradict are left out:
// - the values of the objective that is not stated before copies (max_tile_load_before for time, ffn_ns_before for
//   tiles), and on plans that re-home or stem from a guess both of them and gain_ns;
// - bounds that stay provable (lower but above the volume), and ffn_bound_ns for the tiles objective;
// - window_ns without copies unless it came from a flag; predicted values; `certified` turned off;
// - `from` of a copy where the other worker holds the expert too and the port schedule is the same.
TEST(Mutation, OfOneNumberIsRefused) {
  std::uint64_t state = 1;
  const auto draw = [&](std::uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>((state >> 33) % below);
  };
  for (int round = 0; round < 4000; ++round) {
    const Objective objective = draw(2) ? Objective::tiles : Objective::time;
    Stream stream = copy_stream(objective);
    Plan& p = at<Plan>(stream, draw(2) ? 2 : 5);
    const std::int64_t by = draw(2) ? 1 + draw(1000) : -1 - draw(1000);
    std::string field;
    const auto change = [&](const char* name, auto& value) {
      field = name;
      value = static_cast<std::remove_reference_t<decltype(value)>>(value + by);
    };
    switch (draw(objective == Objective::tiles ? 15 : 16)) {
      case 0: change("seq", p.seq); break;
      case 1: change("step", p.target.step); break;
      case 2: change("layer", p.target.layer); break;
      case 3: change("microbatch", p.target.microbatch); break;
      case 4: change("tiles", p.assignment[draw(3)].tiles); break;
      case 5: change("expert", p.assignment[draw(3)].expert); break;
      case 6: change("worker", p.assignment[draw(3)].worker); break;
      case 7: change("tile_load", p.tile_load[draw(2)]); break;
      case 8: change("max_tile_load", p.max_tile_load); break;
      case 9: change("lower_bound", p.lower_bound); break;
      case 10: change("ffn_ns", p.ffn_ns); break;
      case 11: change("migration_ns", p.migration_ns); break;
      case 12: change("exposed_ns", p.exposed_ns); break;
      case 13: change("gain_ns", p.gain_ns); break;
      case 14:
        if (objective == Objective::tiles) change("max_tile_load_before", p.max_tile_load_before);
        else change("ffn_ns_before", p.ffn_ns_before);
        break;
      default: p.ffn_bound_ns += by + (by > 0 ? 10 : 0), field = "ffn_bound_ns";
    }
    ASSERT_NE(verdict(stream), "") << field << " changed by " << by;
  }
  for (const int field : {0, 1, 2, 3})
    for (int by = -3; by <= 3; ++by) {
      Stream stream = copy_stream(Objective::tiles);
      Copy& copy = at<Plan>(stream, 2).copies[0];
      (field == 0 ? copy.expert : field == 1 ? copy.from : field == 2 ? copy.to : copy.slot) += by;
      EXPECT_EQ(verdict(stream) == "", by == 0) << "copy field " << field << " changed by " << by;
    }
}

// copy_stream(time) by the roofline rule on a slow second worker: 10 + max(400, 10) there, or 10 + 1.5 * 400.
Stream slow_stream() {
  Stream stream = copy_stream(Objective::time);
  Header& h = at<Header>(stream, 0);
  h.planner->cost.rule = LoadRule::roofline;
  h.cluster.workers = {{}, {1500, 2000, false}};
  Plan& p0 = at<Plan>(stream, 2);
  Plan& p1 = at<Plan>(stream, 5);
  p0.ffn_ns_before = 710;  // 10 + 7 * 100
  p0.ffn_ns = 610;
  p0.ffn_bound_ns = 490;  // 480 + 320 = 800: in 479, room is 479 + 319
  p0.migration_ns = 500;  // a copy into the second worker takes twice its time
  p0.exposed_ns = 400;
  p0.gain_ns = -300;
  p1.ffn_ns = p1.ffn_ns_before = 610;
  p1.ffn_bound_ns = 490;
  h.planner->gain_rule = false;
  return stream;
}

TEST(Traits, TimesAreOfTheRuleAndTheWorkers) {
  EXPECT_EQ(verdict(slow_stream()), "");
  const std::string place = "step 17 layer 3 microbatch 0: ";
  expect(slow_stream(), place + "ffn_ns is 610, expected 625",
         [](Stream& s) { at<Header>(s, 0).planner->cost.rule = LoadRule::additive; });
  expect(slow_stream(), place + "ffn_ns is 610, expected 410",
         [](Stream& s) { at<Header>(s, 0).cluster.workers = {}; });
  expect(slow_stream(), place + "migration_ns is 250, expected 500 for 1 copies",
         [](Stream& s) { at<Plan>(s, 2).migration_ns = 250; });
}

TEST(Traits, BoundsAreThoseOfTheRuleAndTheWorkers) {
  const std::string place = "step 17 layer 3 microbatch 0: ";
  expect(slow_stream(), place + "ffn_bound_ns 610 is not proven, expected at most 490",
         [](Stream& s) { at<Plan>(s, 2).ffn_bound_ns = 610; });
  expect(slow_stream(), place + "ffn_bound_ns is 409, expected at least 410 (800 ns of work on 2 workers)",
         [](Stream& s) { at<Plan>(s, 2).ffn_bound_ns = 409; });
}

TEST(Traits, NoCopyGoesToADrainingWorkerOrTakesAPinnedExpert) {
  const std::string place = "step 17 layer 3 microbatch 0: ";
  expect(copy_stream(Objective::tiles), place + "copy 1 goes to worker 1, which drains", [](Stream& s) {
    at<Header>(s, 0).cluster.workers = {{}, {1000, 1000, true}};
  });
  expect(copy_stream(Objective::tiles), place + "copy 1 is of expert 0, which is pinned",
         [](Stream& s) { at<Header>(s, 0).planner->pinned_experts = {0}; });
  expect(copy_stream(Objective::tiles), "header: planner.pinned_experts names expert 2 of 2",
         [](Stream& s) { at<Header>(s, 0).planner->pinned_experts = {2}; });
  expect(copy_stream(Objective::tiles), "header: cluster.workers: worker 0 has 0 thousandths, not in 100..100000",
         [](Stream& s) {
           at<Header>(s, 0).cluster.workers = {{0, 1000, false}, {}};
         });
}

TEST(Traits, WorkLeavesADrainingWorkerWhereItCan) {
  // Expert 0 stands on worker 1 too when the second plan is made.
  Stream stream = copy_stream(Objective::tiles);
  stream.erase(stream.begin() + 1, stream.begin() + 4);
  at<Header>(stream, 0).cluster.workers = {{1000, 1000, true}, {}};
  stream.insert(stream.begin() + 1, PlacementRecord{3, 2, {0, -1, 1, 0}});
  EXPECT_EQ(verdict(stream),
            "step 17 layer 3 microbatch 1: worker 0 drains and has 4 tiles of expert 0, which stands elsewhere");
}

}  // namespace
}  // namespace afore::verify
