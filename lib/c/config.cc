#include "c/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "c/internal.h"
#include "core/assignment.h"
#include "placement/eplb.h"
#include "placement/registry.h"

namespace afore::c {
namespace {

// As in headers and cost files of the tools.
constexpr std::int64_t kMostUnitNs = 1'000'000'000, kMostCopyNs = 1'000'000'000'000'000;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 53;
// Of one layer: beyond any model, and what maps of it take stays within memory.
constexpr std::int64_t kMostExperts = 1 << 16, kMostSlots = 1 << 24, kMostPairs = 1 << 26;

constexpr std::size_t kLeastConfigBytes = offsetof(afore_config, redundant_slots) + sizeof(std::int32_t);

afore_config defaults() {
  afore_config config{};
  config.struct_size = sizeof config;
  config.experts = config.top_k = config.ffn_workers = -1;
  config.hidden = config.moe_intermediate = config.expert_bytes = -1;
  config.redundant_slots = 2;
  config.tile_tokens = 64;
  config.microbatches = 1;
  config.cost = "h100";
  config.c0_ns = config.c1_ns = config.c2_ns = config.copy_ns = -1;
  config.policy = "afore";
  config.gain_rule = config.overlap = config.level = 1;
  config.copy_budget = config.eplb_step_bytes = -1;
  config.window_steps = config.eplb_interval = 50;
  config.eplb_groups = config.eplb_nodes = config.eplb_duplicates = 1;
  return config;
}

// What the caller's struct has, over the defaults.
afore_config whole(const afore_config& given) {
  refuse_unless(size_fits(given.struct_size, kLeastConfigBytes), AFORE_E_ARGUMENT,
                "config: struct_size cannot be: fill the config with afore_config_init()");
  const auto* bytes = reinterpret_cast<const char*>(&given);
  for (std::size_t at = sizeof(afore_config); at < given.struct_size; ++at)
    refuse_unless(bytes[at] == 0, AFORE_E_CONFIG, "config: a field that this library does not know is set");
  afore_config config = defaults();
  std::memcpy(&config, &given, std::min<std::size_t>(given.struct_size, sizeof config));
  return config;
}

void check_range(const char* field, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least || value > most)
    throw Error(ErrorKind::usage, fmt::format("config: {} is {}, not from {} to {}", field, value, least, most));
}

void check_cluster(const afore_config& config) {
  check_range("experts", config.experts, 1, kMostExperts);
  check_range("top_k", config.top_k, 1, config.experts);
  check_range("ffn_workers", config.ffn_workers, 1, 100'000);
  check_range("redundant_slots", config.redundant_slots, 0, 10'000);
  check_range("tile_tokens", config.tile_tokens, 1, 1 << 20);
  check_range("microbatches", config.microbatches, 1, 1'000);
  const std::int64_t slots = ceil_div(config.experts, config.ffn_workers) + config.redundant_slots;
  check_range("ffn_workers * slots", config.ffn_workers * slots, 1, kMostSlots);
  check_range("ffn_workers * experts", static_cast<std::int64_t>(config.ffn_workers) * config.experts, 1, kMostPairs);
}

void check_choices(const afore_config& config) {
  check_range("cost_rule", config.cost_rule, 0, 1);
  check_range("objective", config.objective, 0, 1);
  check_range("demand_source", config.demand_source, 0, 2);
  check_range("gain_rule", config.gain_rule, 0, 1);
  check_range("overlap", config.overlap, 0, 1);
  check_range("level", config.level, 0, 1);
  check_range("exact_split", config.exact_split, 0, 1);
  check_range("window_steps", config.window_steps, 1, 1'000'000);
  check_range("copy_budget", config.copy_budget, -1, kMostSlots);
  check_range("node_budget", config.node_budget, 0, 1'000'000'000);
  check_range("eplb_step_bytes", config.eplb_step_bytes, -1, kMostBytes);
  check_range("eplb_interval", config.eplb_interval, 1, 1'000'000'000);
  check_range("eplb_groups", config.eplb_groups, 1, 100'000);
  check_range("eplb_nodes", config.eplb_nodes, 1, 100'000);
  check_range("eplb_duplicates", config.eplb_duplicates, 0, 1);
}

ModelSpec model_of(const afore_config& config) {
  ModelSpec model;
  model.experts = config.experts;
  model.top_k = config.top_k;
  check_range("hidden", config.hidden, -1, kMostUnitNs);
  check_range("moe_intermediate", config.moe_intermediate, -1, kMostUnitNs);
  check_range("expert_bytes", config.expert_bytes, -1, kMostBytes);
  model.hidden = config.hidden;
  model.moe_intermediate = config.moe_intermediate;
  model.expert_bytes = config.expert_bytes;
  if (config.layers == nullptr) return model;
  check_range("layer_count", config.layer_count, 1, 1 << 20);
  model.moe_layers.assign(config.layers, config.layers + config.layer_count);
  std::sort(model.moe_layers.begin(), model.moe_layers.end());
  check_range("a layer", model.moe_layers.front(), 0, 1 << 20);
  check_range("a layer", model.moe_layers.back(), 0, 1 << 20);
  return model;
}

LayerCost cost_of(const afore_config& config, const ModelSpec& model) {
  // With all four units said, nothing of a machine's rates is left, whichever it is.
  const bool all_said =
      config.c0_ns != kAbsent && config.c1_ns != kAbsent && config.c2_ns != kAbsent && config.copy_ns != kAbsent;
  const char* const name = all_said ? defaults().cost : config.cost;
  refuse_unless(name != nullptr, AFORE_E_CONFIG, "config: cost is null: a100, h100, h200 or cpu");
  const HardwareProfile* known = find_hardware_profile(name);
  if (known == nullptr)
    throw Error(
        ErrorKind::usage, fmt::format("config: there is no machine '{:.40}'", name),
        fmt::format("one of {}, or all of c0_ns, c1_ns, c2_ns and copy_ns", fmt::join(hardware_profile_names(), ", ")));
  HardwareProfile profile = *known;
  const auto replace = [](const char* field, std::int64_t value, std::int64_t least, Nanos& ns) {
    if (value == kAbsent) return;
    check_range(field, value, least, kMostUnitNs);
    ns = value;
  };
  replace("c0_ns", config.c0_ns, 0, profile.ffn_c0_ns);
  replace("c1_ns", config.c1_ns, 1, profile.ffn_c1_ns);
  replace("c2_ns", config.c2_ns, 1, profile.ffn_c2_ns);
  profile.ffn_rule = config.cost_rule == AFORE_RULE_ROOFLINE ? LoadRule::roofline : LoadRule::additive;
  check_range("copy_ns", config.copy_ns, -1, kMostCopyNs);
  refuse_unless(config.copy_ns >= 0 || model.expert_bytes > 0, AFORE_E_CONFIG,
                "config: neither copy_ns nor expert_bytes says how long a copy takes");
  LayerCost cost = layer_cost(profile, model, config.tile_tokens);
  if (config.copy_ns >= 0) cost.copy_ns = config.copy_ns;
  return cost;
}

// What would fail at the first rebalance, in the middle of a run.
void check_eplb(const afore_config& config, const ClusterSpec& cluster) {
  if (std::string_view(config.policy) != "eplb") return;
  placement::EplbOptions options;
  options.workers = config.ffn_workers;
  options.replicas =
      static_cast<int>((ceil_div(config.experts, config.ffn_workers) + cluster.redundant_slots) * config.ffn_workers);
  options.groups = config.eplb_groups;
  options.nodes = config.eplb_nodes;
  placement::eplb_physical_to_logical(std::vector<double>(static_cast<std::size_t>(config.experts), 1.0), options);
}

pipeline::PlannerOptions options_of(const afore_config& config) {
  refuse_unless(config.policy != nullptr, AFORE_E_CONFIG, "config: policy is null");
  if (placement::find_policy(config.policy) == nullptr)
    throw Error(ErrorKind::usage, fmt::format("config: there is no policy '{:.40}'", config.policy),
                "one of " + placement::policy_names(", "));
  pipeline::PlannerOptions options;
  options.policy = config.policy;
  options.source = static_cast<pipeline::DemandSource>(config.demand_source);
  options.window_steps = config.window_steps;
  options.limits.objective = config.objective == AFORE_OBJECTIVE_TILES ? Objective::tiles : Objective::time;
  options.limits.copy_budget = config.copy_budget == kAbsent ? config.ffn_workers : config.copy_budget;
  options.limits.gain_rule = config.gain_rule != 0;
  options.limits.split = config.exact_split != 0 ? placement::Split::exact : placement::Split::own;
  options.limits.level = config.level != 0;
  options.limits.node_budget = config.node_budget;
  options.overlap = config.overlap != 0;
  options.eplb.interval_steps = config.eplb_interval;
  options.eplb.step_bytes = config.eplb_step_bytes;
  options.eplb.groups = config.eplb_groups;
  options.eplb.nodes = config.eplb_nodes;
  options.eplb.allow_duplicates = config.eplb_duplicates != 0;
  return options;
}

}  // namespace

Resolved resolve(const afore_config& given) {
  const afore_config config = whole(given);
  check_cluster(config);
  check_choices(config);
  Resolved resolved;
  resolved.model = model_of(config);
  resolved.cluster.attention_workers = resolved.cluster.ffn_workers = config.ffn_workers;
  resolved.cluster.redundant_slots = config.redundant_slots;
  resolved.cluster.tile_tokens = config.tile_tokens;
  resolved.cluster.microbatches = config.microbatches;
  resolved.cost = cost_of(config, resolved.model);
  resolved.planner = options_of(config);
  check_eplb(config, resolved.cluster);
  return resolved;
}

namespace {

int init(afore_config* config, std::uint32_t struct_size, const char* preset) {
  refuse_unless(config != nullptr, AFORE_E_ARGUMENT, "config is null");
  refuse_unless(size_fits(struct_size, kLeastConfigBytes), AFORE_E_ARGUMENT, "struct_size cannot be");
  afore_config filled = defaults();
  if (preset != nullptr) {
    const ModelSpec* model = find_model_preset(preset);
    if (model == nullptr)
      throw Error(ErrorKind::usage, fmt::format("there is no model preset '{:.40}'", preset),
                  "docs/metrics.md lists them; NULL for a model of your own");
    filled.experts = static_cast<std::int32_t>(model->experts);
    filled.top_k = static_cast<std::int32_t>(model->top_k);
    filled.layers = model->moe_layers.data();
    filled.layer_count = static_cast<std::int32_t>(model->moe_layers.size());
    filled.hidden = model->hidden;
    filled.moe_intermediate = model->moe_intermediate;
    filled.expert_bytes = model->expert_bytes;
  }
  copy_sized(config, struct_size, filled);
  return AFORE_OK;
}

}  // namespace
}  // namespace afore::c

int afore_config_init_sized(afore_config* config, uint32_t struct_size, const char* preset) {
  return afore::c::guarded(afore::c::thread_error(), AFORE_E_CONFIG,
                           [&] { return afore::c::init(config, struct_size, preset); });
}
