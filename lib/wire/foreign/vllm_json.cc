#include "wire/foreign/vllm_json.h"

#include <algorithm>
#include <string>

#include "util/error.h"
#include "wire/foreign/json_rows.h"
#include "wire/foreign/json_tensor.h"
#include "wire/json_writer.h"

namespace afore::wire {
namespace {

constexpr std::string_view kOne = "vllm_offline_eplb_physical_to_logical";
constexpr std::string_view kByModel = "vllm_offline_eplb_physical_to_logical_by_model";

// The keys of one model's map; version 1 has "version" and "format" beside them.
MapFile read_model(ObjectReader& object, std::vector<std::string_view> known) {
  MapFile map;
  map.axis = LayerAxis::moe;
  for (const std::string_view key :
       {"record_kind", "model_name", "model_class", "num_moe_layers", "num_logical_experts", "num_physical_experts",
        "num_redundant_experts", "physical_to_logical_map"})
    known.push_back(key);
  if (const JsonValue name = object.find("model_name")) map.model_name = name.string();
  if (const JsonValue name = object.find("model_class")) name.expect(JsonType::string);
  const auto number = [&](const char* key) -> std::optional<std::int64_t> {
    const JsonValue value = object.find(key);
    if (!value) return std::nullopt;
    return value.integer(0, kMaxInteger, key);
  };
  map.moe_layers = number("num_moe_layers");
  map.experts = number("num_logical_experts");
  map.physical = number("num_physical_experts");
  map.redundant = number("num_redundant_experts");
  read_map_rows(object.required("physical_to_logical_map"), map);
  note_unknown_keys(object.value(), known, map);
  return map;
}

std::string keys_of(JsonValue models) {
  std::string keys;
  for (const JsonValue model : models) keys += (keys.empty() ? "" : ", ") + std::string(model.key());
  return keys;
}

MapFile read_by_model(JsonValue models, const std::string& source, const std::string& model_key) {
  models.expect(JsonType::object);
  if (models.size() == 0) models.fail("there are no models");
  if (model_key.empty() && models.size() > 1)
    throw Error(ErrorKind::usage, source + ": the file has maps of several models: " + keys_of(models),
                "pick one with --model-class");
  for (const JsonValue model : models)
    if (model_key.empty() || model.key() == model_key) {
      ObjectReader object(model);
      return read_model(object, {});
    }
  throw Error(ErrorKind::usage, source + ": there is no map of " + model_key,
              "the file has maps of " + keys_of(models));
}

void append_model(JsonWriter& json, const VllmMap& map) {
  const auto slots = static_cast<std::int64_t>(map.rows.empty() ? 0 : map.rows.front().size());
  json.string("model_name", map.model_name);
  json.string("model_class", map.model_class);
  json.integer("num_moe_layers", static_cast<std::int64_t>(map.rows.size()));
  json.integer("num_logical_experts", map.experts);
  json.integer("num_physical_experts", slots);
  json.integer("num_redundant_experts", slots - map.experts);
  json.key("physical_to_logical_map");
  append_rows(json.out(), map.rows, false);
}

}  // namespace

MapFile parse_vllm_map(std::string_view text, const std::string& source, const std::string& model_key) {
  JsonTree tree;
  ObjectReader file(tree.parse(text, source));
  const JsonValue version = file.required("version");
  const JsonValue format = file.required("format");
  const std::int64_t number = version.integer(0, kMaxInteger, "version");
  if (number != 1 && number != 2) version.fail("version " + std::to_string(number) + " is not known", "1 and 2 are");
  const std::string_view expected = number == 1 ? kOne : kByModel;
  if (format.string() != expected)
    format.fail("the format of version " + std::to_string(number) + " is \"" + std::string(expected) + "\", not " +
                in_quotes(format.string()));
  if (number == 1) return read_model(file, {"version", "format"});
  MapFile map = read_by_model(file.required("model_maps"), source, model_key);
  note_unknown_keys(file.value(), {"version", "format", "model_maps"}, map);
  return map;
}

CountsFile parse_vllm_window(std::string_view text, const std::string& source) {
  JsonTree tree;
  const JsonValue root = tree.parse(text, source);
  JsonValue loads = root, map;
  if (root.type() != JsonType::array) {
    ObjectReader file(root);
    loads = file.find("expert_load_window");
    if (!loads) loads = file.find("expert_load_pass");
    if (!loads)
      root.fail("neither expert_load_window nor expert_load_pass is there",
                "windows of physical loads are arrays under these names, or the array alone");
    map = file.find("physical_to_logical_map");
  }
  JsonTensor tensor = read_tensor(loads, 0, "load");
  if (tensor.shape.size() < 2 || tensor.shape.size() > 3)
    loads.fail("the loads have " + std::to_string(tensor.shape.size()) +
               " dimensions, not [layers][physical experts] or [window][layers][physical experts]");
  CountsFile counts = counts_of(tensor.shape, std::move(tensor.values), LayerAxis::moe, ExpertIds::physical);
  if (map) {
    JsonTensor rows = read_tensor(map, 2, "expert");
    if (rows.shape[0] != counts.rows || rows.shape[1] != counts.cells)
      map.fail("the map is " + std::to_string(rows.shape[0]) + " x " + std::to_string(rows.shape[1]) +
               ", the loads are of " + std::to_string(counts.rows) + " x " + std::to_string(counts.cells));
    counts.physical_to_logical = std::move(rows.values);
  }
  return counts;
}

std::string to_vllm_json(const VllmMap& map, int version) {
  AFORE_CHECK(version == 1 || version == 2, "versions 1 and 2 exist");
  std::string out = "{";
  JsonWriter json(out);
  json.integer("version", version);
  json.string("format", version == 1 ? kOne : kByModel);
  if (version == 1) {
    append_model(json, map);
  } else {
    json.key("model_maps");
    json.open('{');
    json.separate();
    append_string(out, map.model_class);
    out += ":{";
    append_model(json, map);
    out += "}}";
  }
  out += "}\n";
  return out;
}

}  // namespace afore::wire
