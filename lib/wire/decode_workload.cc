// batch, demand, routing: what the attention side reports.
#include <algorithm>

#include "wire/decode.h"

namespace afore::wire {
namespace {

Phase read_phase(JsonValue value) {
  const std::string_view name = value.string();
  for (const Phase phase : {Phase::decode, Phase::prefill, Phase::mixed, Phase::warmup})
    if (name == to_string(phase)) return phase;
  value.fail("unknown phase " + in_quotes(name), "phases are decode, prefill, mixed and warmup");
}

// tokens * top_k, capped: beyond 2^53 no sum can match.
std::int64_t assignments_of(std::int64_t tokens, std::int64_t top_k) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(tokens, top_k, &product)) return kMaxInteger + 1;
  return std::min(product, kMaxInteger + 1);
}

std::int64_t sum_of(JsonValue array, const std::vector<std::int64_t>& counts) {
  std::int64_t sum = 0;
  for (const std::int64_t count : counts) {
    sum += count;  // both at most 2^53
    if (sum > kMaxInteger) array.fail("the counts sum to more than 2^53");
  }
  return sum;
}

void check_sum(ObjectReader& record, JsonValue counts, Demand& demand, const DecodeContext& context) {
  const std::int64_t sum = sum_of(counts, demand.counts);
  const JsonValue dropped = record.find("dropped");
  if (dropped) demand.dropped = dropped.integer(0, kMaxInteger, "dropped");
  const std::optional<std::int64_t> top_k = context.top_k();
  if (!top_k) return;
  const std::int64_t expected = assignments_of(demand.tokens, *top_k);
  const std::string product = std::to_string(demand.tokens) + " tokens x top_k " + std::to_string(*top_k);
  if (!context.options->allow_drop) {
    if (sum != expected)
      counts.fail("counts sum to " + std::to_string(sum) + ", not to " + product,
                  sum < expected ? "--allow-drop accepts sources that drop tokens" : "");
    if (demand.dropped != 0) dropped.fail("dropped is not 0, but no count is missing");
    return;
  }
  if (sum > expected) counts.fail("counts sum to " + std::to_string(sum) + ", more than " + product);
  if (!dropped) demand.dropped = expected - sum;
  if (sum + demand.dropped != expected)
    dropped.fail("counts and dropped sum to " + std::to_string(sum + demand.dropped) + ", not to " + product);
}

std::vector<int> read_row(JsonValue row, std::int64_t experts, std::size_t length) {
  row.expect(JsonType::array);
  if (row.size() != length)
    row.fail("the row has " + std::to_string(row.size()) + " entries, not " + std::to_string(length));
  std::vector<int> ids;
  ids.reserve(length);
  for (const JsonValue id : row) ids.push_back(id.index(experts, "expert"));
  return ids;
}

// Rows are of requests that each have their place once.
std::vector<RowSpan> read_spans(JsonValue array) {
  array.expect(JsonType::array);
  std::vector<RowSpan> spans;
  spans.reserve(array.size());
  for (const JsonValue item : array) {
    ObjectReader object(item);
    RowSpan span;
    span.request = object.required("request").string();
    span.position = object.required("position").integer();
    span.tokens = object.required("tokens").integer(1, kMaxRequestTokens, "tokens");
    if (const JsonValue ids = object.find("token_ids")) {
      span.token_ids = read_counts(ids, "token id");
      if (!span.token_ids.empty() && std::ssize(span.token_ids) != span.tokens)
        ids.fail("the list has " + std::to_string(span.token_ids.size()) + " ids for " + std::to_string(span.tokens) +
                 " tokens");
    }
    spans.push_back(std::move(span));
  }
  return spans;
}

// Rows of top_k ids; how long they are.
std::size_t read_ids(JsonValue rows, const DecodeContext& context, std::vector<std::vector<int>>& experts) {
  rows.expect(JsonType::array);
  experts.reserve(rows.size());
  std::size_t length = static_cast<std::size_t>(context.top_k().value_or(0));
  for (const JsonValue row : rows) {
    if (length == 0) {  // unknown top_k: the first row decides
      row.expect(JsonType::array);
      length = row.size();
      if (length == 0) row.fail("the row is empty");
    }
    experts.push_back(read_row(row, context.experts(), length));
  }
  return length;
}

std::vector<double> read_weights(JsonValue row, std::size_t length) {
  row.expect(JsonType::array);
  if (row.size() != length)
    row.fail("the row has " + std::to_string(row.size()) + " weights, not " + std::to_string(length));
  std::vector<double> weights;
  weights.reserve(length);
  for (const JsonValue weight : row) weights.push_back(weight.number());
  return weights;
}

}  // namespace

