// afore-plan export: the map of each layer at the end of a stream, in another system's format.
#include "afore-plan/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "afore-plan/counted.h"
#include "afore-plan/map_flags.h"
#include "common/cli.h"
#include "common/messages.h"
#include "common/publish.h"
#include "common/record_stream.h"
#include "util/error.h"
#include "wire/foreign/ascend_json.h"
#include "wire/foreign/check_map.h"
#include "wire/foreign/eplb_json.h"
#include "wire/foreign/npy.h"
#include "wire/foreign/sglang_json.h"
#include "wire/foreign/trtllm.h"
#include "wire/foreign/vllm_json.h"

namespace afore::plan {
namespace {

struct ExportOptions {
  std::string file = "-", recover = "tail", to, output = "-", model_class;
  std::int64_t layer_updates_per_iter = 0, map_version = 1;
  bool fill = false, force = false;
  cli::ModelFlags model;
};

// The layers' maps, worker-major.
struct Maps {
  ModelSpec model;
  std::int64_t workers = 0, slots_per_worker = 0;
  std::map<int, std::vector<int>> layers;
};

// Staging buffers hold nothing for long.
void apply(const Copy& copy, int layer, Maps& maps, const std::string& place) {
  if (copy.slot == kStagingSlot) return;
  const auto map = maps.layers.find(layer);
  const std::int64_t at = copy.to * maps.slots_per_worker + copy.slot;
  if (map == maps.layers.end() || copy.slot >= maps.slots_per_worker || copy.to < 0 || copy.slot < 0 ||
      at >= static_cast<std::int64_t>(map->second.size()))
    throw Error(ErrorKind::data, fmt::format("{}: a copy into slot {} of worker {}, which the layer's map lacks", place,
                                             copy.slot, copy.to));
  map->second[at] = copy.expert;
}

// Placement records as they come, and the copies of plans over them.
void apply(const Record& record, Maps& maps, const std::string& place) {
  if (const auto* map = std::get_if<PlacementRecord>(&record)) {
    if (maps.slots_per_worker != 0 && map->slots_per_worker != maps.slots_per_worker)
      throw Error(ErrorKind::data, fmt::format("{}: {} slots per worker, before {}", place, map->slots_per_worker,
                                               maps.slots_per_worker));
    maps.slots_per_worker = map->slots_per_worker;
    maps.layers[map->layer] = map->physical_to_logical;
  } else if (const auto* plan = std::get_if<Plan>(&record)) {
    for (const Copy& copy : plan->copies) apply(copy, plan->target.layer, maps, place);
    for (const AheadCopy& ahead : plan->ahead) apply(ahead.copy, ahead.layer, maps, place);
  }
}

Maps read(const ExportOptions& o) {
  Maps maps;
  cli::RecordStream stream(o.file, cli::read_options(kAbsent, true), cli::recover_of(o.recover));
  while (stream.next()) apply(stream.record(), maps, fmt::format("{}:{}", stream.lines().name(), stream.line_number()));
  const std::string name = stream.lines().name();
  if (maps.layers.empty())
    throw Error(ErrorKind::data, name + ": no placement records", "afore-plan place makes them from demand");
  maps.model = cli::with_header(o.model, stream.header() ? stream.header()->model : ModelSpec());
  if (stream.header()) maps.workers = stream.header()->cluster.ffn_workers;
  const auto size = static_cast<std::int64_t>(maps.layers.begin()->second.size());
  if (maps.workers <= 0) maps.workers = size / maps.slots_per_worker;
  for (const auto& [layer, map] : maps.layers)
    if (static_cast<std::int64_t>(map.size()) != maps.workers * maps.slots_per_worker)
      throw Error(ErrorKind::data, fmt::format("{}: layer {} has {} slots, not {} workers x {}", name, layer,
                                               map.size(), maps.workers, maps.slots_per_worker));
  if (maps.model.experts == kAbsent) {
    int largest = -1;
    for (const auto& [layer, map] : maps.layers) largest = std::max(largest, *std::max_element(map.begin(), map.end()));
    maps.model.experts = largest + 1;
  }
  for (const auto& [layer, map] : maps.layers)
    if (!maps.model.moe_layers.empty() &&
        !std::binary_search(maps.model.moe_layers.begin(), maps.model.moe_layers.end(), layer))
      throw Error(ErrorKind::data,
                  fmt::format("{}: a map of layer {}, which is no MoE layer of the model", name, layer));
  for (const int layer : maps.model.moe_layers)
    if (maps.layers.count(layer) == 0)
      throw Error(ErrorKind::data, fmt::format("{}: no map of MoE layer {}", name, layer),
                  "a file for an engine needs all of them; was --layers given at import?");
  return maps;
}

// An empty slot gets the expert with the fewest replicas that is not on its worker yet, lower index first.
void fill(std::vector<int>& map, std::int64_t experts, std::int64_t each) {
  std::vector<int> count(static_cast<std::size_t>(experts), 0);
  for (const int expert : map)
    if (expert >= 0) ++count[expert];
  for (std::size_t slot = 0; slot < map.size(); ++slot) {
    if (map[slot] >= 0) continue;
    const auto first = map.begin() + static_cast<std::ptrdiff_t>(slot / each * each);
    int best = -1;
    for (int expert = 0; expert < experts; ++expert)
      if (std::find(first, first + each, expert) == first + each && (best < 0 || count[expert] < count[best]))
        best = expert;
    map[slot] = best < 0 ? 0 : best;  // a worker that has all of them
    ++count[map[slot]];
  }
}

void fill_or_refuse(const ExportOptions& o, Maps& maps) {
  for (auto& [layer, map] : maps.layers) {
    for (const int expert : map)
      if (expert < -1 || expert >= maps.model.experts)
        throw Error(ErrorKind::data, fmt::format("layer {} names expert {} of {}", layer, expert, maps.model.experts));
    const auto empty = std::count(map.begin(), map.end(), kNoExpert);
    if (empty == 0) continue;
    if (!o.fill)
      throw Error(ErrorKind::data, fmt::format("layer {} has {} empty slots, which no engine takes", layer, empty),
                  "--fill puts the experts with the fewest replicas there; afore-plan place makes full maps");
    fill(map, maps.model.experts, maps.slots_per_worker);
  }
}

std::vector<std::vector<int>> moe_rows(const Maps& maps) {
  std::vector<std::vector<int>> rows;
  for (const auto& [layer, map] : maps.layers) rows.push_back(map);
  return rows;
}

// Dense layers have a row as full as the others, which the server never reads: experts in order, over and over.
std::vector<std::vector<int>> hidden_rows(const Maps& maps) {
  if (maps.model.layers == kAbsent)
    throw Error(ErrorKind::usage, "SGLang's rows are all hidden layers, and the stream does not say how many there are",
                "give --hidden-layers N or --model PRESET");
  if (maps.layers.rbegin()->first >= maps.model.layers)
    throw Error(ErrorKind::data, fmt::format("a map of layer {}, and the model has {} layers",
                                             maps.layers.rbegin()->first, maps.model.layers));
  std::vector<int> dense(static_cast<std::size_t>(maps.workers * maps.slots_per_worker));
  for (std::size_t slot = 0; slot < dense.size(); ++slot)
    dense[slot] = static_cast<int>(static_cast<std::int64_t>(slot) % maps.model.experts);
  std::vector<std::vector<int>> rows(static_cast<std::size_t>(maps.model.layers), dense);
  for (const auto& [layer, map] : maps.layers) rows[layer] = map;
  return rows;
}

std::string npy_text(const Maps& maps) {
  std::vector<std::int64_t> values;
  for (const auto& [layer, map] : maps.layers) values.insert(values.end(), map.begin(), map.end());
  const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(maps.layers.size()),
                                           maps.workers * maps.slots_per_worker};
  const std::vector<std::uint8_t> bytes = wire::to_npy(values, shape, wire::NpyType::int64);
  return {bytes.begin(), bytes.end()};
}

std::string trtllm_text(const ExportOptions& o, const Maps& maps) {
  std::vector<wire::LayerSlots> layers;
  for (const auto& [layer, map] : maps.layers) layers.push_back({layer, {map.begin(), map.end()}});
  return wire::to_trtllm_yaml(maps.workers * maps.slots_per_worker, o.layer_updates_per_iter, layers);
}

std::string text_of(const ExportOptions& o, const Maps& maps) {
  if (o.to == "sglang") return wire::to_sglang_json(hidden_rows(maps));
  if (o.to == "vllm")
    return wire::to_vllm_json({maps.model.name, o.model_class, maps.model.experts, moe_rows(maps)},
                              static_cast<int>(o.map_version));
  if (o.to == "trtllm") return trtllm_text(o, maps);
  if (o.to == "ascend") return wire::to_ascend_json(moe_rows(maps), static_cast<int>(maps.workers));
  if (o.to == "eplb") return wire::to_eplb_json(moe_rows(maps), static_cast<int>(maps.model.experts));
  AFORE_CHECK(o.to == "eplb-npy", "an unknown format passed the choice check");
  return npy_text(maps);
}

// What no server of the format takes is not written.
void check(const ExportOptions& o, const Maps& maps) {
  wire::MapFile file;
  file.axis = wire::LayerAxis::keyed;
  for (const auto& [layer, map] : maps.layers)
    file.rows.push_back({layer, {std::vector<std::int64_t>(map.begin(), map.end())}});
  const auto target = o.to == "ascend" ? wire::MapTarget::ascend : wire::MapTarget::eplb;
  for (const wire::MapViolation& v :
       wire::check_map(file, target, {maps.workers, maps.model.experts, {}, {}}).violations)
    if (v.fatal)
      throw Error(ErrorKind::data, fmt::format("{}: {}: {}", v.rule, v.place, v.fact),
                  v.rule == "duplicate on one rank"
                      ? "vllm-ascend keeps one slot per expert and device: afore-plan place "
                        "--policy balanced, or eplb with --no-duplicates"
                      : "the stream's map cannot stand");
}

void run_export(const ExportOptions& o) {
  if (o.output != "-") cli::check_can_publish(o.output, o.force, cli::kForceHint);
  if (o.to != "trtllm" && o.layer_updates_per_iter != 0)
    throw Error(ErrorKind::usage, "--layer-updates-per-iter is of --to trtllm");
  if (o.to == "vllm" && o.map_version == 2 && o.model_class.empty())
    throw Error(ErrorKind::usage, "--map-version 2 keeps maps by the model's class, which --model-class names",
                "like --model-class DeepseekV3ForCausalLM");
  if (o.to != "vllm" && o.map_version != 1) throw Error(ErrorKind::usage, "--map-version is of --to vllm");
  Maps maps = read(o);
  fill_or_refuse(o, maps);
  check(o, maps);
  cli::publish(o.output, text_of(o, maps), o.force, cli::kForceHint);
  cli::note(fmt::format("{} on {} workers of {}; {}", counted(static_cast<std::int64_t>(maps.layers.size()), "layer"),
                        maps.workers, counted(maps.slots_per_worker, "slot"),
                        redundancy_text(maps.workers * maps.slots_per_worker, maps.model.experts, maps.workers,
                                        static_cast<std::int64_t>(maps.layers.size()), maps.model.expert_bytes)));
}

}  // namespace

