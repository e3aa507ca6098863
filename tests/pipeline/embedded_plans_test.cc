// Plans as written in a stream: executed when they can be, refused with the reason when not.
#include "fixtures.h"
#include "pipeline/plan_source.h"

namespace afore::pipeline {
namespace {

// Three experts on three workers, one free slot each, tiles of 64.
struct EmbeddedPlansTest : testing::Test {
  EmbeddedPlansTest() : plans(model(3), cluster(1, 3, 1, 64, 1), small_cost()) {}

  static Plan plan(std::int64_t seq, Target target, std::vector<Copy> copies, std::vector<TileShare> assignment) {
    Plan p;
    p.seq = seq;
    p.target = target;
    p.policy = "afore";
    p.copies = std::move(copies);
    p.assignment = std::move(assignment);
    return p;
  }
  PlanPtr run(const Demand& d, const Plan& p) {
    plans.push(d, &p);
    return plans.next(d, serial++);
  }
  std::string refusal(const Plan& p) {
    return error_of([&] { run(wanted, p); }, ErrorKind::data);
  }

  const Target target{4, 1, 0};
  const Demand wanted = demand(target, {200, 64, 0});
  const std::vector<TileShare> fits = {{0, 0, 4}, {1, 1, 1}};
  const std::string place = "the plan for step 4 layer 1 microbatch 0 cannot be executed: ";
  EmbeddedPlans plans;
  std::int64_t serial = 0;
};

TEST_F(EmbeddedPlansTest, ExecutesWhatIsWritten) {
  const PlanPtr result = run(wanted, plan(9, target, {{0, 0, 2, 1}}, {{0, 0, 2}, {0, 2, 2}, {1, 1, 1}}));
  EXPECT_EQ(result->plan.seq, 9);
  EXPECT_EQ(result->serial, 0);
  EXPECT_EQ(result->worker_tokens, (std::vector<std::int64_t>{72, 64, 128}));
  EXPECT_EQ(plans.placement(1).expert_at(2, 1), 0);
}

TEST_F(EmbeddedPlansTest, WithoutAPlanThePrimariesWork) {
  plans.push(wanted, nullptr);
  const PlanPtr result = plans.next(wanted, 5);
  EXPECT_EQ(result->plan.policy, "none");
  EXPECT_EQ(result->plan.assignment, fits);
  EXPECT_EQ(result->plan.tile_load, (std::vector<std::int64_t>{4, 1, 0}));
  EXPECT_EQ(result->plan.ffn_ns, 10 + 400 + 5);
}

TEST_F(EmbeddedPlansTest, AMapFromTheStreamCountsBeforeTheFirstPlanOnly) {
  plans.on_placement({1, 2, {0, 2, 1, -1, -1, -1}});
  EXPECT_EQ(plans.placement(1).expert_at(0, 1), 2);
  plans.on_placement({1, 2, {0, -1, 1, -1, 2, -1}});
  EXPECT_EQ(plans.placement(1).expert_at(0, 1), 2);
}

TEST_F(EmbeddedPlansTest, RefusesForeignAndRepeatedPlans) {
  EXPECT_EQ(error_of(
                [&] {
                  run(wanted, plan(0, {4, 1, 1}, {}, fits));
                },
                ErrorKind::data),
            "the plan for step 4 layer 1 microbatch 1 cannot be executed: it follows the demand of another target");
  run(wanted, plan(3, target, {}, fits));
  EXPECT_EQ(refusal(plan(3, target, {}, fits)), place + "seq 3 after 3");
}

TEST_F(EmbeddedPlansTest, RefusesImpossibleCopies) {
  EXPECT_EQ(refusal(plan(0, target, {{0, 0, 3, 1}}, fits)), place + "a copy names an unknown worker");
  EXPECT_EQ(refusal(plan(1, target, {{0, -1, 1, 1}}, fits)), place + "a copy names an unknown worker");
  EXPECT_EQ(refusal(plan(2, target, {{0, 0, 1, 2}}, fits)), place + "a copy names an unknown slot");
  EXPECT_EQ(refusal(plan(3, target, {{0, 0, 1, -2}}, fits)), place + "a copy names an unknown slot");
  EXPECT_EQ(refusal(plan(4, target, {{0, 2, 1, 1}}, fits)),
            place + "expert 0 is not on worker 2 when it is copied from there");
  EXPECT_EQ(refusal(plan(5, target, {{3, 2, 1, 1}}, fits)),
            place + "expert 3 is not on worker 2 when it is copied from there");
  EXPECT_EQ(refusal(plan(6, target, {{0, 0, 1, 0}}, fits)), place + "expert 1 would lose its last replica");
}

TEST_F(EmbeddedPlansTest, ACopyMayReadWhatAnEarlierOneOfTheListMade) {
  const std::vector<Copy> chain = {{0, 0, 1, 1}, {0, 1, 2, 1}};
  EXPECT_EQ(run(wanted, plan(0, target, chain, fits))->plan.copies, chain);
  EXPECT_TRUE(plans.placement(1).holds(0, 2));
}

TEST_F(EmbeddedPlansTest, RefusesAssignmentsThatDoNotFit) {
  EXPECT_EQ(refusal(plan(0, target, {}, {{0, 0, 4}, {1, 3, 1}})),
            place + "its assignment names an unknown worker or expert");
  EXPECT_EQ(refusal(plan(1, target, {}, {{0, 0, 4}, {3, 1, 1}})),
            place + "its assignment names an unknown worker or expert");
  EXPECT_EQ(refusal(plan(2, target, {}, {{0, 0, 2}, {0, 2, 2}, {1, 1, 1}})), place + "worker 2 does not hold expert 0");
  EXPECT_EQ(refusal(plan(3, target, {}, {{0, 0, 3}, {1, 1, 1}})), place + "expert 0 gets 3 tiles, its demand needs 4");
  EXPECT_EQ(refusal(plan(4, target, {}, {{0, 0, 4}, {1, 1, 1}, {2, 2, 1}})),
            place + "expert 2 gets 1 tiles, its demand needs 0");
}

TEST_F(EmbeddedPlansTest, RefusesTokensThatDoNotFit) {
  Plan p = plan(0, target, {}, fits);
  p.assignment_tokens = {{0, 0, 200}};
  EXPECT_EQ(refusal(p), place + "assignment_tokens and assignment differ in length");
  p.seq = 1;
  p.assignment_tokens = {{0, 0, 199}, {1, 1, 64}};
  EXPECT_EQ(refusal(p), place + "its tokens do not add up to the demand");
  p.seq = 2;
  p.assignment_tokens = {{0, 0, 200}, {1, 2, 64}};  // the tokens of another worker than the tiles
  EXPECT_EQ(refusal(p), place + "assignment_tokens and assignment name different workers or experts");
  p.seq = 3;
  p.assignment_tokens = {{0, 0, 200}, {7, 1, 64}};
  EXPECT_EQ(refusal(p), place + "assignment_tokens and assignment name different workers or experts");
}

TEST_F(EmbeddedPlansTest, RefusesACopyAheadOfWhatStands) {
  run(demand({4, 3, 0}, {200, 64, 0}), plan(0, {4, 3, 0}, {}, fits));
  Plan p = plan(1, target, {}, fits);
  p.ahead = {{3, {0, 0, 1, 1}}};
  run(wanted, p);
  EXPECT_TRUE(plans.placement(3).holds(0, 1));
  p.seq = 2;
  EXPECT_EQ(refusal(p), place + "expert 0 is copied ahead to worker 1, which already holds it");
}

TEST_F(EmbeddedPlansTest, ARefusedPlanChangesNothing) {
  refusal(plan(0, target, {{0, 0, 1, 1}}, {{0, 0, 3}, {1, 1, 1}}));
  EXPECT_EQ(plans.placement(1), LayerPlacement::initial(3, 3, 1));
}

}  // namespace
}  // namespace afore::pipeline
