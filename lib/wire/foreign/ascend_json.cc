#include "wire/foreign/ascend_json.h"

#include <span>

#include "util/error.h"
#include "wire/foreign/json_rows.h"
#include "wire/json_writer.h"

namespace afore::wire {
namespace {

// "moe_layer_count" says 3, the list has 2.
void compare_count(const JsonValue& said, std::int64_t there, const char* of, MapFile& map) {
  const std::int64_t number = said.integer(0, kMaxInteger, "count");
  if (number != there)
    note_violation(map, [&] {
      return said.path() + ": " + std::to_string(number) + ", but " + of + " has " + std::to_string(there);
    });
}

void read_devices(ObjectReader& layer, MapFile::Row& row, MapFile& map) {
  const JsonValue devices = layer.required("device_list");
  devices.expect(JsonType::array);
  compare_count(layer.required("device_count"), static_cast<std::int64_t>(devices.size()), "device_list", map);
  std::int64_t expected = 0;
  for (const JsonValue item : devices) {
    ObjectReader device(item);
    const JsonValue id = device.required("device_id");
    if (id.integer(0, kMaxInteger, "device_id") != expected)
      note_violation(map, [&] {
        return id.path() + ": device " + std::to_string(id.integer()) + " where device " + std::to_string(expected) +
               " belongs";
      });
    ++expected;
    const JsonValue experts = device.required("device_expert");
    experts.expect(JsonType::array);
    std::vector<std::int64_t>& slots = row.by_rank.emplace_back();
    for (const JsonValue expert : experts) slots.push_back(expert.integral(-kMaxInteger, kMaxInteger, "expert"));
    note_unknown_keys(item, {"device_id", "device_expert"}, map);
  }
}

}  // namespace

MapFile parse_ascend_map(std::string_view text, const std::string& source) {
  JsonTree tree;
  ObjectReader file(tree.parse(text, source));
  MapFile map;
  map.axis = LayerAxis::moe;
  const JsonValue layers = file.required("layer_list");
  layers.expect(JsonType::array);
  if (layers.size() == 0) layers.fail("there are no layers");
  compare_count(file.required("moe_layer_count"), static_cast<std::int64_t>(layers.size()), "layer_list", map);
  for (const JsonValue item : layers) {
    ObjectReader layer(item);
    MapFile::Row row;
    row.layer = static_cast<std::int64_t>(map.rows.size());
    const JsonValue id = layer.required("layer_id");
    if (id.integer(0, kMaxInteger, "layer_id") != row.layer)
      note_violation(map, [&] {
        return id.path() + ": layer " + std::to_string(id.integer()) + " where layer " + std::to_string(row.layer) +
               " belongs (MoE layers, counted from 0)";
      });
    read_devices(layer, row, map);
    note_unknown_keys(item, {"layer_id", "device_count", "device_list"}, map);
    map.rows.push_back(std::move(row));
  }
  note_unknown_keys(file.value(), {"moe_layer_count", "layer_list"}, map);
  map.ranks = static_cast<std::int64_t>(map.rows.front().by_rank.size());
  return map;
}

std::string to_ascend_json(const std::vector<std::vector<int>>& rows, int devices) {
  std::string out = "{";
  JsonWriter json(out);
  json.integer("moe_layer_count", static_cast<std::int64_t>(rows.size()));
  json.key("layer_list");
  json.open('[');
  for (std::size_t layer = 0; layer < rows.size(); ++layer) {
    AFORE_CHECK(rows[layer].size() % static_cast<std::size_t>(devices) == 0, "devices have equally many slots");
    const std::size_t slots = rows[layer].size() / static_cast<std::size_t>(devices);
    json.separate();
    json.open('{');
    json.integer("layer_id", static_cast<std::int64_t>(layer));
    json.integer("device_count", devices);
    json.key("device_list");
    json.open('[');
    for (int device = 0; device < devices; ++device) {
      json.separate();
      json.open('{');
      json.integer("device_id", device);
      json.integers("device_expert", std::span(rows[layer]).subspan(static_cast<std::size_t>(device) * slots, slots));
      json.close('}');
    }
    out += "]}";
  }
  out += "]}\n";
  return out;
}

}  // namespace afore::wire