void add_export(cli::Command app) {
  cli::Command command = app.command(
      "export",
      "The map of each layer at the end of a stream as a file of another system: placement records, with the copies\n"
      "of the plans behind them carried out. docs/formats.md has the formats.");
  const auto o = std::make_shared<ExportOptions>();
  command.option("FILE", o->file, "Stream with placement records; - is standard input").show_default();
  cli::add_recover(command, o->recover);
  command.choice("--to", o->to, "Format of the output", {"sglang", "vllm", "trtllm", "ascend", "eplb", "eplb-npy"})
      .required();
  command.option("-o,--output", o->output, "FILE to write; - is standard output").show_default();
  command.flag("--force", o->force, "Write over a FILE that exists");
  command.flag("--fill", o->fill, "Fill empty slots with the experts that have the fewest replicas");
  command.integer("--map-version", o->map_version, "vllm: 1 has one model, 2 maps by model class", 1, 2);
  command.option("--model-class", o->model_class, "vllm: the model's class, as vLLM calls it");
  command.integer("--layer-updates-per-iter", o->layer_updates_per_iter,
                  "trtllm: 0 keeps the map, more lets the engine move experts on from it", 0, 1 << 16);
  add_model_flags(command, o->model);
  command.examples({{"A map for --init-expert-location of SGLang",
                     "afore-trace synth --model gpt-oss-20b --steps 20 --tokens 512 > demand.jsonl\n"
                     "afore-plan place -q --workers 8 --slots 1 demand.jsonl > map.jsonl\n"
                     "afore-plan export -q --to sglang -o init.json map.jsonl"},
                    {"The same for TensorRT-LLM", "afore-plan export -q --to trtllm -o balancer.yaml map.jsonl"}});
  command.on_run([command, o] {
    cli::refuse_terminal_stdin(o->file, command);
    run_export(*o);
  });
}

}  // namespace afore::plan
