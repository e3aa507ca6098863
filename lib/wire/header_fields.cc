#include "wire/header_fields.h"

#include <algorithm>

#include "util/error.h"
#include "wire/json_tree.h"
#include "wire/json_writer.h"

namespace afore::wire {
namespace {

class FieldList {
 public:
  void json(std::string path, std::string value) { fields_.push_back({std::move(path), std::move(value)}); }
  void integer(std::string path, std::int64_t value) {
    if (value == kAbsent) return;
    std::string text;
    append_integer(text, value);
    json(std::move(path), std::move(text));
  }
  void string(std::string path, const std::string& value) {
    if (!value.empty()) text(std::move(path), value);
  }
  void text(std::string path, const std::string& value) {
    std::string quoted;
    append_string(quoted, value);
    json(std::move(path), std::move(quoted));
  }
  std::vector<HeaderField> take() { return std::move(fields_); }

 private:
  std::vector<HeaderField> fields_;
};

void list_model(FieldList& list, const ModelSpec& model) {
  list.string("/model/name", model.name);
  list.integer("/model/layers", model.layers);
  if (!model.moe_layers.empty()) {
    std::string text;
    JsonWriter(text).items(model.moe_layers);
    list.json("/model/moe_layers", text);
  }
  list.integer("/model/experts", model.experts);
  list.integer("/model/top_k", model.top_k);
  list.integer("/model/hidden", model.hidden);
  list.integer("/model/moe_intermediate", model.moe_intermediate);
  list.integer("/model/expert_bytes", model.expert_bytes);
  list.integer("/model/attention_bytes", model.attention_bytes);
  list.integer("/model/kv_bytes_per_token", model.kv_bytes_per_token);
}

// Workers that differ from the others, and of them what differs.
std::string workers_json(const std::vector<WorkerTraits>& workers) {
  std::string text;
  JsonWriter json(text);
  json.open('[');
  for (std::size_t w = 0; w < workers.size(); ++w) {
    const WorkerTraits& traits = workers[w];
    if (traits == WorkerTraits{}) continue;
    json.separate();
    json.open('{');
    json.integer("worker", static_cast<std::int64_t>(w));
    if (traits.slowdown_permille != 1000) json.integer("slowdown_permille", traits.slowdown_permille);
    if (traits.copy_slowdown_permille != 1000) json.integer("copy_slowdown_permille", traits.copy_slowdown_permille);
    if (traits.draining) json.boolean("draining", true);
    json.close('}');
  }
  json.close(']');
  return text;
}

void list_cluster(FieldList& list, const ClusterSpec& cluster) {
  list.integer("/cluster/attention_workers", cluster.attention_workers);
  list.integer("/cluster/ffn_workers", cluster.ffn_workers);
  list.integer("/cluster/redundant_slots", cluster.redundant_slots);
  list.integer("/cluster/tile_tokens", cluster.tile_tokens);
  list.integer("/cluster/microbatches", cluster.microbatches);
  if (!cluster.workers.empty()) list.json("/cluster/workers", workers_json(cluster.workers));
}

void list_planner(FieldList& list, const PlannerSpec& planner) {
  list.text("/planner/policy", planner.policy);
  list.text("/planner/demand_source", planner.demand_source);
  list.text("/planner/objective", to_string(planner.objective));
  list.integer("/planner/copy_budget", planner.copy_budget);
  list.json("/planner/gain_rule", planner.gain_rule ? "true" : "false");
  list.text("/planner/cost/name", planner.cost_name);
  list.integer("/planner/cost/c0_ns", planner.cost.c0_ns);
  list.integer("/planner/cost/c1_ns", planner.cost.c1_ns);
  list.integer("/planner/cost/c2_ns", planner.cost.c2_ns);
  list.integer("/planner/cost/tile_tokens", planner.cost.tile_tokens);
  list.integer("/planner/cost/expert_bytes", planner.cost.expert_bytes);
  list.integer("/planner/cost/copy_ns", planner.cost.copy_ns);
  if (planner.cost.rule != LoadRule::additive) list.text("/planner/cost/rule", to_string(planner.cost.rule));
  if (!planner.pinned_experts.empty()) {
    std::string text;
    JsonWriter(text).items(planner.pinned_experts);
    list.json("/planner/pinned_experts", text);
  }
}

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t next = std::min(path.find('/', at + 1), path.size());
    parts.push_back(path.substr(at + 1, next - at - 1));
    at = next;
  }
  return parts;
}

}  // namespace

std::vector<HeaderField> header_fields(const Header& header, bool with_seed) {
  FieldList list;
  if (with_seed) {
    if (header.seed > static_cast<std::uint64_t>(kMaxInteger))
      throw Error(ErrorKind::usage, "the seed " + std::to_string(header.seed) + " is beyond 2^53",
                  "headers carry the seed as a JSON integer");
    list.integer("/seed", static_cast<std::int64_t>(header.seed));
  }
  list.string("/source", header.source);
  if (header.measured) list.json("/measured", "true");
  list_model(list, header.model);
  list_cluster(list, header.cluster);
  if (header.planner) list_planner(list, *header.planner);
  return list.take();
}

std::vector<HeaderConflict> header_conflicts(const std::vector<HeaderField>& a, const std::vector<HeaderField>& b) {
  std::vector<HeaderConflict> conflicts;
  for (const HeaderField& field : b) {
    const auto same = std::find_if(a.begin(), a.end(), [&](const HeaderField& f) { return f.path == field.path; });
    if (same != a.end() && same->json != field.json) conflicts.push_back({*same, field});
  }
  return conflicts;
}

std::string header_json(const Header& header, const std::vector<HeaderField>& fields) {
  std::string out;
  JsonWriter json(out);
  json.open('{');
  json.string("kind", "header");
  json.integer("v", header.v);
  if (!header.producer.empty()) json.string("producer", header.producer);
  json.strings("via", header.via);
  std::vector<std::string> inside;  // objects that are open
  for (const HeaderField& field : fields) {
    std::vector<std::string> parts = split(field.path);
    const std::string name = parts.back();
    parts.pop_back();
    const auto common = static_cast<std::size_t>(
        std::mismatch(inside.begin(), inside.end(), parts.begin(), parts.end()).first - inside.begin());
    for (std::size_t i = common; i < inside.size(); ++i) json.close('}');
    for (std::size_t i = common; i < parts.size(); ++i) {
      json.key(parts[i]);
      json.open('{');
    }
    inside = parts;
    json.key(name);
    out += field.json;
  }
  for (std::size_t i = 0; i < inside.size(); ++i) json.close('}');
  json.close('}');
  return out;
}

}  // namespace afore::wire
