#include <algorithm>

#include "util/error.h"
#include "wire/decode.h"
#include "wire/demand_line.h"
#include "wire/header_fields.h"
#include "wire/request_order.h"
#include "wire/wire.h"

namespace afore::wire {

std::int64_t DecodeContext::experts() const {
  if (header && header->model.experts != kAbsent) return header->model.experts;
  return demand_experts != kAbsent ? demand_experts : kMaxIndex;
}

std::int64_t DecodeContext::ffn_workers() const {
  return header && header->cluster.ffn_workers != kAbsent ? header->cluster.ffn_workers : kMaxIndex;
}

std::optional<std::int64_t> DecodeContext::top_k() const {
  if (header && header->model.top_k != kAbsent) return header->model.top_k;
  return options->top_k;
}

int read_layer(ObjectReader& record, const DecodeContext& context) {
  const JsonValue value = record.required("layer");
  if (!context.header) return value.index(kMaxIndex, "layer");
  const ModelSpec& model = context.header->model;
  const int layer = value.index(model.layers == kAbsent ? kMaxIndex : model.layers, "layer");
  if (!model.moe_layers.empty() && !std::binary_search(model.moe_layers.begin(), model.moe_layers.end(), layer))
    value.fail("layer " + std::to_string(layer) + " is not among the header's moe_layers",
               "layers are absolute indices, dense layers counted");
  return layer;
}

Target read_target(ObjectReader& record, const DecodeContext& context) {
  Target target;
  target.step = record.required("step").integer(0, kMaxInteger, "step");
  target.layer = read_layer(record, context);
  target.microbatch = record.required("microbatch").index(kMaxIndex, "microbatch");
  return target;
}

Objective read_objective(JsonValue value) {
  const std::string_view name = value.string();
  if (name == to_string(Objective::time)) return Objective::time;
  if (name == to_string(Objective::tiles)) return Objective::tiles;
  value.fail("unknown objective " + in_quotes(name), "objectives are time and tiles");
}

LoadRule read_load_rule(JsonValue value) {
  const std::string_view name = value.string();
  if (name == to_string(LoadRule::additive)) return LoadRule::additive;
  if (name == to_string(LoadRule::roofline)) return LoadRule::roofline;
  value.fail("unknown rule " + in_quotes(name), "rules are additive and roofline");
}

std::vector<std::int64_t> read_counts(JsonValue array, const char* noun) {
  array.expect(JsonType::array);
  std::vector<std::int64_t> counts;
  counts.reserve(array.size());
  for (const JsonValue item : array) counts.push_back(item.integer(0, kMaxInteger, noun));
  return counts;
}

std::vector<std::string> read_strings(JsonValue array) {
  array.expect(JsonType::array);
  std::vector<std::string> list;
  list.reserve(array.size());
  for (const JsonValue item : array) list.emplace_back(item.string());
  return list;
}

namespace {

void fill_absent_cluster(ClusterSpec& cluster, const ClusterSpec& from) {
  auto fill = [](std::int64_t& value, std::int64_t other) {
    if (value == kAbsent) value = other;
  };
  fill(cluster.attention_workers, from.attention_workers);
  fill(cluster.ffn_workers, from.ffn_workers);
  fill(cluster.redundant_slots, from.redundant_slots);
  if (cluster.workers.empty()) cluster.workers = from.workers;
  fill(cluster.tile_tokens, from.tile_tokens);
  fill(cluster.microbatches, from.microbatches);
}

}  // namespace

struct RecordDecoder::Impl {
  DecodeContext context() const { return {header ? &*header : nullptr, &options, demand_experts}; }
  Record decode_kind(std::string_view kind, ObjectReader& record);
  Header accept_header(ObjectReader& record);

