// Maps of other systems as a stream of placement records: for --init, for a look, or on their way to another format.
#include <fmt/core.h>

#include <algorithm>

#include "core/assignment.h"
#include "import.h"
#include "stream_out.h"
#include "util/error.h"
#include "wire/foreign/convert.h"
#include "wire/wire.h"

namespace afore::cli {
namespace {

std::vector<std::int64_t> keys_of(const wire::MapFile& map) {
  std::vector<std::int64_t> keys;
  for (const wire::MapFile::Row& row : map.rows) keys.push_back(row.layer);
  return keys;
}

std::int64_t workers_of(const ImportOptions& o, const wire::MapFile& map) {
  if (o.workers > 0 && map.ranks && *map.ranks != o.workers)
    throw Error(ErrorKind::usage, fmt::format("{}: the file has {} ranks, not {}", o.inputs[0], *map.ranks, o.workers),
                "leave --workers out");
  return o.workers > 0 ? o.workers : map.ranks.value_or(0);
}

std::int64_t experts_of(const wire::MapFile& map, const ModelSpec& model) {
  if (model.experts != kAbsent) return model.experts;
  if (map.experts) return *map.experts;
  std::int64_t largest = 0;  // every expert stands somewhere in each layer, or the check refuses the map
  for (const auto& rank : map.rows.front().by_rank)
    for (const std::int64_t id : rank) largest = std::max(largest, id);
  return largest + 1;
}

}  // namespace

void import_map(const ImportOptions& o, const wire::MapFile& map, const ModelSpec& flags) {
  const std::string& name = o.inputs[0];
  const wire::LayerRows layers =
      wire::resolve_layers(map.axis, static_cast<std::int64_t>(map.rows.size()), keys_of(map), flags, nullptr, name);
  const std::int64_t workers = workers_of(o, map);
  ModelSpec model = flags;
  if (model.name.empty()) model.name = map.model_name;
  model.layers = layers.hidden_layers;
  model.moe_layers = layers.moe_layers;
  model.experts = experts_of(map, flags);
  std::vector<PlacementRecord> records = wire::to_placements(map, layers, workers, model.experts, name);
  const std::vector<int> kept = select_layers(model, o.layers);
  keep_layers(model, kept);
  Header header = make_header("placement", 0, model, kAbsent);
  header.cluster.ffn_workers = workers;
  header.cluster.redundant_slots = records.front().slots_per_worker - ceil_div(model.experts, workers);
  JsonObject workload;
  workload.add("form", o.from).add_raw("dense_layers", json_array(layers.dense_rows));
  RecordSink out(o.output);
  write_header(out, header, workload);
  for (const int position : kept) out.write_line(wire::to_json(records[position]));
  out.finish();
}

}  // namespace afore::cli
