// Over recorded routing, the interface makes what afore-plan writes: every number of every plan, and every map.
#include <variant>

#include "../support/tool_run.h"
#include "core/records.h"
#include "engine.h"
#include "wire/wire.h"

namespace afore::c {
namespace {

using testing::empty_plan;

struct Case {
  const char* name;
  std::vector<std::string> flags;        // of afore-plan
  void (*change)(afore_config& config);  // the same, said to the interface
};

// A machine on which 32 small experts are worth copying.
void slow(afore_config& config) {
  config.tile_tokens = 4;
  config.copy_ns = 1'000;
}

const Case kCases[] = {
    {"static", {"--policy", "static"}, [](afore_config& c) { c.policy = "static"; }},
    {"afore", {"--policy", "afore"}, [](afore_config& c) { c.policy = "afore"; }},
    {"afore_tiles", {"--objective", "tiles"}, [](afore_config& c) { c.objective = AFORE_OBJECTIVE_TILES; }},
    {"afore_level_off",
     {"--level", "off", "--copy-budget", "2"},
     [](afore_config& c) {
       c.level = 0;
       c.copy_budget = 2;
     }},
    {"paper_window", {"--policy", "paper", "--window-us", "40"}, [](afore_config& c) { c.policy = "paper"; }},
    {"paper_gain_off",
     {"--policy", "paper", "--gain-rule", "off"},
     [](afore_config& c) {
       c.policy = "paper";
       c.gain_rule = 0;
     }},
    {"last_step",
     {"--policy", "paper", "--demand-source", "last_step"},
     [](afore_config& c) {
       c.policy = "paper";
       c.demand_source = AFORE_DEMAND_LAST_STEP;
     }},
    {"eplb",
     {"--policy", "eplb", "--eplb-interval", "5", "--window-steps", "8"},
     [](afore_config& c) {
       c.policy = "eplb";
       c.eplb_interval = 5;
       c.window_steps = 8;
     }},
    {"lplb", {"--policy", "lplb"}, [](afore_config& c) { c.policy = "lplb"; }},
    {"llep_exact",
     {"--policy", "llep", "--split", "exact", "--overlap", "off"},
     [](afore_config& c) {
       c.policy = "llep";
       c.exact_split = 1;
       c.overlap = 0;
     }},
    {"ideal",
     {"--policy", "ideal", "--plan-budget-nodes", "100"},
     [](afore_config& c) {
       c.policy = "ideal";
       c.node_budget = 100;
     }},
};

void expect_same(const afore_plan& made, const Plan& plan) {
  EXPECT_EQ(made.seq, plan.seq);
  EXPECT_EQ((Target{made.step, made.layer, made.microbatch}), plan.target);
  std::vector<Copy> copies;
  for (std::int64_t i = 0; i < made.copy_count; ++i)
    copies.push_back({made.copies[i].expert, made.copies[i].from, made.copies[i].to, made.copies[i].slot});
  EXPECT_EQ(copies, plan.copies);
  std::vector<TileShare> tiles;
  std::vector<TokenShare> tokens;
  for (std::int64_t i = 0; i < made.share_count; ++i) {
    const afore_share& share = made.shares[i];
    tiles.push_back({share.expert, share.worker, share.tiles});
    tokens.push_back({share.expert, share.worker, share.tokens});
  }
  EXPECT_EQ(tiles, plan.assignment);
  if (!plan.assignment_tokens.empty()) {
    EXPECT_EQ(tokens, plan.assignment_tokens);
  }
  EXPECT_EQ(std::vector(made.tile_load, made.tile_load + made.workers), plan.tile_load);
  EXPECT_EQ(made.max_tile_load_before, plan.max_tile_load_before);
  EXPECT_EQ(made.max_tile_load, plan.max_tile_load);
  EXPECT_EQ(made.lower_bound, plan.lower_bound);
  EXPECT_EQ(made.ffn_ns_before, plan.ffn_ns_before);
  EXPECT_EQ(made.ffn_ns, plan.ffn_ns);
  EXPECT_EQ(made.ffn_bound_ns, plan.ffn_bound_ns);
  EXPECT_EQ(made.gain_ns, plan.gain_ns);
  EXPECT_EQ(made.migration_ns, plan.migration_ns);
  EXPECT_EQ(made.window_ns, plan.window_ns);
  EXPECT_EQ(made.exposed_ns, plan.exposed_ns);
  EXPECT_EQ(made.completion_ns, plan.completion_ns);
  EXPECT_EQ((made.flags & AFORE_PLAN_CERTIFIED) != 0, plan.certified);
  EXPECT_EQ((made.flags & AFORE_PLAN_REHOMES) != 0, plan.rehomes);
  EXPECT_EQ((made.flags & AFORE_PLAN_VIRTUAL) != 0, plan.is_virtual);
}

void expect_tokens_conserved(const afore_plan& made, const Demand& demand) {
  std::vector<std::int64_t> given(demand.counts.size(), 0);
  for (std::int64_t i = 0; i < made.share_count; ++i)
    given[static_cast<std::size_t>(made.shares[i].expert)] += made.shares[i].tokens;
  EXPECT_EQ(given, demand.counts);
}

class SamePlans : public ::testing::TestWithParam<Case> {
 protected:
  SamePlans() : run_(AFORE_BIN) {
    const std::string tiny = AFORE_SOURCE_DIR "/data/tiny-routing/";
    const auto imported = run_.run({"afore-trace",
                                    "import",
                                    "--from",
                                    "routing-ids",
                                    "math=" + tiny + "math.ids.u8.zst",
                                    "--meta",
                                    tiny + "math.index.json",
                                    "code=" + tiny + "code.ids.u8.zst",
                                    "--meta",
                                    tiny + "code.index.json",
                                    "--phases",
                                    "math:10,code:10",
                                    "--concurrent",
                                    "60",
                                    "--microbatches",
                                    "3",
                                    "--warmup-steps",
                                    "4",
                                    "--steps",
                                    "20"},
                                   "");
    EXPECT_EQ(imported.code, 0) << imported.err;
    stream_ = run_.write("stream.jsonl", imported.out);
  }

