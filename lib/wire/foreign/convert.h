#pragma once
// Foreign tables as records: maps as placement records, physical counts and routed passes as logical counts.
#include <cstdint>
#include <string>
#include <vector>

#include "core/records.h"
#include "wire/foreign/layers.h"
#include "wire/foreign/tables.h"

namespace afore::wire {

// The MoE rows as placement records of `ranks` workers. Error{data} where check_map() finds something fatal (the first
// of it), Error{usage} when `ranks` is not known.
std::vector<PlacementRecord> to_placements(const MapFile& map, const LayerRows& layers, std::int64_t ranks,
                                           std::int64_t experts, const std::string& source);

// Physical counts summed over the replicas of each expert. `map`: [rows][cells], the one in force in every step.
// Error{data} when it is of another shape or names an expert beyond `experts` (0: as many as it names).
CountsFile to_logical(CountsFile counts, const std::vector<std::int64_t>& map, std::int64_t experts,
                      const std::string& source);

// Tokens of each forward pass counted by expert; -1 is no choice. Spans of a file of requests are not passes. Steps
// have the numbers of the passes where all ids of spans are numbers, else they count from 0. Error{data} naming an id
// beyond `experts` (0: as many as the ids name).
CountsFile count_passes(const RoutingFile& routing, std::int64_t experts, const std::string& source);

}  // namespace afore::wire
