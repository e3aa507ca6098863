#include "host/threads/plan_bytes.h"

#include <cstring>
#include <functional>
#include <limits>

#include "random_plans.h"
#include "util/error.h"

namespace afore::host {
namespace {

using pipeline::PublishedPlan;

std::string bytes_of(const PublishedPlan& plan) {
  std::string bytes;
  encode_plan(plan, bytes);
  return bytes;
}

bool refused(const std::string& bytes, const PlanShape& shape) {
  try {
    decode_plan(bytes, shape);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data) << error.what();
    return error.kind() == ErrorKind::data;
  }
  return false;
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
  EXPECT_EQ(a.backlog_ns, b.backlog_ns);
  EXPECT_EQ(a.unready, b.unready);
  EXPECT_EQ(a.completion_ns, b.completion_ns);
  EXPECT_EQ(a.gain_ns, b.gain_ns);
  EXPECT_EQ(a.gain_bound_ns, b.gain_bound_ns);
  EXPECT_EQ(a.migration_ns, b.migration_ns);
  EXPECT_EQ(a.window_ns, b.window_ns);
  EXPECT_EQ(a.window_source, b.window_source);
  EXPECT_EQ(a.exposed_ns, b.exposed_ns);
  EXPECT_EQ(a.predicted_max_tile_load, b.predicted_max_tile_load);
  EXPECT_EQ(a.predicted_ffn_ns, b.predicted_ffn_ns);
}

void expect_equal(const PublishedPlan& a, const PublishedPlan& b) {
  expect_equal(a.plan, b.plan);
  EXPECT_EQ(a.phase, b.phase);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.serial, b.serial);
  EXPECT_EQ(a.share_begin, b.share_begin);
  EXPECT_EQ(a.tiles, b.tiles);
  EXPECT_EQ(a.worker_tokens, b.worker_tokens);
  ASSERT_EQ(a.shares.size(), b.shares.size());
  for (std::size_t i = 0; i < a.shares.size(); ++i) {
    EXPECT_EQ(a.shares[i].expert, b.shares[i].expert);
    EXPECT_EQ(a.shares[i].tiles, b.shares[i].tiles);
    EXPECT_EQ(a.shares[i].tokens, b.shares[i].tokens);
    EXPECT_EQ(a.shares[i].first, b.shares[i].first);
  }
}

TEST(PlanBytes, APlanComesBackAsItWas) {
  for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Draw draw{seed};
    const PlanShape shape = random_plan_shape(draw);
    const auto plan = random_plan(draw, shape, draw(1'000'000));
    const std::string bytes = bytes_of(*plan);
    expect_equal(*decode_plan(bytes, shape), *plan);
    EXPECT_EQ(bytes_of(*decode_plan(bytes, shape)), bytes);
    if (HasFailure()) return;
  }
}

