#include "common/planning.h"

#include <fmt/format.h>

#include "common/messages.h"
#include "common/parse.h"
#include "common/presets.h"
#include "common/worker_traits.h"
#include "placement/registry.h"
#include "util/error.h"

namespace afore::cli {
namespace {

// Fills `value` from a flag; a header's value stands and must not be contradicted.
void settle(std::int64_t& value, std::int64_t flag, const char* what, const char* name) {
  if (flag == kAbsent) return;
  if (value != kAbsent && value != flag)
    throw Error(ErrorKind::usage,
                fmt::format("{} {} contradicts the header, which says {} {}", name, flag, value, what),
                "drop the flag, or plan the stream anew (afore-plan --replan, afore-serve --ignore-plans)");
  value = flag;
}

void fill(std::int64_t& value, std::int64_t fallback) {
  if (value == kAbsent) value = fallback;
}

bool has_sizes(const ModelSpec& model) {
  return model.hidden > 0 && model.moe_intermediate > 0 && model.expert_bytes > 0;
}

// The machine: --cost, else the one the stream was planned with, else h100.
HardwareProfile resolve_profile(const PlanningFlags& flags, const std::optional<Header>& header) {
  if (!flags.cost.empty()) return load_cost(flags.cost);
  if (header && header->planner) {
    const std::string& name = header->planner->cost_name;
    if (find_hardware_profile(name.substr(0, name.rfind('*'))) != nullptr) return load_cost(name);
    throw Error(ErrorKind::usage, "the stream was planned with the cost file '" + name + "'",
                "give it with --cost FILE");
  }
  return load_cost("h100");
}

pipeline::DemandSource source_of(const std::string& name) {
  using pipeline::DemandSource;
  for (const DemandSource source :
       {DemandSource::prefetch, DemandSource::last_step, DemandSource::window, DemandSource::prediction})
    if (name == to_string(source)) return source;
  return DemandSource::usual;
}

}  // namespace

std::vector<std::string> record_kinds() {
  return {"header",    "sequence", "request",  "batch",     "demand",     "routing",    "prediction",
          "placement", "plan",     "observed", "operation", "membership", "completion", "summary"};
}

void add_planning_flags(Command app, PlanningFlags& flags, bool with_policy) {
  if (with_policy) {
    std::vector<std::string> names;
    for (const placement::PolicyInfo& policy : placement::policies()) names.emplace_back(policy.name);
    app.choice("--policy", flags.policy, "Placement policy (docs/policies.md)", names);
  }
  app.choice("--split", flags.split, "Tokens over the replicas of another system's policy: its own way, or exactly",
             {"own", "exact"});
  app.choice("--demand-source", flags.demand_source,
             "What a target is planned from: its own demand, its last step, a window of steps, or what is predicted of "
             "it (default: prefetch; of director prediction)",
             {"prefetch", "last_step", "window", "prediction"});
  app.integer("--layers-ahead", flags.layers_ahead,
              "MoE layers ahead of a target that copies by predictions are for (joined, and source prediction)", 1,
              1'000);
  app.choice("--objective", flags.objective, "Minimise the largest predicted time, or the largest tile load",
             {"time", "tiles"});
  app.integer("--workers", flags.workers, "FFN workers", 1, 100'000);
  app.option("--worker", flags.worker_specs,
             "What sets an FFN worker apart, as 3:slow=1.5,link=0.5,drain: a factor on its FFN times, its share of "
             "the copy rate, drain: no copies to it, and work only of experts that stand nowhere else; repeatable")
      .value_name("SPEC")
      .one_value();
  app.option("--pin-experts", flags.pin_experts, "Experts that are never copied, as 0,5-7").value_name("LIST");
  app.integer("--slots", flags.slots, "Redundant expert slots per FFN worker and layer (default 2)", 0, 10'000);
  app.integer("--tile-tokens", flags.tile_tokens, "Rows of a grouped-GEMM tile (default 64)", 1, 1 << 20);
  app.integer("--attention-workers", flags.attention_workers, "Attention workers (default: as many as FFN workers)", 1,
              100'000);
  app.integer("--microbatches", flags.microbatches, "Microbatches in flight, where the header does not say (default 1)",
              1, 1'000);
  app.integer("--top-k", flags.top_k, "Experts per token, where the header does not say", 1, 4'096);
  app.option("--model", flags.model, "Preset with the sizes a header lacks");
  app.option(
      "--cost", flags.cost,
      "a100, h100, h200, cpu or a cost FILE, and *FACTOR behind it for a machine so many times as slow (default h100)");
  app.integer("--copy-budget", flags.copy_budget, "Copies per plan (default: the number of workers)", 0);
  app.integer("--window-us", flags.window_us,
              "Time that hides copies (default: predicted FFN time of the preceding target)", 0, 1'000'000'000);
  app.integer("--window-steps", flags.window_steps, "Steps of history for eplb and --demand-source window", 1,
              1'000'000);
  app.integer("--plan-budget-nodes", flags.plan_budget_nodes,
              "Nodes of the search that proves a split best, per threshold; 0 seeks no proof", 0, 1'000'000'000);
  app.choice("--gain-rule", flags.gain_rule, "off installs copies whatever they cost", {"on", "off"});
  app.choice("--overlap", flags.overlap, "off starts copies only when their worker is free", {"on", "off"});
  app.choice(
      "--level", flags.level,
      "afore: plan for when workers are done with all their targets; off for FFN workers that wait for each other "
      "at each target",
      {"on", "off"});
  app.integer("--eplb-interval", flags.eplb_interval, "Steps between two EPLB rebalances", 1, 1'000'000'000);
  app.option("--eplb-step-bytes", flags.eplb_step_bytes, "Bytes EPLB may copy per step (default: 4 experts)");
  app.integer("--eplb-groups", flags.eplb_groups, "Expert groups for EPLB", 1, 100'000);
  app.integer("--eplb-nodes", flags.eplb_nodes, "Nodes for EPLB", 1, 100'000);
  app.option("--init", flags.init, "FILE with placement records: the maps that layers start with");
  app.choice("--primaries", flags.primaries,
             "Where primaries start: balanced on the stream's history, contiguous, or as the policy likes",
             {"auto", "contiguous", "balanced"});
  app.integer("--balance-steps", flags.balance_steps,
              "Steps at the stream's start that primaries are balanced on (default: its warm-up)", 1, 1'000'000);
  app.flag("--no-duplicates", flags.no_duplicates, "EPLB never puts two replicas of an expert on one worker");
}

void add_predictor_flag(Command app, PlanningFlags& flags) {
  app.option("--predictor", flags.predictor,
             "File of afore-trace train-predictor: predicts from the stream's routing, for policies that look ahead")
      .value_name("FILE");
}

void warn_without_predictions(const PlanningFlags& flags, const pipeline::PlannerOptions& options, std::int64_t used) {
  if (used > 0 || pipeline::effective_source(options.policy, options.source) != pipeline::DemandSource::prediction)
    return;
  warn("policy " + options.policy + " made no plan ahead: no later layer was foretold from the second step on (" +
       (flags.predictor.empty() ? "give --predictor FILE, or afore-trace predict adds predictions)"
                                : "a predictor needs routing: record --routing and import --rows write it)"));
}

Setup resolve(const PlanningFlags& flags, const std::optional<Header>& header, const std::string& default_policy) {
  Setup setup;
  if (header) {
    setup.model = header->model;
    setup.cluster = header->cluster;
  }
  settle(setup.model.top_k, flags.top_k, "experts per token", "--top-k");
  settle(setup.cluster.ffn_workers, flags.workers, "FFN workers", "--workers");
  settle(setup.cluster.redundant_slots, flags.slots, "redundant slots", "--slots");
  settle(setup.cluster.tile_tokens, flags.tile_tokens, "tokens per tile", "--tile-tokens");
  settle(setup.cluster.attention_workers, flags.attention_workers, "attention workers", "--attention-workers");
  settle(setup.cluster.microbatches, flags.microbatches, "microbatches", "--microbatches");
  if (setup.cluster.ffn_workers == kAbsent)
    throw Error(ErrorKind::usage, "the number of FFN workers is not known", "give --workers N");
  fill(setup.cluster.redundant_slots, 2);
  fill(setup.cluster.tile_tokens, 64);
  fill(setup.cluster.attention_workers, setup.cluster.ffn_workers);
  fill(setup.cluster.microbatches, 1);
  if (std::vector<WorkerTraits> traits = parse_worker_traits(flags.worker_specs, setup.cluster.ffn_workers);
      !flags.worker_specs.empty()) {
    if (!setup.cluster.workers.empty() && setup.cluster.workers != traits)
      throw Error(ErrorKind::usage, "--worker contradicts the header, which says otherwise what sets workers apart",
                  "drop the flag, or make the stream anew");
    setup.cluster.workers = std::move(traits);
  }
  constexpr std::int64_t kMaxSlots = std::int64_t{1} << 24;  // of one layer, all workers together
  if (setup.cluster.ffn_workers * setup.cluster.redundant_slots > kMaxSlots)
    throw Error(ErrorKind::usage,
                fmt::format("{} workers with {} redundant slots each are more than 2^24 slots per layer",
                            setup.cluster.ffn_workers, setup.cluster.redundant_slots),
                "fewer --slots");

  setup.profile = resolve_profile(flags, header);
  const std::int64_t tile = setup.profile.ffn_tile_tokens;
  if (tile != kAbsent && tile != setup.cluster.tile_tokens)
    warn(fmt::format("the FFN times of {} are for tiles of {} tokens, not {} (--tile-tokens {})", setup.profile.name,
                     tile, setup.cluster.tile_tokens, tile));
  const bool measured = setup.profile.ffn_c1_ns != kAbsent && setup.profile.ffn_c2_ns != kAbsent;
  ModelSpec& sized = setup.sized;
  sized = setup.model;
  if (!flags.model.empty()) {
    ModelSpec preset = load_model_preset(flags.model);
    preset.layers = kAbsent;
    preset.moe_layers.clear();
    fill_absent(setup.model, preset);
    sized = setup.model;
  } else if (!has_sizes(sized)) {
    fill_absent(sized, load_model_preset("glm-4.5-air"));
    if (!measured)
      warn("the stream does not say how large an expert is: times are those of glm-4.5-air (give --model PRESET)");
  }
  if (setup.profile.measured && setup.profile.measured->ffn && measured) {
    const FfnCalibration& of = *setup.profile.measured->ffn;
    if ((sized.hidden != kAbsent && sized.hidden != of.hidden) ||
        (sized.moe_intermediate != kAbsent && sized.moe_intermediate != of.intermediate))
      warn(fmt::format("the FFN times of {} are for experts of {} x {}, not {} x {}: calibrate with this model",
                       setup.profile.name, of.hidden, of.intermediate, sized.hidden, sized.moe_intermediate));
  }
  setup.cost = header && header->planner && flags.cost.empty()
                   ? header->planner->cost
                   : layer_cost(setup.profile, sized, setup.cluster.tile_tokens);

  pipeline::PlannerOptions& planner = setup.planner;
  planner.policy = flags.policy.empty() ? default_policy : flags.policy;
  planner.source = source_of(flags.demand_source);
  planner.layers_ahead = static_cast<int>(flags.layers_ahead);
  planner.window_steps = static_cast<int>(flags.window_steps);
  planner.limits.objective = flags.objective == "tiles" ? Objective::tiles : Objective::time;
  planner.limits.copy_budget = flags.copy_budget == kAbsent ? setup.cluster.ffn_workers : flags.copy_budget;
  planner.limits.split = flags.split == "exact" ? placement::Split::exact : placement::Split::own;
  planner.pinned = parse_pinned(flags.pin_experts, setup.model.experts);
  if (header && header->planner && flags.pin_experts.empty()) planner.pinned = header->planner->pinned_experts;
  planner.limits.gain_rule = flags.gain_rule == "on";
  if (flags.window_us != kAbsent) planner.window_ns = flags.window_us * 1000;
  planner.overlap = flags.overlap == "on";
  planner.limits.level = flags.level == "on";
  planner.limits.node_budget = flags.plan_budget_nodes;
  planner.eplb.interval_steps = static_cast<int>(flags.eplb_interval);
  if (!flags.eplb_step_bytes.empty()) planner.eplb.step_bytes = parse_bytes(flags.eplb_step_bytes, "--eplb-step-bytes");
  planner.eplb.groups = static_cast<int>(flags.eplb_groups);
  planner.eplb.nodes = static_cast<int>(flags.eplb_nodes);
  planner.eplb.allow_duplicates = !flags.no_duplicates;
  return setup;
}

void plan_without_predictions(Setup& setup) {
  using pipeline::DemandSource;
  if (setup.planner.source == DemandSource::prediction)
    throw Error(ErrorKind::usage, "--demand-source prediction, and nothing is predicted here",
                "afore-plan, and replay and compare of a stream with demand, plan from predictions");
  if (setup.planner.source == DemandSource::usual) setup.planner.source = DemandSource::prefetch;
}

Header gained(const Setup& setup, bool plans) {
  Header header;
  header.model = setup.model;
  header.cluster = setup.cluster;
  if (!plans) return header;
  PlannerSpec spec;
  spec.policy = setup.planner.policy;
  spec.demand_source = to_string(pipeline::effective_source(setup.planner.policy, setup.planner.source));
  spec.objective = setup.planner.limits.objective;
  spec.copy_budget = setup.planner.limits.copy_budget;
  spec.gain_rule = setup.planner.limits.gain_rule;
  spec.cost = setup.cost;
  spec.cost_name = setup.profile.name;
  spec.pinned_experts = setup.planner.pinned;
  header.planner = spec;
  return header;
}

}  // namespace afore::cli
