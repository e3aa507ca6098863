#pragma once
// What would break a server, or be of no use to it, in a map of experts: every violation, each with its place.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/foreign/tables.h"

namespace afore::wire {

enum class MapTarget { sglang, vllm, trtllm, ascend, eplb };

// What the model and the deployment are known to be; absent values are checked against nothing. Without `experts` the
// largest id decides.
struct MapContext {
  std::optional<std::int64_t> ranks, experts;
  std::optional<std::int64_t> hidden_layers;  // dense ones included
  std::vector<int> moe_layers;                // absolute; empty = unknown
};

struct MapViolation {
  bool fatal = true;  // false: the server takes it, and a slot is wasted or a layer not balanced
  std::string rule;   // one word or two, the same for all of its kind: "missing replica"
  std::string place;  // "layer 3, rank 2, slot 5"
  std::string fact;
};

struct MapReport {
  std::vector<MapViolation> violations;  // in the order of rows; per row and rule at most kPerRow, then one that counts
  std::int64_t rows = 0, experts = 0, slots = 0, ranks = 0;  // slots of the first row; ranks 0 = unknown
  std::int64_t redundant_slots = 0;                          // beyond one per expert, all MoE rows together
  std::int64_t moe_rows = 0;
  bool fatal() const;
};

inline constexpr int kViolationsPerRow = 4;

MapReport check_map(const MapFile& map, MapTarget target, const MapContext& context);

std::string_view to_string(MapTarget target);

}  // namespace afore::wire