TEST(PlanBytes, TheBufferIsReplaced) {
  Draw draw{3};
  const PlanShape shape = random_plan_shape(draw);
  const auto plan = random_plan(draw, shape, 1);
  std::string bytes(100'000, 'x');
  encode_plan(*plan, bytes);
  EXPECT_EQ(bytes, bytes_of(*plan));
}

// Two experts on three workers, the first one on all: 4 + 3 + 2 tokens, the primary last.
constexpr PlanShape kShape{2, 3, 2};
PublishedPlan small_plan() {
  Plan plan;
  plan.target = {1, 2, 0};
  plan.copies = {{0, 0, 2, 1}};
  plan.assignment = {{0, 0, 1}, {0, 1, 1}, {0, 2, 1}, {1, 1, 2}};
  plan.assignment_tokens = {{0, 0, 2}, {0, 1, 4}, {0, 2, 3}, {1, 1, 5}};
  plan.tile_load = {1, 3, 1};
  Demand demand;
  demand.target = plan.target;
  demand.tokens = 14;
  demand.counts = {9, 5};
  LayerPlacement placement = LayerPlacement::initial(2, 3, 1);
  placement.set(1, 1, 0);
  placement.set(2, 1, 0);
  return *pipeline::make_published(std::move(plan), demand, 6, 4, 3, placement);
}

TEST(PlanBytes, RefusesWhatWouldLeadAWorkerAstray) {
  ASSERT_FALSE(refused(bytes_of(small_plan()), kShape));
  ASSERT_EQ(small_plan().shares[0].first, 7);
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::pair<const char*, std::function<void(PublishedPlan&)>>> wrongs = {
      {"step", [](auto& p) { p.plan.target.step = -1; }},
      {"layer", [](auto& p) { p.plan.target.layer = -1; }},
      {"serial", [](auto& p) { p.serial = -1; }},
      {"tokens", [](auto& p) { p.tokens = -1; }},
      {"phase", [](auto& p) { p.phase = static_cast<Phase>(4); }},
      {"objective", [](auto& p) { p.plan.objective = static_cast<Objective>(2); }},
      {"copied expert", [](auto& p) { p.plan.copies[0].expert = 2; }},
      {"copy from", [](auto& p) { p.plan.copies[0].from = -1; }},
      {"copy to", [](auto& p) { p.plan.copies[0].to = 3; }},
      {"copy slot", [](auto& p) { p.plan.copies[0].slot = 2; }},
      {"copy slot below staging", [](auto& p) { p.plan.copies[0].slot = -2; }},
      {"unready",
       [](auto& p) {
         p.plan.unready = {{0, 3}};
       }},
      {"cut", [](auto& p) { p.plan.cut = {3}; }},
      {"loads of two workers",
       [](auto& p) {
         p.plan.tile_load = {1, 3};
       }},
      {"backlogs of four workers",
       [](auto& p) {
         p.plan.backlog_ns = {1, 2, 3, 4};
       }},
      {"unknown worker", [](auto& p) { p.plan.assignment[3].worker = 3; }},
      {"unknown expert", [](auto& p) { p.plan.assignment[3].expert = p.shares[2].expert = -1; }},
      {"no tiles", [](auto& p) { p.plan.assignment[3].tiles = p.shares[2].tiles = 0; }},
      {"order", [](auto& p) { std::swap(p.plan.assignment[0], p.plan.assignment[1]); }},
      {"a pair twice", [](auto& p) { p.plan.assignment[1].worker = 0; }},
      {"share of another expert", [](auto& p) { p.shares[0].expert = 1; }},
      {"share of other tiles", [](auto& p) { p.shares[0].tiles = 2; }},
      {"share of other tokens", [](auto& p) { p.shares[0].tokens = 3; }},
      {"tokens of another worker", [](auto& p) { p.plan.assignment_tokens[0].worker = 1; }},
      {"tokens and tiles", [](auto& p) { p.plan.assignment_tokens.pop_back(); }},
      {"one share less", [](auto& p) { p.shares.pop_back(); }},
      {"shares begin late", [](auto& p) { p.share_begin[0] = 1; }},
      {"shares end late", [](auto& p) { p.share_begin[3] = 5; }},
      {"shares run backwards",
       [](auto& p) {
         p.share_begin = {0, 3, 1, 4};
       }},
      {"share of another worker",
       [](auto& p) {
         p.share_begin = {0, 2, 3, 4};
       }},
      {"two workers", [](auto& p) { p.share_begin.pop_back(); }},
      {"tiles of two workers", [](auto& p) { p.tiles.pop_back(); }},
      {"tokens of two workers", [](auto& p) { p.worker_tokens.pop_back(); }},
      {"tiles do not add up", [](auto& p) { p.tiles[1] = 2; }},
      {"tokens do not add up", [](auto& p) { p.worker_tokens[1] = 8; }},
      {"tokens below 0",
       [](auto& p) {
         p.plan.assignment_tokens.clear();
         p.shares[0].tokens = p.worker_tokens[0] = -2;
       }},
      {"tokens without bound",
       [=](auto& p) {
         p.plan.assignment_tokens.clear();
         p.shares[1].tokens = p.shares[2].tokens = kLargest;
       }},
      {"a gap", [](auto& p) { p.shares[0].first = 8; }},
      {"an overlap", [](auto& p) { p.shares[3].first = 3; }},
      {"two out of their order", [](auto& p) { std::swap(p.shares[1].first, p.shares[3].first); }},
      {"first below 0", [](auto& p) { p.shares[2].first = -1; }},
      {"the only share begins late", [](auto& p) { p.shares[2].first = 1; }},
  };
  for (const auto& [what, damage] : wrongs) {
    PublishedPlan plan = small_plan();
    damage(plan);
    EXPECT_TRUE(refused(bytes_of(plan), kShape)) << what;
  }
}

TEST(PlanBytes, RefusesPlansOfAnotherShape) {
  const std::string bytes = bytes_of(small_plan());
  EXPECT_TRUE(refused(bytes, {1, 3, 2}));
  EXPECT_TRUE(refused(bytes, {2, 2, 2}));
  EXPECT_TRUE(refused(bytes, {2, 4, 2}));
  EXPECT_TRUE(refused(bytes, {2, 3, 1}));
}

TEST(PlanBytes, RefusesEveryPrefixAndAnySuffix) {
  const std::string bytes = bytes_of(small_plan());
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_TRUE(refused(bytes.substr(0, size), kShape)) << size;
  EXPECT_TRUE(refused(bytes + '\0', kShape));
}

// Hostile bytes end in an Error or in a plan that passes every check; under the sanitizers, in nothing else.
TEST(PlanBytes, AnyDamageIsRefusedOrHarmless) {
  std::int64_t refusals = 0, rounds = 0;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    Draw draw{seed};
    const PlanShape shape = random_plan_shape(draw);
    std::string bytes = bytes_of(*random_plan(draw, shape, draw(100)));
    const auto place = [&](std::size_t width) {
      return static_cast<std::size_t>(draw(static_cast<std::int64_t>(bytes.size() - width + 1)));
    };
    for (std::int64_t n = 1 + draw(3); n > 0; --n) {
      const std::int64_t values[] = {-1, 0, 1, 1 << 20, std::numeric_limits<std::int64_t>::max(), draw(1'000)};
      const std::int64_t value = values[draw(6)];
      switch (draw(4)) {
        case 0: bytes[place(1)] = static_cast<char>(draw(256)); break;
        case 1: std::memcpy(bytes.data() + place(4), &value, 4); break;
        case 2: std::memcpy(bytes.data() + place(8), &value, 8); break;
        default: bytes.erase(place(8), static_cast<std::size_t>(1 + draw(8)));
      }
    }
    ++rounds;
    try {
      const auto plan = decode_plan(bytes, shape);
      EXPECT_EQ(bytes_of(*plan), bytes) << "seed " << seed;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data) << error.what();
      ++refusals;
    }
  }
  EXPECT_GT(refusals, rounds / 2);
  EXPECT_LT(refusals, rounds);
}

}  // namespace
}  // namespace afore::host
