// Every record but plan and summary, as one line each.
#include "wire/header_fields.h"
#include "wire/json_writer.h"
#include "wire/wire.h"

namespace afore::wire {
namespace {

void write_target(JsonWriter& json, const Target& target) {
  json.integer("step", target.step);
  json.integer("layer", target.layer);
  json.integer("microbatch", target.microbatch);
}

void write_ids(JsonWriter& json, const std::vector<std::vector<int>>& rows) {
  json.key("experts");
  json.open('[');
  for (const std::vector<int>& row : rows) {
    json.separate();
    json.items(row);
  }
  json.close(']');
}

void write_rows(JsonWriter& json, const std::vector<RowSpan>& rows) {
  json.key("rows");
  json.open('[');
  for (const RowSpan& span : rows) {
    json.separate();
    json.open('{');
    json.string("request", span.request);
    json.integer("position", span.position);
    json.integer("tokens", span.tokens);
    if (!span.token_ids.empty()) json.integers("token_ids", span.token_ids);
    json.close('}');
  }
  json.close(']');
}

}  // namespace

std::string to_json(const Header& header) { return header_json(header, header_fields(header, true)); }

std::string to_json(const Batch& batch) {
  std::string out;
  JsonWriter json(out);
  json.open('{');
  json.string("kind", "batch");
  json.integer("step", batch.step);
  json.integer("microbatch", batch.microbatch);
  json.integer("sequences", batch.sequences);
  json.integer("prefill_tokens", batch.prefill_tokens);
  json.integer("kv_tokens", batch.kv_tokens);
  if (batch.sampled != kAbsent) json.integer("sampled", batch.sampled);
  json.integers("per_attention_worker", batch.per_attention_worker);
  json.strings("admitted", batch.admitted);
  json.strings("finished", batch.finished);
  if (!batch.rows.empty()) write_rows(json, batch.rows);
  json.close('}');
  return out;
}

void append_json(std::string& out, const Demand& demand) {
  JsonWriter json(out);
  json.open('{');
  json.string("kind", "demand");
  write_target(json, demand.target);
  json.string("phase", to_string(demand.phase));
  json.integer("tokens", demand.tokens);
  json.integers("counts", demand.counts);
  if (demand.dropped > 0) json.integer("dropped", demand.dropped);
  json.close('}');
}

std::string to_json(const Demand& demand) {
  std::string out;
  out.reserve(128 + 5 * demand.counts.size());
  append_json(out, demand);
  return out;
}

std::string to_json(const Prediction& prediction) {
  std::string out;
  JsonWriter json(out);
  json.open('{');
  json.string("kind", "prediction");
  write_target(json, prediction.target);
  json.string("predictor", prediction.predictor);
  if (prediction.after_layer != kAbsent) json.integer("after_layer", prediction.after_layer);
  json.integers("counts", prediction.counts);
  if (!prediction.experts.empty()) write_ids(json, prediction.experts);
  json.close('}');
  return out;
}

std::string to_json(const Routing& routing) {
  std::string out;
  JsonWriter json(out);
  json.open('{');
  json.string("kind", "routing");
  write_target(json, routing.target);
  write_ids(json, routing.experts);
  if (!routing.weights.empty()) {
    json.key("weights");
    json.open('[');
    for (const std::vector<double>& row : routing.weights) {
      json.separate();
      json.open('[');
      for (const double weight : row) {
        json.separate();
        append_double(out, weight);
      }
      json.close(']');
    }
    json.close(']');
  }
  json.close('}');
  return out;
}

std::string to_json(const PlacementRecord& placement) {
  std::string out;
  JsonWriter json(out);
  json.open('{');
  json.string("kind", "placement");
  json.integer("layer", placement.layer);
  json.integer("slots_per_worker", placement.slots_per_worker);
  json.integers("physical_to_logical", placement.physical_to_logical);
  json.close('}');
  return out;
}

std::string to_json(const Observed& observed) {
  std::string out;
  JsonWriter json(out);
  json.open('{');
  json.string("kind", "observed");
  write_target(json, observed.target);
  json.integer("seq", observed.seq);
  json.integer("ffn_ns", observed.ffn_ns);
  json.integer("migration_ns", observed.migration_ns);
  json.integer("window_ns", observed.window_ns);
  json.integer("exposed_ns", observed.exposed_ns);
  json.integer("slack_ns", observed.slack_ns);
  json.integer("slot_wait_ns", observed.slot_wait_ns);
  json.close('}');
  return out;
}

std::string to_json(const Operation& operation) {
  std::string out;
  JsonWriter json(out);
  json.open('{');
  json.string("kind", "operation");
  json.string("worker", operation.worker);
  json.string("lane", operation.lane);
  json.string("op", operation.op);
  write_target(json, operation.target);
  json.integer("start_ns", operation.start_ns);
  json.integer("end_ns", operation.end_ns);
  json.close('}');
  return out;
}

std::string to_json(const Completion& completion) {
  std::string out;
  JsonWriter json(out);
  json.open('{');
  json.string("kind", "completion");
  json.string("id", completion.id);
  json.integer("prompt_tokens", completion.prompt_tokens);
  json.integer("output_tokens", completion.output_tokens);
  json.string("finish_reason", completion.finish_reason);
  if (!completion.reject_reason.empty()) json.string("reject_reason", completion.reject_reason);
  if (const auto& times = completion.times) {
    json.integer("arrival_ns", times->arrival_ns);
    json.integer_or_null("first_token_ns", times->first_token_ns);
    json.integer("finished_ns", times->finished_ns);
  }
  json.integers("token_ids", completion.token_ids);
  json.string("text", completion.text);
  json.close('}');
  return out;
}

}  // namespace afore::wire
