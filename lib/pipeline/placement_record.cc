#include "pipeline/placement_record.h"

#include <fmt/format.h>

#include "util/error.h"

namespace afore::pipeline {

LayerPlacement placement_from(const PlacementRecord& record, int experts, int workers) {
  auto refuse = [&](const std::string& fact) {
    throw Error(ErrorKind::data, fmt::format("the placement of layer {} cannot stand: {}", record.layer, fact),
                "a map has slots_per_worker entries for each FFN worker and every expert at least once");
  };
  const std::vector<int>& map = record.physical_to_logical;
  if (record.slots_per_worker < 1 || static_cast<std::int64_t>(map.size()) != workers * record.slots_per_worker)
    refuse(fmt::format("it has {} slots, not {} workers x {}", map.size(), workers, record.slots_per_worker));
  std::vector<std::uint8_t> held(experts, 0);
  for (const int expert : map) {
    if (expert == kNoExpert) continue;
    if (expert < 0 || expert >= experts) refuse(fmt::format("it names expert {} of {}", expert, experts));
    held[expert] = 1;
  }
  for (int expert = 0; expert < experts; ++expert)
    if (!held[expert]) refuse(fmt::format("expert {} is on no worker", expert));
  return LayerPlacement::from_physical(experts, workers, static_cast<int>(record.slots_per_worker), map);
}

}  // namespace afore::pipeline
