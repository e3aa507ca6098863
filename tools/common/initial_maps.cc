#include <fmt/format.h>

#include "common/planning.h"
#include "common/record_stream.h"
#include "placement/registry.h"
#include "util/error.h"

namespace afore::cli {
namespace {

std::shared_ptr<const pipeline::InitialMaps> read_init(const std::string& path) {
  RecordStream stream(path, read_options(kAbsent, true), Recover::tail);
  auto maps = std::make_shared<pipeline::InitialMaps>();
  while (stream.next())
    if (const auto* record = std::get_if<PlacementRecord>(&stream.record())) (*maps)[record->layer] = *record;
  if (maps->empty())
    throw Error(ErrorKind::data, stream.lines().name() + ": no placement records",
                "afore-plan --only placement writes them");
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
                       Setup& setup) {
  if (!flags.init.empty() && (flags.primaries != "auto" || flags.balance_steps != kAbsent))
    throw Error(ErrorKind::usage, "--init says where primaries are, and so does --primaries or --balance-steps",
                "give one of them");
  setup.contiguous = flags.primaries == "contiguous";
  setup.balance_all = flags.primaries == "balanced";
  if (!flags.init.empty()) {
    setup.init = read_init(flags.init);
  } else {
    bool wanted = setup.balance_all;
    for (const std::string& policy : policies) {
      const placement::PolicyInfo* info = placement::find_policy(policy);
      wanted = wanted || (info != nullptr && info->balances_primaries && !setup.contiguous);
    }
    if (!wanted) return;
    pipeline::PrimaryHistory history(setup.cluster, setup.cost, setup.planner.limits.objective);
    stream.look_ahead(flags.balance_steps == kAbsent ? 0 : flags.balance_steps,
                      [&](const Demand& demand) { history.observe(demand); });
    auto maps = std::make_shared<pipeline::InitialMaps>(history.maps());
    if (maps->empty() && setup.balance_all)
      throw Error(ErrorKind::usage, "primaries cannot be balanced: the stream has no warm-up to learn from",
                  "give --balance-steps N, or --init FILE from an earlier stream");
    setup.balanced = std::move(maps);
  }
  setup.planner.initial = setup.initial_maps(setup.planner.policy);
}

}  // namespace afore::cli
