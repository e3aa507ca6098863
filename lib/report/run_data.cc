#include "report/run_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "core/assignment.h"
#include "util/error.h"

namespace afore::report {
namespace {

constexpr std::int64_t kDefaultWorkers = 8;  // as afore-trace stat has it
constexpr std::size_t kMostUnplanned = 1 << 16;

constexpr std::int64_t kMostLoad = std::int64_t{1} << 60;  // as of demand read by afore-plan

void add_load(std::int64_t& sum, std::int64_t value, int layer) {
  if (value > kMostLoad - sum)
    throw Error(ErrorKind::data, fmt::format("the loads of layer {} sum to over 2^60", layer),
                "counts this large are no tokens of an engine");
  sum += value;
}

void add_up(std::vector<std::int64_t>& sums, std::span<const std::int64_t> values, int layer) {
  sums.resize(std::max(sums.size(), values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) add_load(sums[i], values[i], layer);
}

std::vector<StepSums> in_order(const std::map<std::int64_t, StepSums>& sums) {
  std::vector<StepSums> steps;
  steps.reserve(sums.size());
  for (const auto& [step, sum] : sums) {
    steps.push_back(sum);
    steps.back().step = step;
  }
  return steps;
}

}  // namespace

void RunData::add(const Header& seen) {
  header = seen;
  if (seen.source == "requests" || seen.measured) steps_.serves_requests();
}

int RunData::workers() const {
  if (header && header->cluster.ffn_workers > 0) return static_cast<int>(header->cluster.ffn_workers);
  return static_cast<int>(options_.workers > 0 ? options_.workers : kDefaultWorkers);
}

RunData::Layer& RunData::layer_of(int index, std::size_t experts) {
  Layer& layer = layers_[index];
  if (layer.primaries.size() == experts) return layer;
  layer.primaries.resize(experts);
  for (std::size_t e = 0; e < experts; ++e)
    layer.primaries[e] = initial_primary(static_cast<int>(e), static_cast<int>(experts), workers());
  return layer;
}

void RunData::add(const Demand& demand) {
  settle_held();
  steps_.add(demand);
  if (demand.phase == Phase::warmup) {
    ++warmup_targets;
    last_warmup_step_ = std::max(last_warmup_step_, demand.target.step);
    picker_.warm_until(demand.target.step);
    return;
  }
  if (!wanted(demand.target.layer)) {
    ++unwanted;
    return;
  }
  ++targets;
  add_up(expert_loads.layers[demand.target.layer], demand.counts, demand.target.layer);
  held_ = demand.target;
  held_counts_ = demand.counts;
  unplanned_.insert(demand.target);
  if (unplanned_.size() > kMostUnplanned) unplanned_.erase(unplanned_.begin());
}

// The target with everything on its layer's first primaries.
void RunData::settle_held() {
  if (!held_) return;
  const Target target = *std::exchange(held_, std::nullopt);
  const Layer& layer = layer_of(target.layer, held_counts_.size());
  const std::int64_t tile = header ? header->cluster.tile_tokens : kAbsent;
  loads_.assign(static_cast<std::size_t>(workers()), 0);
  for (std::size_t e = 0; e < held_counts_.size(); ++e)
    add_load(loads_[static_cast<std::size_t>(layer.primaries[e])],
             tile > 0 ? ceil_div(held_counts_[e], tile) : held_counts_[e], target.layer);
  add_up(load.before, loads_, target.layer);
  StepSums& sums = before_[target.step];
  const double imbalance = max_over_mean(loads_);
  if (imbalance == 0) return;
  sums.imbalance += imbalance;
  ++sums.targets;
  imbalance_before_ += imbalance;
  ++loaded_before_;
}

void RunData::add(const PlacementRecord& record) {
  Layer& layer = layers_[record.layer];
  if (layer.said || record.slots_per_worker <= 0) return;
  layer.said = true;
  const auto& slots = record.physical_to_logical;
  const auto most = slots.empty() ? -1 : *std::max_element(slots.begin(), slots.end());
  const auto experts = header && header->model.experts > most ? static_cast<int>(header->model.experts) : most + 1;
  const auto held = static_cast<int>(static_cast<std::int64_t>(slots.size()) / record.slots_per_worker);
  if (held != workers()) return;
  const LayerPlacement placement =
      LayerPlacement::from_physical(experts, held, static_cast<int>(record.slots_per_worker), slots);
  layer.primaries.clear();
  for (int e = 0; e < experts; ++e) layer.primaries.push_back(std::max(0, placement.primary(e)));
}

void RunData::add(const Plan& plan) {
  settle_held();
  if (plan.target.step <= last_warmup_step_ || !wanted(plan.target.layer)) return;
  ++plans;
  StepSums& sums = planned_[plan.target.step];
  sums.copies += std::ssize(plan.copies) + std::ssize(plan.ahead);
  // One that comes again replaces a plan that was lost, and is no second target.
  if (unplanned_.erase(plan.target) == 0) return;
  if (static_cast<int>(plan.tile_load.size()) != workers())
    throw Error(ErrorKind::data,
                fmt::format("the plan of step {}, layer {} is of {} FFN workers, the pictures of {}", plan.target.step,
                            plan.target.layer, plan.tile_load.size(), workers()),
                fmt::format("give --workers {}", plan.tile_load.size()));
  add_up(load.after, plan.tile_load, plan.target.layer);
  const double imbalance = max_over_mean(plan.tile_load);
  if (imbalance == 0) return;
  sums.imbalance += imbalance;
  ++sums.targets;
  imbalance_after_ += imbalance;
  ++loaded_after_;
}

void RunData::add(const Operation& operation) {
  const auto slice = slice_of(operation);
  if (!slice) return;
  if (options_.timeline) picker_.add(*slice);
  if (slice->work == Work::sampling) steps_.add_sampling(slice->step, slice->microbatch, slice->end_ns);
}

void RunData::add(const SequenceRecord& sequence) {
  if (!header || header->planner) return;
  const auto layers = header->model.moe_layers.size();
  const auto top_k = static_cast<std::size_t>(header->model.top_k);
  for (std::size_t i = 0; i < sequence.experts.size(); ++i) {
    const int layer = header->model.moe_layers[i / top_k % layers];
    if (!wanted(layer)) {
      ++unwanted;
      continue;
    }
    auto& counts = expert_loads.layers[layer];
    counts.resize(std::max<std::size_t>(counts.size(), static_cast<std::size_t>(header->model.experts)));
    ++counts[sequence.experts[i]];
  }
}

// Times of a model that afore-trace record ran are counted in steps, and say nothing about latency.
void RunData::add(const Completion& completion) {
  if (!header || !(header->measured || header->source == "requests")) return;
  if (!completion.times || !completion.times->first_token_ns) return;
  if (completion.finish_reason != "stop" && completion.finish_reason != "length") return;
  const Nanos first = *completion.times->first_token_ns;
  ttft.add(first - completion.times->arrival_ns);
  if (completion.output_tokens > 1) tpot.add((completion.times->finished_ns - first) / (completion.output_tokens - 1));
}

void RunData::see(const Record& record) {
  std::visit(
      [this](const auto& value) {
        if constexpr (requires { this->add(value); }) this->add(value);
      },
      record);
}

void RunData::finish() {
  settle_held();
  before = in_order(before_);
  planned = in_order(planned_);
  steps_.finish();
  timeline = picker_.finish();
  itl = std::move(steps_.itl);
  step_length = std::move(steps_.step_length);
  if (tpot.empty()) tpot = std::move(steps_.tpot);
  for (Distribution* d : {&ttft, &tpot, &itl, &step_length}) d->sort();
  load.unit = header && header->cluster.tile_tokens > 0 ? "tiles" : "assignments";
  const auto mean = [](double sum, std::int64_t n) { return n == 0 ? 0 : sum / static_cast<double>(n); };
  load.target_imbalance_before = mean(imbalance_before_, loaded_before_);
  load.target_imbalance_after = mean(imbalance_after_, loaded_after_);
}

}  // namespace afore::report
