#include "wire/foreign/trtllm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "util/error.h"
#include "wire/foreign/yaml_tree.h"
#include "wire/json_tree.h"

namespace afore::wire {
namespace {

constexpr std::int64_t kMaxLayer = std::int64_t{1} << 20;

void note(MapFile& map, YamlValue where, const std::string& fact) {
  note_violation(map, [&] { return where.place() + ": " + fact; });
}

YamlValue inline_balancer(YamlValue balancer) {
  if (balancer.type() == YamlType::scalar && !balancer.is_null())
    balancer.fail("is the path " + in_quotes(balancer.text()), "give that file instead");
  balancer.expect(YamlType::mapping);
  return balancer;
}

// Where the three keys stand; keys beside load_balancer that are not of a serving configuration are violations.
YamlValue find_balancer(YamlValue root, MapFile& map) {
  root.expect(YamlType::mapping);
  if (const YamlValue moe = root.find("moe_config")) {
    const YamlValue balancer = moe.find("load_balancer");
    if (!balancer) moe.fail("has no load_balancer");
    return inline_balancer(balancer);
  }
  const YamlValue balancer = root.find("load_balancer");
  if (!balancer) return root;
  for (const YamlValue member : root)
    if (member.key() != "load_balancer") note(map, member.key_value(), "stands beside load_balancer");
  return inline_balancer(balancer);
}

void read_row(YamlValue slots, MapFile& map) {
  MapFile::Row row;
  row.layer = slots.key_value().integer(0, kMaxLayer, "layer");
  slots.expect(YamlType::sequence);
  std::vector<std::int64_t> experts;
  experts.reserve(slots.size());
  for (const YamlValue slot : slots) experts.push_back(slot.integer(-kMaxInteger, kMaxInteger, "expert"));
  if (map.physical && static_cast<std::int64_t>(experts.size()) != *map.physical)
    note(map, slots, fmt::format("has {} slots, num_slots is {}", experts.size(), *map.physical));
  row.by_rank.push_back(std::move(experts));
  map.rows.push_back(std::move(row));
}

// By layer: the members of a mapping have no order.
void sort_rows(YamlValue assignments, MapFile& map) {
  std::sort(map.rows.begin(), map.rows.end(),
            [](const MapFile::Row& a, const MapFile::Row& b) { return a.layer < b.layer; });
  for (std::size_t row = 1; row < map.rows.size(); ++row)
    if (map.rows[row].layer == map.rows[row - 1].layer)
      assignments.fail(fmt::format("layer {} is there twice", map.rows[row].layer));
}

}  // namespace

MapFile parse_trtllm_yaml(std::string_view text, const std::string& source) {
  const YamlTree tree(text, source);
  MapFile map;
  map.axis = LayerAxis::keyed;
  const YamlValue balancer = find_balancer(tree.root(), map);
  YamlValue assignments;
  for (const YamlValue member : balancer) {
    if (member.key() == "num_slots") map.physical = member.integer(0, kMaxInteger, "num_slots");
    else if (member.key() == "layer_updates_per_iter") member.integer(0, kMaxInteger, "layer_updates_per_iter");
    else if (member.key() == "initial_global_assignments") assignments = member;
    else note(map, member.key_value(), "unknown key");
  }
  if (!assignments || assignments.is_null())
    balancer.fail("has no initial_global_assignments", "without it TensorRT-LLM places the experts in order itself");
  if (!map.physical) note(map, balancer, "num_slots is absent");
  assignments.expect(YamlType::mapping);
  if (assignments.size() == 0) assignments.fail("there are no layers");
  map.rows.reserve(assignments.size());
  for (const YamlValue slots : assignments) read_row(slots, map);
  sort_rows(assignments, map);
  return map;
}

std::string to_trtllm_yaml(std::int64_t num_slots, std::int64_t layer_updates_per_iter,
                           std::span<const LayerSlots> layers) {
  std::string out = fmt::format("num_slots: {}\nlayer_updates_per_iter: {}\ninitial_global_assignments:{}\n", num_slots,
                                layer_updates_per_iter, layers.empty() ? " {}" : "");
  for (const LayerSlots& layer : layers)
    fmt::format_to(std::back_inserter(out), "  {}: [{}]\n", layer.layer, fmt::join(layer.slots, ", "));
  return out;
}

}  // namespace afore::wire
