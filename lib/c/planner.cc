#include "c/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "c/plan_image.h"
#include "pipeline/messages.h"

bool afore_planner::knows_layer(int layer) const {
  const std::vector<int>& layers = model.moe_layers;
  return layers.empty() ? layer >= 0 && layer <= 1 << 20 : std::binary_search(layers.begin(), layers.end(), layer);
}

const afore::LayerPlacement& afore_planner::placement(int layer) const {
  const auto found = planner.layers().find(layer);
  return found == planner.layers().end() ? initial : found->second->placement;
}

namespace afore::c {
namespace {

constexpr std::int64_t kMostStep = std::int64_t{1} << 53, kMostTokens = std::int64_t{1} << 31;
constexpr Nanos kMostWindowNs = 1'000'000'000'000'000;

[[noreturn]] void refuse(const Target& target, const std::string& fact, const char* hint) {
  throw Error(ErrorKind::data,
              fmt::format("step {} layer {} microbatch {}: {}", target.step, target.layer, target.microbatch, fact),
              hint);
}

// Everything about a target that the planner relies on.
void check_target(const afore_planner& planner, const Target& target) {
  if (target.step < 0 || target.step > kMostStep) refuse(target, "the step is not from 0 to 2^53", "");
  if (!planner.knows_layer(target.layer)) refuse(target, "the layer is not one of the config's", "config: layers");
  if (target.microbatch < 0 || target.microbatch >= planner.cluster.microbatches)
    refuse(target, fmt::format("there are {} microbatches, counted from 0", planner.cluster.microbatches),
           "config: microbatches");
}

// Into demand.counts.
template <class Count>
void read_counts(const afore_planner& planner, std::span<const Count> counts, Demand& demand) {
  const std::int64_t tokens = demand.tokens;
  if (tokens < 0 || tokens > kMostTokens) refuse(demand.target, "tokens are not from 0 to 2^31", "");
  std::int64_t sum = 0;  // of up to 2^16 counts of up to 2^31
  for (std::size_t expert = 0; expert < counts.size(); ++expert) {
    const std::int64_t count = counts[expert];
    if (count < 0 || count > tokens)
      refuse(demand.target, fmt::format("expert {} has {} of {} tokens", expert, count, tokens),
             "a token goes to an expert once");
    sum += demand.counts[expert] = count;
  }
  if (sum != tokens * planner.model.top_k)
    refuse(demand.target,
           fmt::format("the counts add up to {}, not to {} tokens * {}", sum, tokens, planner.model.top_k),
           "counts are of all workers together; config: top_k");
}

void fill_lists(afore_planner& planner, const Plan& plan) {
  const Demand& demand = planner.demand;
  pipeline::find_token_shares(plan, demand.counts, planner.cluster.tile_tokens, planner.placement(plan.target.layer),
                              planner.tokens);
  AFORE_CHECK(planner.tokens.size() == plan.assignment.size(), "tokens and tiles differ in number");
  planner.copies.clear();
  for (const Copy& copy : plan.copies) planner.copies.push_back({copy.expert, copy.from, copy.to, copy.slot});
  planner.shares.clear();
  for (std::size_t i = 0; i < plan.assignment.size(); ++i) {
    const TileShare& share = plan.assignment[i];
    planner.shares.push_back({share.expert, share.worker, share.tiles, planner.tokens[i].tokens});
  }
  planner.tile_load.assign(plan.tile_load.begin(), plan.tile_load.end());
}

afore_plan numbers_of(const afore_planner& planner, const Plan& plan) {
  afore_plan out{};
  out.flags = (plan.certified ? unsigned{AFORE_PLAN_CERTIFIED} : 0u) |
              (plan.rehomes ? unsigned{AFORE_PLAN_REHOMES} : 0u) |
              (plan.is_virtual ? unsigned{AFORE_PLAN_VIRTUAL} : 0u);
  out.seq = plan.seq;
  out.step = plan.target.step;
  out.layer = plan.target.layer;
  out.microbatch = plan.target.microbatch;
  out.experts = static_cast<std::int32_t>(planner.model.experts);
  out.workers = static_cast<std::int32_t>(planner.cluster.ffn_workers);
  out.slots_per_worker = planner.placement(plan.target.layer).slots_per_worker();
  out.tokens = planner.demand.tokens;
  out.copies = planner.copies.data();
  out.copy_count = std::ssize(planner.copies);
  out.shares = planner.shares.data();
  out.share_count = std::ssize(planner.shares);
  out.tile_load = planner.tile_load.data();
  out.max_tile_load_before = plan.max_tile_load_before;
  out.max_tile_load = plan.max_tile_load;
  out.lower_bound = plan.lower_bound;
  out.ffn_ns_before = plan.ffn_ns_before;
  out.ffn_ns = plan.ffn_ns;
  out.ffn_bound_ns = plan.ffn_bound_ns;
  out.gain_ns = plan.gain_ns;
  out.migration_ns = plan.migration_ns;
  out.window_ns = plan.window_ns;
  out.exposed_ns = plan.exposed_ns;
  out.completion_ns = plan.completion_ns;
  return out;
}

template <class Count>
int plan_target(afore_planner& planner, const Target& target, std::int64_t tokens, const Count* counts, Nanos window_ns,
                afore_plan* out) {
  refuse_unless(counts != nullptr, AFORE_E_ARGUMENT, "counts are null");
  refuse_unless(out != nullptr, AFORE_E_ARGUMENT, "out is null");
  refuse_unless(size_fits(out->struct_size, kLeastPlanBytes), AFORE_E_ARGUMENT,
                "out: struct_size cannot be: set it to sizeof(afore_plan)");
  refuse_unless(window_ns >= -1 && window_ns <= kMostWindowNs, AFORE_E_ARGUMENT, "window_ns is not from -1 to 10^15");
  check_target(planner, target);
  Demand& demand = planner.demand;
  demand.target = target;
  demand.tokens = tokens;
  demand.counts.resize(static_cast<std::size_t>(planner.model.experts));
  read_counts(planner, std::span(counts, demand.counts.size()), demand);

  planner.planner.set_window(window_ns < 0 ? std::nullopt : std::optional<Nanos>(window_ns));
  planner.broken = true;
  try {
    const pipeline::PlannedTarget planned = planner.planner.plan(demand);
    fill_lists(planner, planned.plan);
    copy_sized(out, out->struct_size, numbers_of(planner, planned.plan));
  } catch (const Error& error) {
    // Of a demand that the planner refuses before it begins.
    planner.broken = error.kind() != ErrorKind::data;
    throw;
  }
  planner.broken = false;
  return AFORE_OK;
}

std::int64_t most_plan_bytes(const afore_planner& planner) {
  const auto workers = static_cast<std::int64_t>(planner.cluster.ffn_workers);
  const std::int64_t places = static_cast<std::int64_t>(planner.initial.index_count());  // with staging
  const std::int64_t pairs = planner.model.experts * workers;
  // A slot is written twice at most: through staging, and for good.
  return plan_bytes(workers, planner.is_virtual ? pairs : std::min(pairs, places), 2 * places);
}

}  // namespace
}  // namespace afore::c

