#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>

#include "c/planner.h"
#include "placement/eplb.h"

namespace afore::c {
namespace {

void check_layer(const afore_planner& planner, int layer) {
  if (!planner.knows_layer(layer))
    throw Error(ErrorKind::data, fmt::format("layer {} is not one of the config's", layer), "config: layers");
}

std::int64_t get_map(const afore_planner& planner, int layer, std::int32_t* map, std::int64_t capacity) {
  check_layer(planner, layer);
  const LayerPlacement& placement = planner.placement(layer);
  const std::int64_t entries = static_cast<std::int64_t>(placement.workers()) * placement.slots_per_worker();
  if (map == nullptr && capacity == 0) return entries;
  refuse_unless(map != nullptr, AFORE_E_ARGUMENT, "map is null");
  refuse_unless(capacity >= entries, AFORE_E_CAPACITY, "the map has more entries than there is room for");
  for (int worker = 0; worker < placement.workers(); ++worker)
    for (int slot = 0; slot < placement.slots_per_worker(); ++slot) *map++ = placement.expert_at(worker, slot);
  return entries;
}

int set_map(afore_planner& planner, int layer, const std::int32_t* map, std::int64_t count) {
  refuse_unless(map != nullptr, AFORE_E_ARGUMENT, "map is null");
  check_layer(planner, layer);
  const int workers = planner.initial.workers(), slots = planner.initial.slots_per_worker();
  if (count != static_cast<std::int64_t>(workers) * slots)
    throw Error(ErrorKind::data, fmt::format("the map has {} entries, not {} workers x {}", count, workers, slots));
  PlacementRecord record{layer, slots, {map, map + count}};
  refuse_unless(planner.planner.set_placement(record), AFORE_E_STATE,
                "the layer has a map already: it is set once, before the layer's first plan");
  return AFORE_OK;
}

struct EplbShape {
  std::int32_t layers, experts, replicas;
  placement::EplbOptions options;
};

void check_eplb(const EplbShape& shape, const double* weights) {
  const auto check = [](const char* what, std::int64_t value, std::int64_t most) {
    if (value < 1 || value > most)
      throw Error(ErrorKind::usage, fmt::format("eplb: {} is {}, not from 1 to {}", what, value, most));
  };
  check("layers", shape.layers, 1 << 20);
  check("experts", shape.experts, 1 << 16);
  check("replicas", shape.replicas, 1 << 24);
  check("groups", shape.options.groups, shape.experts);
  check("nodes", shape.options.nodes, shape.options.workers);
  check("workers", shape.options.workers, shape.replicas);
  const auto all = static_cast<std::size_t>(shape.layers) * static_cast<std::size_t>(shape.experts);
  for (std::size_t i = 0; i < all; ++i)
    if (!(weights[i] >= 0 && weights[i] <= std::numeric_limits<float>::max()))
      throw Error(ErrorKind::data, fmt::format("eplb: layer {}: the weight of expert {} is not a number of at least 0",
                                               i / static_cast<std::size_t>(shape.experts),
                                               i % static_cast<std::size_t>(shape.experts)));
}

// What the original calls log2phy and logcnt.
void invert(std::span<const int> map, int experts, std::int32_t* where, std::int32_t* count) {
  const std::size_t most = map.size() - static_cast<std::size_t>(experts) + 1;
  std::vector<std::int32_t> copies(static_cast<std::size_t>(experts), 0);
  if (where != nullptr) std::fill_n(where, static_cast<std::size_t>(experts) * most, -1);
  for (std::size_t slot = 0; slot < map.size(); ++slot) {
    std::int32_t& at = copies[static_cast<std::size_t>(map[slot])];
    if (where != nullptr)
      where[static_cast<std::size_t>(map[slot]) * most + static_cast<std::size_t>(at)] =
          static_cast<std::int32_t>(slot);
    ++at;
  }
  if (count != nullptr) std::copy(copies.begin(), copies.end(), count);
}

int place_eplb(const EplbShape& shape, const double* weights, std::int32_t* map, std::int32_t* where,
               std::int32_t* count) {
  refuse_unless(weights != nullptr && map != nullptr, AFORE_E_ARGUMENT, "weights or physical_to_logical is null");
  check_eplb(shape, weights);
  const auto experts = static_cast<std::size_t>(shape.experts);
  for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
    const std::vector<int> placed = placement::eplb_physical_to_logical({weights, experts}, shape.options);
    std::copy(placed.begin(), placed.end(), map);
    invert(placed, shape.experts, where, count);
    weights += experts;
    map += placed.size();
    if (where != nullptr) where += experts * (placed.size() - experts + 1);
    if (count != nullptr) count += experts;
  }
  return AFORE_OK;
}

}  // namespace
}  // namespace afore::c

int64_t afore_placement_get(afore_planner* planner, int32_t layer, int32_t* map, int64_t capacity) {
  return afore::c::guarded(planner, [&] { return afore::c::get_map(*planner, layer, map, capacity); });
}

int afore_placement_set(afore_planner* planner, int32_t layer, const int32_t* map, int64_t count) {
  return afore::c::guarded(planner, [&] { return afore::c::set_map(*planner, layer, map, count); });
}

int afore_place_eplb(const double* weights, int32_t layers, int32_t experts, int32_t replicas, int32_t groups,
                     int32_t nodes, int32_t workers, int32_t* physical_to_logical, int32_t* logical_to_physical,
                     int32_t* expert_count) {
  return afore::c::guarded(afore::c::thread_error(), AFORE_E_ARGUMENT, [&] {
    const afore::c::EplbShape shape{layers, experts, replicas, {replicas, groups, nodes, workers, true}};
    return afore::c::place_eplb(shape, weights, physical_to_logical, logical_to_physical, expert_count);
  });
}
