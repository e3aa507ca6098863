/* What a program compiled against afore.h relies on, as C99 sees it, and a first plan made through libafore.so alone.
 * Of structs in use nothing moves: fields are added at the end, with a line here. */
#include <afore.h>
#include <stdio.h>
#include <string.h>

#define ASSERT_THAT(name, condition) typedef char name[(condition) ? 1 : -1]
#define AT(type, field, offset) ASSERT_THAT(type##_##field, offsetof(type, field) == (offset))

ASSERT_THAT(long_pointers, sizeof(void*) == 8);
ASSERT_THAT(afore_copy_bytes, sizeof(afore_copy) == 16);
AT(afore_copy, expert, 0);
AT(afore_copy, from, 4);
AT(afore_copy, to, 8);
AT(afore_copy, slot, 12);
ASSERT_THAT(afore_share_bytes, sizeof(afore_share) == 24);
AT(afore_share, expert, 0);
AT(afore_share, worker, 4);
AT(afore_share, tiles, 8);
AT(afore_share, tokens, 16);

ASSERT_THAT(afore_plan_bytes, sizeof(afore_plan) == 184);
AT(afore_plan, struct_size, 0);
AT(afore_plan, flags, 4);
AT(afore_plan, seq, 8);
AT(afore_plan, step, 16);
AT(afore_plan, layer, 24);
AT(afore_plan, microbatch, 28);
AT(afore_plan, experts, 32);
AT(afore_plan, workers, 36);
AT(afore_plan, slots_per_worker, 40);
AT(afore_plan, reserved, 44);
AT(afore_plan, tokens, 48);
AT(afore_plan, copies, 56);
AT(afore_plan, copy_count, 64);
AT(afore_plan, shares, 72);
AT(afore_plan, share_count, 80);
AT(afore_plan, tile_load, 88);
AT(afore_plan, max_tile_load_before, 96);
AT(afore_plan, max_tile_load, 104);
AT(afore_plan, lower_bound, 112);
AT(afore_plan, ffn_ns_before, 120);
AT(afore_plan, ffn_ns, 128);
AT(afore_plan, ffn_bound_ns, 136);
AT(afore_plan, gain_ns, 144);
AT(afore_plan, migration_ns, 152);
AT(afore_plan, window_ns, 160);
AT(afore_plan, exposed_ns, 168);
AT(afore_plan, completion_ns, 176);

ASSERT_THAT(afore_config_bytes, sizeof(afore_config) == 184);
AT(afore_config, struct_size, 0);
AT(afore_config, experts, 4);
AT(afore_config, top_k, 8);
AT(afore_config, layer_count, 12);
AT(afore_config, layers, 16);
AT(afore_config, hidden, 24);
AT(afore_config, moe_intermediate, 32);
AT(afore_config, expert_bytes, 40);
AT(afore_config, ffn_workers, 48);
AT(afore_config, redundant_slots, 52);
AT(afore_config, tile_tokens, 56);
AT(afore_config, microbatches, 60);
AT(afore_config, cost, 64);
AT(afore_config, c0_ns, 72);
AT(afore_config, c1_ns, 80);
AT(afore_config, c2_ns, 88);
AT(afore_config, copy_ns, 96);
AT(afore_config, policy, 104);
AT(afore_config, cost_rule, 112);
AT(afore_config, objective, 116);
AT(afore_config, demand_source, 120);
AT(afore_config, gain_rule, 124);
AT(afore_config, overlap, 128);
AT(afore_config, level, 132);
AT(afore_config, exact_split, 136);
AT(afore_config, window_steps, 140);
AT(afore_config, copy_budget, 144);
AT(afore_config, node_budget, 152);
AT(afore_config, eplb_step_bytes, 160);
AT(afore_config, eplb_interval, 168);
AT(afore_config, eplb_groups, 172);
AT(afore_config, eplb_nodes, 176);
AT(afore_config, eplb_duplicates, 180);

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, afore_last_error(NULL));
  return 1;
}

int main(void) {
  afore_config config;
  afore_planner* planner = NULL;
  afore_plan plan;
  int64_t counts[32], loads = 0, i;
  if (afore_abi_version() != AFORE_ABI_VERSION || strcmp(afore_version(), "") == 0) return failed("version");
  if (afore_config_init(&config, "afore-tiny") != AFORE_OK) return failed("config");
  config.ffn_workers = 4;
  if (afore_planner_create(&config, &planner) != AFORE_OK) return failed("create");
  for (i = 0; i < 32; ++i) counts[i] = i < 16 ? 128 : 0; /* all of it on two of four workers */
  plan.struct_size = sizeof plan;
  if (afore_planner_plan(planner, 0, 1, 0, 512, counts, 1000000, &plan) != AFORE_OK) return failed("plan");
  for (i = 0; i < plan.workers; ++i) loads += plan.tile_load[i];
  printf("%d workers, %d tiles, %d of them on the fullest\n", (int)plan.workers, (int)loads, (int)plan.max_tile_load);
  afore_planner_destroy(planner);
  return loads == 32 && plan.share_count >= 16 ? 0 : 1;
}