using afore::c::guarded;

int afore_planner_create(const afore_config* config, afore_planner** planner) {
  return guarded(afore::c::thread_error(), AFORE_E_CONFIG, [&] {
    afore::c::refuse_unless(planner != nullptr, AFORE_E_ARGUMENT, "planner is null");
    *planner = nullptr;
    afore::c::refuse_unless(config != nullptr, AFORE_E_ARGUMENT, "config is null");
    *planner = new afore_planner(afore::c::resolve(*config));
    return AFORE_OK;
  });
}

void afore_planner_destroy(afore_planner* planner) { delete planner; }

const char* afore_last_error(const afore_planner* planner) {
  return planner == nullptr ? afore::c::thread_error().text : planner->error.text;
}

int afore_planner_plan(afore_planner* planner, int64_t step, int32_t layer, int32_t microbatch, int64_t tokens,
                       const int64_t* counts, int64_t window_ns, afore_plan* out) {
  return guarded(planner, [&] {
    return afore::c::plan_target(*planner, {step, layer, microbatch}, tokens, counts, window_ns, out);
  });
}

int afore_planner_plan_i32(afore_planner* planner, int64_t step, int32_t layer, int32_t microbatch, int64_t tokens,
                           const int32_t* counts, int64_t window_ns, afore_plan* out) {
  return guarded(planner, [&] {
    return afore::c::plan_target(*planner, {step, layer, microbatch}, tokens, counts, window_ns, out);
  });
}

int64_t afore_planner_plan_bytes(afore_planner* planner) {
  return guarded(planner, [&] { return afore::c::most_plan_bytes(*planner); });
}
