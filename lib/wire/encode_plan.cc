#include "wire/json_writer.h"
#include "wire/wire.h"

namespace afore::wire {
namespace {

void write_copy(JsonWriter& json, const Copy& copy) {
  json.integer("expert", copy.expert);
  json.integer("from", copy.from);
  json.integer("to", copy.to);
  json.integer("slot", copy.slot);
}

void write_copies(JsonWriter& json, const std::vector<Copy>& copies) {
  json.key("copies");
  json.open('[');
  for (const Copy& copy : copies) {
    json.separate();
    json.open('{');
    write_copy(json, copy);
    json.close('}');
  }
  json.close(']');
}

void write_ahead(JsonWriter& json, const std::vector<AheadCopy>& ahead) {
  json.key("ahead");
  json.open('[');
  for (const AheadCopy& one : ahead) {
    json.separate();
    json.open('{');
    json.integer("layer", one.layer);
    write_copy(json, one.copy);
    json.close('}');
  }
  json.close(']');
}

template <class Share>
void write_triplets(JsonWriter& json, const char* key, const std::vector<Share>& shares, std::int64_t Share::*amount) {
  json.key(key);
  json.open('[');
  append_pieces<3 * kIntegerBytes + 5>(json.out(), shares.size(), [&](std::size_t i, char* at) {
    if (i > 0) *at++ = ',';
    *at++ = '[';
    at = write_integer(at, shares[i].expert);
    *at++ = ',';
    at = write_integer(at, shares[i].worker);
    *at++ = ',';
    at = write_integer(at, shares[i].*amount);
    *at++ = ']';
    return at;
  });
  json.close(']');
}

void write_unready(JsonWriter& json, const std::vector<ReplicaAt>& replicas) {
  json.key("unready");
  json.open('[');
  append_pieces<2 * kIntegerBytes + 4>(json.out(), replicas.size(), [&](std::size_t i, char* at) {
    if (i > 0) *at++ = ',';
    *at++ = '[';
    at = write_integer(at, replicas[i].expert);
    *at++ = ',';
    at = write_integer(at, replicas[i].worker);
    *at++ = ']';
    return at;
  });
  json.close(']');
}

}  // namespace

void append_json(std::string& out, const Plan& plan) {
  JsonWriter json(out);
  json.open('{');
  json.string("kind", "plan");
  json.integer("seq", plan.seq);
  json.integer("step", plan.target.step);
  json.integer("layer", plan.target.layer);
  json.integer("microbatch", plan.target.microbatch);
  json.string("policy", plan.policy);
  json.string("demand_source", plan.demand_source);
  json.string("objective", to_string(plan.objective));
  if (plan.rehomes) json.boolean("rehomes", true);
  if (plan.is_virtual) json.boolean("virtual", true);
  write_copies(json, plan.copies);
  if (!plan.ahead.empty()) write_ahead(json, plan.ahead);
  write_triplets(json, "assignment", plan.assignment, &TileShare::tiles);
  if (!plan.assignment_tokens.empty())
    write_triplets(json, "assignment_tokens", plan.assignment_tokens, &TokenShare::tokens);
  json.integers("tile_load", plan.tile_load);
  json.integer("max_tile_load_before", plan.max_tile_load_before);
  json.integer("max_tile_load", plan.max_tile_load);
  json.integer("lower_bound", plan.lower_bound);
  json.integer("ffn_ns_before", plan.ffn_ns_before);
  json.integer("ffn_ns", plan.ffn_ns);
  json.integer("ffn_bound_ns", plan.ffn_bound_ns);
  json.boolean("certified", plan.certified);
  if (!plan.cut.empty()) json.integers("cut", plan.cut);
  if (plan.predicted_max_tile_load) json.integer("predicted_max_tile_load", *plan.predicted_max_tile_load);
  if (plan.predicted_ffn_ns) json.integer("predicted_ffn_ns", *plan.predicted_ffn_ns);
  if (plan.split_bound_ns != kAbsent) json.integer("split_bound_ns", plan.split_bound_ns);
  if (plan.budget_hit) json.boolean("budget_hit", true);
  if (plan.relaxation_bound_ns != kAbsent) json.integer("relaxation_bound_ns", plan.relaxation_bound_ns);
  if (!plan.unready.empty()) write_unready(json, plan.unready);
  if (!plan.backlog_ns.empty()) {
    json.integers("backlog_ns", plan.backlog_ns);
    json.integer("completion_ns", plan.completion_ns);
  }
  json.integer("gain_ns", plan.gain_ns);
  if (plan.gain_bound_ns != kAbsent) json.integer("gain_bound_ns", plan.gain_bound_ns);
  json.integer("migration_ns", plan.migration_ns);
  json.integer("window_ns", plan.window_ns);
  json.string("window_source", plan.window_source);
  json.integer("exposed_ns", plan.exposed_ns);
  json.close('}');
}

std::string to_json(const Plan& plan) {
  std::string out;
  out.reserve(600 + 12 * plan.assignment.size() + 4 * plan.tile_load.size());
  append_json(out, plan);
  return out;
}

}  // namespace afore::wire
