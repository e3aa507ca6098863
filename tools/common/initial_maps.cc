#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "common/messages.h"
#include "common/planning.h"
#include "common/record_stream.h"
#include "core/assignment.h"
#include "pipeline/placement_record.h"
#include "placement/registry.h"
#include "util/error.h"

namespace afore::cli {
namespace {

// A map of --init that cannot be one of this setup, told with its place: Error{data}.
void check_map(const PlacementRecord& record, const Setup& setup, const std::string& place) {
  const std::vector<int>& layers = setup.model.moe_layers;
  if (!layers.empty() && std::find(layers.begin(), layers.end(), record.layer) == layers.end())
    throw Error(ErrorKind::data, fmt::format("{}: layer {} is not one of the model's MoE layers", place, record.layer),
                "--init must be of the same model");
  if (setup.model.experts == kAbsent) return;
  const std::int64_t workers = setup.cluster.ffn_workers;
  const std::int64_t slots = ceil_div(setup.model.experts, workers) + setup.cluster.redundant_slots;
  if (record.slots_per_worker != slots)
    throw Error(ErrorKind::data,
                fmt::format("{}: the map has {} slots per worker, and {} workers with {} redundant slots have {}",
                            place, record.slots_per_worker, workers, setup.cluster.redundant_slots, slots),
                "--init must be of the same --workers and --slots");
  try {
    pipeline::placement_from(record, static_cast<int>(setup.model.experts), static_cast<int>(workers));
  } catch (const Error& error) {
    throw Error(error.kind(), place + ": " + error.what(), error.hint());
  }
}

std::shared_ptr<const pipeline::InitialMaps> read_init(const std::string& path, const Setup& setup) {
  RecordStream stream(path, read_options(kAbsent, true), Recover::tail);
  auto maps = std::make_shared<pipeline::InitialMaps>();
  while (stream.next())
    if (const auto* record = std::get_if<PlacementRecord>(&stream.record())) {
      check_map(*record, setup, fmt::format("{}:{}", stream.lines().name(), stream.line_number()));
      (*maps)[record->layer] = *record;
    }
  if (maps->empty())
    throw Error(ErrorKind::data, stream.lines().name() + ": no placement records",
                "afore-plan --only placement writes them");
  const std::size_t layers = setup.model.moe_layers.size();
  if (maps->size() < layers)
    warn(fmt::format("{} has maps of {} of {} layers: the others start contiguous", stream.lines().name(), maps->size(),
                     layers));
  return maps;
}

}  // namespace

std::shared_ptr<const pipeline::InitialMaps> Setup::initial_maps(const std::string& policy) const {
  if (init) return init;
  const placement::PolicyInfo* info = placement::find_policy(policy);
  const bool wants = balance_all || (info != nullptr && info->balances_primaries && !contiguous);
  return wants ? balanced : nullptr;
}

void find_initial_maps(const PlanningFlags& flags, RecordStream& stream, std::span<const std::string> policies,
                       bool drop_maps, Setup& setup) {
  if (!flags.init.empty() && (flags.primaries != "auto" || flags.balance_steps != kAbsent))
    throw Error(ErrorKind::usage, "--init says where primaries are, and so does --primaries or --balance-steps",
                "give one of them");
  setup.contiguous = flags.primaries == "contiguous";
  setup.balance_all = flags.primaries == "balanced";
  if (!flags.init.empty()) {
    setup.init = read_init(flags.init, setup);
  } else {
    bool wanted = setup.balance_all;
    for (const std::string& policy : policies) {
      const placement::PolicyInfo* info = placement::find_policy(policy);
      wanted = wanted || (info != nullptr && info->balances_primaries && !setup.contiguous);
    }
    if (!wanted) return;
    pipeline::PrimaryHistory history(setup.cluster, setup.cost, setup.planner.limits.objective);
    // A map that the stream has ahead of a layer's first target stands.
    std::set<int> mapped;
    stream.look_ahead(flags.balance_steps == kAbsent ? 0 : flags.balance_steps, [&](const Record& record) {
      if (const auto* demand = std::get_if<Demand>(&record)) history.observe(*demand);
      if (const auto* map = std::get_if<PlacementRecord>(&record)) mapped.insert(map->layer);
    });
    auto maps = std::make_shared<pipeline::InitialMaps>(history.maps());
    if (drop_maps) mapped.clear();
    for (const int layer : mapped) maps->erase(layer);
    if (maps->empty() && mapped.empty() && setup.balance_all)
      throw Error(ErrorKind::usage, "primaries cannot be balanced: the stream has no warm-up to learn from",
                  "give --balance-steps N, or --init FILE from an earlier stream");
    setup.balanced = std::move(maps);
  }
  setup.planner.initial = setup.initial_maps(setup.planner.policy);
}

}  // namespace afore::cli