  // What afore-plan makes of the stream, on the machine of slow().
  std::string planned(const Case& given) {
    const std::string cost = run_.write(
        "cost.json",
        R"({"name":"test","flops_per_s":9.89e+14,"flops_efficiency":0.6,"memory_bytes_per_s":3.35e+12,)"
        R"("memory_efficiency":0.8,"link_bytes_per_s":4.5e+11,"link_efficiency":0.8,"link_latency_ns":10000,)"
        R"("copy_bytes_per_s":1e+20,"copy_latency_ns":1000,"ffn_c0_ns":5000,"attention_c0_ns":5000,)"
        R"("control_latency_ns":2000,"scheduler_ns":10000,"sampling_ns":20000,"ffn_c1_ns":700,"ffn_c2_ns":900})");
    std::vector<std::string> command = {"afore-plan", "--workers",     "4", "--slots", "2", "--cost",
                                        cost,         "--tile-tokens", "4"};
    command.insert(command.end(), given.flags.begin(), given.flags.end());
    const auto ended = run_.run(command, stream_);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended.out;
  }

  test::ToolRun run_;
  std::string stream_;
};

std::vector<std::int32_t> map_of(afore_planner* planner, int layer) {
  std::vector<std::int32_t> map(static_cast<std::size_t>(afore_placement_get(planner, layer, nullptr, 0)));
  EXPECT_EQ(afore_placement_get(planner, layer, map.data(), std::ssize(map)), std::ssize(map));
  return map;
}

TEST_P(SamePlans, AsTheToolMakes) {
  const Case& given = GetParam();
  afore_config config = testing::config_of("afore-tiny", 4);
  config.c1_ns = 700;
  config.c2_ns = 900;
  slow(config);
  config.microbatches = 3;
  given.change(config);
  const testing::PlannerPtr planner = testing::make_planner(config);
  const std::int64_t window_ns = std::string(given.name) == "paper_window" ? 40'000 : -1;

  wire::RecordDecoder decoder("plan");
  Demand demand;
  std::int64_t number = 0, plans = 0, copies = 0;
  for (const std::string& line : test::lines_of(planned(given))) {
    const Record record = decoder.decode(line, ++number);
    if (const auto* map = std::get_if<PlacementRecord>(&record)) {
      // Ahead of a layer's first plan: where its primaries were balanced, the engine says so. Later: what stands.
      if (map_of(planner.get(), map->layer) != map->physical_to_logical) {
        ASSERT_EQ(afore_placement_set(planner.get(), map->layer, map->physical_to_logical.data(),
                                      std::ssize(map->physical_to_logical)),
                  AFORE_OK)
            << testing::text(planner.get());
      }
      EXPECT_EQ(map_of(planner.get(), map->layer), map->physical_to_logical);
    } else if (const auto* asked = std::get_if<Demand>(&record)) {
      demand = *asked;
    } else if (const auto* plan = std::get_if<Plan>(&record)) {
      afore_plan made = empty_plan();
      const Target& target = demand.target;
      ASSERT_EQ(afore_planner_plan(planner.get(), target.step, target.layer, target.microbatch, demand.tokens,
                                   demand.counts.data(), window_ns, &made),
                AFORE_OK)
          << testing::text(planner.get());
      expect_same(made, *plan);
      expect_tokens_conserved(made, demand);
      ASSERT_FALSE(HasFailure()) << "line " << number;
      EXPECT_EQ(made.tokens, demand.tokens);
      ++plans;
      copies += made.copy_count;
    }
  }
  EXPECT_EQ(plans, 24 * 4 * 3);
  // What is compared has copies in it where the policy makes any.
  for (const char* quiet : {"static", "ideal", "llep_exact"})
    if (std::string(given.name) == quiet) return;
  EXPECT_GT(copies, 0);
}

INSTANTIATE_TEST_SUITE_P(Policies, SamePlans, ::testing::ValuesIn(kCases),
                         [](const auto& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace afore::c