  std::string source_name;
  ReadOptions options;
  JsonTree tree;
  std::optional<Header> header;
  bool has_seed = false;                  // the merged header's seed was written, not defaulted
  bool seen_records = false;              // any record but a header
  std::int64_t demand_experts = kAbsent;  // counts in the first demand
  RequestOrder requests;
  Demand demand;  // its buffer and that of the caller's record change places
};

RecordDecoder::RecordDecoder(std::string source_name, ReadOptions options) : impl_(std::make_unique<Impl>()) {
  impl_->source_name = std::move(source_name);
  impl_->options = options;
}
RecordDecoder::~RecordDecoder() = default;
RecordDecoder::RecordDecoder(RecordDecoder&&) noexcept = default;
RecordDecoder& RecordDecoder::operator=(RecordDecoder&&) noexcept = default;

const std::optional<Header>& RecordDecoder::header() const { return impl_->header; }

// The record's own header is returned; the state keeps the union with those before.
Header RecordDecoder::Impl::accept_header(ObjectReader& record) {
  bool seed_written = false;
  Header decoded = decode_header(record, &seed_written);
  if (!header) {
    if (seen_records) record.value().fail("the header comes after other records", "put the header line first");
    header = decoded;
    has_seed = seed_written;
    return decoded;
  }
  std::vector<HeaderField> fields = header_fields(*header, has_seed);
  const std::vector<HeaderField> added = header_fields(decoded, seed_written);
  const std::vector<HeaderConflict> conflicts = header_conflicts(fields, added);
  if (!conflicts.empty()) {
    const HeaderConflict& first = conflicts[0];
    record.value().fail(
        "this header says " + first.b.path.substr(1) + " = " + first.b.json + ", the one before it " + first.a.json,
        "streams of different runs cannot be joined");
  }
  Header merged = decoded;
  merged.producer = header->producer.empty() ? decoded.producer : header->producer;
  merged.via = header->via;
  if (!seed_written) merged.seed = header->seed;
  if (merged.source.empty()) merged.source = header->source;
  merged.measured = merged.measured || header->measured;
  fill_absent(merged.model, header->model);
  fill_absent_cluster(merged.cluster, header->cluster);
  if (!merged.planner) merged.planner = header->planner;
  if (const std::string fault = model_fault(merged.model); !fault.empty())
    record.value().fail("with the header before it, " + fault, "", "model");
  if (demand_experts != kAbsent && merged.model.experts != kAbsent && merged.model.experts != demand_experts)
    record.value().fail("this header says model/experts = " + std::to_string(merged.model.experts) +
                            ", the stream's first demand has " + std::to_string(demand_experts),
                        "streams of different runs cannot be joined");
  header = std::move(merged);
  has_seed = has_seed || seed_written;
  return decoded;
}

Record RecordDecoder::Impl::decode_kind(std::string_view kind, ObjectReader& record) {
  const DecodeContext context = this->context();
  if (kind == "demand") return decode_demand(record, context);
  if (kind == "plan") return decode_plan(record, context);
  if (kind == "batch") return decode_batch(record, context);
  if (kind == "routing") return decode_routing(record, context);
  if (kind == "prediction") return decode_prediction(record, context);
  if (kind == "observed") return decode_observed(record, context);
  if (kind == "operation") return decode_operation(record, context);
  if (kind == "placement") return decode_placement(record, context);
  if (kind == "request") return requests.check(record, decode_request(record));
  if (kind == "sequence") return requests.check(record, decode_sequence(record, context));
  if (kind == "completion") return decode_completion(record);
  if (kind == "summary") return decode_summary(record);
  return UnknownRecord{std::string(kind)};
}

Record RecordDecoder::decode(std::string_view line, std::int64_t line_number) {
  const JsonValue root = impl_->tree.parse(line, impl_->source_name, line_number);
  ObjectReader record(root);
  const JsonValue kind_value = record.required("kind");
  const std::string_view kind = kind_value.string();
  Record decoded = kind == "header" ? Record{} : impl_->decode_kind(kind, record);
  if (!std::holds_alternative<UnknownRecord>(decoded))
    if (const JsonValue version = record.find("v"); version && version.integer() != kRecordVersion)
      version.fail("record version " + std::to_string(version.integer()) + " is not known",
                   "this afore reads version " + std::to_string(kRecordVersion));
  if (kind == "header") return impl_->accept_header(record);
  impl_->seen_records = true;
  if (const auto* sequence = std::get_if<SequenceRecord>(&decoded)) impl_->requests.accept(*sequence);
  if (const auto* request = std::get_if<RequestRecord>(&decoded)) impl_->requests.accept(*request);
  if (const Demand* demand = std::get_if<Demand>(&decoded); demand && impl_->demand_experts == kAbsent)
    impl_->demand_experts = static_cast<std::int64_t>(demand->counts.size());
  return decoded;
}

void RecordDecoder::decode(std::string_view line, std::int64_t line_number, Record& record) {
  if (!read_demand_line(line, impl_->context(), impl_->demand)) {
    record = decode(line, line_number);
    return;
  }
  impl_->seen_records = true;
  if (impl_->demand_experts == kAbsent) impl_->demand_experts = static_cast<std::int64_t>(impl_->demand.counts.size());
  if (auto* demand = std::get_if<Demand>(&record)) std::swap(*demand, impl_->demand);
  else record = impl_->demand;
}

}  // namespace afore::wire
