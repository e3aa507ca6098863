#include "pipeline/planner.h"

#include <fmt/format.h>

#include <algorithm>

#include "demand/project.h"
#include "pipeline/eplb_background.h"
#include "pipeline/placement_record.h"
#include "placement/registry.h"
#include "util/error.h"

namespace afore::pipeline {
namespace {

void require(std::int64_t value, std::int64_t minimum, const char* what, const char* flag) {
  if (value < minimum)
    throw Error(ErrorKind::usage, std::string(what) + " is not known",
                std::string("give ") + flag + ", or a header that has it");
}

// Every expert in some slot that is not the staging one.
bool has_whole(const LayerPlacement& placement) {
  std::vector<bool> whole(placement.experts(), false);
  for (const int expert : placement.physical_to_logical())
    if (expert != kNoExpert) whole[expert] = true;
  return std::find(whole.begin(), whole.end(), false) == whole.end();
}

}  // namespace

DemandSource effective_source(const std::string& policy, DemandSource asked) {
  if (policy == "eplb") return DemandSource::window;
  const placement::PolicyInfo* info = placement::find_policy(policy);
  if (policy == "ideal" || (info != nullptr && info->make_ahead != nullptr)) return DemandSource::prefetch;
  if (asked != DemandSource::usual) return asked;
  return info != nullptr && info->predicts ? DemandSource::prediction : DemandSource::prefetch;
}

const char* to_string(DemandSource source) {
  switch (source) {
    case DemandSource::prefetch: return "prefetch";
    case DemandSource::last_step: return "last_step";
    case DemandSource::window: return "window";
    case DemandSource::prediction: return "prediction";
    case DemandSource::usual: break;
  }
  return "?";
}

Planner::Planner(const ModelSpec& model, const ClusterSpec& cluster, const LayerCost& cost,
                 const PlannerOptions& options)
    : model_(model), cluster_(cluster), cost_(cost), options_(options), window_history_(options.window_steps) {
  require(cluster_.ffn_workers, 1, "the number of FFN workers", "--workers N");
  require(cluster_.redundant_slots, 0, "the number of redundant slots", "--slots N");
  require(cluster_.tile_tokens, 1, "the tile size", "--tile-tokens N");
  require(cluster_.microbatches, 1, "the number of microbatches", "--microbatches N");
  AFORE_CHECK(cluster_.workers.empty() || std::ssize(cluster_.workers) == cluster_.ffn_workers,
              "the traits are of another number of workers");
  way_ = make_way(options);
}

Planner::~Planner() = default;

std::shared_ptr<Planner::Way> Planner::make_way(PlannerOptions options) const {
  options.source = effective_source(options.policy, options.source);
  options.limits.microbatches = static_cast<int>(cluster_.microbatches);
  const placement::PolicyInfo* info = placement::find_policy(options.policy);
  AFORE_CHECK(info != nullptr, "unknown policy");
  auto way = std::make_shared<Way>();
  way->options = options;
  if (info->make != nullptr) way->policy = info->make(options.limits);
  else way->background = make_eplb_background(options, cluster_, cost_);
  make_ahead(*info, *way);
  return way;
}

void Planner::check_change(const std::string& from, const std::string& to) {
  if (placement::find_policy(to) == nullptr)
    throw Error(ErrorKind::usage, fmt::format("there is no policy \"{}\"", to),
                "one of " + placement::policy_names(", "));
  if (from == to) return;
  for (const std::string& policy : {from, to}) {
    const auto make = placement::find_policy(policy)->make;
    if (make != nullptr && make({})->is_virtual())
      throw Error(ErrorKind::usage,
                  fmt::format("policy {} has every expert on every worker, and no other policy has", policy));
  }
}

void Planner::change(const PlannerOptions& options) {
  check_change(way_->options.policy, options.policy);
  std::shared_ptr<Way> way = make_way(options);
  if (way_->background) {
    way_->background->wind_up();
    for (const auto& [index, state] : layers_)
      if (!has_whole(state->placement)) unfinished_.emplace(index, way_);
  }
  way_ = std::move(way);
}

Planner::Way& Planner::way_of(int layer, const LayerState& state) {
  const auto it = unfinished_.find(layer);
  if (it == unfinished_.end()) return *way_;
  if (!has_whole(state.placement)) return *it->second;
  unfinished_.erase(it);
  return *way_;
}

LayerState& Planner::layer(int layer) {
  std::unique_ptr<LayerState>& state = layers_[layer];
  if (state) return *state;
  const int experts = static_cast<int>(model_.experts), workers = static_cast<int>(cluster_.ffn_workers);
  const auto usual = LayerPlacement::initial(experts, workers, static_cast<int>(cluster_.redundant_slots));
  const InitialMaps* maps = options_.initial.get();
  const auto map = maps != nullptr ? maps->find(layer) : InitialMaps::const_iterator{};
  if (maps == nullptr || map == maps->end()) {
    state = std::make_unique<LayerState>(usual, cluster_.microbatches);
  } else {
    if (map->second.slots_per_worker != usual.slots_per_worker())
      throw Error(
          ErrorKind::usage,
          fmt::format("the first map of layer {} has {} slots per worker, and {} workers with {} redundant "
                      "slots need {}",
                      layer, map->second.slots_per_worker, workers, cluster_.redundant_slots, usual.slots_per_worker()),
          "--init must be of the same --workers and --slots");
    state = std::make_unique<LayerState>(placement_from(map->second, experts, workers), cluster_.microbatches);
  }
  return *state;
}

bool Planner::set_placement(const PlacementRecord& record) {
  if (layers_.contains(record.layer) || (options_.initial && options_.initial->contains(record.layer))) return false;
  if (model_.experts == kAbsent)
    throw Error(ErrorKind::usage, "a placement record needs a header with the number of experts",
                "start the stream with a header");
  layers_[record.layer] = std::make_unique<LayerState>(
      placement_from(record, static_cast<int>(model_.experts), static_cast<int>(cluster_.ffn_workers)),
      cluster_.microbatches);
  layers_[record.layer]->announced = true;
  return true;
}

Nanos Planner::window(const char*& source) const {
  if (!options_.overlap) {
    source = "no_overlap";
    return 0;
  }
  if (options_.window_ns) {
    source = "flag";
    return *options_.window_ns;
  }
  // What hides a copy is work that still runs when the plan arrives. With one microbatch nothing does, and with two the
  // target before was launched one attention earlier, so that lightly loaded workers, to which copies go, are done.
  if (cluster_.microbatches <= 2) {
    source = "few_microbatches";
    return 0;
  }
  source = "preceding_ffn";
  return preceding_ffn_ns_.value_or(0);
}

Recovery Planner::lose_workers(const std::vector<bool>& alive, const std::map<int, std::vector<int>>& complete) {
  if (model_.moe_layers.empty())
    throw Error(ErrorKind::usage, "a worker is lost, and the model's layers are not known",
                "give --model PRESET, or a header that has moe_layers");
  if (way_->is_virtual()) throw Error(ErrorKind::usage, "policy ideal has no replicas, so it cannot lose a worker");
  for (const int index : model_.moe_layers) layer(index);
  if (way_->background) way_->background->freeze();
  for (const auto& [index, way] : unfinished_) way->background->freeze();
  if (way_->ahead) way_->ahead->reset();
  Recovery recovery;
  for (auto& [index, state] : layers_) {
    const LayerPlacement& before = state->placement;
    std::vector<int> whole;
    const auto told = complete.find(index);
    if (told != complete.end()) {
      whole = told->second;
    } else {
      whole.resize(before.index_count());
      for (int w = 0; w < before.workers(); ++w)
        for (int slot = kStagingSlot; slot < before.slots_per_worker(); ++slot)
          whole[before.index(w, slot)] = before.expert_at(w, slot);
    }
    const auto it = recovery.emplace(index, recover_layer(index, before, whole, alive)).first;
    auto repaired = std::make_unique<LayerState>(it->second.placement, cluster_.microbatches);
    for (int w = 0; w < before.workers(); ++w)
      if (!alive[w]) repaired->close_worker(w);
    repaired->announced = state->announced;
    state = std::move(repaired);
  }
  return recovery;
}

PlannedTarget Planner::plan(const Demand& demand) {
  if (model_.experts == kAbsent) model_.experts = static_cast<std::int64_t>(demand.counts.size());
  if (static_cast<std::int64_t>(demand.counts.size()) != model_.experts)
    throw Error(ErrorKind::data,
                "a demand of " + std::to_string(demand.counts.size()) + " experts, where the model has " +
                    std::to_string(model_.experts),
                "is --model the preset of this stream?");
  if (pinned_.empty() && !options_.pinned.empty()) {
    pinned_.resize(demand.counts.size(), 0);
    for (const int expert : options_.pinned) {
      if (expert >= model_.experts)
        throw Error(ErrorKind::usage,
                    fmt::format("there is no expert {} to pin, of {} counted from 0", expert, model_.experts));
      pinned_[expert] = 1;
    }
  }
  check_magnitude(demand.target, demand.tokens, demand.counts, static_cast<int>(cluster_.ffn_workers), cost_,
                  cluster_.workers);
  // Busy slots are those of as many targets as there are microbatches: a plan for more would overwrite live slots.
  if (demand.target.microbatch >= cluster_.microbatches)
    throw Error(ErrorKind::data,
                "step " + std::to_string(demand.target.step) + " layer " + std::to_string(demand.target.layer) +
                    " is of microbatch " + std::to_string(demand.target.microbatch) + ", but there are only " +
                    std::to_string(cluster_.microbatches) + ", counted from 0",
                "give --microbatches N, or a header that has it");
  LayerState& state = layer(demand.target.layer);
  Way& way = way_of(demand.target.layer, state);

  PlannedTarget planned;
  if (!state.announced) {
    planned.before =
        PlacementRecord{demand.target.layer, state.placement.slots_per_worker(), state.placement.physical_to_logical()};
    state.announced = true;
  }
  Plan& plan = planned.plan;
  plan.seq = seq_++;
  plan.target = demand.target;
  plan.policy = way.options.policy;
  plan.objective = way.options.limits.objective;
  plan.demand_source = to_string(way.options.source);
  const char* window_source = nullptr;
  plan.window_ns = window(window_source);
  plan.window_source = window_source;
  count_tiles(demand.counts, cluster_.tile_tokens, true_tiles_);

  if (way.policy) plan_by_policy(demand, way, state, plan);
  else way.background->plan(demand, state, plan, planned.completed);
  finish_plan(demand, way, state, plan);

  if (!plan.is_virtual) state.record_use(plan.assignment, plan.seq);
  if (way.options.source == DemandSource::last_step) last_step_.observe(demand);
  if (way.options.source == DemandSource::window) window_history_.observe(demand);
  preceding_ffn_ns_ = plan.ffn_ns;
  plan_ahead(demand, way, plan);
  return planned;
}

// Objective values, bounds and copies by a per-target policy, from the truth or from a guess.
void Planner::plan_by_policy(const Demand& demand, Way& way, LayerState& state, Plan& plan) {
  const DemandSource source = way.options.source;
  const bool guessed = source == DemandSource::last_step || source == DemandSource::window;
  const int experts = static_cast<int>(model_.experts);
  if (source == DemandSource::last_step) last_step_.guess(demand.target, experts, guess_counts_);
  if (source == DemandSource::window) window_history_.guess(demand.target, experts, guess_counts_);

  placement::Request request = request_of(demand, way, state, plan);
  if (guessed) request.counts = guess_counts_;
  placement::Policy& chooser = way.standing ? *way.standing : *way.policy;
  placement::Decision decision = chooser.decide(request);
  plan.rehomes = way.policy->rehomes();
  plan.is_virtual = way.policy->is_virtual();
  plan.copies = std::move(decision.copies);
  plan.assignment = std::move(decision.assignment);
  plan.assignment_tokens = std::move(decision.assignment_tokens);

  if (guessed) {
    const WorkerLoads predicted =
        worker_loads(plan.assignment, static_cast<int>(cluster_.ffn_workers), cost_, cluster_.workers);
    plan.predicted_max_tile_load = predicted.max_tiles;
    plan.predicted_ffn_ns = predicted.max_ns;
  }
  if (guessed || way.standing) {
    // What could be reached, and what bounds it, speaks of the truth: one more question, its copies not taken.
    request.counts = demand.counts;
    decision = way.policy->decide(request);
  }
  plan.max_tile_load_before = decision.max_tiles_before;
  plan.ffn_ns_before = decision.ffn_ns_before;
  plan.lower_bound = decision.lower_bound_tiles;
  plan.ffn_bound_ns = decision.lower_bound_ns;
  plan.cut = std::move(decision.cut);
  plan.relaxation_bound_ns = decision.relaxation_bound_ns;
  if (way.standing) {
    const Expected expected = way.ahead->expected(demand.target);
    plan.relaxation_bound_ns = expected.relaxation_bound_ns;
    if (expected.ffn_ns != kAbsent) {
      plan.predicted_ffn_ns = expected.ffn_ns;
      plan.predicted_max_tile_load = expected.max_tile_load;
    }
  }
  if (decision.split_bound_ns > 0) plan.split_bound_ns = decision.split_bound_ns;
  plan.budget_hit = decision.budget_hit;
  plan.unready.insert(plan.unready.end(), decision.unready.begin(), decision.unready.end());
  std::sort(plan.unready.begin(), plan.unready.end());
  // What is left of earlier targets is a guess about workers, not about demand.
  if (!guessed) plan.backlog_ns = std::move(decision.backlog_ns);

  for (const Copy& copy : plan.copies) state.placement.set(copy.to, copy.slot, copy.expert);
  if (guessed) {
    const std::vector<TileShare> guess = std::move(plan.assignment);
    plan.assignment_tokens.clear();  // they are of the guess; what is projected follows the general rule
    plan.assignment =
        plan.is_virtual ? guess : demand::project_shares(guess, true_tiles_, state.placement, cluster_.workers);
  }
}

void Planner::finish_plan(const Demand& demand, const Way& way, const LayerState& state, Plan& plan) {
  const int workers = static_cast<int>(cluster_.ffn_workers);
  const WorkerLoads loads = worker_loads(plan.assignment, workers, cost_, cluster_.workers);
  plan.tile_load = loads.tiles;
  plan.max_tile_load = loads.max_tiles;
  plan.ffn_ns = loads.max_ns;
  const bool tiles = plan.objective == Objective::tiles;
  plan.certified = tiles ? plan.max_tile_load == plan.lower_bound : plan.ffn_ns == plan.ffn_bound_ns;
  plan.migration_ns = migration_ns(plan.copies, workers, cost_, cluster_.workers);
  plan.exposed_ns =
      way.background ? 0
                     : std::max<Nanos>(0, awaited_ns(plan.copies, plan.assignment, workers, cost_, cluster_.workers) -
                                              plan.window_ns);
  const Nanos saved =
      tiles ? cost_.c1_ns * (plan.max_tile_load_before - plan.max_tile_load) : plan.ffn_ns_before - plan.ffn_ns;
  plan.gain_ns = saved - plan.exposed_ns;
  plan.gain_bound_ns =
      tiles ? cost_.c1_ns * (plan.max_tile_load_before - plan.lower_bound) : plan.ffn_ns_before - plan.ffn_bound_ns;
  if (!plan.backlog_ns.empty()) {
    plan.completion_ns = 0;
    for (int w = 0; w < workers; ++w)
      if (loads.activated[w] > 0)
        plan.completion_ns =
            std::max(plan.completion_ns,
                     plan.backlog_ns[w] + ffn_ns(cost_, cluster_.workers, w, loads.tiles[w], loads.activated[w]));
  }
  AFORE_CHECK(plan.lower_bound <= plan.max_tile_load && plan.ffn_bound_ns <= plan.ffn_ns, "a plan is below its bound");
  if (plan.is_virtual) return;
  // That workers hold what the plan uses is checked where the use is recorded.
  AFORE_CHECK(!plan.assignment_tokens.empty() ||
                  covers_demand(plan.assignment, demand.counts, cluster_.tile_tokens, state.placement),
              "assignment does not cover the demand");
}

}  // namespace afore::pipeline
