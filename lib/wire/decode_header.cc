#include <algorithm>

#include "wire/decode.h"
#include "wire/limits.h"

namespace afore::wire {
namespace {

// Far beyond any model or cluster, and small enough that products of them stay in range. Clusters as the flags.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 50;
constexpr std::int64_t kMaxCachedBytes = std::int64_t{1} << 32;
constexpr std::int64_t kMaxWorkers = 100'000;
constexpr std::int64_t kMaxRedundantSlots = 10'000;
constexpr std::int64_t kMaxTileTokens = 1 << 20;
constexpr std::int64_t kMaxMicrobatches = 1'000;
constexpr Nanos kMaxUnitNs = 1'000'000'000;
constexpr Nanos kMaxCopyNs = 1'000'000'000'000'000;

void read_size(ObjectReader& object, const char* key, std::int64_t min, std::int64_t max, std::int64_t& to) {
  if (const JsonValue value = object.find(key)) to = value.integer(min, max, key);
}

void read_text(ObjectReader& object, const char* key, std::string& to) {
  if (const JsonValue value = object.find(key)) to = value.string();
}

std::vector<int> read_moe_layers(JsonValue array) {
  array.expect(JsonType::array);
  if (array.size() == 0) array.fail("the list is empty");
  std::vector<int> list;
  for (const JsonValue item : array) {
    const int layer = item.index(kMaxIndex, "layer");
    if (!list.empty() && layer <= list.back()) item.fail("layers are not ascending");
    list.push_back(layer);
  }
  return list;
}

ModelSpec read_model(ObjectReader object) {
  ModelSpec model;
  read_text(object, "name", model.name);
  read_size(object, "layers", 1, kMaxIndex, model.layers);
  if (const JsonValue list = object.find("moe_layers")) model.moe_layers = read_moe_layers(list);
  read_size(object, "experts", 1, kMaxIndex, model.experts);
  read_size(object, "top_k", 1, kMaxIndex, model.top_k);
  read_size(object, "hidden", 1, kMaxWidth, model.hidden);
  read_size(object, "moe_intermediate", 1, kMaxWidth, model.moe_intermediate);
  read_size(object, "expert_bytes", 1, kMaxBytes, model.expert_bytes);
  read_size(object, "attention_bytes", 0, kMaxBytes, model.attention_bytes);
  read_size(object, "kv_bytes_per_token", 0, kMaxCachedBytes, model.kv_bytes_per_token);
  if (const std::string fault = model_fault(model); !fault.empty()) object.value().fail(fault);
  return model;
}

// Ascending, each once; those that are not named are as all others.
std::vector<WorkerTraits> read_workers(JsonValue array, std::int64_t ffn_workers) {
  array.expect(JsonType::array);
  if (array.size() == 0) array.fail("the list is empty");
  if (ffn_workers == kAbsent) array.fail("ffn_workers is absent", "cluster.ffn_workers says how many there are");
  std::vector<WorkerTraits> workers(static_cast<std::size_t>(ffn_workers));
  std::int64_t last = -1;
  for (const JsonValue item : array) {
    ObjectReader object(item);
    const JsonValue number = object.required("worker");
    const std::int64_t worker = number.integer(0, ffn_workers - 1, "worker");
    if (worker <= last) number.fail("workers are not ascending");
    last = worker;
    WorkerTraits& traits = workers[static_cast<std::size_t>(worker)];
    constexpr std::int64_t kLeast = WorkerTraits::kLeastPermille, kMost = WorkerTraits::kMostPermille;
    read_size(object, "slowdown_permille", kLeast, kMost, traits.slowdown_permille);
    read_size(object, "copy_slowdown_permille", kLeast, kMost, traits.copy_slowdown_permille);
    if (const JsonValue flag = object.find("draining")) traits.draining = flag.boolean();
  }
  // Where nothing differs, nothing was said.
  if (std::all_of(workers.begin(), workers.end(), [](const WorkerTraits& t) { return t == WorkerTraits{}; }))
    workers.clear();
  return workers;
}

std::vector<int> read_pinned(JsonValue array) {
  array.expect(JsonType::array);
  std::vector<int> experts;
  for (const JsonValue item : array) {
    const int expert = item.index(kMaxIndex, "expert");
    if (!experts.empty() && expert <= experts.back()) item.fail("experts are not ascending");
    experts.push_back(expert);
  }
  return experts;
}

ClusterSpec read_cluster(ObjectReader object) {
  ClusterSpec cluster;
  read_size(object, "attention_workers", 1, kMaxWorkers, cluster.attention_workers);
  read_size(object, "ffn_workers", 1, kMaxWorkers, cluster.ffn_workers);
  read_size(object, "redundant_slots", 0, kMaxRedundantSlots, cluster.redundant_slots);
  read_size(object, "tile_tokens", 1, kMaxTileTokens, cluster.tile_tokens);
  read_size(object, "microbatches", 1, kMaxMicrobatches, cluster.microbatches);
  if (const JsonValue list = object.find("workers")) cluster.workers = read_workers(list, cluster.ffn_workers);
  return cluster;
}

PlannerSpec read_planner(ObjectReader object) {
  PlannerSpec planner;
  planner.policy = object.required("policy").string();
  planner.demand_source = object.required("demand_source").string();
  planner.objective = read_objective(object.required("objective"));
  planner.copy_budget = object.required("copy_budget").integer();
  planner.gain_rule = object.required("gain_rule").boolean();
  ObjectReader cost(object.required("cost"));
  planner.cost_name = cost.required("name").string();
  planner.cost.c0_ns = cost.required("c0_ns").integer(0, kMaxUnitNs, "c0_ns");
  planner.cost.c1_ns = cost.required("c1_ns").integer(1, kMaxUnitNs, "c1_ns");
  planner.cost.c2_ns = cost.required("c2_ns").integer(0, kMaxUnitNs, "c2_ns");
  planner.cost.tile_tokens = cost.required("tile_tokens").integer(1, kMaxTileTokens, "tile_tokens");
  planner.cost.expert_bytes = cost.required("expert_bytes").integer(0, kMaxBytes, "expert_bytes");
  planner.cost.copy_ns = cost.required("copy_ns").integer(0, kMaxCopyNs, "copy_ns");
  if (const JsonValue rule = cost.find("rule")) planner.cost.rule = read_load_rule(rule);
  if (const JsonValue list = object.find("pinned_experts")) planner.pinned_experts = read_pinned(list);
  return planner;
}

}  // namespace

std::string model_fault(const ModelSpec& model) {
  const auto text = [](std::int64_t value) { return std::to_string(value); };
  if (model.experts != kAbsent && model.top_k > model.experts)
    return "top_k " + text(model.top_k) + " is above experts " + text(model.experts);
  if (model.layers != kAbsent && !model.moe_layers.empty() && model.moe_layers.back() >= model.layers)
    return "moe_layers reach layer " + text(model.moe_layers.back()) + ", layers is " + text(model.layers);
  return "";
}

Header decode_header(ObjectReader& record, bool* has_seed) {
  Header header;
  record.required("v");  // its value is checked for every kind
  read_text(record, "producer", header.producer);
  if (const JsonValue via = record.find("via")) header.via = read_strings(via);
  const JsonValue seed = record.find("seed");
  *has_seed = static_cast<bool>(seed);
  if (seed) header.seed = static_cast<std::uint64_t>(seed.integer());
  read_text(record, "source", header.source);
  if (const JsonValue flag = record.find("measured")) header.measured = flag.boolean();
  if (const JsonValue model = record.find("model")) header.model = read_model(ObjectReader(model));
  if (const JsonValue cluster = record.find("cluster")) header.cluster = read_cluster(ObjectReader(cluster));
  if (const JsonValue planner = record.find("planner")) header.planner = read_planner(ObjectReader(planner));
  return header;
}

}  // namespace afore::wire