Batch decode_batch(ObjectReader& record, const DecodeContext& context) {
  Batch batch;
  batch.step = record.required("step").integer();
  batch.microbatch = record.required("microbatch").index(kMaxIndex, "microbatch");
  batch.sequences = record.required("sequences").integer();
  batch.prefill_tokens = record.required("prefill_tokens").integer();
  batch.kv_tokens = record.required("kv_tokens").integer();
  if (const JsonValue sampled = record.find("sampled")) {
    batch.sampled = sampled.integer();
    if (batch.sampled > batch.sequences)
      sampled.fail("more sequences get a token than the " + std::to_string(batch.sequences) + " there are");
  }
  if (const JsonValue per_worker = record.find("per_attention_worker")) {
    batch.per_attention_worker = read_counts(per_worker, "count");
    const std::int64_t workers = context.header ? context.header->cluster.attention_workers : kAbsent;
    const auto size = static_cast<std::int64_t>(batch.per_attention_worker.size());
    if (workers != kAbsent && size != 0 && size != workers)
      per_worker.fail("the list has " + std::to_string(size) + " entries for " + std::to_string(workers) +
                      " attention workers");
    if (size != 0 && sum_of(per_worker, batch.per_attention_worker) != batch.sequences)
      per_worker.fail("the entries do not sum to " + std::to_string(batch.sequences) + " sequences");
  }
  if (const JsonValue ids = record.find("admitted")) batch.admitted = read_strings(ids);
  if (const JsonValue ids = record.find("finished")) batch.finished = read_strings(ids);
  if (const JsonValue rows = record.find("rows")) batch.rows = read_spans(rows);
  return batch;
}

Demand decode_demand(ObjectReader& record, const DecodeContext& context) {
  Demand demand;
  demand.target = read_target(record, context);
  demand.phase = read_phase(record.required("phase"));
  demand.tokens = record.required("tokens").integer(0, kMaxInteger, "tokens");
  const JsonValue counts = record.required("counts");
  demand.counts = read_counts(counts, "count");
  if (demand.counts.empty()) counts.fail("the list is empty");
  const std::int64_t experts = context.experts();
  if (experts != kMaxIndex && static_cast<std::int64_t>(demand.counts.size()) != experts)
    counts.fail(context.header && context.header->model.experts != kAbsent
                    ? "the list has " + std::to_string(demand.counts.size()) + " counts, the model " +
                          std::to_string(experts) + " experts"
                    : std::to_string(demand.counts.size()) + " experts, the stream's first demand has " +
                          std::to_string(experts));
  if (demand.counts.size() > static_cast<std::size_t>(kMaxIndex)) counts.fail("more than 2^20 experts");
  check_sum(record, counts, demand, context);
  return demand;
}

Prediction decode_prediction(ObjectReader& record, const DecodeContext& context) {
  Prediction prediction;
  prediction.target = read_target(record, context);
  prediction.predictor = record.required("predictor").string();
  if (const JsonValue layer = record.find("after_layer"))
    prediction.after_layer = layer.index(prediction.target.layer, "layer");
  const JsonValue counts = record.required("counts");
  prediction.counts = read_counts(counts, "count");
  const std::int64_t experts = context.experts();
  if (experts != kMaxIndex ? std::ssize(prediction.counts) != experts : prediction.counts.empty())
    counts.fail("the list has " + std::to_string(prediction.counts.size()) + " counts, the model " +
                std::to_string(experts) + " experts");
  if (std::ssize(prediction.counts) > kMaxIndex) counts.fail("more than 2^20 experts");
  sum_of(counts, prediction.counts);
  if (const JsonValue ids = record.find("experts")) read_ids(ids, context, prediction.experts);
  return prediction;
}

Routing decode_routing(ObjectReader& record, const DecodeContext& context) {
  Routing routing;
  routing.target = read_target(record, context);
  const JsonValue rows = record.required("experts");
  const std::size_t length = read_ids(rows, context, routing.experts);
  const JsonValue weights = record.find("weights");
  if (!weights) return routing;
  weights.expect(JsonType::array);
  if (weights.size() != rows.size() && weights.size() != 0)
    weights.fail("there are " + std::to_string(weights.size()) + " rows of weights for " + std::to_string(rows.size()) +
                 " tokens");
  routing.weights.reserve(weights.size());
  for (const JsonValue row : weights) routing.weights.push_back(read_weights(row, length));
  return routing;
}

}  // namespace afore::wire
